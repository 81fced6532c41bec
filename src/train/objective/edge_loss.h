/* train/objective/edge_loss.h -- the loss of scored edges as one number.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_OBJECTIVE_EDGE_LOSS_H
#define ETX_TRAIN_OBJECTIVE_EDGE_LOSS_H

#include "backend/backend.h"
#include "train/config.h"
#include "train/ranks/loss_sums.h"

/* loss = scale * sum(l), where the weights of true and false edges are
 * multiplied by their factors before. */
struct etx_edge_norm {
    double scale;
    double loss_scale; /* of the gradient alone, times scale */
    double pt_scale;   /* of the momentum head: 1 / n_true */
    float true_factor, false_factor;
};

/* Of n edges. */
struct etx_loss_sums etx_edge_sums(
    int64_t n, const float *target, const float *weight);

struct etx_edge_norm etx_edge_norm(
    const struct etx_loss_sums *sums, int32_t reduction);

/* *loss = the loss of n edges under norm; their weights are multiplied by its
 * factors. d_logit [n] gets the gradient. */
etx_status etx_edge_loss(double *loss, float *d_logit,
    struct etx_context *context, const struct etx_train_loss *options,
    const struct etx_edge_norm *norm, int64_t n, const float *logit,
    const float *target, float *weight);

/* Sums over the events of a validation. */
struct etx_edge_totals {
    double n_true, n_false; /* edges with a weight above 0 */
    double weight;
    double loss, loss_true; /* weighted; of all and of the true ones */
};

/* Add n edges; their weights are overwritten. */
etx_status etx_edge_totals_add(struct etx_edge_totals *totals,
    struct etx_context *context, const struct etx_train_loss *options,
    int64_t n, const float *logit, const float *target, float *weight);

/* The loss of all; nan without edges. */
double etx_edge_totals_loss(
    const struct etx_edge_totals *totals, int32_t reduction);

#endif
