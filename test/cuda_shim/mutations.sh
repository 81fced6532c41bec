#!/bin/sh
# Break the CUDA backend in one way at a time and see a suite of the CPU
# emulation fail: a checker that passes one of these does not check.
#   mutations.sh OUT COMPILE OBJECTS LIBRARIES
# COMPILE, OBJECTS and LIBRARIES make cuda-shim-checked (test.mk). Without arguments
# nothing is built: each way must change its source (make lint).
set -eu
failed=0
if [ $# -gt 0 ]; then
    out=$1
    compile=$2
    objects=$3
    libraries=$4
    mkdir -p "$out/cuda"
fi

# mutate NAME FILE SUITE SAYS PROGRAM: sed PROGRAM on a source of cuda/, and the
# suite must fail with this text; without SAYS, fail.
mutate()
{
    if sed -E "$5" "cuda/$2" | cmp -s - "cuda/$2"; then
        echo "$1: nothing to mutate in cuda/$2"
        failed=1
        return
    fi
    [ -n "${out:-}" ] || return 0
    rm -rf "$out/cuda"
    cp -r cuda "$out/cuda"
    sed -i -E "$5" "$out/cuda/$2"
    # The arguments are meant to split into words.
    # shellcheck disable=SC2086
    $compile -I"$out" -I. -Iinclude -Isrc -c "$out/cuda/$2" -o "$out/mutant.o"
    rest=$(echo "$objects" | tr ' ' '\n' | grep -v "/$2.o\$" | xargs)
    # shellcheck disable=SC2086
    ${CXX:-c++} -no-pie "$out/mutant.o" $rest $libraries -o "$out/mutant"
    if CK_RUN_SUITE=$3 CK_EXCLUDE_TAGS=large ETX_CPU=ref \
        "$out/mutant" >"$out/mutant.txt" 2>&1; then
        echo "$1: $3 passes"
        failed=1
    elif ! grep -q "$4" "$out/mutant.txt"; then
        echo "$1: $3 fails, but not with \"$4\":"
        grep -m 2 cuda_shim: "$out/mutant.txt" || tail -n 3 "$out/mutant.txt"
        failed=1
    else
        echo "$1: found"
    fi
}

mutate 'barrier removed' op/best_first.cu checkop_chains 'a race' \
    '/^    score_block_kernel/,/^}/ { /n_left\[r % 2\] = 0;/,/offer/ s/__syncthreads\(\);// }'
mutate 'barrier of a warp removed' op/mlp_fused.cu cuda_half 'a race' \
    '/gather\(x, net, first\);/,/multiply_input/ s/__syncwarp\(\);//'
mutate 'atomicCAS made plain' op/connected_components.cu checkop_labels 'a race' \
    's/atomicCAS\(&parent\[high\], high, low\) == high/parent[high] == high \&\& ((parent[high] = low) == low)/'
mutate 'atomicAdd made plain' op/best_first.cu checkop_chains 'a race' \
    's/of\(round\)\[atomicAdd\(n, 1\)\] = value;/of(round)[(*n)++] = value;/'
mutate 'pointer of the host' op/edge_features.cu cuda_shim_copies \
    'memory of the host' 's/edge, list\.feature\[k\]/edge, args.feature[k]/'
mutate 'one item too many' op/segment_reduce.cu checkop_segment_reduce \
    'into the zone' 's/t < args\.n_segments \* args\.width;/t <= args.n_segments * args.width;/'
mutate 'flags one element short' op/best_first.cu checkop_chains \
    'a library is told' 's/alloc\(&arrays->flag, n,/alloc(\&arrays->flag, n - (n > 0),/'
mutate 'codes one element short' op/point_tree.cu checkop_radius_graph \
    'a library is told' 's/alloc_all\(n_points, "Morton/alloc_all(n_points - 1, "Morton/'
mutate 'vectors at any address' op/mlp_fused.cu cuda_half '' \
    's/addresses % sizeof\(uint4\) == 0/true/'
mutate 'host reads too early' backend/memory.cu cuda_shim_views '' \
    '/device_to_host/,/^}/ s/ETX_TRY\(wait\(cuda\)\);//'
mutate 'staging written too early' backend/memory.cu cuda_shim_copies '' \
    's/ETX_CUDA\(cudaEventSynchronize.*//'
mutate 'stream of the caller not followed' backend/memory.cu cuda_shim_inputs \
    '' 's/return follow\(cuda, stream\);/return ETX_OK;/'
mutate 'default stream not followed' backend/memory.cu cuda_shim_inputs \
    '' 's/return follow\(cuda, stream\);/return stream != NULL ? follow(cuda, stream) : ETX_OK;/'
mutate 'device not current' backend/memory.cu cuda_shim 'cuda_shim: ' \
    's/cuda->push\(cuda->context\)/CUDA_SUCCESS/'
exit $failed
