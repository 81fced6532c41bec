#!/bin/sh
# What goes wrong between two processes of mpirun, with the program in $1/test.
set -eu
if ! command -v mpirun >/dev/null 2>&1; then
    echo 'SKIPPED faults over MPI: no mpirun'
    exit 77
fi
if [ ! -x "$1/test/mpi-faults" ]; then
    echo 'SKIPPED faults over MPI: built without MPI'
    exit 77
fi
for fault in late close level large; do
    timeout 60 mpirun --allow-run-as-root --oversubscribe -n 2 \
        --mca mpi_yield_when_idle 1 "$1/test/mpi-faults" $fault
done
