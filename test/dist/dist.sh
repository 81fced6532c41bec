#!/bin/sh
# Training on several ranks, as processes of MPI over loopback and as threads:
# the same model on any number of them; ranks that die, hang or are told to stop;
# checkpoints that fail, are damaged, or are of another number of ranks;
# event-parallel inference. $1, $2: the folders of the build and of the library.
set -eu
build=$1
lib=$2
train=$build/examples/etx-train
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail()
{
    echo "dist: $*" >&2
    [ ! -s "$tmp/stderr" ] || cat "$tmp/stderr" >&2
    exit 1
}

# The script for SLURM that the page has.
# shellcheck disable=SC2016
sed -n '/^## Under SLURM/,/^## /{/^```sh$/,/^```$/p;}' docs/distributed.md |
    sed '1d;$d' >"$tmp/job.sh"
grep -q '^srun ' "$tmp/job.sh" || fail 'no script for SLURM on the page'
sh -n "$tmp/job.sh" || fail 'the script for SLURM'

# config STEPS NEIGHBOURS: five graphs a step: two ranks have 3 and 2, eight have one
# or none.
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
 "sampling": {"hits": 300, "queries": 50, "neighbours": $2, "other": $2,
  "random_pairs": 100, "graphs": 5},
 "validation": {"target_efficiency": 0.9}}
CONFIG
}
config 20 5 >"$tmp/short.json"
config 1000000 5 >"$tmp/long.json"
# Rounding changes the neighbours that are found, but not random pairs.
config 20 0 >"$tmp/random.json"
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
    timeout 120 "$train" --ranks "$n" --config "$tmp/short.json" $events \
        --out "$tmp/$name" "$@" >"$tmp/stdout" 2>"$tmp/stderr"
}

threads 1 one || fail 'one rank'
# shellcheck disable=SC2086
timeout 120 "$train" --config "$tmp/short.json" $events --out "$tmp/alone" \
    >/dev/null
cmp "$tmp/one" "$tmp/alone" || fail 'one rank differs from none'
# One of several processes of which no other joins would train a model of its own,
# unless it is told to.
for launcher in PMI_SIZE=3 PMIX_RANK=0; do
    # shellcheck disable=SC2086
    ! env $launcher timeout 120 "$train" --config "$tmp/short.json" $events \
        --out "$tmp/x" >"$tmp/stdout" 2>"$tmp/stderr" || fail "$launcher alone"
    grep -q 'one of several processes: .*MPI' "$tmp/stderr" ||
        fail "$launcher: no line about other processes"
    [ ! -e "$tmp/x" ] || fail "$launcher wrote a model"
done
(
    export PMI_SIZE=3
    threads 1 told
) || fail 'one rank among processes'
cmp "$tmp/one" "$tmp/told" || fail 'one rank among processes differs'
threads 4 four --log "$tmp/log" --scaling-report "$tmp/report" ||
    fail 'four threads'
cmp "$tmp/one" "$tmp/four" || fail 'four threads differ from one'
grep -q '"highest_loss_spread"' "$tmp/log" || fail 'the log lacks the spread'
grep -q '^ *4 ' "$tmp/stdout" || fail 'no table of scaling'
for share in graphs network moving waiting; do
    grep -q "\"${share}_share\"" "$tmp/report" || fail "no share: $share"
done
threads 2 shards --shard || fail 'events with one rank each'
cmp "$tmp/one" "$tmp/shards" || fail 'sharded events change the model'
threads 2 balanced --log "$tmp/balanced.log" || fail 'balanced graphs'
threads 2 turn --assign turn --log "$tmp/turn.log" || fail 'graphs in turn'
cmp "$tmp/one" "$tmp/turn" || fail 'graphs in turn change the model'
# values KEY LOG: of the steps, one a line.
values()
{
    sed -n 's/^{"step".*"'"$1"'": \([^,}]*\).*/\1/p' "$2"
}
[ "$(values imbalance "$tmp/balanced.log")" != \
    "$(values imbalance "$tmp/turn.log")" ] || fail 'no graphs in turn'
