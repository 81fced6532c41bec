/* op/op.h -- every operator: one documented argument struct and a table.
 *
 * An operator reads and writes plain arrays through one struct, which the
 * reference (op/ref), the SIMD versions (op/simd), the CUDA versions, the tests
 * and the benchmark share. The reference is complete and defines the results;
 * other tables start as a copy of it and override entries.
 *
 * Rules:
 * - Matrices are row-major and contiguous unless a stride is given.
 * - Outputs must not overlap inputs unless the field says so.
 * - Counts of zero are valid and do nothing, except that scalar results (sums,
 *   n_selected, an edge list) are written as zero.
 * - The caller (arch, stage) checks sizes; operators fail only for memory,
 *   limits and cancellation.
 * - Results are the same bits on every run and for every number of threads.
 * - Tolerance against the reference, unless the operator states another: exact
 *   for indices and graphs; 8 eps sqrt(n) relative to the sum of magnitudes for
 *   sums of n terms.
 * - On a device, arrays are in its memory and work is queued: an operator may
 *   still run after it returned. Argument structs, lists of features, counts
 *   and sums are in the memory of the host.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_OP_H
#define ETX_OP_OP_H

#include "op/array.h"
#include "op/graph.h"
#include "op/labels.h"
#include "op/network.h"
#include "op/stream.h"
#include "op/training.h"

/* X(name) for operators that run where the arrays are: their arguments are
 * struct etx_<name>_args. */
#define ETX_DEVICE_OPERATORS(X)                                                \
    ETX_ARRAY_OPERATORS(X)                                                     \
    ETX_NETWORK_OPERATORS(X)                                                   \
    ETX_GRAPH_OPERATORS(X)                                                     \
    ETX_LABELS_OPERATORS(X)                                                    \
    ETX_TRAINING_OPERATORS(X)

/* Operators that run on the CPU only, on arrays in the memory of the host:
 * hough_votes depends on the last bit of atan2, mlp_prepare works on structs
 * of layers, no shipped model needs walkthrough. */
#define ETX_HOST_OPERATORS(X)                                                  \
    X(hough_votes)                                                             \
    X(mlp_prepare)                                                             \
    X(walkthrough)

#define ETX_OPERATORS(X)                                                       \
    ETX_DEVICE_OPERATORS(X)                                                    \
    ETX_HOST_OPERATORS(X)

/* The signature of an operator. */
#define ETX_OPERATOR_PROTOTYPE(name, function)                                 \
    etx_status function(                                                       \
        struct etx_stream *stream, const struct etx_##name##_args *args);

#define ETX_OPERATOR_FIELD(name) ETX_OPERATOR_PROTOTYPE(name, (*name))

/* One pointer per operator; none is NULL. */
struct etx_op_table {
    ETX_OPERATORS(ETX_OPERATOR_FIELD)
};

/* The complete reference table. */
extern const struct etx_op_table etx_op_ref;

/* Override what has a version for this ETX_CPU_ level; does nothing at
 * ETX_CPU_REF or on another architecture. */
void etx_op_simd(struct etx_op_table *table, int32_t cpu_level);

#endif
