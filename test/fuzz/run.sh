#!/bin/sh
# Build the fuzz targets with clang's libFuzzer and run each for a while.
#   test/fuzz/run.sh [TARGET ...]     SECONDS_EACH (60), BUILD (build)
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
        [ "$target" = fuzz_support ] || set -- "$@" "${target#fuzz_}"
    done
fi

mkdir -p "$build/seeds"
# The whole library, so that a new source needs no change here.
checks='address,undefined,float-cast-overflow'
traps="-fsanitize=$checks -fno-sanitize-recover=$checks"
make --no-print-directory "-j$(nproc)" "CC=$clang" "BUILD=$build" \
    "LIB=$build/lib" OPTIMISE='-O1 -g -fno-omit-frame-pointer' \
    "SANITIZE=-fsanitize=fuzzer-no-link $traps" "$build/lib/libexatrkx.a" \
    >"$build/build.log" 2>&1 || { tail -40 "$build/build.log"; exit 1; }
test/fuzz/seeds.sh "$build/seeds"

for target; do
    echo "== fuzz $target, $seconds s"
    # shellcheck disable=SC2086
    "$clang" -std=c11 -D_POSIX_C_SOURCE=200809L -g -O1 -Wall -Wextra -Werror \
        -ffp-contract=off -Isrc -Iinclude -Itest/fuzz $traps \
        -fsanitize=fuzzer "test/fuzz/fuzz_$target.c" test/fuzz/fuzz_support.c \
        "$build/lib/libexatrkx.a" -lz -lm -lpthread -o "$build/$target"
    mkdir -p "$build/corpus-$target" "$build/seeds/$target"
    "$build/$target" -max_total_time="$seconds" -max_len=4096 -timeout=20 \
        -rss_limit_mb=4096 -malloc_limit_mb=8192 -print_final_stats=1 \
        -dict=test/fuzz/tokens.dict -artifact_prefix="$build/$target-" \
        "$build/corpus-$target" "$build/seeds/$target" >"$build/$target.log" \
        2>&1 || { tail -40 "$build/$target.log"; exit 1; }
    grep -E 'stat::(number_of_executed_units|peak_rss_mb)|DONE' \
        "$build/$target.log" || true
done