echo 'dist: 1 and 4 threads, and 2 with shards: the model of one process'

# The one graph of a step: whole it leaves a rank idle, in parts none. The losses
# are the same up to rounding.
sed 's/"steps": [0-9]*/"steps": 3/' examples/configs/gnn.json >"$tmp/gnn.json"
for how in whole phi kd; do
    parts="--graph-parallel $how"
    [ $how != whole ] || parts=
    # shellcheck disable=SC2086
    timeout 120 "$train" --ranks 2 --config "$tmp/gnn.json" --threads 1 $parts \
        --start examples/models/default.safetensors --log "$tmp/$how.log" \
        --data examples/data/event000000000 --out "$tmp/$how" \
        >"$tmp/stdout" 2>"$tmp/stderr" || fail "a graph: $how"
    values imbalance "$tmp/$how.log" >"$tmp/imbalances"
    values loss "$tmp/$how.log" >"$tmp/$how.losses"
    paste "$tmp/imbalances" "$tmp/whole.losses" "$tmp/$how.losses" | awk '
        { d = $2 / $3 - 1; n += $1 == wanted && d * d < 1e-10 }
        END { exit n != 3 }' wanted="$([ $how = whole ] && echo 2 || echo 1)" - ||
        fail "a graph, $how: other losses, or a rank idle"
done
for option in --fast '--assign turn' --shard; do
    # shellcheck disable=SC2086
    ! "$train" --ranks 2 --graph-parallel phi $option --config "$tmp/gnn.json" \
        --data examples/data/event000000000 --out "$tmp/x" 2>"$tmp/stderr" ||
        fail "a graph in parts with $option"
    grep -q -e '--graph-parallel' "$tmp/stderr" || fail "$option: no reason"
done
echo 'dist: a graph in two parts has the losses of the whole'

# A full disk: the run fails with a line, and the checkpoint stays.
threads 2 full --time-limit 0.000001 || fail 'a run that stops immediately'
cp "$tmp/full.checkpoint" "$tmp/before"
if (
    ulimit -f 1
    threads 2 full --resume --checkpoint-seconds 0
); then
    fail 'a checkpoint was written on a full disk'
fi
grep -q 'rank 0: checkpoint: .*full.checkpoint' "$tmp/stderr" ||
    fail 'no line about the full disk'
cmp "$tmp/before" "$tmp/full.checkpoint" ||
    fail 'the full disk damaged the checkpoint'
echo 'dist: a full disk is an error and leaves the last checkpoint'

# A damaged checkpoint: all go on from the one before, on other ranks.
threads 1 damaged --checkpoint-seconds 0 --time-limit 0.000001 ||
    fail 'a run that stops immediately'
cp "$tmp/damaged.checkpoint" "$tmp/damaged.checkpoint.earlier"
head -c 500 "$tmp/before" >"$tmp/damaged.checkpoint"
threads 3 damaged --resume || fail 'going on from the earlier checkpoint'
cmp "$tmp/one" "$tmp/damaged" ||
    fail 'going on from the earlier checkpoint gives another model'
grep -q 'goes on from .*damaged.checkpoint.earlier' "$tmp/stderr" ||
    fail 'no line says that the earlier checkpoint was taken'
echo 'dist: a damaged checkpoint: the earlier one, and the same model'

# Where files cannot be linked the earlier checkpoint is a copy.
cat >"$tmp/no_link.c" <<'SOURCE'
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
if cc -shared -fPIC -o "$tmp/no_link.so" "$tmp/no_link.c" 2>/dev/null &&
    ! ldd "$train" | grep -q 'lib[at]san'; then
    cp "$tmp/before" "$tmp/copied.checkpoint"
    LD_PRELOAD=$tmp/no_link.so threads 2 copied --resume \
        --checkpoint-seconds 1000 || fail 'a file system without links'
    cmp "$tmp/before" "$tmp/copied.checkpoint.earlier" ||
        fail 'the earlier checkpoint is no copy'
    cmp "$tmp/one" "$tmp/copied" || fail 'without links: another model'
    echo 'dist: without links the earlier checkpoint is a copy'
