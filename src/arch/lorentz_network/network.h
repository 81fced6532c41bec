/* arch/lorentz_network/network.h -- options, layers, scalars of edges.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_LORENTZ_NETWORK_NETWORK_H
#define ETX_ARCH_LORENTZ_NETWORK_NETWORK_H

#include "arch/message_passing.h"

#define ETX_LORENTZ_WIDTH    4 /* t, x, y, z */
#define ETX_LORENTZ_PRODUCTS 2 /* of an edge: (x_j - x_i)^2 and x_i . x_j */
#define ETX_LORENTZ_SCALES   3
#define ETX_LORENTZ_SCALARS  (ETX_LORENTZ_PRODUCTS * ETX_LORENTZ_SCALES)

struct etx_lorentz {
    int32_t hidden;
    int32_t n_iterations;
    int32_t layers; /* linears of each perceptron */
    struct etx_mlp_style style;
    float step;    /* of the four-vectors */
    float ratio;   /* of the factors of a product */
    int32_t order; /* enum etx_edge_order */
    struct etx_mlp_block encoder, decoder;
    struct etx_mlp_blocks messages, steps, nodes;
};

/* etx_arch.configure. */
etx_status etx_lorentz_configure(
    struct etx_network *network, const struct etx_json *options);

/* ------------------------------------------------------------- scalars.c -- */

/* What perceptrons see of the four-vectors at the ends of every edge. Arrays
 * are in the arena. */
struct etx_lorentz_scalars {
    const float *x;                     /* [n_nodes, 4] the four-vectors */
    float *lowered;                     /* [n_nodes, 4] (t, -x, -y, -z) */
    float *difference;                  /* [n_edges, 4] lowered, of dst - src */
    float *scaled[ETX_LORENTZ_SCALARS]; /* [n_edges] by product,
                                         * then by factor */
    float *value[ETX_LORENTZ_SCALARS];  /* [n_edges] tanh of these */
    struct etx_sum d_value[ETX_LORENTZ_SCALARS]; /* backward */
};

/* out [n_rows, 4] = (t, -x, -y, -z) of the rows. */
etx_status etx_lorentz_lower(
    float *out, struct etx_run *run, const float *rows, int64_t n_rows);

/* Of four-vectors x [n_nodes, 4]; the sums only in a backward. */
etx_status etx_lorentz_scalars_make(
    struct etx_lorentz_scalars *out, struct etx_run *run, const float *x);

/* Add to d_x [n_nodes, 4] from the sums of all scalars; *is_started: is there
 * something to add to? */
etx_status etx_lorentz_scalars_backward(struct etx_sum *d_x,
    struct etx_run *run, struct etx_lorentz_scalars *scalars);

#endif
