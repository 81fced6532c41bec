/* exatrkx/dist.h -- train on several ranks: processes, or threads.
 *
 * libexatrkx_dist.so, which needs libexatrkx.so. A group is ranks 0 .. n-1
 * that call the same functions in the same order; each holds one etx_dist. A
 * rank that dies or hangs makes the calls of the others fail within the
 * deadline, never wait for ever; the group is then broken and its members are
 * good for nothing but etx_dist_close. docs/distributed.md is the manual.
 *
 * Errors are those of exatrkx.h: etx_last_error() has the message. ETX_ERR_IO
 * when a rank did not arrive within the deadline, ETX_ERR_CANCELLED when one
 * gave up. Nobody reads or writes the buffers of a call that has returned,
 * failed or not.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DIST_H
#define ETX_DIST_H

#include <exatrkx/graph.h>
#include <exatrkx/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One rank's end of a group; used by one thread at a time. */
typedef struct etx_dist etx_dist;

/* How a group works together. */
typedef struct etx_dist_options {
    uint32_t struct_size; /* set by etx_dist_options_init */
    int32_t is_fast;  /* 0 (default): the same bits on any number of ranks; 1:
                       * gradients are added in the order of the transport */
    int32_t deal;     /* ETX_DEAL_...: which rank works on which graph */
    int32_t reserved; /* 0 */
    double deadline;  /* seconds that a rank waits for the others, above 0
                       * and at most 1e9; default 60 */
} etx_dist_options;

/* Fill options with defaults; struct_size is sizeof *options of the caller.
 * ETX_ERR_ARGUMENT for NULL and for a size below that of the first version of
 * the struct or above 4096. */
ETX_API ETX_MUST_CHECK etx_status etx_dist_options_init(
    etx_dist_options *options, size_t struct_size);

/* 1 when this build has MPI, else 0. */
ETX_API int32_t etx_dist_has_mpi(void);

/* Join the processes of MPI_COMM_WORLD, which mpirun or srun started; starts
 * MPI when the host has not, and etx_dist_close then ends it. options may be
 * NULL. ETX_ERR_UNSUPPORTED in a build without MPI, and when MPI was started
 * with a thread level below MPI_THREAD_SERIALIZED. After an operation that did
 * not end MPI keeps some memory of the group, 8 MiB and a bit. */
ETX_API ETX_MUST_CHECK etx_status etx_dist_open_mpi(
    etx_dist **out, const etx_dist_options *options);

/* 1 when this build has NCCL, else 0. */
ETX_API int32_t etx_dist_has_nccl(void);

/* A group of the ranks of host that talks over NCCL, each rank with the CUDA
 * device of this index, which no other rank has: arrays stay in the host's
 * memory and are staged; the current device of the calling thread stays what
 * it was. All ranks call it at once; host carries the handshake, ends the
 * processes and is closed after *out. options may be NULL. ETX_ERR_UNSUPPORTED
 * without the device or in a build without NCCL; when one rank fails all do. */
ETX_API ETX_MUST_CHECK etx_status etx_dist_open_nccl(etx_dist **out,
    etx_dist *host, int32_t device_index, const etx_dist_options *options);

/* n_ranks (1 .. 1024) ends of a group of threads of this process, in out
 * [n_ranks]; each is for one thread. options may be NULL. The deadline is for
 * ranks that do not arrive: once all are in an operation each waits until the
 * others have done their part of it. */
ETX_API ETX_MUST_CHECK etx_status etx_dist_open_threads(
    etx_dist **out, int32_t n_ranks, const etx_dist_options *options);

/* 0 .. n_ranks-1; NULL is rank 0. */
ETX_API int32_t etx_dist_rank(const etx_dist *dist);
/* At least 1; NULL is 1. */
ETX_API int32_t etx_dist_n_ranks(const etx_dist *dist);

/* Wait until every rank has called. */
ETX_API ETX_MUST_CHECK etx_status etx_dist_barrier(etx_dist *dist);

