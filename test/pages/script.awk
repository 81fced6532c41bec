# script.awk -- a page of docs/howto as the shell script that its reader would
# type. A fenced block that follows a line `PATH`: is that file; a block of sh
# runs, a block of diff is applied.
#
# SPDX-License-Identifier: Apache-2.0

function begin(language)
{
    ending = "END_OF_BLOCK"
    if (path != "")
        printf "mkdir -p \"$(dirname '%s')\"\ncat >'%s' <<'%s'\n", path, path,
            ending
    else if (language == "diff")
        printf "git apply - <<'%s'\n", ending
    else if (language == "sh")
        ending = ""
    else
        return
    inside = 1
}

/^```/ {
    if (inside && ending != "")
        print ending
    if (!is_open)
        begin(substr($0, 4))
    else
        inside = 0
    is_open = !is_open
    path = ""
    next
}
inside { print }
!is_open && /^`[^`]+`:$/ { path = substr($0, 2, length($0) - 3) }
