/* checkop/test_checkop_hit_features.c -- what networks read of hits; the values
 * by name are in the suite features.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <math.h>

static const int32_t sizes[] = {0, 1, 2, 33, 1023, 5000};
#define N_SIZES ROWS(sizes)

static void relative_bounds(struct checkop_case *self)
{
    const struct etx_hit_features_args *args = self->args;
    struct checkop_output *output = &self->output[0];

    checkop_flat_bound(output, 0.0);
    for (int64_t t = 0; t < output->n; t++)
        output->bound[t] = 8.0 * CHECKOP_EPS * fabs((double)args->out[t]);
}

/* Every formula of hits, clusters and cells; some hits are on the axis. */
static struct etx_hit_features_args *make(struct checkop_case *out, int64_t n)
{
    struct etx_hit_features_args *args =
        checkop_begin(out, "hit_features", sizeof *args);
    struct etx_hit_column *column =
        checkop_buffer(ETX_MAX_HIT_COLUMNS, sizeof *column);
    float *position = checkop_uniform(3 * n, -1000.0f, 1000.0f);
    float *cells = checkop_uniform(ETX_N_CELL_FEATURES * n, 0.0f, 20.0f);

    for (int32_t k = 0; k < ETX_MAX_HIT_COLUMNS; k++) {
        column[k].formula = k % (ETX_HIT_LOG_CELL + 1);
        column[k].of = k / (ETX_HIT_LOG_CELL + 1);
        column[k].scale = *checkop_uniform(1, 0.5f, 100.0f);
    }
    for (int64_t i = 0; i < n; i += 5)
        position[3 * i] = position[3 * i + 1] = 0.0f;
    for (int64_t i = 0; i < n; i += 15)
        position[3 * i + 2] = 0.0f;
    *args = (struct etx_hit_features_args){.n_hits = n,
        .n_columns = ETX_MAX_HIT_COLUMNS,
        .column = column,
        .position = position,
        .cluster = checkop_uniform(6 * n, -1000.0f, 1000.0f),
        .cell = {cells, cells + n},
        .cell_stride = 1,
        .out = checkop_floats(n * ETX_MAX_HIT_COLUMNS)};
    out->set_bounds = relative_bounds;
    checkop_label(out, "hits=%d", (int)n);
    CHECKOP_OUTPUT(out, args->out, n * ETX_MAX_HIT_COLUMNS);
    return args;
}

CHECKOP_VERIFY(test_hit_features_sizes, N_SIZES, make(&one, sizes[_i]))

/* Cells in rows of nine, and none at all: what is of them is 0. */
CHECKOP_TEST(test_hit_features_cells, .rows = 2)
{
    struct checkop_case one;
    struct etx_hit_features_args *args = make(&one, 100);

    args->cell_stride = ETX_N_CELL_FEATURES;
    args->cell[1] = args->cell[0] + 1;
    if (_i == 1)
        args->cell[0] = args->cell[1] = NULL;
    checkop_verify(&one);
    for (int64_t t = 0; t < one.output[0].n && _i == 1; t++)
        if (args->column[t % args->n_columns].formula >= ETX_HIT_CELL)
            ck_assert_float_eq(args->out[t], 0.0f);
}
