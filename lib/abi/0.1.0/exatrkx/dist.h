/* exatrkx/dist.h -- distributed training: ranks are processes or threads.
 *
 * Part of libexatrkx_dist.so (pkg-config exatrkx-dist, CMake exatrkx::dist),
 * which uses libexatrkx.so. A group is ranks 0 .. n-1, each with one etx_dist,
 * that call the same functions in the same order. When a rank dies or hangs the
 * calls of the others fail within the deadline; the group is then broken and
 * can only be closed. Buffers are neither read nor written after a call has
 * returned, failed or not. Manual: docs/distributed.md.
 *
 * Errors as in exatrkx.h; also ETX_ERR_IO when a rank did not arrive within the
 * deadline and ETX_ERR_RANK when another rank failed or the group is broken. A
 * caller that cancels (etx_set_cancel, cancel of the context) while the rank
 * waits for others breaks the group, too.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DIST_H
#define ETX_DIST_H

#include <exatrkx/graph.h>
#include <exatrkx/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One rank of a group; used by one thread at a time. */
typedef struct etx_dist etx_dist;

/* Options of a group. */
typedef struct etx_dist_options {
    uint32_t struct_size; /* set by etx_dist_options_init */
    int32_t is_fast;      /* 0 (default): results do not depend on the number of
                           * ranks; 1: gradients are summed in the order of the
                           * transport */
    int32_t assignment;   /* ETX_ASSIGN_: assignment of graphs to ranks */
    int32_t reserved;     /* 0 */
    double deadline; /* seconds to wait for other ranks, in (0, 1e9]; default
                      * 60 */
} etx_dist_options;

/* Defaults for all fields; struct_size is sizeof *options. ETX_ERR_ARGUMENT
 * when it is below the size of the struct's first release, or above 4096. */
ETX_API ETX_MUST_CHECK etx_status etx_dist_options_init(
    etx_dist_options *options, size_t struct_size);

/* 1 when this build supports MPI, else 0. */
ETX_API int32_t etx_dist_has_mpi(void);

/* How many processes a launcher (mpirun, srun) started together with this one,
 * by its variables in the environment; 0: a launcher that does not tell; 1: no
 * launcher, or one of one process. In a build without MPI, or with another than
 * the launcher's, each process is alone. */
ETX_API int64_t etx_dist_n_launched(void);

/* A group of the processes of MPI_COMM_WORLD, started by mpirun or srun. MPI is
 * initialised when the program has not done so, and etx_dist_close then
 * finalises it. options may be NULL. ETX_ERR_UNSUPPORTED in a build without
 * MPI, when the launcher started more processes than joined, or does not
 * tell how many and none joined, when ranks have other versions of the library
 * or another order of bytes, and when MPI runs with a thread level below
 * MPI_THREAD_SERIALIZED. An operation that did not complete leaves about 8 MiB
 * of the group's memory to MPI. */
ETX_API ETX_MUST_CHECK etx_status etx_dist_open_mpi(
    etx_dist **out, const etx_dist_options *options);

/* 1 when this build supports NCCL, else 0. */
ETX_API int32_t etx_dist_has_nccl(void);

/* The ranks of another group, host, each with a CUDA device of its own,
 * device_index. Gradients of a trainer with a context on that device go from
 * device to device over NCCL, within the deadline of options; host carries
 * everything else, within its own, and ends processes: a failure of either
 * group breaks both, and host is closed after *out. Called by all ranks
 * together; when one fails all fail. The current CUDA device of the calling
 * thread does not change. options may be NULL. ETX_ERR_UNSUPPORTED without the
 * device or in a build without NCCL. */
ETX_API ETX_MUST_CHECK etx_status etx_dist_open_nccl(etx_dist **out,
    etx_dist *host, int32_t device_index, const etx_dist_options *options);

/* A group of n_ranks (1 .. 1024) threads of this process: out [n_ranks], one
 * for each thread. options may be NULL. The deadline is for ranks that do not
 * arrive; once all are in an operation, each waits until the others have
 * completed it. */
ETX_API ETX_MUST_CHECK etx_status etx_dist_open_threads(
    etx_dist **out, int32_t n_ranks, const etx_dist_options *options);

