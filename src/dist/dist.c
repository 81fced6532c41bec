/* dist/dist.c -- groups of ranks: open, query, close.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "dist/dist.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "dist/fail.h"
#include "dist/world.h"

/* The rule of struct_size: docs/stability.md. No struct will ever be as large
 * as MAX_BYTES; the others are sizes at the first release. */
#define MAX_BYTES  4096
#define FIRST_SIZE (offsetof(etx_dist_options, deadline) + sizeof(double))
#define STATISTICS_FIRST_SIZE                                                  \
    (offsetof(etx_dist_statistics, n_bytes) + sizeof(int64_t))

static const etx_dist_options defaults = {
    .struct_size = sizeof defaults, .deadline = 60.0};

/* ------------------------------------------------------------- options -- */

static etx_status check_size(size_t size, size_t first_size, const char *name)
{
    if (size >= first_size && size <= MAX_BYTES)
        return ETX_OK;
    return etx_dist_fail(ETX_ERR_ARGUMENT,
        "distribution %s: struct_size %zu is not in %zu .. %d: fill the struct "
        "with its _init or set it to the size of the struct",
        name, size, first_size, MAX_BYTES);
}

static size_t find_less(size_t a, size_t b)
{
    return a < b ? a : b;
}

etx_status etx_dist_options_init(etx_dist_options *options, size_t struct_size)
{
    etx_status status;

    ETX_CHECK(
        etx_dist_check_given("etx_dist_options_init", "options", options));
    ETX_CHECK(check_size(struct_size, FIRST_SIZE, "options"));
    memset(options, 0, struct_size);
    memcpy(options, &defaults, find_less(struct_size, sizeof defaults));
    options->struct_size = (uint32_t)struct_size;
done:
    return status;
}

etx_status etx_dist_fill(void *out, const void *values, size_t size,
    size_t first_size, const char *name)
{
    uint32_t struct_size;
    etx_status status;

    memcpy(&struct_size, out, sizeof struct_size);
    ETX_CHECK(check_size(struct_size, first_size, name));
    memset(out, 0, struct_size);
    memcpy(out, values, find_less(struct_size, size));
    memcpy(out, &struct_size, sizeof struct_size);
done:
    return status;
}

/* What a newer caller's larger struct has beyond this one must be zero. */
static etx_status check_beyond(const etx_dist_options *options)
{
    const unsigned char *bytes = (const unsigned char *)options;

    for (size_t k = sizeof defaults; k < options->struct_size; k++)
        if (bytes[k] != 0)
            return etx_dist_fail(ETX_ERR_ARGUMENT,
                "distribution options: byte %zu of %zu is set, but this "
                "library knows only the first %zu: the caller needs "
                "a newer library",
                k, (size_t)options->struct_size, sizeof defaults);
    return ETX_OK;
}

static etx_status check_deadline(double deadline)
{
    const char *wrong = NULL;

    if (isnan(deadline))
        wrong = "is not a number";
    else if (deadline <= 0.0)
        wrong = "is not above 0 s";
    else if (deadline > ETX_COMM_MAX_SECONDS)
        wrong = "is above 1000000000 s";
    return wrong == NULL ? ETX_OK
                         : etx_dist_fail(ETX_ERR_ARGUMENT,
                               "distribution options: the deadline %s", wrong);
}

static etx_status check_values(const etx_dist_options *options)
{
    if (options->assignment != ETX_ASSIGN_BALANCED &&
        options->assignment != ETX_ASSIGN_IN_TURN)
        return etx_dist_fail(ETX_ERR_ARGUMENT,
            "distribution options: assignment %d is neither 0 (balanced) nor 1 "
            "(in turn)",
            (int)options->assignment);
    if (options->reserved != 0)
        return etx_dist_fail(ETX_ERR_ARGUMENT,
            "distribution options: reserved is %d and must be 0",
            (int)options->reserved);
    return check_deadline(options->deadline);
}

static etx_status read_options(
    etx_dist_options *out, const etx_dist_options *options)
{
    etx_status status = ETX_OK;

    *out = defaults;
    if (options == NULL)
        return ETX_OK;
    ETX_CHECK(check_size(options->struct_size, FIRST_SIZE, "options"));
    ETX_CHECK(check_beyond(options));
    memcpy(out, options, find_less(options->struct_size, sizeof *out));
    out->struct_size = sizeof *out;
    ETX_CHECK(check_values(out));
done:
    return status;
}

/* ------------------------------------------------------- open and close -- */

static etx_status make_dist(struct etx_dist **out, struct etx_comm *comm,
    const etx_dist_options *options)
{
    struct etx_dist *dist = NULL;
    const etx_status status =
        etx_dist_alloc(&dist, 1, sizeof *dist, "a rank of a group");

    if (status != ETX_OK)
        return status;
    dist->comm = comm;
    dist->options = *options;
    *out = dist;
    return ETX_OK;
}

etx_status etx_dist_open_mpi(etx_dist **out, const etx_dist_options *options)
{
    etx_dist_options used;
    struct etx_comm *comm = NULL;
    etx_status status;

    ETX_CHECK(etx_dist_check_given("etx_dist_open_mpi", "out", out));
    ETX_CHECK(read_options(&used, options));
    ETX_CHECK(etx_comm_open_mpi(&comm, used.deadline));
    ETX_CHECK(etx_dist_check_launched(comm->n_ranks));
    const struct etx_dist_build build = etx_dist_this_build();
    ETX_CHECK(etx_dist_check_builds(comm, &build));
    ETX_CHECK(make_dist(out, comm, &used));
    comm = NULL;
done:
    etx_comm_close(comm);
    return status;
}

