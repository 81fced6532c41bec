#!/bin/sh
# Static analysis, JOBS files at a time (default: the processors): includes, calls,
# words and lists, the mutations of device tests, the format of C and CUDA, shellcheck,
# cppcheck and the analyser of gcc. A tool that is missing is SKIPPED with its name.
set -eu
failed=0
jobs=${JOBS:-$(nproc)}
sources=$(git ls-files 'src/*.c' 'examples/*.c' ':!examples/studies')

has()
{
    command -v "$1" >/dev/null 2>&1 || { echo "SKIPPED $1: not installed"; return 1; }
}

test/lint/includes.sh || failed=1
test/lint/calls.sh || failed=1
test/lint/words.sh || failed=1
test/lint/lists.sh || failed=1
test/cuda_shim/mutations.sh || failed=1
if has clang-format; then
    git ls-files -z '*.c' '*.h' '*.cu' '*.cuh' | xargs -0 -n 32 -P "$jobs" \
        clang-format --dry-run -Werror || failed=1
fi
if has shellcheck; then
    git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck || failed=1
fi
if has cppcheck; then
    # shellcheck disable=SC2086
    cppcheck --quiet -j "$jobs" --std=c11 --error-exitcode=1 --inline-suppr \
        -Iinclude -Isrc -Iexamples --enable=warning,portability \
        --suppress=missingIncludeSystem $sources || failed=1
fi
mpi=$(mpicc -show 2>/dev/null | tr ' ' '\n' | grep '^-[ID]') || {
    echo 'SKIPPED analysis of src/dist/mpi*.c: no mpicc'
    sources=$(echo "$sources" | grep -v '^src/dist/mpi')
}
# Operators take pointers that the contract in op.h says are valid; the analyser
# cannot know. Programs keep what exit() releases.
# shellcheck disable=SC2086
echo "$sources" | grep -vE '^(src/op|examples)/' | xargs -n 1 -P "$jobs" \
    gcc -std=c11 -D_POSIX_C_SOURCE=200809L -O2 -fanalyzer -Werror -Iinclude \
    -Isrc $mpi -S -o /dev/null || failed=1
[ $failed = 0 ] && echo 'lint: clean'
exit $failed
