/* op/shared/layers.h -- arguments of the steps of mlp and mlp_backward.
 *
 * The rules for operators (op/op.h) hold, but no table has them: the
 * reference and CUDA run a perceptron as a sequence of these.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SHARED_LAYERS_H
#define ETX_OP_SHARED_LAYERS_H

#include <stdint.h>

/* linear: y = x W^T + b. */
struct etx_linear_args {
    int64_t n_rows;
    int32_t n_in, n_out;
    const float *x;      /* [n_rows, n_in] */
    const float *weight; /* [n_out, n_in] */
    const float *bias;   /* [n_out] or NULL */
    float *y;            /* [n_rows, n_out] */
};

struct etx_linear_backward_args {
    int64_t n_rows;
    int32_t n_in, n_out;
    const float *x;      /* [n_rows, n_in] */
    const float *weight; /* [n_out, n_in] */
    const float *d_y;    /* [n_rows, n_out] */
    float *d_x;          /* [n_rows, n_in], overwritten, or NULL */
    float *d_weight;     /* [n_out, n_in], added to, or NULL */
    float *d_bias;       /* [n_out], added to, or NULL */
};

/* norm: y = norm(x) over rows (LAYER, L2) or channels (BATCH). */
struct etx_norm_args {
    int64_t n_rows;
    int32_t width;
    int32_t norm; /* enum etx_norm */
    float eps;
    const float *x;     /* [n_rows, width] */
    const float *gain;  /* [width] or NULL */
    const float *shift; /* [width] or NULL */
    float *y;           /* [n_rows, width]; may be x */
};

struct etx_norm_backward_args {
    struct etx_norm_args forward; /* y is not read */
    const float *d_y;             /* [n_rows, width] */
    float *d_x;                   /* [n_rows, width], overwritten; may be d_y */
    float *d_gain;                /* [width], added to, or NULL */
    float *d_shift;               /* [width], added to, or NULL */
};

#endif
