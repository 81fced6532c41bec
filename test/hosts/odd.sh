#!/bin/sh
# Programs on odd machines find the tracks that they find here, or say why not: as
# PID 1, with a small stack, huge pages, clocks that jump, system calls that are
# refused, closed streams, few descriptors, little address space, in another
# interpreter of Python. $1, $2: the folders of the build and of the library.
set -eu
build=$1
lib=$(cd "$2" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# find_tracks NAME COMMAND...: find tracks by way of a command, into $out/NAME.csv.
find_tracks()
{
    name=$1
    shift
    timeout 60 "$@" "$build/examples/etx-find-tracks" --threads 2 \
        --model default --event examples/data/event000000001 \
        --out "$out/$name.csv" >"$out/$name.log" 2>&1
}

# same NAME COMMAND...: the same tracks as an ordinary process finds.
same()
{
    if ! find_tracks "$@" || ! cmp -s "$out/here.csv" "$out/$1.csv"; then
        echo "odd: $1: other tracks, or none" >&2
        cat "$out/$1.log" >&2
        exit 1
    fi
    echo "odd: $1"
}

${CC:-gcc} -std=gnu11 -Wall -Wextra -Werror -shared -fPIC test/hosts/odd.c \
    -o "$out/libodd.so"
same here env
same stack prlimit --stack=131072
same pages env GLIBC_TUNABLES=glibc.malloc.hugetlb=1
same clock env LD_PRELOAD="$out/libodd.so" ODD=clock
same calls env LD_PRELOAD="$out/libodd.so" ODD=calls
if unshare --pid --fork true 2>/dev/null; then
    same process-1 unshare --pid --fork
else
    echo 'SKIPPED odd process-1: no namespaces'
fi

# Files get their numbers then, and no message may go into them.
# shellcheck disable=SC2016
same streams sh -c 'exec "$@" <&- >&- 2>&-' sh

# same_or_error NAME COMMAND...: the same tracks, or an exit code, which 127 of the
# loader is; a signal or the end of the time is none.
same_or_error()
{
    code=0
    find_tracks "$@" || code=$?
    if [ "$code" = 0 ] && cmp -s "$out/here.csv" "$out/$1.csv"; then return; fi
    if [ "$code" -gt 0 ] && [ "$code" -ne 124 ] && [ "$code" -lt 128 ]; then return; fi
    echo "odd: $1: exit code $code" >&2
    exit 1
}

for n in 0 1 2 3 4 5 6 7 8; do
    same_or_error "descriptors-$n" prlimit --nofile="$n"
done
echo 'odd: descriptors'
for n in 4 8 12 16 20 24 28 32; do
    same_or_error "memory-$n" prlimit --as="$((n << 20))"
done
echo 'odd: memory'

# Not in a second one next to the first: numpy refuses to be imported twice.
if python3 -c 'import numpy, _xxsubinterpreters' 2>/dev/null; then
    ETX_LIBRARY=$lib/libexatrkx.so PYTHONPATH=bindings/python python3 -c '
import _xxsubinterpreters as interpreters
interpreters.run_string(interpreters.create(), """
import exatrkx
assert len(exatrkx.find_tracks(exatrkx.Model.load(), exatrkx.Event.example())) > 0
""")' 2>"$out/python.log" || { cat "$out/python.log" >&2; exit 1; }
    echo 'odd: interpreter'
else
    echo 'SKIPPED odd interpreter: no numpy, or no interpreters'
fi
