#!/bin/sh
# Kill a training at random moments and go on from its checkpoint, again and
# again. $1: the build folder; $2: how many kills (default 200). After every
# kill the checkpoint must load, no run may leave a temporary file that the
# next one does not remove, and in the end the model must have the bytes of a
# training that was never killed.
set -eu
build=$1
kills=${2:-200}
train=$build/examples/etx-train
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

fail()
{
    echo "kill: $*" >&2
    [ ! -s "$out/stderr" ] || cat "$out/stderr" >&2
    exit 1
}

# Long enough for all kills; a checkpoint after every step.
cat >"$out/config.json" <<'CONFIG'
{"stage": "embedding", "seed": 1,
 "model": {"arch": "mlp", "options": {"hidden": [128, 128], "n_out": 6},
  "node_features": [{"name": "r", "scale": 1000.0},
   {"name": "cos_phi", "scale": 1.0}, {"name": "sin_phi", "scale": 1.0},
   {"name": "z", "scale": 1000.0}],
  "graph": {"radius": 0.5, "max_neighbours": 0, "orientation": "outward"}},
 "schedule": {"steps": 2000, "learning_rate": 0.002, "warmup_steps": 20},
 "sampling": {"hits": 300, "queries": 100, "neighbours": 10, "other": 10,
  "random_pairs": 100, "graphs": 2, "order": "buckets"},
 "validation": {"keep_best": true, "target_efficiency": 0.9},
 "stability": {"spike_factor": 3.0, "snapshot_every": 50}}
CONFIG

# run NAME OPTIONS...: train to NAME.safetensors.
run()
{
    name=$1
    shift
    "$train" --config "$out/config.json" --threads 1 \
        --data examples/data/event000000000 \
        --data examples/data/event000000001 \
        --validation examples/data/event000000001 \
        --validate-every 100 --out "$out/$name.safetensors" "$@" \
        >"$out/stdout" 2>"$out/stderr"
}

leftovers()
{
    find "$out" -name 'killed.safetensors.checkpoint.*.tmp' | wc -l
}

# A moment in 0.5 .. 3 times the seconds of a run that ends at its first step, from
# the kernel's generator: on a busy machine training begins late.
moment()
{
    od -An -N2 -tu2 /dev/urandom |
        awk -v s="$seconds" '{ printf "%.4f", s * (0.5 + $1 / 26214) }'
}

# seconds = what a run to NAME with OPTIONS... takes that ends at its first step.
one_step()
{
    begin=$(date +%s%N)
    run "$@" --time-limit 0.000001 || return 1
    seconds=$(echo "$begin $(date +%s%N)" | awk '{ print ($2 - $1) / 1e9 }')
}

run whole || fail 'the training that is not killed'
one_step copy || fail 'the training that ends at its first step'
n=0
left=0
loaded=0
finished=0
while [ "$n" -lt "$kills" ]; do
    resume=
    [ ! -e "$out/killed.safetensors.checkpoint" ] || resume=--resume
    code=0
    # shellcheck disable=SC2086
    run killed --checkpoint-seconds 0 $resume &
    shell=$!
    sleep "$(moment)"
    # The program is the child of the shell that runs the function.
    pid=$(cat /proc/$shell/task/$shell/children 2>/dev/null || true)
    # shellcheck disable=SC2086
    [ -z "$pid" ] || kill -KILL $pid 2>/dev/null || true
    wait $shell 2>/dev/null || code=$?
    n=$((n + 1))
    left=$((left + $(leftovers)))
    case $code in
    137) ;;
    0) finished=$((finished + 1)) ;;
    *) fail "kill $n: the resumed run failed with $code" ;;
    esac
    [ "$code" != 0 ] || rm -f "$out"/killed.safetensors*
    [ -e "$out/killed.safetensors.checkpoint" ] || continue
    cp "$out/killed.safetensors.checkpoint" "$out/copy.safetensors.checkpoint"
    one_step copy --resume ||
        fail "kill $n: the checkpoint does not load"
    loaded=$((loaded + 1))
done
resume=
[ ! -e "$out/killed.safetensors.checkpoint" ] || resume=--resume
# shellcheck disable=SC2086
run killed $resume || fail 'the last run, after all kills'
cmp "$out/whole.safetensors" "$out/killed.safetensors" ||
    fail 'the model of the killed training has other bytes'
[ "$(leftovers)" = 0 ] || fail 'a temporary file was left'
echo "kill: $n kills; $loaded times a checkpoint was there, and it loaded;" \
    "$left temporary files were left and removed; $finished trainings" \
    "finished in between; the model has the bytes of one never killed"
