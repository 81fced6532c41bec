# A page as Doxygen wants to see it: links lead to the pages of the site, or to the
# file in the sources; headings have the anchors of GitHub; the pages that a list of
# pages names lie below it in the tree.

# The path of a file, without the folder of the sources and "..".
function normal(path)
{
    if (root == "")
        "pwd -P" | getline root
    if (index(path, root "/") == 1)
        path = substr(path, length(root) + 2)
    while (sub(/[^\/]+\/\.\.\//, "", path))
        ;
    return path
}

function page_of(path)
{
    if (path == "README.md")
        return "index"
    sub(/\.md$/, "", path)
    gsub(/[^A-Za-z0-9]/, "_", path)
    return "md_" path
}

function anchor_of(heading)
{
    heading = tolower(heading)
    gsub(/ /, "-", heading)
    gsub(/[^a-z0-9_-]/, "", heading)
    return heading
}

# Is the page below this one in the tree?
function is_below(path)
{
    if (path in below || path == own || path == "README.md")
        return 0
    if (own == "docs/README.md")
        return path !~ /^docs\/tables\/[a-z]/
    return own ~ /^(docs\/tables|src|examples\/studies)\/README.md$/ && index(path, folder) == 1
}

function link(text, target,    path, anchor)
{
    if (target ~ /^[a-z]+:/)
        return "[" text "](" target ")"
    path = target
    sub(/#.*/, "", path)
    anchor = substr(target, length(path) + 2)
    path = path == "" ? own : normal(folder path)
    if (path !~ /\.md$/)
        return "<a href=\"../../" path "\">" text "</a>"
    if (anchor == "" && is_below(path)) {
        below[path]
        gsub(/`/, "", text)
        return "\\subpage " page_of(path) (text ~ /\.md$/ ? "" : " \"" text "\"")
    }
    if (anchor != "")
        anchor = "#" page_of(path) "-" anchor
    return "<a href=\"" page_of(path) ".html" anchor "\">" text "</a>"
}

# Code that has a quote, which would end it, between two backticks.
function quoted(text,    done, code)
{
    while (match(text, /`[^`]+`/)) {
        code = substr(text, RSTART, RLENGTH)
        done = done substr(text, 1, RSTART - 1) (code ~ /'/ ? "`" code "`" : code)
        text = substr(text, RSTART + RLENGTH)
    }
    return done text
}

# Text outside of blocks of code, of any number of lines, with its links.
function linked(text,    done, both)
{
    while (match(text, /!?\[[^][]+\]\([^() ]+\)/)) {
        done = done substr(text, 1, RSTART - 1)
        both = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        if (both ~ /^!/) {
            done = done both
        } else {
            split(both, part, /\]\(/)
            done = done link(substr(part[1], 2), substr(part[2], 1, length(part[2]) - 1))
        }
    }
    return quoted(done text)
}

FNR == 1 {
    own = normal(FILENAME)
    folder = own
    sub(/[^\/]*$/, "", folder)
}
/^```/ {
    if (!in_code)
        printf "%s", linked(text)
    text = ""
    in_code = !in_code
    print
    next
}
in_code { print; next }
/^#+ / {
    heading = $0
    sub(/^#+ /, "", heading)
    if (/^## / && own == "docs/README.md") { # a page of its own
        parts = parts "* \\subpage manual_" ++n_parts "\n"
        $0 = "\\page manual_" n_parts " " heading
    } else if (/^# / && own == "README.md") {
        $0 = $0 " {#mainpage}"
    } else if (!/^# /) {
        $0 = $0 " {#" page_of(own) "-" anchor_of(heading) "}"
    }
}
{ text = text $0 "\n" }
END {
    if (ENVIRON["WITH_PYTHON"] != "" && own ~ /^docs\/(README|python).md$/)
        sub(/`docs\/html\/python`/, "<a href=\"python/index.html\">docs/html/python</a>", text)
    sub(/\n\\page/, parts "&", text)
    printf "%s", linked(text)
}
