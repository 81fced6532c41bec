#!/bin/sh
# The library never prints, ends the process, or changes its state.
set -eu
bad=$(grep -nE \
    '\b(v?printf|puts|putchar|perror|exit|_exit|abort|setlocale|signal|sigaction|system)[[:space:]]*\(|\bstd(out|err)\b' \
    -r src cuda --include='*.c' --include='*.h' --include='*.cu' |
    grep -vE 'v?snprintf|^[^:]*:[0-9]*:[[:space:]]*(/?\*)' || true)
if [ -n "$bad" ]; then
    echo "calls that a library must not make:" >&2
    echo "$bad" >&2
    exit 1
fi
echo 'calls: the library neither prints nor ends the process'
