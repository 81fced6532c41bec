/* op/x86/operators.h -- the operators of this folder, one per instruction set.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_X86_OPERATORS_H
#define ETX_OP_X86_OPERATORS_H

#include "op/op.h"
#include "op/x86/isa.h"

/* The operators that have a version here. */
#define ETX_X86_OPERATORS(X)                                                   \
    X(mlp)                                                                     \
    X(mlp_prepare)                                                             \
    X(mlp_backward)                                                            \
    X(activation)                                                              \
    X(activation_backward)                                                     \
    X(gather)                                                                  \
    X(add)                                                                     \
    X(row_dot)                                                                 \
    X(segment_reduce)                                                          \
    X(segment_reduce_backward)                                                 \
    X(edge_features)                                                           \
    X(radius_graph)                                                            \
    X(line_graph)                                                              \
    X(connected_components)                                                    \
    X(edge_select)                                                             \
    X(outward_edges)                                                           \
    X(mutual_best)                                                             \
    X(narrow)                                                                  \
    X(widen)                                                                   \
    X(bce_loss)                                                                \
    X(adamw)

#define ETX_X86_DECLARE(name)                                                  \
    ETX_OPERATOR_PROTOTYPE(name, etx_##name##_avx2)                            \
    ETX_OPERATOR_PROTOTYPE(name, etx_##name##_avx512)

ETX_X86_OPERATORS(ETX_X86_DECLARE)

#endif
