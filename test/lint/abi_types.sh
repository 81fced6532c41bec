#!/bin/sh
# The structs and functions of library $1 are those of the baseline $2, but for
# functions that were added: libabigail. `make abi-baseline` writes baselines;
# what changed is then a line `abi:` of CHANGELOG.md.
set -eu
if ! command -v abidiff >/dev/null 2>&1; then
    echo 'SKIPPED abi: no abidiff (abigail-tools)'
    exit 77
fi
if [ "$(uname -m)" != x86_64 ]; then
    echo "SKIPPED abi: the baseline is of x86-64, not $(uname -m)"
    exit 77
fi
# Private structs are only declared in the baseline: their changes are harmless.
abidiff --no-added-syms "$2" "$1" >/dev/null || {
    abidiff --no-added-syms "$2" "$1" >&2 || true
    exit 1
}
echo "$1: the structs and functions of $2"
