#!/bin/sh
# Kernels as nvcc compiles them, run by an interpreter of PTX: values and numbers
# of instructions; with nvdisasm (in PATH, or NVDISASM) also of what ptxas makes. Needs
# nvcc and numpy; no GPU.
set -eu
nvcc=${NVCC:-${CUDA_HOME:-/usr/local/cuda}/bin/nvcc}
if ! command -v "$nvcc" >/dev/null 2>&1; then
    echo 'SKIPPED PTX: no nvcc'
    exit 77
fi
if ! python3 -c 'import numpy' 2>/dev/null; then
    echo 'SKIPPED PTX: no numpy'
    exit 77
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
disassemble=${NVDISASM:-nvdisasm}
if ! command -v "$disassemble" >/dev/null 2>&1; then
    echo 'SKIPPED instructions of ptxas: no nvdisasm'
    disassemble=
fi
# compile KIND ARCH OUT
compile()
{
    "$nvcc" "-$1" "-arch=$2" -lineinfo -std=c++17 -O3 -fmad=false -I. -Iinclude \
        -Isrc "cuda/op/$name.cu" -o "$3"
}
for name in connected_components edge_features mlp mlp_fused radius_graph segment_reduce; do
    compile ptx sm_90 "$out/$name.ptx"
    [ -n "$disassemble" ] || continue
    for arch in sm_90 sm_80; do
        compile cubin $arch "$out/cubin"
        "$disassemble" -g -c "$out/cubin" >"$out/$name.$arch"
    done
done
ETX_PTX=$out PYTHONDONTWRITEBYTECODE=1 \
    python3 -m unittest discover -s test/cuda/ptx
