#!/bin/sh
# Test and time a build with CUDA=1 on this machine's GPU.
#   gpu.sh FOLDER_OF_TESTS FOLDER_OF_PROGRAMS OUT
# Runs in the folder that holds examples/. GPU_PARTS says what: tests (default) and
# times, a profile of the kernels, or a training. Leaves three files: OUT/report.txt
# and OUT/report.json, both written after every part, so that what was found stays
# when the machine goes, and OUT/parts.tar.gz with all that the parts printed; without
# a GPU the report says that nothing was run on one. What says most comes first, what
# fails keeps nothing from running, and all of it ends within nine minutes, five or
# ten (GPU_SECONDS): the last parts then do not run. The times of other software need
# a Python (PEERS_PYTHON) that has PyTorch.
set -eu
tests=$1
programs=$2
out=$3
kind=${GPU_PARTS:-tests}
case $kind in
tests) seconds=540 ;;
profile) seconds=300 ;;
training) seconds=600 ;;
*)
    echo "GPU_PARTS=$kind: tests, profile or training" >&2
    exit 2
    ;;
esac
rm -rf "$out/parts"
mkdir -p "$out/parts"
out=$(cd "$out" && pwd)
report=$out/report.txt
printed=$out/parts
python=${PEERS_PYTHON:-python3}
library=
for file in "$programs"/../lib/libexatrkx.so.*; do
    library=$file
done
failed=0
deadline=$(($(date +%s) + ${GPU_SECONDS:-$seconds}))

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
    skipped=$(grep -c '^SKIPPED' "$printed/$1.txt" || true)
    if [ "$2" != 0 ]; then
        failed=1
        tell "$1" "failed with status $2"
        tail -n 20 "$printed/$1.txt" | sed 's/^/    /' >> "$report"
    elif [ "$skipped" != 0 ]; then
        tell "$1" "passed, $skipped tests skipped"
        grep -m 1 '^SKIPPED' "$printed/$1.txt" | sed 's/^/    /' >> "$report"
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
    timeout -k 5 "$seconds" "$@" > "$printed/$name.txt" 2>&1 || status=$?
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

# bench NAME SECONDS PRECISION MODEL DEVICE [OPTION...]: every stage, where no
# option says else at growing numbers of hits.
bench()
{
    json=$printed/$1.json
    name=$1
    seconds=$2
    precision=$3
    model=$4
    where=$5
    shift 5
    ETX_PRECISION=$precision part "$seconds" "$name" "$programs/etx-bench" \
        --hits 10000,30000,100000,200000 --device "$where" \
        --model "examples/models/$model.safetensors" --out "$json" "$@"
    add_times "$name"
}

# add_times NAME: its NAME.json, if the part left one, into the report.
add_times()
{
    [ -s "$printed/$1.json" ] || return 0
    times="$times${times:+, }\"$1\": $(cat "$printed/$1.json")"
    write_json
}

