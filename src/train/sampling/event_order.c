/* train/sampling/event_order.c -- which events a step sees.
 *
 * An epoch's order is a permutation named by seed and epoch, so that no
 * checkpoint needs it. With buckets, events are sorted by size, shuffled among
 * neighbours and dealt to steps, whose order is shuffled in turn: the graphs
 * of one step are alike, and the steps are not sorted.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "base/check.h"

#include <stdlib.h>

#define SUBSTREAM        8 /* of epochs; those of steps are below */
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

/* Every hit has the same chance, so that steps on wedges see full and small
 * events in the proportion of their hits. */
static struct etx_train_event *draw_event(
    const struct etx_train_events *events, struct etx_random *random)
{
    int64_t hit = (int64_t)etx_random_below(random, (uint64_t)events->n_hits);
    int64_t i = 0;

    while (hit >= events->event[i]->n_hits)
        hit -= events->event[i++]->n_hits;
    return events->event[i];
}

int64_t etx_train_steps_per_epoch(const struct etx_trainer *trainer)
{
    const int64_t n_graphs = trainer->config.sampling.n_graphs;
    const int64_t n = (trainer->training.n + n_graphs - 1) / n_graphs;

    return n > 0 ? n : 1;
}

/* Sort by size and shuffle within buckets. */
static etx_status fill_buckets(int32_t *order,
    const struct etx_trainer *trainer, struct etx_random *random)
{
    struct etx_arena *arena = etx_train_host(trainer)->arena;
    const int64_t n = trainer->training.n;
    const int64_t bucket =
        (int64_t)STEPS_PER_BUCKET * trainer->config.sampling.n_graphs;
    struct sized *sized;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&sized, arena, n, sizeof *sized, "event order"));
    for (int64_t i = 0; i < n; i++)
        sized[i] = (struct sized){
            .size = trainer->training.event[i]->n_hits, .event = (int32_t)i};
    qsort(sized, (size_t)n, sizeof *sized, compare_sizes);
    for (int64_t i = 0; i < n; i++)
        order[i] = sized[i].event;
    for (int64_t i = 0; i < n; i += bucket)
        etx_random_shuffle(random, order + i, n - i < bucket ? n - i : bucket);
done:
    return status;
}

/* The events of an epoch in order [n], and in place [n_steps] which batch of
 * them each step sees. */
static etx_status order_epoch(int32_t **order, int32_t **step_order,
    const struct etx_trainer *trainer, int64_t epoch)
{
    struct etx_arena *arena = etx_train_host(trainer)->arena;
    const int64_t n = trainer->training.n;
    const int64_t n_steps = etx_train_steps_per_epoch(trainer);
    const int is_bucketed = trainer->config.sampling.order == ETX_ORDER_BUCKETS;
    struct etx_random random;
    etx_status status;

    etx_random_init(&random, etx_train_seed(trainer), (uint32_t)epoch,
        SUBSTREAM + (uint32_t)trainer->config.stage);
    ETX_CHECK(etx_arena_alloc(order, arena, n, sizeof **order, "event order"));
    ETX_CHECK(etx_arena_alloc(
        step_order, arena, n_steps, sizeof **step_order, "step order"));
    for (int64_t i = 0; i < n; i++)
        (*order)[i] = (int32_t)i;
    for (int64_t i = 0; i < n_steps; i++)
        (*step_order)[i] = (int32_t)i;
    if (is_bucketed) {
        ETX_CHECK(fill_buckets(*order, trainer, &random));
        etx_random_shuffle(&random, *step_order, n_steps);
    } else {
        etx_random_shuffle(&random, *order, n);
    }
done:
    return status;
}

/* The events of step in its epoch; the last step of one may have fewer. */
static etx_status take_from_epoch(struct etx_train_event **event, int32_t *n,
    const struct etx_trainer *trainer, int64_t step)
{
    const int64_t n_graphs = trainer->config.sampling.n_graphs;
    const int64_t n_steps = etx_train_steps_per_epoch(trainer);
    int32_t *order;
    int32_t *step_order;
    etx_status status;

    ETX_CHECK(order_epoch(&order, &step_order, trainer, (step - 1) / n_steps));
    const int64_t first = step_order[(step - 1) % n_steps] * n_graphs;
    *n = 0;
    while (*n < n_graphs && first + *n < trainer->training.n) {
        event[*n] = trainer->training.event[order[first + *n]];
        ++*n;
    }
done:
    return status;
}

etx_status etx_train_draw_events(struct etx_train_event ***event, int32_t *n,
    const struct etx_trainer *trainer, int64_t step, struct etx_random *random)
{
    const int32_t n_graphs = trainer->config.sampling.n_graphs;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(event, etx_train_host(trainer)->arena, n_graphs,
        sizeof **event, "events of a step"));
    if (trainer->config.sampling.order != ETX_ORDER_DRAWN)
        return take_from_epoch(*event, n, trainer, step);
    *n = n_graphs;
    for (int32_t k = 0; k < n_graphs; k++)
        (*event)[k] = draw_event(&trainer->training, random);
done:
    return status;
}
