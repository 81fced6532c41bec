/* dist/team.c -- a trainer's team: sums of gradients and metrics over the
 * ranks.
 *
 * The sum over per-graph gradients (slices) has the same bits on any number of
 * ranks. It is a reduce-scatter and an all-gather over chunks of parameters:
 *
 *     rank r sends chunk q of its slices to rank q   (all-to-all)
 *     rank q adds the slices of its chunk, in the order of a tree over graphs
 *     all ranks gather the summed chunks             (all-gather)
 *
 * A rank moves its slices and the parameters once, as a ring all-reduce does
 * when every rank has one graph.
 *
 * A barrier precedes each transfer, so that the statistics tell waiting for a
 * slower rank from moving data.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "dist/dist.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dist/fail.h"

/* sizeof(etx_team) in its first release. */
#define TEAM_FIRST_SIZE (offsetof(etx_team, share_slices) + sizeof(void *))

static etx_status reserve(
    struct etx_dist_buffer *buffer, int64_t count, size_t size)
{
    void *grown = NULL;
    etx_status status;

    if (buffer->n_bytes >= (size_t)count * size && buffer->data != NULL)
        return ETX_OK;
    ETX_CHECK(etx_dist_alloc(&grown, count, size, "gradients of graphs"));
    free(buffer->data);
    *buffer = (struct etx_dist_buffer){grown, (size_t)count * size};
done:
    return status;
}

/* ------------------------------------------------------ sum of gradients -- */

/* A sum of slices in progress; arrays are in the buffers of dist. */
struct slices_sum {
    struct etx_dist *dist;
    int64_t n_values, n_slices;
    const int32_t *owner; /* [n_slices] */
    float *const *slice;  /* [n_slices] */
    int64_t *n_chunk;     /* [n_ranks] parameters that each rank adds up */
    int64_t *n_send;      /* [n_ranks] values that go to each rank */
    int64_t *n_receive;   /* [n_ranks] values that come from each rank */
};

/* The first parameter that rank r adds up. */
static int64_t find_first(const struct slices_sum *sum, int32_t r)
{
    const int64_t n_ranks = sum->dist->comm->n_ranks;

    return sum->n_values / n_ranks * r +
           (sum->n_values % n_ranks) * r / n_ranks;
}

static int64_t count_slices(const struct slices_sum *sum, int32_t rank)
{
    int64_t n = 0;

    for (int64_t k = 0; k < sum->n_slices; k++)
        n += sum->owner[k] == rank;
    return n;
}

static etx_status count_chunks(struct slices_sum *sum)
{
    struct etx_dist *dist = sum->dist;
    const int32_t n_ranks = dist->comm->n_ranks;
    const int32_t rank = dist->comm->rank;
    const int64_t n_mine = count_slices(sum, rank);
    etx_status status;

    ETX_CHECK(reserve(&dist->counts, 3 * n_ranks, sizeof(int64_t)));
    sum->n_chunk = dist->counts.data;
    sum->n_send = sum->n_chunk + n_ranks;
    sum->n_receive = sum->n_send + n_ranks;
    for (int32_t r = 0; r < n_ranks; r++)
        sum->n_chunk[r] = find_first(sum, r + 1) - find_first(sum, r);
    for (int32_t r = 0; r < n_ranks; r++) {
        sum->n_send[r] = n_mine * sum->n_chunk[r];
        sum->n_receive[r] = count_slices(sum, r) * sum->n_chunk[rank];
    }
done:
    return status;
}

/* This rank's slices cut into the chunks of the ranks. */
static etx_status fill_sent(struct slices_sum *sum)
{
    struct etx_dist *dist = sum->dist;
    const int32_t rank = dist->comm->rank;
    etx_status status;

    ETX_CHECK(reserve(
        &dist->sent, count_slices(sum, rank) * sum->n_values, sizeof(float)));
    float *to = dist->sent.data;
    for (int32_t r = 0; r < dist->comm->n_ranks; r++)
        for (int64_t k = 0; k < sum->n_slices; k++) {
            if (sum->owner[k] != rank)
                continue;
            memcpy(to, sum->slice[k] + find_first(sum, r),
                (size_t)sum->n_chunk[r] * sizeof *to);
            to += sum->n_chunk[r];
        }
done:
    return status;
}

/* Pointers to the received pieces in order of the slices; they arrive in order
 * of the ranks. */
static etx_status find_pieces(float ***out, struct slices_sum *sum)
{
    struct etx_dist *dist = sum->dist;
    const int64_t n_chunk = sum->n_chunk[dist->comm->rank];
    etx_status status;

    ETX_CHECK(reserve(&dist->slices, sum->n_slices, sizeof(float *)));
    float **piece = dist->slices.data;
    float *from = dist->received.data;
    for (int32_t r = 0; r < dist->comm->n_ranks; r++)
        for (int64_t k = 0; k < sum->n_slices; k++) {
            if (sum->owner[k] != r)
                continue;
            piece[k] = from;
            from += n_chunk;
        }
    *out = piece;
done:
    return status;
}

