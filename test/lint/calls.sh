#!/bin/sh
# The library never prints, ends the process, or changes its state: by the sources
# and, of shared libraries $1..., by the names that they import.
set -eu
names='v?f?printf|v?dprintf|f?puts|putw?char|f?putc|fwrite|perror'
names="$names|_?exit|_Exit|quick_exit|abort|raise|kill|system"
names="$names|set(env|locale|rlimit)|putenv|unsetenv|uselocale|chdir|umask"
names="$names|signal|sigaction|sigaltstack|sched_set[a-z_]+|pthread_setaffinity_np"
names="$names|fesetround|fe(en|dis)ableexcept|feraiseexcept|feclearexcept|_mm_setcsr"
bad=$(grep -nE \
    "\\b($names)[[:space:]]*\\(|\\bstd(out|err)\\b" \
    -r src cuda --include='*.c' --include='*.h' --include='*.cu' --include='*.cuh' |
    grep -vE 'v?snprintf|^[^:]*:[0-9]*:[[:space:]]*(/?\*)' || true)
if [ -n "$bad" ]; then
    echo "calls that a library must not make:" >&2
    echo "$bad" >&2
    exit 1
fi
for library; do
    imports=$(nm -D --undefined-only "$library" | sed 's/.* //; s/@.*//')
    if readelf -SW "$library" | grep -q '\.nv_fatbin'; then
        echo "SKIPPED imports of $library: the runtime of CUDA is linked in"
        continue
    fi
    bad=$(echo "$imports" | grep -xE \
        "(__)?($names)(_chk)?|__assert_fail|std(out|err)" || true)
    if [ -n "$bad" ]; then
        echo "$library imports what a library must not call:" >&2
        echo "$bad" >&2
        exit 1
    fi
done
echo 'calls: the library neither prints nor ends the process'
