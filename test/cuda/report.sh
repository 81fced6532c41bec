#!/bin/sh
# What test/cuda/gpu.sh reports, of stand-in programs: without a device that
# nothing was run, with one every part, whatever becomes of the others, and in
# time.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
bin=$folder/build/bin
mkdir -p "$bin" "$folder/path" "$folder/build/lib"
: > "$folder/build/lib/libexatrkx.so.0"

# stand_in FILE LINES: a program in the folder.
stand_in()
{
    { echo '#!/bin/sh'; cat; } > "$folder/$1"
    chmod +x "$folder/$1"
}

fail()
{
    echo "test/cuda/report.sh: $1" >&2
    cat "$folder"/out*/report.txt >&2
    exit 1
}

stand_in build/bin/exatrkx-tests <<'TESTS'
echo "suite $CK_RUN_SUITE $CK_FORK"
[ "$CK_RUN_SUITE" != cuda_train ] || echo 'SKIPPED test: why'
[ "$CK_RUN_SUITE" != cuda ] # the first of them fails
TESTS
stand_in build/bin/etx-bench <<'BENCH'
[ "$2" != 1000 ] || exit "${OPENS:-0}"
while [ "$1" != --out ]; do shift; done
echo '[{"stage": "event"}]' > "$2"
BENCH
stand_in build/bin/etx-train <<'TRAIN'
kill -9 $$
TRAIN
stand_in path/python3 <<'PYTHON'
[ "$1" = -m ] || exit 0
while [ "$1" != --out ]; do shift; done
out=$2
while [ "$1" != --name ]; do shift; done
echo '[{"stage": "gnn64"}]' > "$out/$2.json"
echo "a line of the table of $2" > "$out/$2-table.txt"
PYTHON
echo cuda cuda_half cuda_train checkop_rows > "$bin/device-suites"

# Without a device: said, and no failure.
stand_in path/nvidia-smi <<'NONE'
exit 9
NONE
PATH=$folder/path:$PATH test/cuda/gpu.sh "$bin" "$bin" "$folder/out1" \
    > "$folder/text" || fail 'no device is no failure'
grep -q 'device: none' "$folder/out1/report.txt" || fail 'no device is not said'
grep -q 'peers: not run: no device' "$folder/out1/report.txt" ||
    fail 'a part is missing'

# With one: what fails is told, the rest is there.
stand_in path/nvidia-smi <<'SMI'
case "$1" in
*=name*) echo 'Emulated GPU, 1.0, 1000 MHz, 2000 MHz' ;;
*) echo '1980, 3201, 650.12, 60' ;;
esac
SMI
stand_in path/compute-sanitizer <<'SANITIZER'
echo 'Could not find a race'
exit 1
SANITIZER
status=0
PATH=$folder/path:$PATH test/cuda/gpu.sh "$bin" "$bin" \
    "$folder/out2" > "$folder/text" || status=$?
[ $status = 1 ] || fail "status $status"
for line in 'opens: passed' 'cuda: failed with status 1' 'suite cuda no' \
    'cuda_separate: failed with status 1' 'suite cuda yes' 'cuda_half: passed' \
    'cuda_train: passed, 1 tests skipped' 'SKIPPED test: why' \
    'times_float16: passed' 'peers: passed' 'a line of the table of peers' \
    'reference_event: passed' 'a line of the table of reference_event' \
    'times_float32: passed' 'times_cpu: passed' 'times_contexts: passed' \
    'times_cpu_one_thread: passed' 'interop: passed' 'dist_nccl: passed' \
    'checkop_rows: passed' \
    'training: failed with status 137' \
    'racecheck_cuda_half: failed with status 1' \
    'initcheck_checkop_rows: failed with status 1' \
    'clocks: SM 1980 to 1980 MHz, at most 650 W, 60 C'; do
    grep -q "$line" "$folder/out2/report.txt" || fail "no line '$line'"