static etx_status sum_exactly(float *out, struct slices_sum *sum)
{
    struct etx_dist *dist = sum->dist;
    const int64_t n_chunk = find_first(sum, dist->comm->rank + 1) -
                            find_first(sum, dist->comm->rank);
    float **piece;
    etx_status status;

    ETX_CHECK(count_chunks(sum));
    ETX_CHECK(fill_sent(sum));
    ETX_CHECK(reserve(&dist->received, sum->n_slices * n_chunk, sizeof(float)));
    ETX_CHECK(etx_comm_all_to_all(dist->comm, dist->received.data,
        sum->n_receive, dist->sent.data, sum->n_send, sizeof(float)));
    ETX_CHECK(find_pieces(&piece, sum));
    ETX_CHECK(etx_gradient_sum(piece, n_chunk, sum->n_slices));
    ETX_CHECK(etx_comm_gather(
        dist->comm, out, piece[0], sum->n_chunk, sizeof(float)));
done:
    return status;
}

/* ------------------------------------------------ functions of the team -- */

static etx_status sum_slices(void *user, float *out, int64_t n_values,
    int64_t n_slices, const int32_t *owner, float *const *slice)
{
    struct etx_dist *dist = user;
    struct slices_sum sum = {.dist = dist,
        .n_values = n_values,
        .n_slices = n_slices,
        .owner = owner,
        .slice = slice};
    etx_status status;

    ETX_CHECK(etx_comm_barrier(dist->comm));
    if (!dist->options.is_fast)
        return sum_exactly(out, &sum);
    memcpy(out, slice[dist->comm->rank], (size_t)n_values * sizeof *out);
    ETX_CHECK(etx_comm_sum(dist->comm, out, n_values, ETX_COMM_F32));
done:
    return status;
}

/* Of ranks with devices: every rank gets all gradients. */
static etx_status share_slices(void *user, float *const *slice,
    int64_t n_values, int64_t n_slices, const int32_t *owner)
{
    struct etx_dist *dist = user;
    etx_status status;

    ETX_CHECK(etx_comm_barrier(dist->comm));
    ETX_CHECK(etx_comm_share(dist->comm, slice, n_values, n_slices, owner));
done:
    return status;
}

static etx_status sum_values(void *user, double *values, int64_t n)
{
    struct etx_dist *dist = user;
    etx_status status;

    ETX_CHECK(etx_comm_barrier(dist->comm));
    ETX_CHECK(etx_comm_sum(dist->comm, values, n, ETX_COMM_F64));
done:
    return status;
}

static etx_status gather_words(
    void *user, uint64_t *all, const uint64_t *mine, const int64_t *count)
{
    struct etx_dist *dist = user;
    etx_status status;

    ETX_CHECK(etx_comm_barrier(dist->comm));
    ETX_CHECK(etx_comm_gather(dist->comm, all, mine, count, sizeof *mine));
done:
    return status;
}

etx_status etx_dist_team(etx_team *out, etx_dist *dist)
{
    etx_team team;
    etx_status status;

    ETX_CHECK(etx_dist_check_given("etx_dist_team", "out", out));
    ETX_CHECK(etx_dist_check_given("etx_dist_team", "dist", dist));
    team = (etx_team){.struct_size = sizeof team,
        .rank = dist->comm->rank,
        .n_ranks = dist->comm->n_ranks,
        .assignment = dist->options.assignment,
        .is_fast = dist->options.is_fast,
        .user = dist,
        .sum = sum_values,
        .gather = gather_words,
        .sum_slices = sum_slices,
        .share_slices =
            dist->comm->transport->share != NULL ? share_slices : NULL};
    ETX_CHECK(etx_dist_fill(out, &team, sizeof team, TEAM_FIRST_SIZE, "team"));
done:
    return status;
}

/* ---------------------------------------------------------------- agree -- */

etx_status etx_dist_agree(etx_dist *dist, uint64_t value, const char *what)
{
    fenv_t host;
    etx_status status;

    etx_dist_enter(&host);
    ETX_CHECK(etx_dist_check_given("etx_dist_agree", "dist", dist));
    ETX_CHECK(etx_dist_check_given("etx_dist_agree", "what", what));
    ETX_CHECK(reserve(&dist->counts, 3 * dist->comm->n_ranks, sizeof(int64_t)));
    int64_t *count = dist->counts.data;
    uint64_t *all = (uint64_t *)(count + dist->comm->n_ranks);
    for (int32_t r = 0; r < dist->comm->n_ranks; r++)
        count[r] = 1;
    ETX_CHECK(etx_comm_barrier(dist->comm));
    ETX_CHECK(etx_comm_gather(dist->comm, all, &value, count, sizeof value));
    for (int32_t r = 1; r < dist->comm->n_ranks; r++)
        if (all[r] != all[0])
            ETX_CHECK(etx_dist_fail(ETX_ERR_FORMAT,
                "%s: rank 0 has %016llx, rank %d has %016llx", what,
                (unsigned long long)all[0], (int)r,
                (unsigned long long)all[r]));
done:
    return etx_dist_leave(&host, status);
}
