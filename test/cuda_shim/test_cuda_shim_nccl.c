/* cuda_shim/test_cuda_shim_nccl.c -- ranks that each have a device, as
 * threads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/dist.h>

#include <pthread.h>

#include "device_edges.h"
#include "dist/dist.h"

#define MAX_RANKS SHIM_DEVICES
#define N_VALUES  1000
#define N_SLICES  5

/* A rank, and how many of its results are wrong. */
struct rank {
    etx_dist *host;
    float *slice[N_SLICES]; /* on its device */
    etx_status status;
    int64_t n_wrong;
    void (*work)(struct rank *rank, etx_dist *dist);
    pthread_t thread;
};

static void *run_rank(void *argument)
{
    struct rank *rank = argument;
    etx_dist *dist = NULL;

    rank->status =
        etx_dist_open_nccl(&dist, rank->host, etx_dist_rank(rank->host), NULL);
    if (rank->status == ETX_OK)
        rank->work(rank, dist);
    etx_dist_close(dist);
    return NULL;
}

/* work on n ranks. */
static void run_ranks(struct rank *rank, int32_t n,
    void (*work)(struct rank *rank, etx_dist *dist))
{
    etx_dist *host[MAX_RANKS] = {NULL};

    ck_assert_ok(etx_dist_open_threads(host, n, NULL));
    for (int32_t r = 0; r < n; r++) {
        rank[r].host = host[r];
        rank[r].work = work;
        ck_assert_int_eq(
            pthread_create(&rank[r].thread, NULL, run_rank, &rank[r]), 0);
    }
    for (int32_t r = 0; r < n; r++)
        ck_assert_int_eq(pthread_join(rank[r].thread, NULL), 0);
    for (int32_t r = 0; r < n; r++) {
        ck_assert_int_eq(rank[r].status, ETX_OK);
        ck_assert_int_eq(rank[r].n_wrong, 0);
        etx_dist_close(host[r]);
    }
}

/* Every operation on arrays of the host. */
static void work_on_host(struct rank *rank, etx_dist *dist)
{
    const struct etx_comm_transport *transport = dist->comm->transport;
    const int32_t n = etx_dist_n_ranks(dist);
    const int32_t me = etx_dist_rank(dist);
    const int64_t one[MAX_RANKS] = {1, 1, 1, 1};
    const float all_sum = (float)(n * (n + 1) / 2);
    float sent[MAX_RANKS];
    float received[MAX_RANKS];
    float gathered[MAX_RANKS];
    float mine = (float)me + 1.0f;
    float sum = mine;
    int64_t integer = me + 1;
    double last = me == n - 1 ? 7.0 : 0.0;

    for (int32_t r = 0; r < n; r++)
        sent[r] = (float)(10 * me + r);
    rank->status = transport->sum(dist->comm, &sum, 1, ETX_COMM_F32);
    rank->status |= transport->sum(dist->comm, &integer, 1, ETX_COMM_I64);
    rank->status |=
        etx_comm_all_to_all(dist->comm, received, one, sent, one, sizeof *sent);
    rank->status |=
        etx_comm_gather(dist->comm, gathered, &mine, one, sizeof mine);
    rank->status |=
        transport->broadcast(dist->comm, &last, 1, sizeof last, n - 1);
    rank->n_wrong =
        (sum != all_sum) + (integer != (int64_t)all_sum) + (last != 7.0);
    for (int32_t r = 0; r < n; r++)
        rank->n_wrong += (received[r] != (float)(10 * r + me)) +
                         (gathered[r] != (float)r + 1.0f);
}

SHIM_TEST(test_cuda_shim_nccl_operations, .rows = MAX_RANKS)
{
    struct rank rank[MAX_RANKS] = {{NULL}};

    run_ranks(rank, _i + 1, work_on_host);
}

static float value_of(int64_t k, int64_t i)
{
    return (float)(1000 * k + i);
}

/* Arrays on devices: of each the owner's values, without a copy to the host. */
static void work_on_devices(struct rank *rank, etx_dist *dist)
{
    const int32_t n = etx_dist_n_ranks(dist);
    int32_t owner[N_SLICES];
    etx_team team = {.struct_size = sizeof team};

    for (int32_t k = 0; k < N_SLICES; k++)
        owner[k] = k % n;
    rank->status = etx_dist_team(&team, dist);
    if (rank->status == ETX_OK)
        rank->status = team.share_slices(
            team.user, rank->slice, N_VALUES, N_SLICES, owner);
    for (int32_t k = 0; k < N_SLICES; k++)
        for (int64_t i = 0; i < N_VALUES; i++)
            rank->n_wrong += rank->slice[k][i] != value_of(k, i);
}

/* slice k of rank r, on its device: the values of the owner, or none. */
static float *lend_slice(int32_t r, int64_t k, int32_t n)
{
    static const float zeros[N_VALUES];
    float values[N_VALUES];

    for (int64_t i = 0; i < N_VALUES; i++)
        values[i] = value_of(k, i);
    return shim_lend(r, k % n == r ? values : zeros, sizeof values);
}

SHIM_TEST(test_cuda_shim_nccl_share, .rows = MAX_RANKS)
{
    const int32_t n = _i + 1;
    struct rank rank[MAX_RANKS] = {{NULL}};

    for (int32_t r = 0; r < n; r++)
        for (int32_t k = 0; k < N_SLICES; k++)
            rank[r].slice[k] = lend_slice(r, k, n);
    shim_finish_lending();
    const int64_t before = shim_count().bytes_in + shim_count().bytes_out;

    run_ranks(rank, n, work_on_devices);
    ck_assert_int_eq(shim_count().bytes_in + shim_count().bytes_out, before);
    for (int32_t r = 0; r < n; r++)
        for (int32_t k = 0; k < N_SLICES; k++)
            shim_reclaim(rank[r].slice[k]);
}

/* The last rank gives up: the others hear it over the host's group. */
static void leave_group(struct rank *rank, etx_dist *dist)
{
    rank->status = etx_dist_barrier(dist); /* all have opened */
    if (etx_dist_rank(dist) == etx_dist_n_ranks(dist) - 1)
        etx_dist_give_up(dist);
    rank->n_wrong = (etx_dist_barrier(dist) != ETX_ERR_RANK) +
                    (etx_dist_barrier(rank->host) != ETX_ERR_RANK);
}

SHIM_TEST(test_cuda_shim_nccl_give_up)
{
    struct rank rank[MAX_RANKS] = {{NULL}};

    run_ranks(rank, MAX_RANKS, leave_group);
}

/* Ranks that share a device are an error of all. */
static void *open_twice(void *argument)
{
    struct rank *rank = argument;
    etx_dist *dist = NULL;

    rank->status = etx_dist_open_nccl(&dist, rank->host, 0, NULL);
    return NULL;
}

SHIM_TEST(test_cuda_shim_nccl_one_device)
{
    struct rank rank[2] = {{NULL}};
    etx_dist *host[2] = {NULL};

    ck_assert_ok(etx_dist_open_threads(host, 2, NULL));
    for (int32_t r = 0; r < 2; r++) {
        rank[r].host = host[r];
        ck_assert_int_eq(
            pthread_create(&rank[r].thread, NULL, open_twice, &rank[r]), 0);
    }
    for (int32_t r = 0; r < 2; r++) {
        ck_assert_int_eq(pthread_join(rank[r].thread, NULL), 0);
        ck_assert_int_ne(rank[r].status, ETX_OK);
        etx_dist_close(host[r]);
    }
}
