#!/bin/sh
# One graph on 2 and 4 processes of mpirun, with the programs of folder $1.
set -eu
if ! command -v mpirun >/dev/null 2>&1; then
    echo 'SKIPPED parts over MPI: no mpirun'
    exit 77
fi
if ! ldd "$1/test/parts" | grep -q libmpi; then
    echo 'SKIPPED parts over MPI: built without MPI'
    exit 77
fi
for ranks in 2 4; do
    timeout 120 mpirun --allow-run-as-root --oversubscribe -n $ranks \
        --mca mpi_yield_when_idle 1 "$1/test/parts" \
        examples/models/default.safetensors examples/data/detectors.csv.gz \
        examples/data/event000000001
done
