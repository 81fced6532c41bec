#!/bin/sh
# The shared library $1 exports exactly what the map $2 lists, and every
# exported function is declared in one of the public headers that follow.
set -eu
library=$1
map=$2
shift 2
listed=$(sed -n '/global:/,/local:/s/^ *\(etx_[a-z0-9_]*\);.*/\1/p' \
    "$map" | sort)
exported=$(nm -D --defined-only "$library" | awk '$2 == "T" || $2 == "D" ||
    $2 == "B" || $2 == "R" { sub(/@.*/, "", $3); print $3 }' | sort)
declared=$(cat "$@" | tr '\n' ' ' |
    grep -oE 'ETX_API[^;(]*\(' | grep -oE 'etx_[a-z0-9_]+ ?\($' |
    tr -d ' (' | sort -u)
if [ "$listed" != "$exported" ]; then
    echo "exported symbols differ from $map:" >&2
    printf '%s\n' "$listed" "$exported" | sort | uniq -u >&2
    exit 1
fi
if [ "$declared" != "$exported" ]; then
    echo 'exported symbols differ from the declared ones:' >&2
    printf '%s\n' "$declared" "$exported" | sort | uniq -u >&2
    exit 1
fi
if nm -D --undefined-only "$library" | grep -qi cuda; then
    echo 'the CPU library mentions CUDA' >&2
    exit 1
fi
if command -v readelf >/dev/null 2>&1 &&
    ! readelf -d "$library" | grep -q BIND_NOW; then
    echo "$library: its table of addresses stays writable" >&2
    exit 1
fi
echo "exported symbols of $map: $(echo "$exported" | wc -l), as listed and" \
    'declared'
