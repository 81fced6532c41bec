#!/bin/sh
# Build the fuzz targets with clang's libFuzzer and run each for a while.
#   test/fuzz/run.sh [TARGET ...]     SECONDS_EACH (60), BUILD (build)
# KEEP=1: then store what reaches all that was reached in test/fuzz/corpus, from
# which the next run starts.
set -eu
build=${BUILD:-build}/fuzz
seconds=${SECONDS_EACH:-60}
clang=$(command -v clang || command -v clang-14 || true)
if [ -z "$clang" ]; then
    echo 'SKIPPED fuzz: no clang'
    exit 0
fi
if [ $# -eq 0 ]; then
    for source in test/fuzz/fuzz_*.c; do
        target=$(basename "$source" .c)
        case $target in
        fuzz_support | fuzz_objects) ;;
        *) set -- "$@" "${target#fuzz_}" ;;
        esac
    done
fi

mkdir -p "$build/seeds"
# The whole library, so that a new source needs no change here. Code for vectors
# is not instrumented: it would compile for minutes.
checks='address,undefined,float-cast-overflow'
vectors='-fopenmp-simd -fno-math-errno -fno-trapping-math'
traps="-fsanitize=$checks -fno-sanitize-recover=$checks"
make --no-print-directory "-j$(nproc)" "CC=$clang" "BUILD=$build" \
    "LIB=$build/lib" OPTIMISE='-O1 -g -fno-omit-frame-pointer' \
    "FLAGS_simd=$vectors -fno-sanitize=all" \
    "SANITIZE=-fsanitize=fuzzer-no-link $traps" "$build/lib/libexatrkx.a" \
    >"$build/build.log" 2>&1 || { tail -40 "$build/build.log"; exit 1; }
test/fuzz/seeds.sh "$build/seeds"

# compile NAME: a source of test/fuzz.
compile()
{
    # shellcheck disable=SC2086
    "$clang" -std=c11 -D_POSIX_C_SOURCE=200809L -g -O1 -Wall -Wextra -Werror \
        -ffp-contract=off -Isrc -Iinclude -Itest/fuzz $traps \
        -fsanitize=fuzzer-no-link -c "test/fuzz/fuzz_$1.c" -o "$build/$1.o"
}
# In an archive, so that a target has nothing that it does not use: libFuzzer
# looks at all counters after each execution.
compile support
compile objects
rm -f "$build/libfuzz.a"
ar rcs "$build/libfuzz.a" "$build/support.o" "$build/objects.o"

# Numbers of these inputs are text, or say which call: what the library compares is
# found in none of them, and most of it comes from networks and sorts. To count how
# often each of thousands of edges is reached takes a fifth of the time of calls.
forget=
for compared in 1 2 4 8; do
    forget="$forget -Wl,--wrap=__sanitizer_cov_trace_cmp$compared"
    forget="$forget -Wl,--wrap=__sanitizer_cov_trace_const_cmp$compared"
done

# one TARGET: build and run it.
one()
{
    compile "$1"
    case $1 in
    training | calls | operators) wrap=$forget choice=-entropic=0 ;;
    *) wrap='' choice='' ;;
    esac
    # shellcheck disable=SC2086
    "$clang" -g $traps -fsanitize=fuzzer "$build/$1.o" "$build/libfuzz.a" \
        "$build/lib/libexatrkx.a" $wrap \
        -Wl,--wrap=etx_file_read_text -lz -lm -lpthread -o "$build/$1"
    mkdir -p "$build/corpus-$1" "$build/seeds/$1"
    # shellcheck disable=SC2086
    "$build/$1" -max_total_time="$seconds" -max_len=4096 -len_control=0 -timeout=60 \
        $choice -rss_limit_mb=4096 -malloc_limit_mb=8192 -print_final_stats=1 \
        -dict=test/fuzz/tokens.dict -artifact_prefix="$build/$1-" \
        "$build/corpus-$1" "$build/seeds/$1" >"$build/$1.log" 2>&1
    [ -z "${KEEP:-}" ] || keep "$1"
}

# keep TARGET: the same bytes for the same inputs.
keep()
{
    rm -rf "$build/kept-$1"
    mkdir "$build/kept-$1"
    "$build/$1" -merge=1 "$build/kept-$1" "$build/corpus-$1" \
        "$build/seeds/$1" >"$build/kept-$1.log" 2>&1
    (cd "$build/kept-$1" && LC_ALL=C ls) | tar -C "$build/kept-$1" --mtime=@0 \
        --owner=0 --group=0 --numeric-owner --mode=644 -T - -cf - |
        gzip -9n >"test/fuzz/corpus/$1.tar.gz"
}

# As many together as there are processors.
status=0
while [ $# -gt 0 ]; do
    together=
    for _ in $(seq "$(nproc)"); do
        [ $# -gt 0 ] || break
        one "$1" &
        together="$together $1:$!"
        shift
    done
    for target in $together; do
        name=${target%:*}
        wait "${target#*:}" || {
            status=1
            tail -40 "$build/$name.log"
        }
        echo "== fuzz $name: $(sed -nE \
            -e 's/.*DONE +cov: ([0-9]+).*/\1 edges,/p' \
            -e 's/^Done ([0-9]+) runs in ([0-9]+) .*/\1 runs in \2 s/p' \
            "$build/$name.log" | xargs)"
    done
done
exit $status
