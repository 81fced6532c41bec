/* arch/edge_steps.h -- edges as inputs of networks, and operators on arrays.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_EDGE_STEPS_H
#define ETX_ARCH_EDGE_STEPS_H

#include "arch/mlp_block.h"

/* Which end of an edge comes first in a concatenation: the choices of the
 * option "order". */
enum etx_edge_order { ETX_EDGE_SOURCE_TARGET, ETX_EDGE_TARGET_SOURCE };

extern const char *const etx_edge_order_names[]; /* NULL-terminated */

/* src and dst of the graph in this order. */
struct etx_edge_ends {
    struct etx_edge_end first;
    struct etx_edge_end second;
};

struct etx_edge_ends etx_edge_ends(
    const struct etx_graph *graph, int32_t order);

/* The network's edge features of edges first .. first + n - 1:
 * out [n, n_edge_features]. ETX_ERR_ARGUMENT when the list needs scores that
 * the graph lacks. */
etx_status etx_edge_feature_rows(float *out, const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    int64_t first, int64_t n);

/* The features of all edges, in the arena; NULL when the network has none. */
etx_status etx_edge_features_make(float **out,
    const struct etx_network *network, struct etx_context *context,
    const struct etx_network_input *input);

/* *out [n] in the arena of the context. */
etx_status etx_floats_alloc(
    float **out, struct etx_context *context, int64_t n, const char *what);

/* out [n_nodes, width] (+)= sum over the edges in of weight x[src] plus sum
 * over the edges out of weight x[dst]; weight [n_edges], x [n_nodes, width].
 * Linear in x and symmetric in the ends: its own adjoint. */
etx_status etx_propagate(float *out, int32_t add, struct etx_context *context,
    const struct etx_graph *graph, const float *weight, const float *x,
    int32_t width);

/* The gradient of its weights: d_weight[e] (+)= d_out[dst] . x[src] +
 * d_out[src] . x[dst]. */
etx_status etx_propagate_weights_backward(float *d_weight, int32_t add,
    struct etx_context *context, const struct etx_graph *graph,
    const float *d_out, const float *x, int32_t width);

/* y [n] = x [n]. */
etx_status etx_copy_values(
    struct etx_context *context, float *y, const float *x, int64_t n);

/* y [n] += x [n]. */
etx_status etx_add_values(
    struct etx_context *context, float *y, const float *x, int64_t n);

#endif