done
# Three files, with what the parts printed in one of them.
[ "$(echo "$folder"/out2/*)" = "$folder/out2/parts.tar.gz \
$folder/out2/report.json $folder/out2/report.txt" ] || fail 'other files are left'
tar -tzf "$folder/out2/parts.tar.gz" | grep -q '^parts/cuda_train.txt$' ||
    fail 'no archive'
if command -v python3 > /dev/null; then
    python3 - "$folder/out2/report.json" <<'CHECK'
import json, sys
report = json.load(open(sys.argv[1]))
assert report["device"].startswith("Emulated"), report
assert report["times"]["peers"][0]["stage"] == "gnn64", report
assert report["parts"]["training"] == "failed with status 137", report
CHECK
fi

# The kernels, those that take longest first; then a training.
stand_in path/ncu <<'NCU'
while [ "$1" != --log-file ]; do shift; done
cat > "$2" <<'CSV'
==PROF== Profiling "one_kernel"
"ID","Kernel Name","gpu__time_duration.sum","smsp__inst_executed.sum","dram__bytes_read.sum","dram__bytes_write.sum"
"","","us","inst","Kbyte","Mbyte"
"0","one_kernel(int)","1.5","1,000","500","0"
"1","other_kernel(float *)","1,200.25","2","1","2.5"
"2","one_kernel(int)","2.5","500","n/a","0"
CSV
NCU
real_python=$(command -v python3 || echo none)
PATH=$folder/path:$PATH PEERS_PYTHON=$real_python \
    GPU_PARTS=profile test/cuda/gpu.sh "$bin" "$bin" "$folder/out6" \
    > "$folder/text" || fail 'a profile'
grep -q 'ncu_mlp_fused: passed' "$folder/out6/report.txt" || fail 'no profile'
if command -v python3 > /dev/null; then
    awk '/ other_kernel$/ { first = NR; other = $1 == 1200.2 && $6 == 2.5 }
        / one_kernel$/ { one = NR > first && first && $2 == 2 && $4 == 1500 }
        END { exit !(one && other) }' "$folder/out6/report.txt" ||
        fail 'the lines of kernels'
fi
status=0
PATH=$folder/path:$PATH GPU_PARTS=training test/cuda/gpu.sh "$bin" "$bin" \
    "$folder/out7" > "$folder/text" || status=$?
[ $status = 1 ] || fail "a training that fails: status $status"
grep -q 'training: failed with status 137' "$folder/out7/report.txt" ||
    fail 'no training'

# One that the library cannot open is a failure, and nothing else is tried.
status=0
OPENS=3 PATH=$folder/path:$PATH test/cuda/gpu.sh "$bin" "$bin" \
    "$folder/out4" > "$folder/text" || status=$?
[ $status = 1 ] || fail "a device that does not open: status $status"
for line in 'opens: failed with status 3' \
    'times: not run: the device does not open'; do
    grep -q "$line" "$folder/out4/report.txt" || fail "no line '$line'"
done

# When the time is over the rest is told, too.
PATH=$folder/path:$PATH GPU_SECONDS=1 test/cuda/gpu.sh "$bin" "$bin" \
    "$folder/out3" > "$folder/text" || fail 'what was not run failed'
for part in cuda times_float16 peers training initcheck_checkop_rows; do
    grep -q "$part: not run: no time left" "$folder/out3/report.txt" ||
        fail "no line of $part"
done

# A sanitizer that does not know the device is none.
stand_in path/compute-sanitizer <<'SANITIZER'
echo '========= Error: Device not supported'
exit 1
SANITIZER
PATH=$folder/path:$PATH test/cuda/gpu.sh "$bin" "$bin" \
    "$folder/out5" > "$folder/text" || true
grep -q 'sanitizer: not run: compute-sanitizer does not know' \
    "$folder/out5/report.txt" || fail 'a sanitizer for another device'
echo 'report of a GPU: passed'
