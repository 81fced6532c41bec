/* op/training.h -- arguments of the losses and the optimiser.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_TRAINING_H
#define ETX_OP_TRAINING_H

#include <stdint.h>

/* bce_loss: binary cross-entropy of logits, and its gradient.
 * loss_e = weight_e * (pos_weight * y softplus(-x) + (1 - y) softplus(x)).
 * A focal_gamma above 0 multiplies the first term by (1 - p)^gamma and the
 * second by p^gamma, p = sigmoid(x): the focal loss of Lin et al.,
 * arXiv:1708.02002, equation 5. Edges with weight 0 are masked. Sums are in
 * float64, in edge order. */
struct etx_bce_loss_args {
    int64_t n;
    const float *logit;  /* [n] */
    const float *target; /* [n] in [0, 1] */
    const float *weight; /* [n] >= 0, or NULL: ones */
    float pos_weight;
    double *loss_sum;   /* sum of loss_e; or NULL */
    double *weight_sum; /* sum of weight_e; or NULL */
    float scale;        /* d_logit = scale * d loss_e / d x_e */
    float *d_logit;     /* [n] overwritten, or NULL */
    float focal_gamma;  /* >= 0; 0: cross-entropy */
};

/* square_loss: *sum = sum of (x_i - target_i)^2 in float64, in the order of i;
 * d_x_i = scale * (x_i - target_i). A NaN target is masked: its d_x is 0.
 * Tolerance of the sum: n eps of float64. */
struct etx_square_loss_args {
    int64_t n;
    const float *x;      /* [n] */
    const float *target; /* [n], NaN: masked */
    double scale;
    float *d_x;  /* [n] overwritten, or NULL */
    double *sum; /* in host memory */
};

/* How pairs of different particles repel each other. */
enum etx_hinge {
    ETX_HINGE_SQUARED, /* max(0, margin^2 - s): Exa.TrkX metric learning */
    ETX_HINGE_DISTANCE /* max(0, margin - sqrt(s))^2: Hadsell et al. 2006 */
};

/* hinge_loss: contrastive loss on squared distances s of pairs (a, b).
 * y = 1: weight * s (attract); y = 0: weight * the hinge. Sums in float64,
 * in pair order. The gradient of a coincident pair is 0. */
struct etx_hinge_loss_args {
    int64_t n_pairs, n_points;
    int32_t n_dim;
    int32_t hinge; /* enum etx_hinge */
    float margin;
    const float *point;    /* [n_points, n_dim] */
    const int32_t *a;      /* [n_pairs] */
    const int32_t *b;      /* [n_pairs] */
    const uint8_t *target; /* [n_pairs] 0 or 1 */
    const float *weight;   /* [n_pairs] or NULL: ones */
    float positive_scale;  /* of the gradient of pairs with y = 1 */
    float negative_scale;  /* of the gradient of pairs with y = 0 */
    double *positive_sum;  /* sum of the loss of pairs with y = 1, unscaled */
    double *negative_sum;
    float *d_point; /* [n_points, n_dim], added to, or NULL */
};

/* adamw: one step of AdamW (Loshchilov and Hutter, arXiv:1711.05101), with
 * the AMSGrad maximum when v_max is given. */
struct etx_adamw_args {
    int64_t n;
    int64_t step; /* 1 for the first */
    float learning_rate, beta1, beta2, eps, weight_decay;
    const float *decays;   /* [n] factors of weight_decay, 1 or 0; NULL: ones */
    const float *gradient; /* [n] */
    float *parameter;      /* [n] */
    float *m, *v;          /* [n] moments */
    float *v_max;          /* [n] or NULL */
};

/* X(name) for every operator of this header. */
#define ETX_TRAINING_OPERATORS(X)                                              \
    X(bce_loss)                                                                \
    X(square_loss)                                                             \
    X(hinge_loss)                                                              \
    X(adamw)

#endif
