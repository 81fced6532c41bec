#!/bin/sh
# Test and time a build with CUDA=1 on this machine's GPU.
#   gpu.sh FOLDER_OF_TESTS FOLDER_OF_PROGRAMS OUT
# Runs in the folder that holds examples/. Writes OUT/report.txt and
# OUT/report.json; without a GPU the report says that nothing was run on one.
set -eu
tests=$1
programs=$2
out=$3
mkdir -p "$out"
report=$out/report.txt
status=0

# One line about the device, or nothing.
device=$(nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem \
    --format=csv,noheader 2>/dev/null | head -n 1 || true)

say()
{
    echo "$*" | tee -a "$report"
}

# part NAME COMMAND...: run it within limits, its output beside the report.
part()
{
    name=$1
    shift
    if timeout 240 "$@" > "$out/$name.txt" 2>&1; then
        say "$name: passed"
        result=passed
    else
        say "$name: FAILED, see $out/$name.txt"
        result=failed
        status=1
    fi
    parts="$parts${parts:+, }\"$name\": \"$result\""
}

skip()
{
    say "$1: not run: $2"
    parts="$parts${parts:+, }\"$1\": \"not run: $2\""
}

: > "$report"
parts=
times='{}'
say "date: $(date -u +%Y-%m-%dT%H:%M:%SZ)"
say "device: ${device:-none}"

if [ -z "$device" ]; then
    skip tests 'no device'
    skip sanitizer 'no device'
    skip times 'no device'
else
    export CK_DEFAULT_TIMEOUT="${CK_DEFAULT_TIMEOUT:-120}"
    part tests "$tests/exatrkx-tests"
    if command -v compute-sanitizer > /dev/null; then
        for tool in memcheck racecheck initcheck; do
            CK_FORK=no CK_RUN_SUITE=checkop_rows part "$tool" \
                compute-sanitizer --tool "$tool" --error-exitcode 1 \
                "$tests/exatrkx-tests"
        done
    else
        skip sanitizer 'no compute-sanitizer'
    fi
    part times "$programs/etx-bench" --hits 10000,30000,100000,200000 \
        --model examples/models/default.safetensors --device cuda \
        --json "$out/times.json"
    [ -s "$out/times.json" ] && times=$(cat "$out/times.json")
fi
printf '{"device": "%s", "parts": {%s}, "times": %s}\n' \
    "$device" "$parts" "$times" > "$out/report.json"
exit $status
