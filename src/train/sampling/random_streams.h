/* train/sampling/random_streams.h -- which random numbers a training draws.
 *
 * Every draw is from a Philox stream named by (seed, stream, substream): a
 * checkpoint needs no state of a generator, and a graph is the same on whatever
 * rank it is drawn.
 *
 *   stream   substream                    draws
 *   step     stage + 1                    events of the step, its first graph
 *   step     16 k + stage + 1             graph k > 0 of the step
 *   epoch    8 + stage                    order of the events
 *   event    15                           augmentation of an event that is
 *                                         added
 *
 * The hard negatives of a graph have a seed that the graph draws, and a stream
 * for each query.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_SAMPLING_RANDOM_STREAMS_H
#define ETX_TRAIN_SAMPLING_RANDOM_STREAMS_H

#include "base/random.h"

#define ETX_SUBSTREAM_EPOCH      8
#define ETX_SUBSTREAM_EVENT      15
#define ETX_SUBSTREAMS_PER_GRAPH 16

/* seed of the config, another one after every rollback: the same draws would
 * lead to the same loss. */
static inline uint64_t etx_train_seed(int32_t seed, int64_t n_rollbacks)
{
    return (uint64_t)seed | (uint64_t)n_rollbacks << 32;
}

/* Graph k of a step; k = 0 draws the step's events, too. */
static inline struct etx_random etx_random_of_graph(
    uint64_t seed, int64_t step, int32_t stage, int32_t k)
{
    struct etx_random random;

    etx_random_init(&random, seed, (uint32_t)step,
        (uint32_t)(ETX_SUBSTREAMS_PER_GRAPH * k + stage + 1));
    return random;
}

static inline struct etx_random etx_random_of_epoch(
    uint64_t seed, int64_t epoch, int32_t stage)
{
    struct etx_random random;

    etx_random_init(&random, seed, (uint32_t)epoch,
        (uint32_t)(ETX_SUBSTREAM_EPOCH + stage));
    return random;
}

/* Event number `event`, in the order in which they were added. */
static inline struct etx_random etx_random_of_event(int32_t seed, int64_t event)
{
    struct etx_random random;

    etx_random_init(
        &random, etx_train_seed(seed, 0), (uint32_t)event, ETX_SUBSTREAM_EVENT);
    return random;
}

#endif
