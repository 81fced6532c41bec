#!/bin/sh
# Test and time a build with CUDA=1 on this machine's GPU.
#   gpu.sh FOLDER_OF_TESTS FOLDER_OF_PROGRAMS OUT
# Runs in the folder that holds examples/. Writes OUT/report.txt and
# OUT/report.json; without a GPU the report says that nothing was run on one.
# What says most comes first, what fails keeps nothing from running, and all of
# it ends within nine minutes (GPU_SECONDS): the last parts then do not run. The
# times beside other software are for a Python (PEERS_PYTHON) that has PyTorch.
set -eu
tests=$1
programs=$2
out=$3
mkdir -p "$out"
out=$(cd "$out" && pwd)
report=$out/report.txt
python=${PEERS_PYTHON:-python3}
library=
for file in "$programs"/../lib/libexatrkx.so.*; do
    library=$file
done
failed=0
deadline=$(($(date +%s) + ${GPU_SECONDS:-540}))

# One line about the device, or nothing.
device=$(nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem \
    --format=csv,noheader 2>/dev/null | head -n 1 || true)

say()
{
    echo "$*" | tee -a "$report"
}

# note NAME STATUS: one line of the report.
note()
{
    if [ "$2" = 0 ]; then
        result=passed
    else
        result="failed with status $2"
        failed=1
    fi
    say "$1: $result"
    parts="$parts${parts:+, }\"$1\": \"$result\""
}

# part SECONDS NAME COMMAND...: run it within its time, its output beside the
# report; what fails does not keep the others from running.
part()
{
    seconds=$1
    name=$2
    shift 2
    left=$((deadline - $(date +%s)))
    if [ "$left" -lt 5 ]; then
        skip "$name" 'no time left'
        return
    fi
    [ "$seconds" -le "$left" ] || seconds=$left
    status=0
    timeout -k 5 "$seconds" "$@" > "$out/$name.txt" 2>&1 || status=$?
    note "$name" "$status"
}

# bench NAME SECONDS PRECISION MODEL: every stage at growing numbers of hits.
bench()
{
    rm -f "$out/$1.json"
    ETX_PRECISION=$3 part "$2" "$1" "$programs/etx-bench" \
        --hits 10000,30000,100000,200000 --device cuda \
        --model "examples/models/$4.safetensors" --json "$out/$1.json"
    [ ! -s "$out/$1.json" ] ||
        times="$times${times:+, }\"$1\": $(cat "$out/$1.json")"
}

# peers SECONDS: the networks beside PyTorch and others, where they are there.
peers()
{
    if ! "$python" -c 'import numpy, scipy, torch' 2> /dev/null; then
        skip peers "$python has no numpy, scipy or torch"
        return
    fi
    rm -f "$out/peers.json"
    ETX_LIBRARY=$library PYTHONPATH=test/bench:bindings/python \
        PYTHONDONTWRITEBYTECODE=1 part "$1" peers "$python" -m peers.device \
        --out "$out" --seconds $(($1 * 2 / 3))
    [ ! -s "$out/peers.json" ] ||
        times="$times${times:+, }\"peers\": $(cat "$out/peers.json")"
    [ ! -s "$out/peers.txt" ] || cat "$out/peers.txt" >> "$report"
}

skip()
{
    say "$1: not run: $2"
    parts="$parts${parts:+, }\"$1\": \"not run: $2\""
}

: > "$report"
parts=
times=
say "date: $(date -u +%Y-%m-%dT%H:%M:%SZ)"
say "device: ${device:-none}"

if [ -z "$device" ]; then
    for name in tests times peers training sanitizer; do
        skip $name 'no device'
    done
else
    export CK_DEFAULT_TIMEOUT="${CK_DEFAULT_TIMEOUT:-60}"
    CK_RUN_SUITE=cuda part 60 cuda "$tests/exatrkx-tests"
    CK_RUN_SUITE=cuda_half part 20 cuda_half "$tests/exatrkx-tests"
    bench times_float16 60 float16 default
    peers 90
    bench times_float32 60 float32 default
    bench times_accurate_float16 45 float16 accurate
    for suite in $(tr ' ' '\n' < "$tests/device-suites" | grep -vE '^cuda(_half)?$'); do
        CK_RUN_SUITE=$suite part 15 "$suite" "$tests/exatrkx-tests"
    done
    part 50 training "$programs/etx-train" --device cuda --time-limit 40 \
        --config examples/configs/embedding.json --data examples/data \
        --log "$out/training.jsonl" --out "$out/trained.safetensors"
    if command -v compute-sanitizer > /dev/null; then
        for suite in cuda_half checkop_rows; do
            for tool in racecheck memcheck initcheck; do
                CK_FORK=no CK_EXCLUDE_TAGS=large CK_RUN_SUITE=$suite \
                    part 40 "${tool}_$suite" compute-sanitizer \
                    --tool "$tool" --error-exitcode 1 "$tests/exatrkx-tests"
            done
        done
    else
        skip sanitizer 'no compute-sanitizer'
    fi
fi
printf '{"device": "%s", "parts": {%s}, "times": {%s}}\n' \
    "$device" "$parts" "$times" > "$out/report.json"
exit $failed
