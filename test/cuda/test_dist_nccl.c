/* test_dist_nccl.c -- one rank over NCCL, and what a machine without answers.
 *
 * NCCL refuses two ranks on one device: what several ranks do is tested over
 * the other transports, here every operation runs once.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/dist.h>

#include "checkop.h"
#include "dist/dist.h"
#include "support.h"

/* NULL after etx_test_skip where there is no NCCL or no device. */
static etx_dist *open_nccl(const char *name, etx_dist **host)
{
    etx_dist *dist = NULL;

    ck_assert_ok(etx_dist_open_threads(host, 1, NULL));
    if (etx_dist_open_nccl(&dist, *host, 0, NULL) != ETX_OK) {
        ck_assert_ptr_null(dist);
        etx_test_skip(name, etx_last_error());
        etx_dist_close(*host);
    }
    return dist;
}

/* A device that no machine has is said to be absent, and nothing is made. */
ETX_TEST(test_nccl_no_device)
{
    etx_dist *host = NULL;
    etx_dist *dist = NULL;

    ck_assert_ok(etx_dist_open_threads(&host, 1, NULL));
    ck_assert_fails(etx_dist_open_nccl(&dist, host, 4096, NULL),
        ETX_ERR_UNSUPPORTED,
        etx_dist_has_nccl() ? "no CUDA device 4096" : "this build has none");
    ck_assert_ptr_null(dist);
    ck_assert_fails(etx_dist_open_nccl(NULL, host, 0, NULL), ETX_ERR_ARGUMENT,
        "out is NULL");
    ck_assert_fails(etx_dist_open_nccl(&dist, NULL, 0, NULL), ETX_ERR_ARGUMENT,
        "host is NULL");
    /* The group that was to carry the handshake is as good as before. */
    ck_assert_ok(etx_dist_barrier(host));
    etx_dist_close(host);
}

/* Arrays of the rank itself, in memory that the device reaches, stay as they
 * are. */
static void check_share(struct etx_comm *comm)
{
    const int32_t owner[2] = {0, 0};
    float *const memory = checkop_shared_alloc(6 * sizeof *memory);
    float *const slice[2] = {memory, memory + 3};

    ck_assert_ptr_nonnull(memory);
    for (int32_t i = 0; i < 6; i++)
        memory[i] = (float)i;
    ck_assert_ok(etx_comm_share(comm, slice, 3, 2, owner));
    for (int32_t i = 0; i < 6; i++)
        ck_assert(memory[i] == (float)i);
    checkop_shared_free(memory);
}

ETX_TEST(test_nccl_one_rank)
{
    const int64_t three = 3;
    const float sent[3] = {1.0f, -2.0f, 0.5f};
    float received[3] = {0.0f, 0.0f, 0.0f};
    float gathered[3] = {0.0f, 0.0f, 0.0f};
    float data[3] = {4.0f, 5.0f, 6.0f};
    double values[2] = {1.25, -3.0};
    etx_dist *host = NULL;
    etx_dist *dist = open_nccl("one rank over NCCL", &host);

    if (dist == NULL)
        return;
    ck_assert_int_eq(etx_dist_n_ranks(dist), 1);
    ck_assert_ok(
        dist->comm->transport->sum(dist->comm, values, 2, ETX_COMM_F64));
    ck_assert(values[0] == 1.25 && values[1] == -3.0);
    ck_assert_ok(etx_comm_all_to_all(
        dist->comm, received, &three, sent, &three, sizeof *sent));
    ck_assert_mem_eq(received, sent, sizeof sent);
    ck_assert_ok(
        etx_comm_gather(dist->comm, gathered, sent, &three, sizeof *sent));
    ck_assert_mem_eq(gathered, sent, sizeof sent);
    ck_assert_ok(
        dist->comm->transport->broadcast(dist->comm, data, 3, sizeof *data, 0));
    ck_assert(data[0] == 4.0f && data[2] == 6.0f);
    ck_assert_ok(dist->comm->transport->barrier(dist->comm));
    check_share(dist->comm);
    etx_dist_close(dist);
    etx_dist_close(host);
}
