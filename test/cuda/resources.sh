#!/bin/sh
# Registers, shared memory and spills of this project's kernels in a build with
# CUDA=1, as a table: resources.sh FOLDER_OF_OBJECTS
# Reads what ptxas said when they were compiled; fails when a kernel spills.
set -eu
objects=$1

echo '| kernel | device | registers | shared bytes | stack bytes | spilled bytes |'
echo '|---|---|---|---|---|---|'
c++filt < /dev/null # so that its absence is an error here
cat "$objects"/backend/*.ptxas "$objects"/op/*.ptxas |
    sed -n "s/^ptxas info *: Compiling entry function '\([^']*\)' for '\([^']*\)'/\1 \2/p
        s/^ *\([0-9]*\) bytes stack frame, \([0-9]*\) bytes spill stores.*/stack \1 \2/p
        s/^ptxas info *: Used \([0-9]*\) registers\(.*\)/used \1 \2/p" |
    c++filt -n | awk '
    $1 == "stack" { stack = $2; spilled = $3; next }
    $1 != "used" { device = $NF; name = $0; sub(/ sm_[0-9]+$/, "", name)
        sub(/^void /, "", name); sub(/\(.*/, "", name); next }
    name ~ /_kernel/ && name !~ /cub::/ {
        shared = 0
        if (match($0, /[0-9]+ bytes smem/))
            shared = substr($0, RSTART, RLENGTH - 11)
        printf "| `%s` | %s | %d | %d | %d | %d |\n", name, device, $2,
            shared, stack, spilled | "sort -u"
        if (spilled > 0) spills = 1
    }
    END { close("sort -u"); exit spills }'
