#!/bin/sh
# Every function that the libraries $1... export is called by a test and, where
# `make docs` has been run, on its pages.
set -eu
tag=docs/html/exatrkx.tag
missing=0
symbols=$(nm -D --defined-only "$@" |
    awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }')
[ -n "$symbols" ] || { echo "$*: nothing is exported" >&2; exit 1; }
# What `make check` runs, each function name before a parenthesis.
called=$(cat test/unit/*.c test/checkop/*.c test/conformance/*.c test/golden/*.c \
    test/cuda/*.c test/cuda_shim/*.c test/dist/*.c test/faults/*.c test/hosts/*.c \
    test/upgrade/*.c | grep -oE '\betx_[a-z0-9_]+ *\(' | tr -d ' (' | sort -u)
# Those with pointers say which is NULL. Options are by macro there.
arguments=$(grep -oE '\betx_[a-z0-9_]+' test/unit/test_arguments.c | sort -u)
without='etx_version|etx_status_name|etx_stage_name|etx_set_allocator|etx_set_cancel|'
without="${without}etx_is_cancelled|etx_dist_has_mpi|etx_dist_has_nccl|"
without="${without}etx_dist_n_launched|etx_.*_options_init"
for symbol in $symbols; do
    if ! echo "$arguments" | grep -qx "$symbol" &&
        ! echo "$symbol" | grep -qxE "$without"; then
        echo "test/unit/test_arguments.c does not call $symbol" >&2
        missing=1
    fi
    if ! echo "$called" | grep -qx "$symbol"; then
        echo "no test calls $symbol" >&2
        missing=1
    fi
    if [ -e $tag ] && ! grep -q "<name>$symbol</name>" $tag; then
        echo "no page of docs/html documents $symbol: make docs" >&2
        missing=1
    fi
done
[ $missing = 0 ] && echo "exported functions: each is called by a test" \
    "$([ ! -e $tag ] || echo 'and documented')"
exit $missing
