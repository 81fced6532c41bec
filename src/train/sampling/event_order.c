/* train/sampling/event_order.c -- which events a step sees.
 *
 * With buckets, events are sorted by size, shuffled among neighbours and
 * assigned to steps, whose order is shuffled in turn: the graphs of one step
 * have similar sizes, and the steps are not sorted.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/sampling/event_order.h"

#include "base/check.h"
#include "train/sampling/random_streams.h"

#include <stdlib.h>

#define STEPS_PER_BUCKET 4

/* An event and its number of hits. */
struct sized {
    int64_t size;
    int32_t event;
};

static int compare_sizes(const void *left, const void *right)
{
    const struct sized *a = left;
    const struct sized *b = right;

    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return a->event < b->event ? -1 : a->event > b->event;
}

/* Every hit has the same chance, so that steps on sectors see large and small
 * events in proportion to their hits. */
static struct etx_train_event *draw_event(
    const struct etx_train_events *events, struct etx_random *random)
{
    int64_t hit = (int64_t)etx_random_below(random, (uint64_t)events->n_hits);
    int64_t i = 0;

    while (hit >= events->event[i]->n_hits)
        hit -= events->event[i++]->n_hits;
    return events->event[i];
}

int64_t etx_train_steps_per_epoch(const struct etx_train_events *events,
    const struct etx_train_config *config)
{
    const int64_t n_graphs = config->sampling.n_graphs;
    const int64_t n = (events->n + n_graphs - 1) / n_graphs;

    return n > 0 ? n : 1;
}

/* Sort by size and shuffle within buckets. */
static etx_status fill_buckets(int32_t *permutation,
    const struct etx_event_order *order, struct etx_random *random)
{
    const int64_t n = order->events->n;
    const int64_t bucket =
        (int64_t)STEPS_PER_BUCKET * order->config->sampling.n_graphs;
    struct sized *sized;
    etx_status status;

    ETX_SCRATCH(sized, order->arena, n, "event order");
    for (int64_t i = 0; i < n; i++)
        sized[i] = (struct sized){
            .size = order->events->event[i]->n_hits, .event = (int32_t)i};
    qsort(sized, (size_t)n, sizeof *sized, compare_sizes);
    for (int64_t i = 0; i < n; i++)
        permutation[i] = sized[i].event;
    for (int64_t i = 0; i < n; i += bucket)
        etx_random_shuffle(
            random, permutation + i, n - i < bucket ? n - i : bucket);
done:
    return status;
}

static etx_status alloc_identity(
    int32_t **out, struct etx_arena *arena, int64_t n, const char *what)
{
    etx_status status;

    ETX_CHECK(etx_arena_alloc(out, arena, n, sizeof **out, what));
    for (int64_t i = 0; i < n; i++)
        (*out)[i] = (int32_t)i;
done:
    return status;
}

/* The events of an epoch, permutation [n], and which batch of them each step
 * sees, batch [n_steps]. */
static etx_status order_epoch(int32_t **permutation, int32_t **batch,
    const struct etx_event_order *order, int64_t epoch, int64_t n_steps)
{
    const int64_t n = order->events->n;
    struct etx_random random =
        etx_random_of_epoch(order->seed, epoch, order->config->stage);
    etx_status status;

    ETX_CHECK(alloc_identity(permutation, order->arena, n, "event order"));
    ETX_CHECK(alloc_identity(batch, order->arena, n_steps, "step order"));
    if (order->config->sampling.order == ETX_ORDER_BUCKETS) {
        ETX_CHECK(fill_buckets(*permutation, order, &random));
        etx_random_shuffle(&random, *batch, n_steps);
    } else {
        etx_random_shuffle(&random, *permutation, n);
    }
done:
    return status;
}

/* The events of step in its epoch; the last step of one may have fewer. */
static etx_status select_from_epoch(struct etx_train_event **event, int32_t *n,
    const struct etx_event_order *order, int64_t step)
{
    const struct etx_train_events *events = order->events;
    const int64_t n_graphs = order->config->sampling.n_graphs;
    const int64_t n_steps = etx_train_steps_per_epoch(events, order->config);
    int32_t *permutation;
    int32_t *batch;
    etx_status status;

    ETX_CHECK(order_epoch(
        &permutation, &batch, order, (step - 1) / n_steps, n_steps));
    const int64_t first = batch[(step - 1) % n_steps] * n_graphs;
    *n = 0;
    while (*n < n_graphs && first + *n < events->n) {
        event[*n] = events->event[permutation[first + *n]];
        ++*n;
    }
done:
    return status;
}

etx_status etx_train_draw_events(struct etx_train_event ***event, int32_t *n,
    const struct etx_event_order *order, int64_t step,
    struct etx_random *random)
{
    const int32_t n_graphs = order->config->sampling.n_graphs;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(
        event, order->arena, n_graphs, sizeof **event, "events of a step"));
    switch ((enum etx_order)order->config->sampling.order) {
    case ETX_ORDER_DRAWN:
        *n = n_graphs;
        for (int32_t k = 0; k < n_graphs; k++)
            (*event)[k] = draw_event(order->events, random);
        break;
    case ETX_ORDER_EPOCHS:
    case ETX_ORDER_BUCKETS:
        status = select_from_epoch(*event, n, order, step);
        break;
    }
done:
    return status;
}