# peers SECONDS NAME STAGES: the networks in PyTorch and others, where installed.
peers()
{
    if ! "$python" -c 'import numpy, scipy, torch' 2> /dev/null; then
        skip "$2" "$python has no numpy, scipy or torch"
        return
    fi
    ETX_LIBRARY=$library PYTHONPATH=examples/studies:bindings/python \
        PYTHONDONTWRITEBYTECODE=1 part "$1" "$2" "$python" -m peers.device \
        --out "$printed" --seconds $(($1 / 2)) --name "$2" --stages "$3"
    add_times "$2"
    [ ! -s "$printed/$2-table.txt" ] || cat "$printed/$2-table.txt" >> "$report"
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

# nccl SECONDS: one rank, by a program of its own in the bundle, whose others load no
# NCCL.
nccl()
{
    program=$tests/nccl-tests
    [ -x "$program" ] || program=$tests/exatrkx-tests
    if ldd "$program" 2> /dev/null | grep -q 'libnccl.*not found'; then
        skip dist_nccl 'no libnccl.so.2'
        return
    fi
    CK_FORK=no CK_RUN_SUITE=dist_nccl part "$1" dist_nccl "$program"
}

# Every launch of two events, then all that is known of the first launches of the
# hottest kernels; parts/*.csv.
profile()
{
    tool=$(find_ncu)
    if [ -z "$tool" ]; then
        skip ncu 'no ncu'
        return
    fi
    # The clocks stay as they are.
    counters="$tool --csv --page raw --clock-control none"
    event="$programs/etx-bench --hits 100000 --repeats 1 --device cuda --model
        examples/models/default.safetensors"
    metrics=gpu__time_duration.sum,smsp__inst_executed.sum
    metrics=$metrics,dram__bytes_read.sum,dram__bytes_write.sum
    # Words of $counters and $event are meant to split.
    # shellcheck disable=SC2086
    part 120 ncu_all $counters --metrics "$metrics" \
        --log-file "$printed/ncu_all.csv" $event
    tell_kernels "$printed/ncu_all.csv"
    for each in mlp_fused edge_features append kink_block score_block order \
        sum_vectors hook wide_row elements; do
        # shellcheck disable=SC2086
        part 40 "ncu_$each" $counters --set full \
            --kernel-name "regex:^${each}_kernel" --launch-count 3 \
            --log-file "$printed/ncu_$each.csv" $event
    done
}

# It need not be on the path.
find_ncu()
{
    command -v ncu || for file in /opt/nvidia/nsight-compute/*/ncu \
        "${CUDA_HOME:-/usr/local/cuda}"/nsight-compute*/ncu; do
        [ ! -x "$file" ] || echo "$file"
    done | tail -n 1
}

# tell_kernels CSV: one line for each kernel, those that take longest first.
tell_kernels()
{
    [ -s "$1" ] || return 0
    "$python" "$(dirname "$0")/kernels.py" "$1" > "$printed/kernels.txt" 2>&1 ||
        return 0
    cat "$printed/kernels.txt" >> "$report"
}

# A graph network for nearly all of the time that is left.
train()
{
    part $((deadline - $(date +%s))) training "$programs/etx-train" --device cuda \
        --time-limit $((deadline - $(date +%s) - 30)) \
        --config "${GPU_CONFIG:-examples/configs/gnn.json}" \
        --data "${GPU_DATA:-examples/data}" \
        --log "$printed/training.jsonl" --out "$printed/trained.safetensors"
    tail -n 1 "$printed/training.jsonl" >> "$report" 2> /dev/null || true
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
    case $kind in
    tests) set -- "$1" tests times peers training sanitizer ;;
    *) set -- "$1" "$kind" ;;
    esac
    why=$1
    shift
    for each; do
        skip "$each" "$why"
    done
}

# The clocks every two seconds, until the end.
watch_clocks()
{
    nvidia-smi --query-gpu=clocks.sm,clocks.mem,power.draw,temperature.gpu \
        --format=csv,noheader,nounits -l 2 > "$printed/clocks.csv" 2> /dev/null &
    watcher=$!
}

# shellcheck disable=SC2317 # finish calls it
report_clocks()
{
    [ -n "$watcher" ] || return 0
    kill "$watcher" 2> /dev/null || true
    wait "$watcher" 2> /dev/null || true
    awk -F, '{ if (NR == 1 || $1 < low) low = $1; if ($1 > high) high = $1
        if ($3 > watts) watts = $3; if ($4 > hot) hot = $4 }
        END { if (NR > 0) printf "clocks: SM %d to %d MHz, at most %d W, %d C\n",
            low, high, watts, hot }' "$printed/clocks.csv" >> "$report"
    watcher=
}

# However it ends: three files.
# shellcheck disable=SC2317 # the trap calls it
finish()
{
    report_clocks
    tar -C "$out" -czf "$out/parts.tar.gz" parts
    rm -rf "$printed"
}

# All suites, and times.
run_tests()
{
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
    bench times_float16 60 float16 default cuda
    bench times_contexts 60 float16 default cuda --hits 100000 --stage event \
        --repeats 10 --together 4 --contexts 1,4,16
    peers 90 peers gnn64,filter,embedding,train_gnn64
    bench times_float32 60 float32 default cuda
    bench times_accurate_float16 45 float16 accurate cuda
    bench times_chain_float16 45 float16 chain cuda
    bench times_cpu 45 float32 default cpu
    bench times_cpu_one_thread 45 float32 default cpu --hits 100000 --threads 1 \
        --repeats 5
    nccl 30
    peers 60 reference_event event
    for each in $(tr ' ' '\n' < "$tests/device-suites" | grep -vE '^cuda(_half)?$'); do
        suite 15 "$each"
    done
    part 50 training "$programs/etx-train" --device cuda --time-limit 40 \
        --config examples/configs/embedding.json --data examples/data \
        --log "$printed/training.jsonl" --out "$printed/trained.safetensors"
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
}

watcher=
trap finish EXIT
trap 'exit 143' INT TERM
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
case $kind in
tests) run_tests ;;
profile) profile ;;
training) train ;;
esac
exit $failed
