/* examples/field_map.c -- a map of the magnetic field from a file.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "field_map.h"

#include <math.h>
#include <stdlib.h>

#include "program.h"
#include "table.h"

#define MAX_POINTS 100000 /* along an axis */
#define ON_GRID    1e-3   /* of a step */

enum { R, Z, B_R, B_Z, X, Y };

/* Values of a column from low to high, n of them in equal steps. */
struct axis {
    double low, high;
    int32_t n;
};

static struct axis find_axis(const struct table *table, int column, int other)
{
    const double *const first = table->value;
    struct axis axis = {first[column], first[column], 0};

    for (int64_t k = 0; k < table->n_rows; k++) {
        const double *const row = first + k * table->n_columns;

        axis.low = fmin(axis.low, row[column]);
        axis.high = fmax(axis.high, row[column]);
        axis.n += axis.n < MAX_POINTS && row[other] == first[other];
    }
    return axis;
}

/* The index of a value, or -1: it is between two of them. */
static int64_t index_of(const struct axis *axis, double value)
{
    const double at =
        (value - axis->low) / (axis->high - axis->low) * (axis->n - 1);

    return fabs(at - round(at)) <= ON_GRID ? (int64_t)round(at) : -1;
}

/* map [r->n, z->n, 2]; 0 when the rows are not its points. */
static int fill(float *map, const struct table *table, const struct axis *r,
    const struct axis *z)
{
    for (int64_t k = 0; k < 2 * table->n_rows; k++)
        map[k] = NAN;
    for (int64_t k = 0; k < table->n_rows; k++) {
        const double *const row = table->value + k * table->n_columns;
        const int64_t i = index_of(r, row[R]);
        const int64_t j = index_of(z, row[Z]);
        const int64_t at = 2 * (i * z->n + j);

        if (i < 0 || j < 0 || !isnan(map[at]))
            return 0;
        map[at] = (float)row[B_R];
        map[at + 1] = (float)row[B_Z];
    }
    return 1;
}

static int use_table(
    float **map, etx_fit_options *options, const struct table *table)
{
    const int has_axis = table->n_columns == Y + 1;

    if (table->n_rows == 0 || (table->n_columns != B_Z + 1 && !has_axis))
        return 0;
    const struct axis r = find_axis(table, R, Z);
    const struct axis z = find_axis(table, Z, R);
    if (r.low != 0.0 || (int64_t)r.n * z.n != table->n_rows)
        return 0;
    *map = program_allocate(2 * table->n_rows, sizeof **map);
    options->field_map = *map;
    options->n_r = r.n;
    options->n_z = z.n;
    options->max_r = (float)r.high;
    options->max_z = (float)(0.5 * (z.high - z.low));
    options->map_x = has_axis ? (float)table->value[X] : 0.0f;
    options->map_y = has_axis ? (float)table->value[Y] : 0.0f;
    options->map_z = (float)(0.5 * (z.high + z.low));
    return fill(*map, table, &r, &z);
}

int field_map_read(float **map, etx_fit_options *options, const char *path)
{
    struct table table = {0};
    int failed;

    if (table_read(&table, path, 1) != 0)
        return PROGRAM_FAILED;
    failed =
        use_table(map, options, &table)
            ? 0
            : program_error("%s: expected r,z,b_r,b_z[,x,y] on a grid of equal "
                            "steps, r from 0 on",
                  path);
    table_free(&table);
    return failed;
}
