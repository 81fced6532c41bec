/* train/sampling/embedding_pairs.c -- the pairs of hits that a step of metric
 * learning sees.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/sampling/embedding_pairs.h"

#include "base/check.h"
#include "train/sampling/hard_negatives.h"

static void add_pair(struct etx_embedding_pairs *pairs, int32_t a, int32_t b,
    int target, float weight)
{
    pairs->a[pairs->n] = a;
    pairs->b[pairs->n] = b;
    pairs->target[pairs->n] = (uint8_t)target;
    pairs->weight[pairs->n] = weight;
    pairs->n++;
    if (target) {
        pairs->n_positive++;
        pairs->positive_weight += (double)weight;
    } else {
        pairs->n_negative++;
    }
}

static void add_true_pair(struct etx_embedding_pairs *pairs,
    const struct etx_pair_source *source, int32_t a, int32_t b)
{
    const int32_t *row = source->sector->row;

    add_pair(pairs, a, b, 1, etx_truth_weight(source->truth, row[a], row[b]));
}

static void add_true_pairs(
    struct etx_embedding_pairs *pairs, const struct etx_pair_source *source)
{
    const struct etx_truth *truth = source->truth;
    const struct etx_sector *sector = source->sector;

    for (int32_t k = 0; k < sector->n_hits; k++) {
        const int32_t row = sector->row[k];

        for (int64_t p = truth->offset[row]; p < truth->offset[row + 1]; p++)
            if (sector->local[truth->partner[p]] >= 0)
                add_true_pair(
                    pairs, source, k, sector->local[truth->partner[p]]);
    }
}

/* A pair of the search or a random one. */
static void add_found_pair(struct etx_embedding_pairs *pairs,
    const struct etx_pair_source *source, int32_t a, int32_t b)
{
    const struct etx_train_config *config = source->config;

    if (a == b)
        return;
    switch ((enum etx_pair)etx_truth_pair(
        source->truth, source->sector->row[a], source->sector->row[b])) {
    case ETX_PAIR_FALSE:
        add_pair(pairs, a, b, 0, 1.0f);
        break;
    case ETX_PAIR_SAME:
        if (config->truth.same_particle != ETX_SAME_PARTICLE_IGNORE)
            add_pair(pairs, a, b,
                config->truth.same_particle == ETX_SAME_PARTICLE_TRUE, 1.0f);
        break;
    case ETX_PAIR_LOW_PT:
    case ETX_PAIR_SIGNAL:
        if (config->sampling.count_true_twice)
            add_true_pair(pairs, source, a, b);
        break;
    }
}

static int64_t count_true_pairs(const struct etx_pair_source *source)
{
    const struct etx_truth *truth = source->truth;
    int64_t n = 0;

    for (int64_t k = 0; k < source->sector->n_hits; k++) {
        const int32_t row = source->sector->row[k];

        n += truth->offset[row + 1] - truth->offset[row];
    }
    return n;
}

static etx_status alloc_pairs(struct etx_embedding_pairs *pairs,
    struct etx_arena *arena, int64_t capacity)
{
    etx_status status;

    ETX_SCRATCH(pairs->a, arena, capacity, "pairs");
    ETX_SCRATCH(pairs->b, arena, capacity, "pairs");
    ETX_SCRATCH(pairs->target, arena, capacity, "pairs");
    ETX_SCRATCH(pairs->weight, arena, capacity, "pairs");
done:
    return status;
}

/* ------------------------------------------------------------- queries -- */

/* Whether hit `row` of the event may be a query. */
static int may_query(const struct etx_truth *truth, int32_t row, int32_t from)
{
    switch ((enum etx_query)from) {
    case ETX_QUERY_ALL:
        break;
    case ETX_QUERY_NO_NOISE:
        return truth->particle[row] >= 0;
    case ETX_QUERY_SIGNAL:
        return truth->is_signal[row];
    }
    return 1;
}

/* The hits of the sample that may be queries. */
static etx_status list_candidates(
    int32_t **candidate, int64_t *n, const struct etx_pair_source *source)
{
    const struct etx_sector *sector = source->sector;
    etx_status status;

    *n = 0;
    ETX_CHECK(etx_arena_alloc(candidate, source->stream->arena, sector->n_hits,
        sizeof **candidate, "queries"));
    for (int32_t k = 0; k < sector->n_hits; k++)
        if (may_query(source->truth, sector->row[k],
                source->config->sampling.queries_from))
            (*candidate)[(*n)++] = k;
done:
    return status;
}

