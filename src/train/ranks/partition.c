/* train/ranks/partition.c -- collective operations of the trainers that compute
 * the partitions of every graph together.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/partition.h"

#include "base/check.h"
#include "base/status.h"

#include <string.h>

#define FLOATS_PER_DOUBLE ((int64_t)(sizeof(double) / sizeof(float)))
#define FLOATS_PER_HASH   ((int64_t)(sizeof(uint64_t) / sizeof(float)))

/* n for every partition: [n_parts] in scratch. */
static etx_status repeat(
    int64_t **out, const struct etx_train_partition *partition, int64_t n)
{
    etx_status status;

    ETX_CHECK(etx_arena_alloc(out, partition->arena, partition->n_parts,
        sizeof **out, "values to send"));
    for (int32_t q = 0; q < partition->n_parts; q++)
        (*out)[q] = n;
done:
    return status;
}

static etx_status all_to_all(const struct etx_train_partition *partition,
    float *received, const int64_t *n_received, const float *sent,
    const int64_t *n_sent)
{
    struct etx_callback kept;

    etx_callback_begin(&kept);
    return etx_callback_end(&kept, "swap",
        partition->exchange.swap(
            partition->exchange.user, received, n_received, sent, n_sent));
}

etx_status etx_partition_gather(const struct etx_train_partition *partition,
    float *received, const int64_t *n, const float *mine)
{
    const int64_t own = n[partition->part];
    struct etx_arena *arena = partition->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    int64_t *n_sent;
    float *sent;
    etx_status status;

    ETX_CHECK(repeat(&n_sent, partition, own));
    ETX_SCRATCH(sent, arena, own * partition->n_parts, "values to send");
    for (int32_t q = 0; q < partition->n_parts; q++)
        memcpy(sent + q * own, mine, (size_t)own * sizeof *sent);
    ETX_CHECK(all_to_all(partition, received, n, sent, n_sent));
done:
    etx_arena_reset(arena, mark);
    return status;
}

/* Reduce-scatter: sum [n_slice[part]] of one slice of the values of all. */
static etx_status add_slices(float *sum,
    const struct etx_train_partition *partition, const int64_t *n_slice,
    const float *values)
{
    const int64_t own = n_slice[partition->part];
    const struct etx_arena_mark mark = etx_arena_mark(partition->arena);
    int64_t *n_received;
    float *received;
    etx_status status;

    ETX_CHECK(repeat(&n_received, partition, own));
    ETX_SCRATCH(received, partition->arena, own * partition->n_parts, "slices");
    ETX_CHECK(all_to_all(partition, received, n_received, values, n_slice));
    memset(sum, 0, (size_t)own * sizeof *sum);
    for (int32_t q = 0; q < partition->n_parts; q++)
        for (int64_t v = 0; v < own; v++)
            sum[v] += received[q * own + v];
done:
    etx_arena_reset(partition->arena, mark);
    return status;
}

/* Each partition adds one slice, and the sums are gathered. */
etx_status etx_partition_sum_floats(
    const struct etx_train_partition *partition, float *values, int64_t n)
{
    const int64_t n_parts = partition->n_parts;
    struct etx_arena *arena = partition->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    int64_t *n_slice;
    float *sum;
    etx_status status = ETX_OK;

    if (n_parts == 0)
        return ETX_OK;
    ETX_SCRATCH(n_slice, arena, n_parts, "slices");
    for (int64_t q = 0; q < n_parts; q++)
        n_slice[q] = n * (q + 1) / n_parts - n * q / n_parts;
    ETX_SCRATCH(sum, arena, n_slice[partition->part], "sum of slices");
    ETX_CHECK(add_slices(sum, partition, n_slice, values));
    ETX_CHECK(etx_partition_gather(partition, values, n_slice, sum));
done:
    etx_arena_reset(arena, mark);
    return status;
}

etx_status etx_partition_sum_doubles(
    const struct etx_train_partition *partition, double *values, int64_t n)
{
    const int32_t n_parts = partition->n_parts;
    struct etx_arena *arena = partition->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    int64_t *n_floats;
    float *mine;
    float *all;
    etx_status status = ETX_OK;

    if (n_parts == 0)
        return ETX_OK;
    ETX_CHECK(repeat(&n_floats, partition, n * FLOATS_PER_DOUBLE));
    ETX_CHECK(etx_arena_alloc(&mine, arena, n, sizeof(double), "losses"));
    ETX_CHECK(etx_arena_alloc(
        &all, arena, n * n_parts, sizeof(double), "losses of the parts"));
    memcpy(mine, values, (size_t)n * sizeof(double));
    ETX_CHECK(etx_partition_gather(partition, all, n_floats, mine));
    for (int64_t k = 0; k < n; k++) {
        values[k] = 0.0;
        for (int32_t q = 0; q < n_parts; q++) {
            double term;

            memcpy(&term, all + (q * n + k) * FLOATS_PER_DOUBLE, sizeof term);
            values[k] += term;
        }
    }
done:
    etx_arena_reset(arena, mark);
    return status;
}

etx_status etx_partition_agree(const struct etx_train_partition *partition,
    const struct etx_common *common, int32_t n)
{
    const int32_t n_parts = partition->n_parts;
    struct etx_arena *arena = partition->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const int64_t width = n * FLOATS_PER_HASH;
    float *mine;
    float *all;
    int64_t *n_floats;
    etx_status status;

    ETX_CHECK(repeat(&n_floats, partition, width));
    ETX_SCRATCH(mine, arena, width, "hashes");
    ETX_SCRATCH(all, arena, width * n_parts, "hashes");
    for (int32_t k = 0; k < n; k++)
        memcpy(mine + k * FLOATS_PER_HASH, &common[k].value,
            sizeof common[k].value);
    ETX_CHECK(etx_partition_gather(partition, all, n_floats, mine));
    for (int32_t k = 0; k < n; k++)
        for (int32_t q = 1; q < n_parts; q++)
            if (memcmp(all + k * FLOATS_PER_HASH,
                    all + q * width + k * FLOATS_PER_HASH,
                    sizeof common[k].value) != 0)
                ETX_FAIL(ETX_ERR_FORMAT, "part %d differs from part 0 in %s",
                    (int)q, common[k].what);
done:
    etx_arena_reset(arena, mark);
    return status;
}

etx_status etx_partition_barrier(const struct etx_train_partition *partition)
{
    const struct etx_arena_mark mark = etx_arena_mark(partition->arena);
    float none[1] = {0.0f};
    int64_t *zero;
    etx_status status;

    if (partition->n_parts == 0)
        return ETX_OK;
    ETX_CHECK(repeat(&zero, partition, 0));
    ETX_CHECK(all_to_all(partition, none, zero, none, zero));
done:
    etx_arena_reset(partition->arena, mark);
    return status;
}

void etx_partition_end(
    const struct etx_train_partition *partition, etx_status status)
{
    const etx_part_exchange *exchange = &partition->exchange;

    if (status != ETX_OK && partition->n_parts > 0 && exchange->leave != NULL)
        exchange->leave(exchange->user, status);
}
