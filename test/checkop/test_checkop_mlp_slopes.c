/* checkop/test_checkop_mlp_slopes.c -- mlp_backward compared with finite
 * differences.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <math.h>

enum { N_ROWS = 9, N_SOURCE = 4, LEFT = 3, RIGHT = 2, HIDDEN = 6, OUT = 4 };

/* A network with gathered parts whose values and gradients a test owns. */
struct network {
    struct etx_mlp_args forward;
    struct etx_mlp_backward_args backward;
    struct etx_layer layer[3];
    struct etx_layer_gradient gradient[3];
    float *d_out;                     /* [N_ROWS, OUT] */
    float *left;                      /* [N_SOURCE, LEFT] */
    float *right;                     /* [N_ROWS, RIGHT] */
    float *d_left;                    /* [N_SOURCE, LEFT] */
    float *value[3][4], *slope[3][4]; /* weight, bias, gain, shift */
    int64_t count[3][4];
};

static double objective(void *user)
{
    const struct network *net = user;

    if (etx_op_ref.mlp(&check.stream[0], &net->forward) != ETX_OK)
        return NAN;
    return checkop_dot(net->forward.out, net->d_out, N_ROWS * OUT);
}

static void make_layer(struct network *net, int32_t l, int32_t n_in,
    int32_t n_out, int32_t norm, int32_t norm_last, int32_t activation)
{
    const int32_t has_affine = norm == ETX_NORM_LAYER || norm == ETX_NORM_BATCH;
    const int64_t count[] = {
        n_in * n_out, n_out, has_affine ? n_out : 0, has_affine ? n_out : 0};

    for (int32_t k = 0; k < 4; k++) {
        net->count[l][k] = count[k];
        net->value[l][k] = checkop_floats(count[k]);
        net->slope[l][k] = checkop_buffer(count[k], sizeof(float));
    }
    if (l == 1 && has_affine) /* shared with the layer before */
        for (int32_t k = 2; k < 4; k++) {
            net->count[l][k] = 0;
            net->value[l][k] = net->value[0][k];
            net->slope[l][k] = net->slope[0][k];
        }
    net->layer[l] = (struct etx_layer){.n_in = n_in,
        .n_out = n_out,
        .weight = net->value[l][0],
        .bias = net->value[l][1],
        .gain = has_affine ? net->value[l][2] : NULL,
        .shift = has_affine ? net->value[l][3] : NULL,
        .eps = norm == ETX_NORM_L2 ? 1e-12f : 1e-2f,
        .norm = norm,
        .norm_last = norm_last,
        .activation = activation};
    net->gradient[l] = (struct etx_layer_gradient){
        net->slope[l][0], net->slope[l][1], net->slope[l][2], net->slope[l][3]};
}

static struct network *make_network(
    int32_t norm, int32_t norm_last, int32_t activation, int32_t last_norm)
{
    struct network *net = checkop_buffer(1, sizeof *net);
    const int32_t *index = checkop_indices(N_ROWS, N_SOURCE);

    net->d_out = checkop_floats(N_ROWS * OUT);
    net->left = checkop_floats(N_SOURCE * LEFT);
    net->right = checkop_floats(N_ROWS * RIGHT);
    make_layer(net, 0, LEFT + RIGHT, HIDDEN, norm, norm_last, activation);
    make_layer(net, 1, HIDDEN, HIDDEN, norm, norm_last, activation);
    make_layer(net, 2, HIDDEN, OUT, last_norm, 0, ETX_ACTIVATION_NONE);
    net->forward = (struct etx_mlp_args){.n_rows = N_ROWS,
        .n_parts = 2,
        .n_layers = 3,
        .part = {{net->left, index, LEFT}, {net->right, NULL, RIGHT}},
        .layer = net->layer,
        .out = checkop_floats(N_ROWS * OUT)};
    net->backward = (struct etx_mlp_backward_args){.forward = &net->forward,
        .d_out = net->d_out,
        .d_part = {checkop_floats(N_ROWS * LEFT),
            checkop_floats(N_ROWS * RIGHT)},
        .gradient = net->gradient};
    ck_assert_ok(etx_op_ref.mlp_backward(&check.stream[0], &net->backward));
    /* The gradient of a gathered row is the sum over where it went. */
    net->d_left = checkop_buffer(N_SOURCE * LEFT, sizeof(float));
    for (int32_t i = 0; i < N_ROWS; i++)
        for (int32_t k = 0; k < LEFT; k++)
            net->d_left[index[i] * LEFT + k] +=
                net->backward.d_part[0][i * LEFT + k];
    return net;
}

/* The largest slope of any parameter or input. */
static double largest_slope(const struct network *net)
{
    double out = 0.0;

    for (int32_t t = 0; t < N_SOURCE * LEFT; t++)
        out = fmax(out, fabs((double)net->d_left[t]));
    for (int32_t l = 0; l < 3; l++)
        for (int32_t k = 0; k < 4; k++)
            for (int64_t t = 0; t < net->count[l][k]; t++)
                out = fmax(out, fabs((double)net->slope[l][k][t]));
    return out;
}

/* Step 2^-7 of values of order 1: float32 rounding of the outputs, about
 * 1e-7 sqrt(36) / h, is 1e-4 of slopes of order 1, and the truncation
 * h^4 f''''' stays below that for norms with eps 1e-2. Tolerance 1e-3 of the
 * slope and of the largest slope: a wrong term is of order 1. */
static void verify_network(struct network *net)
{
    static const char *const names[] = {"weight", "bias", "gain", "shift"};
    struct checkop_slope slope = {.name = "left",
        .objective = objective,
        .user = net,
        .x = net->left,
        .gradient = net->d_left,
        .n = N_SOURCE * LEFT,
        .n_points = N_SOURCE * LEFT,
        .step = 0x1p-7f,
        .relative = 1e-3,
        .absolute = 1e-3,
        .scale = largest_slope(net)};

    checkop_verify_slope(&slope);
    slope.name = "right";
    slope.x = net->right;
    slope.gradient = net->backward.d_part[1];
    slope.n = slope.n_points = N_ROWS * RIGHT;
    checkop_verify_slope(&slope);
    for (int32_t l = 0; l < 3; l++)
        for (int32_t k = 0; k < 4; k++) {
            slope.name = names[k];
            slope.x = net->value[l][k];
            slope.gradient = net->slope[l][k];
            slope.n = slope.n_points = net->count[l][k];
            checkop_verify_slope(&slope);
        }
}

CHECKOP_TEST(test_mlp_slopes, .rows = ETX_N_NORMS)
{
    static const int32_t activations[] = {ETX_ACTIVATION_SILU,
        ETX_ACTIVATION_TANH, ETX_ACTIVATION_GELU, ETX_ACTIVATION_SIGMOID};

    for (int32_t norm_last = 0; norm_last < 2; norm_last++)
        for (int32_t last = 0; last < ETX_N_NORMS; last++)
            verify_network(make_network(
                _i, norm_last, activations[(last + _i) % 4], last));
}
