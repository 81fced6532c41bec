#!/bin/sh
# Static analysis: the dependency law, forbidden calls, formatting of what the
# tools here can check. A tool that is missing is SKIPPED with its name.
set -eu
failed=0
sources=$(git ls-files 'src/*.c' 'examples/*.c')

test/lint/includes.sh || failed=1
test/lint/calls.sh || failed=1

if command -v shellcheck >/dev/null 2>&1; then
    git ls-files '*.sh' .ci/run | xargs shellcheck || failed=1
else
    echo 'SKIPPED shellcheck: not installed'
fi
if command -v cppcheck >/dev/null 2>&1; then
    # shellcheck disable=SC2086
    cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr -Iinclude \
        -Isrc -Iexamples --enable=warning,portability \
        --suppress=missingIncludeSystem $sources || failed=1
else
    echo 'SKIPPED cppcheck: not installed'
fi
mpi=$(mpicc --showme:compile 2>/dev/null) || {
    echo 'SKIPPED analysis of src/dist/mpi*.c: no mpicc'
    sources=$(echo "$sources" | grep -v '^src/dist/mpi')
}
for source in $sources; do
    # Operators take pointers that the contract in op.h says are there; the
    # analyser cannot know. Programs keep what exit() releases.
    case $source in src/op/* | examples/*) continue ;; esac
    # shellcheck disable=SC2086
    gcc -std=c11 -D_POSIX_C_SOURCE=200809L -O2 -fanalyzer -Werror -Iinclude \
        -Isrc -Iexamples $mpi -DETX_DATA_DIR='""' -c "$source" -o /dev/null ||
        failed=1
done
[ $failed = 0 ] && echo 'lint: clean'
exit $failed
