#!/bin/sh
# Training on several ranks, as processes of MPI over loopback and as threads:
# the same model on any number of them; ranks that die, hang or are told to stop;
# checkpoints that fail, are damaged, or are of another number of ranks;
# event-parallel inference. $1: the build folder.
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

# The script for SLURM that the page has.
# shellcheck disable=SC2016
sed -n '/^## Under SLURM/,/^## /{/^```sh$/,/^```$/p;}' docs/distributed.md |
    sed '1d;$d' >"$place/job.sh"
grep -q '^srun ' "$place/job.sh" || fail 'no script for SLURM on the page'
sh -n "$place/job.sh" || fail 'the script for SLURM'

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
for share in graphs network moving waiting; do
    grep -q "\"${share}_share\"" "$place/report" || fail "no share: $share"
done
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
grep -q 'goes on from .*damaged.checkpoint.earlier' "$place/stderr" ||
    fail 'no line says that the earlier checkpoint was taken'
echo 'dist: a damaged checkpoint: the earlier one, and the same model'

# Where files cannot be linked the earlier checkpoint is a copy.
cat >"$place/no_link.c" <<'SOURCE'
#include <errno.h>
int link(const char *from, const char *to);
int link(const char *from, const char *to)
{
    (void)from;
    (void)to;
    errno = EPERM;
    return -1;
}
SOURCE
if cc -shared -fPIC -o "$place/no_link.so" "$place/no_link.c" 2>/dev/null &&
    ! ldd "$train" | grep -q 'lib[at]san'; then
    cp "$place/before" "$place/copied.checkpoint"
    LD_PRELOAD=$place/no_link.so threads 2 copied --resume \
        --checkpoint-seconds 1000 || fail 'a file system without links'
    cmp "$place/before" "$place/copied.checkpoint.earlier" ||
        fail 'the earlier checkpoint is no copy'
    cmp "$place/one" "$place/copied" || fail 'without links: another model'
    echo 'dist: without links the earlier checkpoint is a copy'
else
    echo 'SKIPPED dist without links: no cc, or a sanitizer'
fi

# Threads follow the cores that the rank may use, not those of the machine.
if taskset -c "$(taskset -cp $$ | sed 's/.*: //;s/[-,].*//')" true; then
    OMPI_COMM_WORLD_LOCAL_SIZE=7 taskset -c \
        "$(taskset -cp $$ | sed 's/.*: //;s/[-,].*//')" "$train" --ranks 1 \
        --config "$place/short.json" --data examples/data/event000000000 \
        --time-limit 0.000001 --out "$place/core" >"$place/stdout"
    grep -qx '1 ranks, rank 0 has 1 threads' "$place/stdout" ||
        fail 'one core, and not one thread'
    echo 'dist: threads of a rank are those of its cores'
else
    echo 'SKIPPED dist on one core: no taskset'
fi

# Event-parallel inference: every rank its events, the files of one process.
# Who is not asked to share does all, whatever started it.
mkdir "$place/serial" "$place/ranks" "$place/batch"
find_tracks()
{
    folder=$1
    shift
    timeout 120 "$build/examples/etx-find-tracks" --event examples/data \
        --threads 1 --out "$folder" "$@" >"$place/stdout" 2>"$place/stderr"
}
find_tracks "$place/serial"
for rank in 0 1; do
    OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=2 \
        find_tracks "$place/ranks" --share
done
diff -r "$place/serial" "$place/ranks" || fail 'other tracks on two ranks'
[ "$(tail -n 1 "$place/stdout")" = 'rank 1 of 2: 1 of 3 events' ] ||
    fail 'rank 1 of 2 has not one of 3 events'
SLURM_PROCID=0 SLURM_NTASKS=4 find_tracks "$place/batch"
diff -r "$place/serial" "$place/batch" || fail 'events are missing in a batch job'
unset OMPI_COMM_WORLD_RANK PMI_RANK SLURM_PROCID
! find_tracks "$place/batch" --share || fail 'a share of no ranks'
grep -q 'neither mpirun nor srun' "$place/stderr" || fail 'no line about no ranks'
! PMI_RANK=2 PMI_SIZE=2 find_tracks "$place/batch" --share ||
    fail 'rank 2 of 2 has a share'
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
ranks 1 exact --log "$place/exact.log" || fail 'a log'
ranks 2 fast --fast --log "$place/fast.log" || fail 'two processes, fast'
# losses LOG: of the steps, one a line.
losses()
{
    sed -n 's/^{"step".*"loss": \([^,}]*\).*/\1/p' "$1"
}
losses "$place/exact.log" >"$place/exact.losses"
losses "$place/fast.log" | paste "$place/exact.losses" - | awk '
    { d = $1 - $2; if (d < 0) d = -d; if (d > 1e-4 * $1) exit bad = 1; n++ }
    END { exit bad || n != 20 }' || fail 'fast: other losses'
