#!/bin/sh
# Kernels as nvcc compiles them, run by an interpreter of PTX: values and numbers
# of instructions. Needs nvcc and numpy; no GPU.
set -eu
nvcc=${NVCC:-${CUDA_HOME:-/usr/local/cuda}/bin/nvcc}
if ! command -v "$nvcc" >/dev/null 2>&1; then
    echo 'SKIPPED PTX: no nvcc'
    exit 0
fi
if ! python3 -c 'import numpy' 2>/dev/null; then
    echo 'SKIPPED PTX: no numpy'
    exit 0
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for name in connected_components mlp mlp_fused radius_graph segment_reduce; do
    "$nvcc" -ptx -arch=sm_90 -std=c++17 -O3 -fmad=false -I. -Iinclude -Isrc \
        "cuda/op/$name.cu" -o "$out/$name.ptx"
done
ETX_PTX=$out PYTHONDONTWRITEBYTECODE=1 \
    python3 -m unittest discover -s test/cuda/ptx
