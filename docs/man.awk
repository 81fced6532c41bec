# man.awk -- the manual page of a program from what its --help says.
#
#   PROGRAM --help | awk -v name=PROGRAM -v version=V -f docs/man.awk
#
# SPDX-License-Identifier: Apache-2.0

BEGIN {
    event = "--event events/event000001000"
    data = "--data train --validation valid"
    example["etx-bench"] = "--hits 10000,100000 --model accurate --threads 2"
    example["etx-evaluate"] = event " --tracks tracks.csv --min-pt 0.5"
    example["etx-find-tracks"] = event " --out tracks.csv --timing"
    example["etx-fit-tracks"] = event " --tracks tracks.csv --out fits.csv"
    example["etx-graph"] = "--stage gnn " event " --out edges.csv"
    example["etx-learn-completion"] = "--model gnn.safetensors --data train" \
        " --out all.safetensors"
    example["etx-seeds"] = event " --purity 0.9 --out seeds.csv"
    example["etx-train"] = "--config gnn.json --start filter.safetensors " data \
        " --out gnn.safetensors"
}

function plain(text)
{
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    if (text ~ /^[.']/)
        text = "\\&" text
    return text
}

NR == 1 {
    usage = $0
    sub(/^usage: [^ ]* ?/, "", usage)
    next
}

/^options:$/ {
    print ".SH OPTIONS"
    inside = 1
    next
}

/^ *--/ && inside {
    option = $0
    sub(/^ */, "", option)
    split(option, part, /  +/)
    print ".TP"
    print ".B " plain(part[1])
    print plain(part[2])
    next
}

inside && NF {
    sub(/^ */, "")
    print plain($0)
    next
}

!inside && NF && !described {
    title = $0
    sub(/[.:].*/, "", title)
    printf ".TH %s 1 \"\" \"libexatrkx %s\" \"User Commands\"\n", \
        toupper(name), version
    print ".SH NAME"
    print plain(name) " \\- " plain(tolower(substr(title, 1, 1)) substr(title, 2))
    print ".SH SYNOPSIS"
    print ".B " plain(name)
    print plain(usage)
    print ".SH DESCRIPTION"
    described = 1
}

!inside && NF {
    print plain($0)
}

END {
    print ".SH EXAMPLES"
    print plain(name) " " plain(example[name])
    print ".SH EXIT STATUS"
    print "0 when all went well, 1 when the work failed, with the reason on"
    print "standard error, 2 when the arguments make no sense."
    print ".SH ENVIRONMENT"
    print ".TP"
    print ".B ETX_CPU"
    print "ref, avx2, avx512 or neon: the highest instruction set that is used."
    print ".TP"
    print ".B ETX_DATA"
    print "Folder of the model and the detector that ship."
    print ".TP"
    print ".B ETX_PRECISION"
    print "float32, tf32 or float16: the operands of products on a device."
    print "float32 or bfloat16: the same on a CPU; bfloat16 needs AVX512_BF16."
    print ".SH SEE ALSO"
    print "The pages of docs/ and https://arxiv.org/abs/2103.06995."
}
