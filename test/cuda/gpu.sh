#!/bin/sh
# Test and time a build with CUDA=1 on this machine's GPU.
#   gpu.sh FOLDER_OF_TESTS FOLDER_OF_PROGRAMS OUT
# Runs in the folder that holds examples/. Writes OUT/report.txt and
# OUT/report.json, both after every part, so that what was found stays when the
# machine goes, and all that the parts printed into OUT.tar.gz; without a
# GPU the report says that nothing was run on one. What
# says most comes first, what fails keeps nothing from running, and all of it
# ends within nine minutes (GPU_SECONDS): the last parts then do not run. The
# times of other software need a Python (PEERS_PYTHON) that has PyTorch.
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

# A toolkit's programs need not be on the path.
PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
# One line about the device, or nothing.
device=$(nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,clocks.max.mem \
    --format=csv,noheader 2>/dev/null | head -n 1 || true)
[ -n "$device" ] || [ ! -e /dev/nvidia0 ] || device='one that nvidia-smi does not tell'

say()
{
    echo "$*" | tee -a "$report"
}

write_json()
{
    printf '{"device": "%s", "parts": {%s}, "times": {%s}}\n' \
        "$device" "$parts" "$times" > "$out/report.json.new"
    mv "$out/report.json.new" "$out/report.json"
}

# tell NAME RESULT: one line of the report.
tell()
{
    say "$1: $2"
    parts="$parts${parts:+, }\"$1\": \"$2\""
    write_json
}

# note NAME STATUS: what became of a part; of what failed, the end of its
# output. Tests that skip say SKIPPED and pass.
note()
{
    skipped=$(grep -c '^SKIPPED' "$out/$1.txt" || true)
    if [ "$2" != 0 ]; then
        failed=1
        tell "$1" "failed with status $2"
        tail -n 20 "$out/$1.txt" | sed 's/^/    /' >> "$report"
    elif [ "$skipped" != 0 ]; then
        tell "$1" "passed, $skipped tests skipped"
        grep -m 1 '^SKIPPED' "$out/$1.txt" | sed 's/^/    /' >> "$report"
    else
        tell "$1" passed
    fi
}

# part SECONDS NAME COMMAND...: run it within its time, its output with the
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

# suite SECONDS NAME: all of its tests in one process, as opening a device takes
# longer than most tests; each in its own when one failed, which may have taken
# the device along.
suite()
{
    CK_FORK=no CK_RUN_SUITE=$2 part "$1" "$2" "$tests/exatrkx-tests"
    [ "$status" = 0 ] || CK_FORK=yes CK_RUN_SUITE=$2 \
        part $(($1 * 2)) "$2_separate" "$tests/exatrkx-tests"
}

# bench NAME SECONDS PRECISION MODEL [DEVICE]: every stage at growing numbers of
# hits.
bench()
{
    rm -f "$out/$1.json"
    ETX_PRECISION=$3 part "$2" "$1" "$programs/etx-bench" \
        --hits 10000,30000,100000,200000 --device "${5:-cuda}" \
        --model "examples/models/$4.safetensors" --json "$out/$1.json"
    add_times "$1"
}

# add_times NAME: OUT/NAME.json, if the part left one, into the report.
add_times()
{
    [ -s "$out/$1.json" ] || return 0
    times="$times${times:+, }\"$1\": $(cat "$out/$1.json")"
    write_json
}

# peers SECONDS: the networks in PyTorch and others, where installed.
peers()
{
    if ! "$python" -c 'import numpy, scipy, torch' 2> /dev/null; then
        skip peers "$python has no numpy, scipy or torch"
        return
    fi
    rm -f "$out/peers.json"
    ETX_LIBRARY=$library PYTHONPATH=examples/studies:bindings/python \
        PYTHONDONTWRITEBYTECODE=1 part "$1" peers "$python" -m peers.device \
        --out "$out" --seconds $(($1 * 2 / 3))
    add_times peers
    [ ! -s "$out/peers.txt" ] || cat "$out/peers.txt" >> "$report"
}