/* Hits whose neighbourhood this step searches. */
static etx_status draw_queries(int32_t **query, int64_t *n_queries,
    const struct etx_pair_source *source, struct etx_random *random)
{
    const int64_t wanted = source->config->sampling.n_queries;
    int32_t *candidate;
    int64_t n;
    etx_status status;

    ETX_CHECK(list_candidates(&candidate, &n, source));
    *n_queries = wanted < n ? wanted : n;
    ETX_CHECK(etx_arena_alloc(
        query, source->stream->arena, *n_queries, sizeof **query, "queries"));
    for (int64_t q = 0; q < *n_queries; q++)
        (*query)[q] = wanted < n
                          ? candidate[etx_random_below(random, (uint64_t)n)]
                          : candidate[q];
done:
    return status;
}

/* The pairs a, b [*n] of the hits near the queries of args. */
static etx_status find_hard_negatives(int32_t **a, int32_t **b, int64_t *n,
    const struct etx_pair_source *source, struct etx_hard_negatives_args *args,
    struct etx_random *random)
{
    const struct etx_train_sampling *options = &source->config->sampling;
    const struct etx_sector *sector = source->sector;
    int32_t *particle;
    etx_status status;

    ETX_SCRATCH(particle, source->stream->arena, sector->n_hits, "particles");
    for (int64_t k = 0; k < sector->n_hits; k++)
        particle[k] = source->truth->particle[sector->row[k]];
    args->particle = particle;
    args->radius = options->search_radius;
    args->n_nearest = options->n_neighbours;
    args->n_other = options->n_other;
    args->n_pool = options->n_pool;
    args->with_own =
        options->count_true_twice ||
        source->config->truth.same_particle != ETX_SAME_PARTICLE_IGNORE;
    args->seed = (uint64_t)etx_random_u32(random) << 32;
    args->seed |= etx_random_u32(random);
    ETX_CHECK(etx_hard_negatives(a, b, n, source->stream, args));
done:
    return status;
}

/* ------------------------------------------------------------- random -- */

static void add_random_pairs(struct etx_embedding_pairs *pairs,
    const struct etx_pair_source *source,
    const struct etx_hard_negatives_args *args, struct etx_random *random)
{
    const struct etx_train_sampling *options = &source->config->sampling;
    const uint64_t n = (uint64_t)source->sector->n_hits;

    if (n < 2 || (options->random_from_queries && args->n_queries == 0))
        return;
    for (int32_t k = 0; k < options->n_random; k++) {
        const int32_t first = options->random_from_queries
                                  ? args->query[etx_random_below(
                                        random, (uint64_t)args->n_queries)]
                                  : (int32_t)etx_random_below(random, n);
        const int32_t second = (int32_t)etx_random_below(random, n);

        add_found_pair(pairs, source, first, second);
    }
}

etx_status etx_embedding_pairs_choose(struct etx_embedding_pairs *out,
    const struct etx_pair_source *source, struct etx_random *random)
{
    struct etx_hard_negatives_args args = {.n_points = source->sector->n_hits,
        .n_dim = source->n_dim,
        .point = source->point};
    struct etx_embedding_pairs pairs = {.n = 0};
    int32_t *query;
    int32_t *a;
    int32_t *b;
    int64_t n_hard;
    etx_status status;

    ETX_CHECK(draw_queries(&query, &args.n_queries, source, random));
    args.query = query;
    ETX_CHECK(find_hard_negatives(&a, &b, &n_hard, source, &args, random));
    ETX_CHECK(alloc_pairs(&pairs, source->stream->arena,
        count_true_pairs(source) + n_hard + source->config->sampling.n_random));
    add_true_pairs(&pairs, source);
    for (int64_t k = 0; k < n_hard; k++)
        add_found_pair(&pairs, source, a[k], b[k]);
    add_random_pairs(&pairs, source, &args, random);
    *out = pairs;
done:
    return status;
}