else
    echo 'SKIPPED dist without links: no cc, or a sanitizer'
fi

# A device for each rank, over the emulations of CUDA and NCCL: one, two and
# four devices, and two that end early and go on as four.
if [ -e "$build/test/device/libexatrkx_dist.so.0" ]; then
    config 3 5 >"$tmp/devices.json"
    devices()
    {
        n=$1
        list=$2
        name=$3
        shift 3
        LD_LIBRARY_PATH=$build/test/device timeout 300 "$train" --ranks "$n" \
            --device "$list" --config "$tmp/devices.json" --threads 1 \
            --data examples/data/event000000000 \
            --data examples/data/event000000001 --out "$tmp/$name" "$@" \
            >"$tmp/stdout" 2>"$tmp/stderr" || fail "$n ranks on $list"
    }
    devices 1 cuda device1
    devices 2 cuda:0,1 device2
    cmp "$tmp/device1" "$tmp/device2" || fail 'two devices differ from one'
    devices 4 cuda:0,1,2,3 device4
    cmp "$tmp/device1" "$tmp/device4" || fail 'four devices differ from one'
    devices 2 cuda:0,1 resumed --time-limit 0.000001
    devices 4 cuda:3,2,1,0 resumed --resume
    cmp "$tmp/device1" "$tmp/resumed" || fail 'two devices, then four: differ'
    echo 'dist: 1, 2 and 4 devices, and 2 that go on as 4: the same model'
else
    echo 'SKIPPED dist on devices: no C++ compiler, or not x86-64'
fi

# Threads follow the cores of the rank, not of the machine.
if taskset -c "$(taskset -cp $$ | sed 's/.*: //;s/[-,].*//')" true; then
    OMPI_COMM_WORLD_LOCAL_SIZE=7 taskset -c \
        "$(taskset -cp $$ | sed 's/.*: //;s/[-,].*//')" "$train" --ranks 1 \
        --config "$tmp/short.json" --data examples/data/event000000000 \
        --time-limit 0.000001 --out "$tmp/core" >"$tmp/stdout"
    grep -qx 'ranks: 1, threads of rank 0: 1' "$tmp/stdout" ||
        fail 'one core, and not one thread'
    echo 'dist: a rank has a thread per core of its own'
else
    echo 'SKIPPED dist on one core: no taskset'
fi

# Event-parallel inference: every rank its events, the files of one process.
# A process without --share does all, whatever started it.
mkdir "$tmp/serial" "$tmp/ranks" "$tmp/batch"
find_tracks()
{
    folder=$1
    shift
    timeout 120 "$build/examples/etx-find-tracks" --event examples/data \
        --threads 1 --out "$folder" "$@" >"$tmp/stdout" 2>"$tmp/stderr"
}
find_tracks "$tmp/serial"
for rank in 0 1; do
    OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=2 \
        find_tracks "$tmp/ranks" --share
done
diff -r "$tmp/serial" "$tmp/ranks" || fail 'other tracks on two ranks'
[ "$(tail -n 1 "$tmp/stdout")" = 'rank 1 of 2: 1 of 3 events' ] ||
    fail 'rank 1 of 2 has not one of 3 events'
SLURM_PROCID=0 SLURM_NTASKS=4 find_tracks "$tmp/batch"
diff -r "$tmp/serial" "$tmp/batch" || fail 'events are missing in a batch job'
unset OMPI_COMM_WORLD_RANK PMI_RANK SLURM_PROCID
! find_tracks "$tmp/batch" --share || fail 'a share of no ranks'
grep -q 'neither mpirun nor srun' "$tmp/stderr" || fail 'no line about no ranks'
! PMI_RANK=2 PMI_SIZE=2 find_tracks "$tmp/batch" --share ||
    fail 'rank 2 of 2 has a share'
echo 'dist: two ranks find the tracks of one'

