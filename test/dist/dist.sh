#!/bin/sh
# Training on several ranks, as processes of MPI over loopback and as threads:
# the same model on any number of them; ranks that die or hang; checkpoints
# that fail, are damaged, or are of another number of ranks; event-parallel
# inference. $1: the build folder.
set -eu
build=$1
train=$build/examples/etx-train-distributed
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

fail()
{
    echo "dist: $*" >&2
    [ ! -s "$place/stderr" ] || cat "$place/stderr" >&2
    exit 1
}

# Five graphs a step: two ranks have 3 and 2, eight have one or none.
config()
{
    cat <<CONFIG
{"stage": "embedding", "seed": 1,
 "model": {"arch": "mlp", "options": {"hidden": [32], "n_out": 4},
  "node_features": [{"name": "r", "scale": 1000.0},
   {"name": "cos_phi", "scale": 1.0}, {"name": "sin_phi", "scale": 1.0},
   {"name": "z", "scale": 1000.0}],
  "graph": {"radius": 0.5, "max_neighbours": 0, "orientation": "outward"}},
 "schedule": {"steps": $1, "learning_rate": 0.002, "warmup_steps": 5},
 "sampling": {"hits": 300, "queries": 50, "neighbours": 5, "other": 5,
  "random_pairs": 100, "graphs": 5},
 "validation": {"target_efficiency": 0.9}}
CONFIG
}
config 20 >"$place/short.json"
config 1000000 >"$place/long.json"
events="--data examples/data/event000000000 --data examples/data/event000000001
    --validation examples/data/event000000001
    --validation examples/data/event000000000 --threads 1"

# threads N NAME OPTIONS...: N threads train to NAME.
threads()
{
    n=$1
    name=$2
    shift 2
    # shellcheck disable=SC2086
    timeout 120 "$train" --ranks "$n" --config "$place/short.json" $events \
        --out "$place/$name" "$@" >"$place/stdout" 2>"$place/stderr"
}

threads 1 one || fail 'one rank'
# shellcheck disable=SC2086
timeout 120 "$build/examples/etx-train" --config "$place/short.json" $events \
    --out "$place/alone" >/dev/null
cmp "$place/one" "$place/alone" || fail 'one rank differs from etx-train'
threads 4 four --log "$place/log" --scaling-report "$place/report" ||
    fail 'four threads'
cmp "$place/one" "$place/four" || fail 'four threads differ from one'
grep -q '"highest_loss_spread"' "$place/log" || fail 'the log lacks the spread'
grep -q '^ *4 ' "$place/stdout" || fail 'no table of scaling'
threads 2 shards --shard || fail 'events with one rank each'
cmp "$place/one" "$place/shards" || fail 'sharded events change the model'
echo 'dist: 1 and 4 threads, and 2 with shards: the model of etx-train'

# A full disk: the run fails with a line, and the checkpoint stays.
threads 2 full --time-limit 0.000001 || fail 'a run that stops at once'
cp "$place/full.checkpoint" "$place/before"
if (
    ulimit -f 1
    threads 2 full --resume --checkpoint-seconds 0
); then
    fail 'a checkpoint was written on a full disk'
fi
grep -q 'rank 0: checkpoint: .*full.checkpoint' "$place/stderr" ||
    fail 'no line about the full disk'
cmp "$place/before" "$place/full.checkpoint" ||
    fail 'the full disk damaged the checkpoint'
echo 'dist: a full disk is an error and leaves the last checkpoint'

# A damaged checkpoint: all go on from the one before, on other ranks.
threads 1 damaged --checkpoint-seconds 0 --time-limit 0.000001 ||
    fail 'a run that stops at once'
cp "$place/damaged.checkpoint" "$place/damaged.checkpoint.earlier"
head -c 500 "$place/before" >"$place/damaged.checkpoint"
threads 3 damaged --resume || fail 'going on from the earlier checkpoint'
cmp "$place/one" "$place/damaged" ||
    fail 'going on from the earlier checkpoint gives another model'
echo 'dist: a damaged checkpoint: the earlier one, and the same model'

# Event-parallel inference: every rank its events, the files of one process.
mkdir "$place/serial" "$place/ranks"
find_tracks()
{
    timeout 120 "$build/examples/etx-find-tracks" --event examples/data \
        --threads 1 --out "$1" >"$place/stdout"
}
find_tracks "$place/serial"
for rank in 0 1; do
    OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=2 \
        find_tracks "$place/ranks"
done
diff -r "$place/serial" "$place/ranks" || fail 'other tracks on two ranks'
[ "$(wc -l <"$place/stdout")" = 1 ] || fail 'rank 1 of 2 has not one of 3 events'
echo 'dist: tracks found on two ranks are those of one'

if ! command -v mpirun >/dev/null 2>&1 ||
    ! ldd "$train" | grep -q libmpi; then
    echo 'SKIPPED dist over MPI: no mpirun, or built without MPI'
    exit 0
fi

# ranks N NAME OPTIONS...: as processes of MPI.
ranks()
{
    n=$1
    name=$2
    shift 2
    # shellcheck disable=SC2086
    timeout 120 mpirun --allow-run-as-root --oversubscribe \
        --mca btl vader,self --mca mpi_yield_when_idle 1 -n "$n" \
        "$train" --config "$place/$length.json" $events \
        --out "$place/$name" "$@" >"$place/stdout" 2>"$place/stderr"
}
length=short
for n in 1 2 4 8; do
    ranks $n "mpi$n" || fail "$n processes"
    cmp "$place/one" "$place/mpi$n" || fail "$n processes: another model"
done
ranks 2 fast --fast || fail 'two processes, fast'
echo 'dist: 1, 2, 4 and 8 processes have the same model'

# Stop after some steps on two ranks, go on with three.
ranks 2 other --time-limit 0.05 || fail 'a run with a time limit'
ranks 3 other --resume || fail 'going on with another number of ranks'
cmp "$place/one" "$place/other" || fail 'going on with 3 ranks: another model'
echo 'dist: begun on 2 processes, ended on 3, the same model'

# The processes that a process started, without the blank that ends the list.
children()
{
    cat "/proc/$1"/task/*/children 2>/dev/null | xargs
}

# lose SIGNAL NAME: a long run of two ranks, one of which gets the signal; the
# run must end by itself, and not well.
lose()
{
    length=long
    ranks 2 "$2" --checkpoint-seconds 0 --deadline 2 &
    shell=$!
    until [ -e "$place/$2.checkpoint" ]; do
        kill -0 $shell 2>/dev/null || fail "$1: the run ended too early"
        sleep 0.1
    done
    timeout=$(children $shell)
    mpirun=$(children "$timeout")
    # shellcheck disable=SC2046
    set -- "$1" $(children "$mpirun")
    if [ $# != 3 ]; then
        kill "$mpirun"
        fail "$1: no two ranks: $*"
    fi
    kill "-$1" "$3"
    begin=$(date +%s)
    ! wait $shell || fail "$1: the run ended well"
    [ $(($(date +%s) - begin)) -lt 30 ] || fail "$1: the run went on"
    while kill -0 "$3" 2>/dev/null; do
        [ $(($(date +%s) - begin)) -lt 30 ] || fail "$1: a rank was left"
        sleep 0.1
    done
}
lose KILL killed
lose STOP hung
grep -q 'rank 0: .*did not arrive within 2000 ms' "$place/stderr" ||
    fail 'no line about the rank that hangs'
echo 'dist: a rank that dies or hangs ends the others'
