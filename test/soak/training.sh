#!/bin/sh
# Train for long, with a checkpoint every 10 seconds and many validations.
# $1: the build folder; $2: seconds (default 3600). After a tenth of the time and
# in the end it must use the same memory, up to 1 %, and as many
# descriptors and threads. The last checkpoint must load.
set -eu
build=$1
seconds=${2:-3600}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

fail()
{
    echo "soak training: $*" >&2
    tail -n 5 "$out/stderr" >&2
    exit 1
}

# run OPTIONS...: train, until the time is over.
run()
{
    exec "$build/examples/etx-train" --config "$out/config.json" --threads 1 \
        --start examples/models/default.safetensors --cache "$out" \
        --data examples/data/event000000000 \
        --data examples/data/event000000002 \
        --validation examples/data/event000000001 --validate-every 20 \
        --checkpoint-seconds 10 --log "$out/log" \
        --out "$out/model.safetensors" "$@" >"$out/stdout" 2>"$out/stderr"
}

# KiB in memory, descriptors and threads of process $1: a line each second.
watch()
{
    while state=$(awk '/^VmRSS/ { print $2 }' "/proc/$1/status" 2>/dev/null) &&
        [ -n "$state" ]; do
        echo "$state $(find "/proc/$1/fd" -type l 2>/dev/null | wc -l)" \
            "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)"
        sleep 1
    done
}

sed 's/"steps": [0-9]*/"steps": 100000000/' examples/configs/gnn.json \
    >"$out/config.json"
(run --time-limit "$seconds") &
pid=$!
watch $pid >"$out/samples"
wait $pid || fail "the training failed"
validations=$(grep -c '"validation": true' "$out/log") || fail 'no validation'
steps=$(sed -n 's/.*"step": \([0-9]*\).*/\1/p' "$out/log" | tail -n 1)
(run --resume --time-limit 0.001) || fail 'the last checkpoint does not load'

# The lowest of the second tenth and of the last: what is opened for a moment
# does not count. The largest memory of both.
awk -v validations="$validations" -v steps="$steps" '
    { memory[NR] = $1; descriptors[NR] = $2; threads[NR] = $3 }
    function tenth(first, what, largest,    k, found) {
        found = what[first + 1]
        for (k = first + 1; k <= first + n; k++)
            if (largest ? what[k] > found : what[k] < found)
                found = what[k]
        return found
    }
    END {
        n = int(NR / 10)
        if (n < 1)
            exit 1
        # The process ends while the last sample is taken.
        last = NR - 2
        early = tenth(n, memory, 1)
        late = tenth(last - n, memory, 1)
        printf "soak training: %d samples, %d steps, %d validations; %.1f MB of " \
            "memory after a tenth, %.1f in the end; %d and %d descriptors, %d " \
            "and %d threads\n", last, steps, validations, early / 1000, late / 1000,
            tenth(n, descriptors), tenth(last - n, descriptors),
            tenth(n, threads), tenth(last - n, threads)
        exit late > early * 1.01 || \
            tenth(last - n, descriptors) != tenth(n, descriptors) || \
            tenth(last - n, threads) != tenth(n, threads)
    }' "$out/samples" || fail 'memory, descriptors or threads grew'