# joins_none HOW TRAIN LAUNCHER...: processes that do not join are refused.
joins_none()
{
    how=$1
    program=$2
    shift 2
    # shellcheck disable=SC2086
    ! timeout 120 "$@" "$program" --config "$tmp/short.json" $events \
        --out "$tmp/x" >"$tmp/stdout" 2>"$tmp/stderr" || fail "$how under $1"
    grep -q 'one of several processes: .*MPI' "$tmp/stdout" "$tmp/stderr" ||
        fail "$how under $1: no line about other processes"
    [ ! -e "$tmp/x" ] || fail "$how under $1: a model"
    echo "dist: $how is refused under $1"
}
# Whether srun reaches nodes.
has_nodes=
! timeout 30 srun -O -n 2 true >/dev/null 2>&1 || has_nodes=yes
# Without MPI, as the archive is.
objects=
for name in etx-train cores energy field_map json program scaling_report svg table \
    training training_log; do
    objects="$objects $build/obj/examples/$name.o"
done
# shellcheck disable=SC2086
${CC:-gcc} $objects "$lib/libexatrkx_dist.a" -L"$lib" -lexatrkx -lz -lm -lpthread \
    -Wl,-rpath,"$(cd "$lib" && pwd)" -o "$tmp/etx-train"
for launcher in mpirun.openmpi mpirun.mpich srun; do
    if ! command -v $launcher >/dev/null 2>&1; then
        echo "SKIPPED dist under $launcher: no $launcher"
        continue
    fi
    if [ $launcher = srun ] && [ -z "$has_nodes" ]; then
        echo 'SKIPPED dist under srun: no nodes of Slurm'
        continue
    fi
    other=libmpich
    [ $launcher = mpirun.mpich ] || other='libmpi[.]so'
    set -- $launcher -n 2
    [ $launcher != mpirun.openmpi ] ||
        set -- "$@" --allow-run-as-root --oversubscribe
    [ $launcher != srun ] || set -- "$@" --overcommit
    joins_none 'a build without MPI' "$tmp/etx-train" "$@"
    [ $launcher = srun ] || ldd "$train" | grep -q "$other" ||
        joins_none 'a build for another MPI' "$train" "$@"
done

if ! command -v mpirun >/dev/null 2>&1 ||
    ! ldd "$train" | grep -q libmpi; then
    echo 'SKIPPED dist over MPI: no mpirun, or built without MPI'
    exit 0
fi

open_mpi='--allow-run-as-root --oversubscribe --mca btl vader,self
    --mca mpi_yield_when_idle 1'
case $(mpirun --version) in *'Open MPI'*) ;; *) open_mpi= ;; esac
# ranks N NAME OPTIONS...: as processes of MPI.
ranks()
{
    n=$1
    name=$2
    shift 2
    # shellcheck disable=SC2086
    timeout 120 mpirun $open_mpi -n "$n" "$train" --config "$tmp/$length.json" $events \
        --out "$tmp/$name" "$@" >"$tmp/stdout" 2>"$tmp/stderr"
}
length=short
for n in 1 2 4 8; do
    ranks $n "mpi$n" || fail "$n processes"
    cmp "$tmp/one" "$tmp/mpi$n" || fail "$n processes: another model"
done
length=random
ranks 1 exact --log "$tmp/exact.log" || fail 'a log'
ranks 2 fast --fast --log "$tmp/fast.log" || fail 'two processes, fast'
values loss "$tmp/exact.log" >"$tmp/exact.losses"
values loss "$tmp/fast.log" | paste "$tmp/exact.losses" - | awk '
    { d = $1 - $2; if (d < 0) d = -d; if (d > 1e-6 * $1) exit bad = 1; n++ }
    END { exit bad || n != 20 }' || fail 'fast: other losses'
length=short
echo 'dist: 1, 2, 4 and 8 processes have the same model'

# Under srun each way in which processes can learn of one another: together they
# train the model of one, or none; at least one way is that of this MPI.
if [ -n "$has_nodes" ]; then
    joined=
    for way in pmix pmi2 none; do
        rm -f "$tmp/x"
        # shellcheck disable=SC2086
        if timeout 120 srun --mpi=$way --overcommit -n 2 "$train" \
            --config "$tmp/short.json" $events --out "$tmp/x" \
            >"$tmp/stdout" 2>"$tmp/stderr"; then
            cmp "$tmp/one" "$tmp/x" || fail "srun --mpi=$way: another model"
            joined="$joined $way"
        elif [ -e "$tmp/x" ]; then
            fail "srun --mpi=$way failed and wrote a model"
        fi
    done
    [ -n "$joined" ] || fail 'srun: no way in which processes join'
    echo "dist: two processes of srun have the same model:$joined"
