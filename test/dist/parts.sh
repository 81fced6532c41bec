#!/bin/sh
# One graph on 2 and 4 processes of mpirun, and of srun where that reaches nodes, with
# the programs of folder $1.
set -eu
if ! command -v mpirun >/dev/null 2>&1; then
    echo 'SKIPPED parts over MPI: no mpirun'
    exit 77
fi
if ! ldd "$1/test/parts" | grep -q libmpi; then
    echo 'SKIPPED parts over MPI: built without MPI'
    exit 77
fi
# parts LAUNCHER...
parts()
{
    timeout 120 "$@" "$build/test/parts" examples/models/default.safetensors \
        examples/data/detectors.csv.gz examples/data/event000000001
}
build=$1
for ranks in 2 4; do
    parts mpirun --allow-run-as-root --oversubscribe -n $ranks \
        --mca mpi_yield_when_idle 1
done
if timeout 30 srun --mpi=pmix --overcommit -n 2 true >/dev/null 2>&1; then
    parts srun --mpi=pmix --overcommit -n 2
else
    echo 'SKIPPED parts under srun: no nodes of Slurm with PMIx'
fi
