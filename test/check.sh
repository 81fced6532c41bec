#!/bin/sh
# Run every test on what `make check` built in folders $1 (tests and programs)
# and $2 (the library). What a machine lacks
# is reported as SKIPPED with the reason. Check's own line closes the run.
set -eu
build=$1
lib=$2

# The device that the CPU pretends, beside everything else.
shim=
if [ -x "$build/test/cuda-shim-tests" ]; then
    CK_DEFAULT_TIMEOUT=300 CK_EXCLUDE_TAGS=large ETX_CPU=ref \
        "$build/test/cuda-shim-tests" > "$build/test/cuda-shim.txt" 2>&1 &
    shim=$!
    trap 'kill "$shim" 2>/dev/null || true' EXIT
fi

echo '== headers'
test/header/headers.sh
echo '== lint'
test/lint/includes.sh
test/lint/calls.sh
echo '== exported symbols'
test/lint/abi.sh "$lib/libexatrkx.so" lib/exatrkx.map \
    include/exatrkx/[!d]*.h
test/lint/abi.sh "$lib/libexatrkx_dist.so" lib/exatrkx_dist.map \
    include/exatrkx/dist.h
echo '== documentation'
if command -v doxygen >/dev/null 2>&1; then
    make --no-print-directory docs
else
    echo 'SKIPPED docs: no doxygen'
fi
test/lint/exercised.sh "$lib/libexatrkx.so" "$lib/libexatrkx_dist.so"
echo '== programs'
test/programs/programs.sh "$build"
echo '== distributed'
test/dist/dist.sh "$build"
test/dist/mpi_faults.sh "$build"
test/dist/nccl.sh
echo '== installed copy'
test/programs/install.sh
echo '== parts of a graph'
test/dist/parts.sh "$build"
echo '== upgrade'
test/upgrade/upgrade.sh "$build" "$lib"
echo '== report of a GPU'
test/cuda/report.sh
echo '== pages'
test/pages/handles.sh "$lib"
test/pages/troubleshooting.sh "$build" "$lib"
test/pages/howto.sh "$build" "$lib"
echo '== acts'
test/programs/acts.sh
echo '== python'
test/python/python.sh "$build"
echo '== packages'
test/programs/debian.sh
echo '== pretended device'
if [ -n "$shim" ]; then
    status=0
    wait "$shim" || status=$?
    cat "$build/test/cuda-shim.txt"
    [ $status = 0 ]
else
    echo 'SKIPPED pretended device: no C++ compiler, or not x86-64'
fi
echo '== library'
# A loaded machine is slow, not wrong.
export CK_DEFAULT_TIMEOUT="${CK_DEFAULT_TIMEOUT:-300}"
exec "$build/test/exatrkx-tests"
