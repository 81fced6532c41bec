/* train/draw_batch.c -- the events of a step, assigned to ranks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/draw_batch.h"

#include "base/check.h"
#include "train/hash.h"
#include "train/sampling/event_order.h"
#include "train/schedule.h"
#include "train/transfer.h"

/* Learning rates that ranks compare: of at most this many steps. */
#define RATES_COMPARED 1000

static uint64_t hash_schedule(uint64_t hash, const struct etx_trainer *trainer)
{
    const struct etx_train_schedule *schedule = &trainer->config.schedule;
    const int64_t n_steps = schedule->n_steps;
    const int64_t every = n_steps / RATES_COMPARED + 1;
    const int64_t epoch =
        etx_train_steps_per_epoch(&trainer->training, &trainer->config);

    for (int64_t step = 1; step <= n_steps; step += every) {
        const float rate = etx_train_learning_rate(schedule, step, epoch);

        hash = etx_hash_bytes(hash, &rate, sizeof rate);
    }
    return hash;
}

static uint64_t hash_events(const struct etx_trainer *trainer)
{
    const struct etx_train_events *const sets[] = {
        &trainer->training, &trainer->validation};
    uint64_t hash = ETX_HASH_START;

    for (int s = 0; s < 2; s++) {
        hash = etx_hash_bytes(hash, &sets[s]->n, sizeof sets[s]->n);
        for (int64_t k = 0; k < sets[s]->n; k++)
            hash = etx_hash_bytes(hash, &sets[s]->event[k]->n_hits,
                sizeof sets[s]->event[k]->n_hits);
    }
    return hash;
}

/* Ranks with other owners would wait for each other's gradients, and with other
 * learning rates diverge. Later steps follow from sums, which are the same. */
static etx_status agree(
    struct etx_trainer *trainer, const struct etx_batch *batch)
{
    const size_t bytes = (size_t)batch->n_graphs * sizeof *batch->owner;
    struct etx_common common[ETX_N_COMMON + 2];
    etx_status status = ETX_OK;

    if (trainer->is_agreed || trainer->team.n_ranks == 1)
        return ETX_OK;
    etx_common_begin(common, trainer->context, trainer->hash,
        "the config or the start model");
    common[ETX_N_COMMON] =
        (struct etx_common){hash_events(trainer), "the events"};
    common[ETX_N_COMMON + 1] = (struct etx_common){
        hash_schedule(
            etx_hash_bytes(ETX_HASH_START, batch->owner, bytes), trainer),
        "owners of graphs or learning rates: C library or processor"};
    ETX_CHECK(etx_team_agree(&trainer->team,
        etx_train_host(trainer->context)->arena, common, ETX_N_COMMON + 2));
    trainer->is_agreed = 1;
done:
    return status;
}

etx_status etx_trainer_draw_batch(
    struct etx_batch *batch, struct etx_trainer *trainer, int64_t step)
{
    const uint64_t seed = etx_trainer_seed(trainer);
    struct etx_arena *arena = etx_train_host(trainer->context)->arena;
    const struct etx_event_order order = {.events = &trainer->training,
        .config = &trainer->config,
        .seed = seed,
        .arena = arena};
    etx_status status;

    *batch = (struct etx_batch){.team = &trainer->team,
        .config = &trainer->config,
        .seed = seed,
        .step = step,
        .random = etx_random_of_graph(seed, step, trainer->config.stage, 0)};
    ETX_CHECK(etx_train_draw_events(
        &batch->event, &batch->n_graphs, &order, step, &batch->random));
    ETX_CHECK(etx_batch_begin(batch, arena));
    ETX_CHECK(agree(trainer, batch));
done:
    return status;
}

void etx_trainer_prefetch(struct etx_trainer *trainer)
{
    struct etx_graph_disk_cache *disk = trainer->graphs.disk;
    struct etx_batch next;
    int32_t n_mine = 0;

    if (disk == NULL || etx_trainer_finished(trainer) ||
        !etx_train_scores_edges(&trainer->config) ||
        etx_trainer_draw_batch(&next, trainer, trainer->progress.step + 1) !=
            ETX_OK)
        return;
    for (int32_t k = 0; k < next.n_graphs; k++)
        if (etx_batch_is_mine(&next, k))
            next.event[n_mine++] = next.event[k];
    etx_graph_disk_cache_prefetch(disk, next.event, n_mine);
}
