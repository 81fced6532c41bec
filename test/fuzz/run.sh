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
[ $# -gt 0 ] || set -- csv detector gzip safetensors

make --no-print-directory "BUILD=${BUILD:-build}" \
    "${BUILD:-build}/gen/archs.c" >/dev/null
mkdir -p "$build/objects"
flags='-std=c11 -D_POSIX_C_SOURCE=200809L -g -O1 -fno-omit-frame-pointer
    -ffp-contract=off -Wno-unknown-warning-option -Isrc -Iinclude -Itest/fuzz'
checks='address,undefined,float-cast-overflow'
traps="-fsanitize=$checks -fno-sanitize-recover=$checks"
sources="src/base/*.c src/memory/*.c src/data/*.c src/io/*.c src/arch/*.c
    src/arch/*/*.c src/op/*.c src/op/ref/*.c src/api/event.c src/api/arguments.c
    src/api/read.c src/api/tracks.c ${BUILD:-build}/gen/archs.c
    test/fuzz/fuzz_support.c"
# shellcheck disable=SC2086
for source in $sources; do
    # A name for each, as some folders hold files of the same name.
    object=$build/objects/$(echo "$source" | tr / -).o
    echo "$source" "$object"
done >"$build/sources"
export clang flags traps
# shellcheck disable=SC2016
xargs -n 2 -P "$(nproc)" sh -c '"$clang" $flags $traps \
    -fsanitize=fuzzer-no-link -c "$1" -o "$2"' compile <"$build/sources"
cut -d " " -f 2 "$build/sources" >"$build/list"
mkdir -p "$build/seeds"
test/fuzz/seeds.sh "$build/seeds"

for target; do
    echo "== fuzz $target, $seconds s"
    # shellcheck disable=SC2046,SC2086
    "$clang" $flags $traps -fsanitize=fuzzer "test/fuzz/fuzz_$target.c" \
        $(cat "$build/list") -lz -lm -lpthread -o "$build/$target"
    mkdir -p "$build/corpus-$target"
    "$build/$target" -max_total_time="$seconds" -max_len=4096 -timeout=10 \
        -rss_limit_mb=4096 -malloc_limit_mb=8192 -print_final_stats=1 \
        -dict=test/fuzz/tokens.dict -artifact_prefix="$build/$target-" \
        "$build/corpus-$target" "$build/seeds/$target" >"$build/$target.log" \
        2>&1 || { tail -40 "$build/$target.log"; exit 1; }
    grep -E 'stat::(number_of_executed_units|peak_rss_mb)|DONE' \
        "$build/$target.log" || true
done
