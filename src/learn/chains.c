/* learn/chains.c -- the hits of true tracks, in order.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "learn/chains.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"
#include "data/hit_order.h"

#include <inttypes.h>

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

void etx_true_chains_free(struct etx_true_chains *chains)
{
    etx_free(chains->layer);
    etx_free(chains->begin);
    etx_free(chains->hit);
    etx_free(chains->back);
}

etx_status etx_true_chains_make(struct etx_true_chains *chains,
    const struct etx_completion *table, const struct etx_event *event)
{
    const int64_t n = event->n_hits;
    etx_status status;

    chains->event = event;
    ETX_NEW(chains->layer, n, "layers");
    ETX_NEW(chains->begin, event->n_particles + 1, "hit order");
    ETX_NEW(chains->hit, n, "hit order");
    ETX_NEW(chains->back, n, "hit order");
    etx_completion_layers(chains->layer, table, event);
    ETX_CHECK(etx_order_hits(chains->begin, chains->hit, event->particle_row,
        event->n_particles, event, 0));
    for (int64_t p = 0; p < event->n_particles; p++) {
        const int32_t first = chains->begin[p];
        const int32_t last = chains->begin[p + 1] - 1;

        for (int32_t k = first; k <= last; k++)
            chains->back[k] = chains->hit[last - (k - first)];
    }
done:
    return status;
}
