/* train/sampling/particle_chains.c -- the true pairs of one event.
 *
 * Hits are sorted by particle and distance from its vertex, so that a particle
 * is one run. A rule cuts the run into groups (a hit, the hits of a module, of
 * a layer) in the order in which a group is first met, and joins every hit of a
 * group with every hit of the next:
 *
 *   vertex   a b | c | d e       pairs a-c b-c c-d c-e
 *
 * Exa.TrkX joins neighbours after it dropped all but the first hit on a module;
 * acorn joins all hits of neighbouring modules.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/sampling/particle_chains.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"
#include "data/hit_order.h"
#include "train/config.h"

#include <stdlib.h>

#define MAX_PAIRS_PER_HIT 1000

/* A hit of a particle's chain. */
struct chain_hit {
    int32_t particle;
    int32_t hit;
    int64_t rank;  /* in the chain */
    int64_t group; /* number of its group on the particle; -1 = dropped */
};

/* Output of one of two passes over all pairs, in compressed sparse rows: the
 * partners of hit a are partner[offset[a]] .. partner[offset[a + 1] - 1].
 *
 *                 offset (pairs 0-1 0-2 2-1)
 *   count pass    0 2 0 1    number of partners, one entry further
 *   sum_counts    0 2 2 3
 *   write pass    2 2 3 3    each is the cursor of its hit
 *   rewind        0 2 2 3
 */
struct pass {
    int64_t *offset;  /* [n_hits + 1] */
    int32_t *partner; /* [n_pairs]; NULL: this pass only counts */
};