echo 'dist: 1, 2, 4 and 8 processes have the same model'

# Stop after some steps on two ranks, go on with three.
ranks 2 other --time-limit 0.000001 || fail 'a run with a time limit'
stopped=$(sed -n 's/^\([0-9]*\) steps, state.*/\1/p' "$place/stdout")
case $stopped in
[1-9] | 1[0-9]) ;;
*) fail "the time limit stopped at step $stopped of 20" ;;
esac
ranks 3 other --resume || fail 'going on with another number of ranks'
cmp "$place/one" "$place/other" || fail 'going on with 3 ranks: another model'
echo 'dist: begun on 2 processes, ended on 3, the same model'

# The processes that a process started, without the blank that ends the list.
children()
{
    cat "/proc/$1"/task/*/children 2>/dev/null | xargs
}

# start NAME OPTIONS...: a long run of two ranks in the background, once it has
# a checkpoint; $shell, $mpirun, $first and $second are its processes.
start()
{
    length=long
    name=$1
    ranks 2 "$@" --checkpoint-seconds 0 &
    shell=$!
    until [ -e "$place/$name.checkpoint" ]; do
        kill -0 $shell 2>/dev/null || fail "$name: the run ended too early"
        sleep 0.1
    done
    mpirun=$(children "$(children $shell)")
    # shellcheck disable=SC2046
    set -- $(children "$mpirun")
    if [ $# != 2 ]; then
        kill "$mpirun"
        fail "$name: no two ranks: $*"
    fi
    first=$1
    second=$2
    begin=$(date +%s)
}

# lose SIGNAL NAME: a run one rank of which gets the signal; it must end by
# itself, and not well.
lose()
{
    start "$2" --deadline 2
    kill "-$1" "$second"
    ! wait $shell || fail "$1: the run ended well"
    [ $(($(date +%s) - begin)) -lt 30 ] || fail "$1: the run went on"
    while kill -0 "$second" 2>/dev/null; do
        [ $(($(date +%s) - begin)) -lt 30 ] || fail "$1: a rank was left"
        sleep 0.1
    done
}
lose KILL killed
lose STOP hung
grep -q 'rank 0: .*did not arrive within 2000 ms' "$place/stderr" ||
    fail 'no line about the rank that hangs'
echo 'dist: a rank that dies or hangs ends the others'

# stop NAME: the run in the background was told to stop; it does, is no success,
# and its checkpoint is good.
stop()
{
    ! wait $shell || fail "$1: a run that was stopped is a success"
    cp "$place/stderr" "$place/stop.stderr"
    ranks 1 "$1" --resume --time-limit 0.000001 ||
        fail "$1: its checkpoint is not good"
}
start stopped
kill -TERM "$second"
stop stopped
grep -q 'stopped at step .*; go on with --resume' "$place/stop.stderr" ||
    fail 'no line says that the run was stopped'
# Told to stop itself, mpirun may not pass on what ranks say, and kills them after
# a time that it always waits: one second, unless it is told otherwise.
export OMPI_MCA_odls_base_sigkill_timeout=5
start ended
kill -TERM "$mpirun"
stop ended
unset OMPI_MCA_odls_base_sigkill_timeout
echo 'dist: SIGTERM to a rank or to mpirun stops all, with a checkpoint'

# A failure after the signal ends the other rank at once, not at the deadline.
start both --deadline 100
kill -STOP "$first"
kill -TERM "$first" "$second"
mv "$place/both.checkpoint" "$place/both.away"
mkdir "$place/both.checkpoint"
touch "$place/both.checkpoint/file"
kill -CONT "$first"
! wait $shell || fail 'a checkpoint that cannot be written, and a success'
grep -q 'rank 0: checkpoint' "$place/stderr" || fail 'no line about the checkpoint'
[ $(($(date +%s) - begin)) -lt 30 ] || fail 'the other rank waited'
echo 'dist: a failure after SIGTERM ends the others'