# interop SECONDS: arrays of the packages that the Python has.
interop()
{
    if ! "$python" -c 'import numpy' 2> /dev/null; then
        skip interop "$python has no numpy"
        return
    fi
    ETX_LIBRARY=$library PYTHONPATH=bindings/python PYTHONDONTWRITEBYTECODE=1 \
        part "$1" interop "$python" "$(dirname "$0")/interop.py"
}

skip()
{
    status=0
    tell "$1" "not run: $2"
}

# sanitize SECONDS TOOL SUITE: where compute-sanitizer knows the device, with an
# allocation for each array of scratch. It takes some of the time to load cuBLASLt.
sanitize()
{
    ETX_GUARD_SCRATCH=1 CK_FORK=no CK_EXCLUDE_TAGS=large CK_RUN_SUITE=$3 \
        part "$1" "$2_$3" \
        compute-sanitizer --tool "$2" --error-exitcode 1 "$tests/exatrkx-tests"
}

# Some virtual machines keep compute-sanitizer from the device.
is_refused()
{
    [ "$deadline" -gt "$(date +%s)" ] &&
        timeout -k 5 30 compute-sanitizer "$programs/etx-bench" --hits 1000 \
            --repeats 1 --device cuda \
            --model examples/models/default.safetensors 2>&1 |
        grep -q 'Device not supported'
}

skip_all()
{
    for each in tests times peers training sanitizer; do
        skip $each "$1"
    done
}

# The clocks every two seconds, until the end.
watch_clocks()
{
    nvidia-smi --query-gpu=clocks.sm,clocks.mem,power.draw,temperature.gpu \
        --format=csv,noheader,nounits -l 2 > "$out/clocks.csv" 2> /dev/null &
    watcher=$!
    trap 'kill "$watcher" 2> /dev/null || true' EXIT
}

report_clocks()
{
    kill "$watcher" 2> /dev/null || true
    wait "$watcher" 2> /dev/null || true
    awk -F, '{ if (NR == 1 || $1 < low) low = $1; if ($1 > high) high = $1
        if ($3 > watts) watts = $3; if ($4 > hot) hot = $4 }
        END { if (NR > 0) printf "clocks: SM %d to %d MHz, at most %d W, %d C\n",
            low, high, watts, hot }' "$out/clocks.csv" >> "$report"
}

: > "$report"
parts=
times=
say "date: $(date -u +%Y-%m-%dT%H:%M:%SZ)"
say "device: ${device:-none}"

status=0
if [ -z "$device" ]; then
    skip_all 'no device'
    exit 0
fi
# A driver that is too old, or a library that is not there, fails all else.
part 60 opens "$programs/etx-bench" --hits 1000 --repeats 1 --device cuda \
    --model examples/models/default.safetensors
if [ "$status" != 0 ]; then
    skip_all 'the device does not open'
    exit 1
fi
watch_clocks
# An access that is not allowed ends all later tests of its process, so the tool
# that names it comes first.
has_sanitizer=0
if ! command -v compute-sanitizer > /dev/null; then
    skip sanitizer 'no compute-sanitizer'
elif is_refused; then
    skip sanitizer 'compute-sanitizer does not know the device'
else
    has_sanitizer=1
    sanitize 60 memcheck cuda_half
    sanitize 60 memcheck checkop_radius_graph
fi
suite 60 cuda
suite 20 cuda_half
interop 60
bench times_float16 60 float16 default
peers 90
bench times_float32 60 float32 default
bench times_accurate_float16 45 float16 accurate
bench times_chain_float16 45 float16 chain
bench times_cpu 45 float32 default cpu
for each in $(tr ' ' '\n' < "$tests/device-suites" | grep -vE '^cuda(_half)?$'); do
    suite 15 "$each"
done
part 50 training "$programs/etx-train" --device cuda --time-limit 40 \
    --config examples/configs/embedding.json --data examples/data \
    --log "$out/training.jsonl" --out "$out/trained.safetensors"
if [ "$has_sanitizer" = 1 ]; then
    for each in checkop_chains cuda_half; do
        sanitize 40 memcheck "$each"
        sanitize 40 racecheck "$each"
    done
    sanitize 40 memcheck checkop_rows
    for each in cuda_half checkop_rows; do
        sanitize 40 initcheck "$each"
    done
fi
report_clocks
tar -C "$(dirname "$out")" -czf "$out.tar.gz" "$(basename "$out")"
exit $failed