static int compare_groups(const void *left, const void *right)
{
    const struct chain_hit *a = left;
    const struct chain_hit *b = right;

    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static int compare_hits(const void *left, const void *right)
{
    const int32_t *a = left;
    const int32_t *b = right;

    return *a < *b ? -1 : *a > *b;
}

/* The hits of particles, one particle after the other. */
static etx_status collect_hits(
    struct chain_hit *hits, int64_t *n, const struct etx_event *event)
{
    int32_t *begin = NULL;
    int32_t *hit = NULL;
    etx_status status;

    ETX_NEW(begin, event->n_particles + 1, "hits of chains");
    ETX_NEW(hit, event->n_hits, "hits of chains");
    ETX_CHECK(etx_order_hits(
        begin, hit, event->particle_row, event->n_particles, event, 1));
    *n = begin[event->n_particles];
    for (int64_t k = 0; k < *n; k++)
        hits[k] = (struct chain_hit){
            .particle = event->particle_row[hit[k]], .hit = hit[k], .rank = k};
done:
    etx_free(begin);
    etx_free(hit);
    return status;
}

/* Whether two hits lie on one module, or in one layer. */
static int share_surface(
    const struct etx_event *event, int32_t rule, int32_t a, int32_t b)
{
    return event->volume_id[a] == event->volume_id[b] &&
           event->layer_id[a] == event->layer_id[b] &&
           (rule == ETX_PAIRS_LAYER ||
               event->module_id[a] == event->module_id[b]);
}

/* Previous groups that a hit is compared with. A particle crosses few surfaces;
 * with more groups than this, a hit on an older surface starts a new group. */
#define MAX_GROUPS 1024

/* Number the groups of one particle's hits [n] and sort the hits by group.
 * Scratch: first [n], the first hit of each group. */
static etx_status group_hits(struct chain_hit *hits, int64_t n,
    const struct etx_event *event, int32_t rule, int64_t *first)
{
    int64_t n_groups = 0;
    etx_status status = ETX_OK;

    for (int64_t k = 0; k < n; k++) {
        int64_t g = n_groups;

        ETX_CHECK(etx_cancel_poll());

        if (rule != ETX_PAIRS_HIT && rule != ETX_PAIRS_ANY)
            for (g = n_groups > MAX_GROUPS ? n_groups - MAX_GROUPS : 0;
                 g < n_groups; g++)
                if (share_surface(event, rule, hits[first[g]].hit, hits[k].hit))
                    break;
        hits[k].group = g;
        if (g == n_groups)
            first[n_groups++] = k;
        else if (rule == ETX_PAIRS_MODULE)
            hits[k].group = -1;
    }
    qsort(hits, (size_t)n, sizeof *hits, compare_groups);
done:
    return status;
}

/* b follows a. */
static void add_pair(struct pass *pass, int32_t a, int32_t b)
{
    if (pass->partner == NULL)
        pass->offset[a + 1]++;
    else
        pass->partner[pass->offset[a]++] = b;
}

/* Pairs of one particle's hits [n], sorted by group. */
static etx_status pair_hits(
    struct pass *pass, const struct chain_hit *hits, int64_t n, int32_t rule)
{
    etx_status status = ETX_OK;

    for (int64_t i = 0; i < n; i++) {
        ETX_CHECK(etx_cancel_poll());
        for (int64_t j = i + 1; j < n; j++) {
            const int64_t gap = hits[j].group - hits[i].group;

            if (hits[i].group < 0 || (gap > 1 && rule != ETX_PAIRS_ANY))
                break;
            if (gap > 0)
                add_pair(pass, hits[i].hit, hits[j].hit);
        }
    }
done:
    return status;
}

static int64_t run_length(const struct chain_hit *hits, int64_t n_chained)
{
    int64_t n = 1;

    while (n < n_chained && hits[n].particle == hits[0].particle)
        n++;
    return n;
}

static etx_status run_pass(struct pass *pass, const struct chain_hit *hits,
    int64_t n_chained, int32_t rule)
{
    etx_status status = ETX_OK;
    int64_t n;

    for (int64_t k = 0; k < n_chained; k += n) {
        n = run_length(hits + k, n_chained - k);
        ETX_CHECK(pair_hits(pass, hits + k, n, rule));
    }
done:
    return status;
}

static etx_status make_chains(struct chain_hit **out, int64_t *n_chained,
    const struct etx_event *event, int32_t rule)
{
    struct chain_hit *hits = NULL;
    int64_t *first = NULL;
    int64_t n;
    etx_status status;

    ETX_NEW(hits, event->n_hits, "hits of chains");
    ETX_NEW(first, event->n_hits, "truth groups");
    ETX_CHECK(collect_hits(hits, n_chained, event));
    for (int64_t k = 0; k < *n_chained; k += n) {
        n = run_length(hits + k, *n_chained - k);
        ETX_CHECK(group_hits(hits + k, n, event, rule, first));
    }
    *out = hits;
    hits = NULL;
done:
    etx_free(hits);
    etx_free(first);
    return status;
}

/* Counts to offsets. */
static void sum_counts(int64_t *offset, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        offset[i + 1] += offset[i];
}

/* Cursors of the write pass back to offsets. */
static void rewind_offsets(int64_t *offset, int64_t n)
{
    for (int64_t i = n; i > 0; i--)
        offset[i] = offset[i - 1];
    offset[0] = 0;
}

static int64_t group_length(const struct chain_hit *hits, int64_t n)
{
    int64_t length = 1;

    while (length < n && hits[length].group == hits[0].group)
        length++;
    return length;
}

/* An upper bound of the number of pairs of one particle's hits [n]. */
static double bound_pairs(const struct chain_hit *hits, int64_t n, int32_t rule)
{
    double bound = 0.0;
    double before = 0.0;
    int64_t length;

    if (rule == ETX_PAIRS_ANY)
        return 0.5 * (double)n * (double)(n - 1);
    for (int64_t k = 0; k < n; k += length) {
        length = group_length(hits + k, n - k);
        if (hits[k].group < 0)
            continue;
        bound += (double)length * (before + 0.5 * (double)length);
        before = (double)length;
    }
    return bound;
}

/* Before pairs are allocated: a particle with all hits of an event may have
 * n^2 / 2 of them. */
static etx_status check_pairs(const struct chain_hit *hits, int64_t n_chained,
    int64_t n_hits, int32_t rule)
{
    double bound = 0.0;
    int64_t n;

    for (int64_t k = 0; k < n_chained; k += n) {
        n = run_length(hits + k, n_chained - k);
        bound += bound_pairs(hits + k, n, rule);
    }
    if (bound > (double)MAX_PAIRS_PER_HIT * (double)n_hits)
        return etx_fail(ETX_ERR_LIMIT,
            "truth: %.0f pairs in %lld hits, more than %d per hit", bound,
            (long long)n_hits, MAX_PAIRS_PER_HIT);
    return ETX_OK;
}

etx_status etx_chain_pairs(int64_t *offset, int32_t **partner,
    const struct etx_event *event, int32_t rule)
{
    const int64_t n_hits = event->n_hits;
    struct pass pass = {.offset = offset};
    struct chain_hit *hits = NULL;
    int64_t n_chained;
    etx_status status;

    ETX_CHECK(make_chains(&hits, &n_chained, event, rule));
    ETX_CHECK(check_pairs(hits, n_chained, n_hits, rule));
    ETX_CHECK(run_pass(&pass, hits, n_chained, rule));
    sum_counts(offset, n_hits);
    ETX_CHECK(
        etx_alloc(partner, offset[n_hits], sizeof **partner, "truth pairs"));
    pass.partner = *partner;
    ETX_CHECK(run_pass(&pass, hits, n_chained, rule));
    rewind_offsets(offset, n_hits);
    for (int64_t i = 0; i < n_hits; i++) {
        ETX_POLL(i);
        qsort(*partner + offset[i], (size_t)(offset[i + 1] - offset[i]),
            sizeof **partner, compare_hits);
    }
done:
    etx_free(hits);
    return status;
}
