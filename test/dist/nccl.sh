#!/bin/sh
# The transport over NCCL compiles, wherever the headers of CUDA and NCCL are;
# make CUDA=1 links it, and its suite (dist_nccl) needs a GPU.
set -eu
for place in "${CUDA_HOME:-/usr/local/cuda}/include" /usr/local/include \
    /usr/include; do
    [ ! -e "$place/nccl.h" ] || [ ! -e "$place/cuda_runtime_api.h" ] || break
    place=
done
[ -n "$place" ] || {
    echo 'SKIPPED NCCL: no nccl.h beside cuda_runtime_api.h'
    exit 0
}
for source in cuda/dist/*.c; do
    ${CC:-gcc} -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic \
        -Wstrict-prototypes -Wmissing-prototypes -Werror -fsyntax-only \
        -Iinclude -Isrc -isystem "$place" "$source"
done
echo "NCCL: the transport compiles with the headers of $place"