etx_status etx_dist_open_nccl(etx_dist **out, etx_dist *host,
    int32_t device_index, const etx_dist_options *options)
{
    etx_dist_options used;
    struct etx_comm *comm = NULL;
    etx_status status;

    ETX_CHECK(etx_dist_check_given("etx_dist_open_nccl", "out", out));
    ETX_CHECK(etx_dist_check_given("etx_dist_open_nccl", "host", host));
    ETX_CHECK(read_options(&used, options));
    ETX_CHECK(
        etx_comm_open_nccl(&comm, host->comm, device_index, used.deadline));
    ETX_CHECK(make_dist(out, comm, &used));
    comm = NULL;
done:
    etx_comm_close(comm);
    return status;
}

int32_t etx_dist_has_nccl(void)
{
    return etx_comm_has_nccl();
}

/* One handle for each of comm [n_ranks], all or none. After a failure the
 * caller still owns comm. */
static etx_status make_dists(struct etx_dist **out, struct etx_comm **comm,
    int32_t n_ranks, const etx_dist_options *options)
{
    int32_t n_made = 0;
    etx_status status = ETX_OK;

    for (; n_made < n_ranks; n_made++)
        ETX_CHECK(make_dist(out + n_made, comm[n_made], options));
done:
    for (int32_t r = 0; status != ETX_OK && r < n_made; r++) {
        free(out[r]);
        out[r] = NULL;
    }
    return status;
}

etx_status etx_dist_open_threads(
    etx_dist **out, int32_t n_ranks, const etx_dist_options *options)
{
    etx_dist_options used;
    struct etx_comm **comm = NULL;
    int32_t n_comms = 0;
    etx_status status;

    ETX_CHECK(etx_dist_check_given("etx_dist_open_threads", "out", out));
    ETX_CHECK(read_options(&used, options));
    ETX_CHECK(etx_comm_check_threads(n_ranks));
    ETX_CHECK(etx_dist_alloc(&comm, n_ranks, sizeof(*comm), "ranks"));
    ETX_CHECK(etx_comm_open_threads(comm, n_ranks, used.deadline));
    n_comms = n_ranks;
    ETX_CHECK(make_dists(out, comm, n_ranks, &used));
done:
    for (int32_t r = 0; status != ETX_OK && r < n_comms; r++)
        etx_comm_close(comm[r]);
    free(comm);
    return status;
}

void etx_dist_close(etx_dist *dist)
{
    if (dist == NULL)
        return;
    etx_comm_close(dist->comm);
    free(dist->sent.data);
    free(dist->received.data);
    free(dist->slices.data);
    free(dist->counts.data);
    free(dist);
}

void etx_dist_give_up(etx_dist *dist)
{
    if (dist != NULL)
        etx_comm_abort(dist->comm);
}

void etx_dist_end_processes(etx_dist *dist, int32_t exit_status)
{
    if (dist == NULL)
        return;
    etx_comm_abort(dist->comm);
    if (dist->comm->transport->end_processes != NULL)
        dist->comm->transport->end_processes(dist->comm, exit_status);
}

/* --------------------------------------------------------------- query -- */

int32_t etx_dist_has_mpi(void)
{
    return etx_comm_has_mpi();
}

int32_t etx_dist_rank(const etx_dist *dist)
{
    return dist == NULL ? 0 : dist->comm->rank;
}

int32_t etx_dist_n_ranks(const etx_dist *dist)
{
    return dist == NULL ? 1 : dist->comm->n_ranks;
}

etx_status etx_dist_barrier(etx_dist *dist)
{
    fenv_t host;
    etx_status status;

    etx_dist_enter(&host);
    ETX_CHECK(etx_dist_check_given("etx_dist_barrier", "dist", dist));
    ETX_CHECK(etx_comm_barrier(dist->comm));
done:
    return etx_dist_leave(&host, status);
}

etx_status etx_dist_sum(etx_dist *dist, double *values, int64_t n)
{
    fenv_t host;
    etx_status status;

    etx_dist_enter(&host);
    ETX_CHECK(etx_dist_check_given("etx_dist_sum", "dist", dist));
    if (n < 0)
        ETX_CHECK(etx_dist_fail(ETX_ERR_ARGUMENT,
            "etx_dist_sum: n %lld is negative", (long long)n));
    if (n > 0)
        ETX_CHECK(etx_dist_check_given("etx_dist_sum", "values", values));
    ETX_CHECK(etx_comm_barrier(dist->comm));
    ETX_CHECK(etx_comm_sum(dist->comm, values, n, ETX_COMM_F64));
done:
    return etx_dist_leave(&host, status);
}

etx_status etx_dist_get_statistics(
    etx_dist_statistics *out, const etx_dist *dist)
{
    etx_dist_statistics statistics;
    etx_status status;
    uint32_t size;

    ETX_CHECK(etx_dist_check_given("etx_dist_get_statistics", "out", out));
    ETX_CHECK(etx_dist_check_given("etx_dist_get_statistics", "dist", dist));
    size = out->struct_size;
    ETX_CHECK(check_size(size, STATISTICS_FIRST_SIZE, "statistics"));
    statistics = (etx_dist_statistics){.struct_size = size,
        .seconds = dist->comm->statistics.seconds,
        .waiting_seconds = dist->comm->statistics.barrier_seconds,
        .n_calls = dist->comm->statistics.n_calls,
        .n_bytes = dist->comm->statistics.n_bytes};
    memcpy(out, &statistics, find_less(size, sizeof statistics));
done:
    return status;
}