/* 0 .. n_ranks-1; 0 for NULL. */
ETX_API int32_t etx_dist_rank(const etx_dist *dist);
/* At least 1; 1 for NULL. */
ETX_API int32_t etx_dist_n_ranks(const etx_dist *dist);

/* Wait until every rank has called. */
ETX_API ETX_MUST_CHECK etx_status etx_dist_barrier(etx_dist *dist);

/* All-reduce: values [n] become their sum over the ranks; exact where all ranks
 * but one have zeros. */
ETX_API ETX_MUST_CHECK etx_status etx_dist_sum(
    etx_dist *dist, double *values, int64_t n);

/* ETX_ERR_FORMAT on every rank unless value is the same on all; what names it
 * in the message ("parameters at step 20"). */
ETX_API ETX_MUST_CHECK etx_status etx_dist_agree(
    etx_dist *dist, uint64_t value, const char *what);

/* The team of this rank, for etx_trainer_set_team; dist must outlive its use.
 * The caller sets out->struct_size; what is beyond this library's etx_team
 * becomes 0. Gradients are summed by etx_gradient_sum, each rank a range of the
 * parameters, or with is_fast 1 by the transport. */
ETX_API ETX_MUST_CHECK etx_status etx_dist_team(etx_team *out, etx_dist *dist);

/* Time and volume of the communication of a rank since its group was opened. */
typedef struct etx_dist_statistics {
    uint32_t struct_size;   /* sizeof(etx_dist_statistics), by the caller */
    int32_t reserved;       /* 0 */
    double seconds;         /* transfers and sums, once all ranks had arrived */
    double waiting_seconds; /* waiting for the other ranks to arrive */
    int64_t n_calls;        /* operations counted in seconds */
    int64_t n_bytes;        /* sent by this rank */
} etx_dist_statistics;

/* The caller sets out->struct_size. */
ETX_API ETX_MUST_CHECK etx_status etx_dist_get_statistics(
    etx_dist_statistics *out, const etx_dist *dist);

/* ------------------------------------------------ one graph on all ranks -- */

/* Every rank computes one part of a graph (graph.h). All ranks call the
 * functions of this section together, with the same graph, model and event or
 * the same trainer; differing arguments are not always detected. When a rank
 * fails, the calls of the others fail with ETX_ERR_RANK and the group
 * stays usable: the ranks agree before any of them writes, so every trainer is
 * as it was before the step or validation. When a rank died or was late
 * (ETX_ERR_IO) the group is broken, and trainers may differ by that step. */

/* The exchange between parts over this group; dist must outlive its use. The
 * caller sets out->struct_size, as for etx_dist_team. */
ETX_API ETX_MUST_CHECK etx_status etx_dist_exchange(
    etx_part_exchange *out, etx_dist *dist);

/* etx_graph_score with the nodes partitioned over the ranks; order is
 * ETX_PARTITION_. Afterwards the graph of every rank has all scores, the same
 * bits as etx_graph_score gives; scores are valid only when the call succeeded.
 * Errors as etx_graph_part_score. */
ETX_API ETX_MUST_CHECK etx_status etx_dist_graph_score(etx_graph *graph,
    etx_dist *dist, etx_context *context, const etx_model *model,
    const etx_event *event, int32_t order);

/* etx_trainer_set_parts with one part per rank; dist outlives the trainer. */
ETX_API ETX_MUST_CHECK etx_status etx_dist_trainer_set_parts(
    etx_trainer *trainer, etx_dist *dist, int32_t order);

/* This rank has failed and makes no more calls. Calls of ranks that are threads
 * then fail immediately; processes wait for the deadline, or are ended by
 * etx_dist_end_processes. NULL is allowed. */
ETX_API void etx_dist_give_up(etx_dist *dist);

/* End all processes of the group, this one included, with exit_status
 * in 1..255, for programs in which a call has failed. For a group of threads it
 * is etx_dist_give_up, and it returns; so it does for NULL. */
ETX_API void etx_dist_end_processes(etx_dist *dist, int32_t exit_status);

/* Leave the group and free dist; NULL is allowed. */
ETX_API void etx_dist_close(etx_dist *dist);

#ifdef __cplusplus
}
#endif

#endif