fi

# unlike TEXT OPTIONS...: a second process with these options besides is refused.
unlike()
{
    text=$1
    shift
    # shellcheck disable=SC2086
    ! timeout 120 mpirun $open_mpi -n 1 "$train" --config "$tmp/short.json" \
        $events --out "$tmp/unlike" : -n 1 env ETX_CPU="$cpu" "$train" \
        --config "$tmp/short.json" $events --out "$tmp/unlike" "$@" \
        >"$tmp/stdout" 2>"$tmp/stderr" || fail "unlike: $*"
    grep -q "$text" "$tmp/stderr" || fail "unlike: $*: no line \"$text\""
    [ ! -e "$tmp/unlike" ] || fail "unlike: $*: a model"
}
cpu=
unlike 'the config or the start model' --config "$tmp/random.json"
unlike 'the ranks differ: --data' --data examples/data/event000000000
unlike 'the ranks differ: --shard, ' --shard
if grep -q avx2 /proc/cpuinfo; then
    cpu=ref
    unlike 'instruction set'
fi
echo 'dist: processes that are not alike are refused'
if [ -z "$open_mpi" ]; then
    echo 'SKIPPED dist of ranks that end: not Open MPI'
    exit 0
fi

# Stop after some steps on two ranks, go on with three.
ranks 2 other --time-limit 0.000001 || fail 'a run with a time limit'
stopped=$(sed -n 's/^\([0-9]*\) steps, state.*/\1/p' "$tmp/stdout")
case $stopped in
[1-9] | 1[0-9]) ;;
*) fail "the time limit stopped at step $stopped of 20" ;;
esac
ranks 3 other --resume || fail 'going on with another number of ranks'
cmp "$tmp/one" "$tmp/other" || fail 'going on with 3 ranks: another model'
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
    until [ -e "$tmp/$name.checkpoint" ]; do
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
grep -q 'rank 0: .*did not arrive within 2000 ms' "$tmp/stderr" ||
    fail 'no line about the rank that hangs'
echo 'dist: a rank that dies or hangs ends the others'

# stop NAME: the run in the background was told to stop; it does, is no success,
# and its checkpoint is good.
stop()
{
    ! wait $shell || fail "$1: a run that was stopped is a success"
    cp "$tmp/stderr" "$tmp/stop.stderr"
    ranks 1 "$1" --resume --time-limit 0.000001 ||
        fail "$1: its checkpoint is not good"
}
start stopped
kill -TERM "$second"
stop stopped
grep -q 'stopped at step .*; go on with --resume' "$tmp/stop.stderr" ||
    fail 'no line says that the run was stopped'
# Told to stop itself, mpirun may not pass on what ranks say, and kills them after
# a time that it always waits: one second, unless it is told otherwise.
export OMPI_MCA_odls_base_sigkill_timeout=5
start ended
kill -TERM "$mpirun"
stop ended
unset OMPI_MCA_odls_base_sigkill_timeout
echo 'dist: SIGTERM to a rank or to mpirun stops all, with a checkpoint'

# A failure after the signal ends the other rank immediately, not at the deadline.
start both --deadline 100
kill -STOP "$first"
kill -TERM "$first" "$second"
mv "$tmp/both.checkpoint" "$tmp/both.away"
mkdir "$tmp/both.checkpoint"
touch "$tmp/both.checkpoint/file"
kill -CONT "$first"
! wait $shell || fail 'a checkpoint that cannot be written, and a success'
grep -q 'rank 0: checkpoint' "$tmp/stderr" || fail 'no line about the checkpoint'
[ $(($(date +%s) - begin)) -lt 30 ] || fail 'the other rank waited'
echo 'dist: a failure after SIGTERM ends the others'