/* values [n] become their sum over the ranks; exact where all ranks but one
 * hold zeros. */
ETX_API ETX_MUST_CHECK etx_status etx_dist_sum(
    etx_dist *dist, double *values, int64_t n);

/* Fail with ETX_ERR_FORMAT, on every rank, unless value is the same on all;
 * what names it in the message ("parameters at step 20"). */
ETX_API ETX_MUST_CHECK etx_status etx_dist_agree(
    etx_dist *dist, uint64_t value, const char *what);

/* The team of this rank for etx_trainer_set_team, which borrows dist: with
 * is_fast 0 a gradient is summed by etx_gradient_sum over the graphs of the
 * step, every rank a part of the parameters; with is_fast 1 by the transport.
 */
ETX_API ETX_MUST_CHECK etx_status etx_dist_team(etx_team *out, etx_dist *dist);

/* What a rank spent on the group since it was opened. */
typedef struct etx_dist_statistics {
    uint32_t struct_size;   /* sizeof(etx_dist_statistics), by the caller */
    int32_t reserved;       /* 0 */
    double seconds;         /* moving and adding data, once all were there */
    double waiting_seconds; /* until the other ranks were as far */
    int64_t n_calls;        /* of what `seconds` counts */
    int64_t n_bytes;        /* that this rank gave to them */
} etx_dist_statistics;

/* The caller sets out->struct_size. */
ETX_API ETX_MUST_CHECK etx_status etx_dist_get_statistics(
    etx_dist_statistics *out, const etx_dist *dist);

/* ------------------------------------------------ one graph on all ranks -- */

/* Every rank is one part of a graph (graph.h). The functions of this section
 * are called by all ranks at once, with the same graph, model and event or the
 * same trainer; an argument of these that differs is found out at best. A rank
 * that fails makes the calls of the others fail with ETX_ERR_CANCELLED, and the
 * group stays good. The ranks agree at the end of a step and of a validation
 * before any of them writes: when it fails so, every trainer is as it was
 * before the call, and may go on. When a rank died or was late (ETX_ERR_IO) the
 * group is broken, and trainers may differ by that step. The scores of a graph
 * are good when the call succeeded. */

/* Carries the rows of parts between the ranks of a group; *out is good while
 * dist is. */
ETX_API ETX_MUST_CHECK etx_status etx_dist_exchange(
    etx_part_exchange *out, etx_dist *dist);

/* As etx_graph_score, the graph's nodes shared out to the ranks by this order
 * (ETX_PARTITION_): afterwards the graph of every rank has all scores, the same
 * bits as etx_graph_score gives, for any number of ranks. For what it refuses
 * see etx_graph_part_score. */
ETX_API ETX_MUST_CHECK etx_status etx_dist_graph_score(etx_graph *graph,
    etx_dist *dist, etx_context *context, const etx_model *model,
    const etx_event *event, int32_t order);

/* Every step and validation of the trainers of all ranks computes one graph on
 * all of them: etx_trainer_set_parts. dist outlives the trainer. */
ETX_API ETX_MUST_CHECK etx_status etx_dist_trainer_set_parts(
    etx_trainer *trainer, etx_dist *dist, int32_t order);

/* This rank failed and does no more: the calls of other ranks that are threads
 * fail at once. Processes wait for their deadline, or are ended by
 * etx_dist_end_processes. NULL is fine. */
ETX_API void etx_dist_give_up(etx_dist *dist);

/* End every process of the group, this one too, with exit_status (1 .. 255):
 * what a program does when a call failed. Returns when the group is threads,
 * after etx_dist_give_up, or when dist is NULL. */
ETX_API void etx_dist_end_processes(etx_dist *dist, int32_t exit_status);

/* Leave the group; NULL is fine. */
ETX_API void etx_dist_close(etx_dist *dist);

#ifdef __cplusplus
}
#endif

#endif
