/* op/ref/hit_features.c -- what networks read of a hit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "op/shared/hit_features.h"

#define BLOCK 1024 /* hits in a task of a thread */

static etx_status fill_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct etx_hit_features_args *args = argument;

    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        const struct etx_hit_point hit =
            etx_hit_point_at(args->position + 3 * i);
        float *row = args->out + i * args->n_columns;

        for (int32_t k = 0; k < args->n_columns; k++)
            row[k] = etx_hit_feature(args, i, &hit, &args->column[k]);
    }
    return ETX_OK;
}

etx_status etx_ref_hit_features(
    struct etx_stream *stream, const struct etx_hit_features_args *args)
{
    struct etx_hit_features_args job = *args;

    return etx_parallel_ranges(
        stream->pool, args->n_hits, BLOCK, fill_block, &job);
}
