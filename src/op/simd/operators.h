/* op/simd/operators.h -- the operators of this folder, one per instruction set.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SIMD_OPERATORS_H
#define ETX_OP_SIMD_OPERATORS_H

#include "base/cpu.h"
#include "op/op.h"
#include "op/simd/isa.h"

/* The operators that have a version here, X(name, isa). */
#define ETX_SIMD_OPERATORS(X, isa)                                             \
    X(mlp, isa)                                                                \
    X(mlp_prepare, isa)                                                        \
    X(mlp_backward, isa)                                                       \
    X(activation, isa)                                                         \
    X(activation_backward, isa)                                                \
    X(gather, isa)                                                             \
    X(add, isa)                                                                \
    X(row_dot, isa)                                                            \
    X(segment_reduce, isa)                                                     \
    X(segment_reduce_backward, isa)                                            \
    X(edge_features, isa)                                                      \
    X(radius_graph, isa)                                                       \
    X(line_graph, isa)                                                         \
    X(connected_components, isa)                                               \
    X(edge_select, isa)                                                        \
    X(outward_edges, isa)                                                      \
    X(mutual_best, isa)                                                        \
    X(narrow, isa)                                                             \
    X(widen, isa)                                                              \
    X(bce_loss, isa)                                                           \
    X(adamw, isa)

#define ETX_SIMD_DECLARE(name, isa)                                            \
    ETX_OPERATOR_PROTOTYPE(name, etx_##name##_##isa)
#define ETX_SIMD_DECLARE_LEVEL(constant, isa)                                  \
    ETX_SIMD_OPERATORS(ETX_SIMD_DECLARE, isa)

ETX_CPU_LEVELS(ETX_SIMD_DECLARE_LEVEL)

#endif
