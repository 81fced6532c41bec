#!/bin/sh
# The transport over NCCL compiles, wherever the headers of CUDA and NCCL are, and
# leaves the devices of its host alone (nccl_device.c); make CUDA=1 links it, and its suite (dist_nccl) needs a GPU.
set -eu
for folder in "${CUDA_HOME:-/usr/local/cuda}/include" /usr/local/include \
    /usr/include; do
    [ ! -e "$folder/nccl.h" ] || [ ! -e "$folder/cuda_runtime_api.h" ] || break
    folder=
done
[ -n "$folder" ] || {
    echo 'SKIPPED NCCL: no nccl.h next to cuda_runtime_api.h'
    exit 77
}
for source in cuda/dist/*.c; do
    ${CC:-gcc} -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic \
        -Wstrict-prototypes -Wmissing-prototypes -Werror -fsyntax-only \
        -Iinclude -Isrc -isystem "$folder" "$source"
done
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
${CC:-gcc} -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic -Werror \
    -Iinclude -Isrc -Icuda/dist -isystem "$folder" test/dist/nccl_device.c \
    cuda/dist/nccl_device.c -o "$out/nccl_device"
"$out/nccl_device"
echo "NCCL: the transport compiles with the headers of $folder"
