/* op/simd/kernels/edge_features.c -- geometry of edges, a block at a time.
 *
 * A feature of a block of edges is a loop over arrays that stay in the first
 * level cache (float32_edges.c). The reference serves blocks with coordinates
 * beyond any detector, and the features that have no vector version.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/operators.h"

#include "op/ref/ref.h"
#include "op/simd/edge_block.h"

#include <math.h>

#define BLOCK  ETX_EDGE_BLOCK
#define PASSES 4 /* blocks in a task of a thread */

/* Edges first .. first + n - 1; what lies beyond n repeats the last one.
 * Returns the largest magnitude of a coordinate. */
static float read_ends(struct etx_edge_block *block,
    const struct etx_edge_features_args *args, int64_t first, int64_t n)
{
    float max = 0.0f;

    for (int64_t t = 0; t < BLOCK; t++) {
        const int64_t e = first + (t < n ? t : n - 1);
        const float *from = args->position + 3 * (int64_t)args->src[e];
        const float *to = args->position + 3 * (int64_t)args->dst[e];
        block->x_src[t] = from[0];
        block->y_src[t] = from[1];
        block->z_src[t] = from[2];
        block->x_dst[t] = to[0];
        block->y_dst[t] = to[1];
        block->z_dst[t] = to[2];
        block->score[t] = args->score != NULL ? args->score[e] : 0.5f;
    }
#pragma omp simd reduction(max : max)
    for (int64_t t = 0; t < BLOCK; t++) {
        const double x = (double)block->x_src[t];
        const double y = (double)block->y_src[t];
        const double u = (double)block->x_dst[t];
        const double v = (double)block->y_dst[t];
        const float r = (float)__builtin_sqrt(x * x + y * y);
        const float q = (float)__builtin_sqrt(u * u + v * v);
        const float z = fabsf(block->z_src[t]);
        const float w = fabsf(block->z_dst[t]);
        const float radius = r > q ? r : q;
        const float height = z > w ? z : w;
        const float larger = radius > height ? radius : height;
        block->r_src[t] = r;
        block->r_dst[t] = q;
        max = max > larger ? max : larger;
    }
    return max;
}

/* Column k of n rows of out. */
static void write_column(const struct etx_edge_features_args *args, int32_t k,
    const float *value, int64_t first, int64_t n)
{
    const int32_t width = args->n_features;
    float *out = args->out + first * width + k;

    for (int64_t t = 0; t < n; t++)
        /* cppcheck-suppress uninitvar */
        out[t * width] = value[t];
}

/* Features k .. k + n_features - 1 of edges first .. to out [n, n_features]. */
static void run_reference(float *out, const struct etx_edge_features_args *args,
    int32_t k, int32_t n_features, int64_t first, int64_t n)
{
    struct etx_edge_features_args some = *args;

    some.n_edges = n;
    some.n_features = n_features;
    some.feature += k;
    some.scale += k;
    some.src += first;
    some.dst += first;
    some.score = args->score != NULL ? args->score + first : NULL;
    some.votes = args->votes != NULL ? args->votes + first : NULL;
    some.own = args->own != NULL ? args->own + first * args->n_own : NULL;
    some.out = out;
    (void)etx_ref_edge_features(NULL, &some);
}

static void run_pass(
    const struct etx_edge_features_args *args, int64_t first, int64_t n)
{
    struct etx_edge_block block;
    float value[BLOCK];

    if (!(read_ends(&block, args, first, n) <= ETX_EDGE_MAX_COORDINATE)) {
        run_reference(args->out + first * args->n_features, args, 0,
            args->n_features, first, n);
        return;
    }
    for (int32_t k = 0; k < args->n_features; k++) {
        const float factor = 1.0f / args->scale[k];

        if (ETX_ISA_NAME(float32_edge_feature)(value, &block, args->feature[k]))
            for (int64_t t = 0; t < BLOCK; t++)
                value[t] *= factor;
        else
            run_reference(value, args, k, 1, first, n);
        write_column(args, k, value, first, n);
    }
}

static etx_status run_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct etx_edge_features_args *args = argument;

    (void)worker;
    for (int64_t first = begin; first < end; first += BLOCK)
        run_pass(args, first, end - first < BLOCK ? end - first : BLOCK);
    return ETX_OK;
}

etx_status ETX_ISA_NAME(edge_features)(
    struct etx_stream *stream, const struct etx_edge_features_args *args)
{
    const int64_t block = BLOCK * PASSES;
    struct etx_edge_features_args job = *args;

    return etx_parallel_ranges(
        stream->pool, args->n_edges, block, run_block, &job);
}
