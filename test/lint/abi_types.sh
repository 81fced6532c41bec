#!/bin/sh
# The libraries in folder $1 have the structs and functions of each release in
# lib/abi (`make abi-baseline`), but for functions that were added: libabigail.
set -eu
if [ ! -e lib/abi ]; then
    echo 'SKIPPED abi: no release yet'
    exit 77
fi
if ! command -v abidiff >/dev/null 2>&1; then
    echo 'SKIPPED abi: no abidiff (abigail-tools)'
    exit 77
fi
if [ "$(uname -m)" != x86_64 ]; then
    echo "SKIPPED abi: the baseline is of x86-64, not $(uname -m)"
    exit 77
fi
# Private structs are only declared in the baseline: their changes are harmless.
for baseline in lib/abi/*/*.abi; do
    library=$1/lib$(basename "$baseline" .abi).so
    abidiff --no-added-syms "$baseline" "$library" >/dev/null || {
        abidiff --no-added-syms "$baseline" "$library" >&2 || true
        exit 1
    }
    echo "$library: the structs and functions of $baseline"
done
