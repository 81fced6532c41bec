/* learn/chains.c -- the hits of true tracks, in order.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "learn/chains.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"
#include "base/status.h"
#include "stage/helix/layer_table.h"

#include <inttypes.h>
#include <string.h>

etx_status etx_true_chains_check(const struct etx_event *event, int64_t number)
{
    if (event->layer_id == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "completion: event %" PRId64 " has no modules", number);
    if (event->particle_row == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "completion: event %" PRId64 " has no truth", number);
    return ETX_OK;
}

/* Distances as integers of the same order. */
static int64_t distance_bits(const float *at)
{
    const float distance =
        (float)((double)at[0] * (double)at[0] + (double)at[1] * (double)at[1] +
                (double)at[2] * (double)at[2]);
    int32_t bits;

    memcpy(&bits, &distance, sizeof bits);
    return bits;
}

void etx_true_chains_free(struct etx_true_chains *chains)
{
    etx_free(chains->layer);
    etx_free(chains->hit);
    etx_free(chains->back);
}

int64_t etx_true_chain_end(const struct etx_true_chains *chains, int64_t first)
{
    const struct etx_event *const event = chains->event;
    const int32_t row = event->particle_row[chains->hit[first]];
    int64_t end = first;

    while (end < event->n_hits && event->particle_row[chains->hit[end]] == row)
        end++;
    return end;
}

etx_status etx_true_chains_make(struct etx_true_chains *chains,
    const struct etx_completion *table, const struct etx_event *event)
{
    const int64_t n = event->n_hits;
    int64_t *key = NULL;
    etx_status status;

    chains->event = event;
    ETX_NEW(key, n, "hit order");
    ETX_NEW(chains->layer, n, "layers");
    ETX_NEW(chains->hit, n, "hit order");
    ETX_NEW(chains->back, n, "hit order");
    etx_completion_layers(chains->layer, table, event);
    for (int64_t i = 0; i < n; i++)
        key[i] = (int64_t)event->particle_row[i] * (INT64_C(1) << 32) +
                 distance_bits(event->position + 3 * i);
    ETX_CHECK(etx_sort_order(chains->hit, key, n));
    for (int64_t first = 0; first < n;) {
        const int64_t end = etx_true_chain_end(chains, first);

        for (int64_t k = first; k < end; k++)
            chains->back[k] = chains->hit[end - 1 - (k - first)];
        first = end;
    }
done:
    etx_free(key);
    return status;
}
