/* io/detector_csv.c -- module geometry from TrackML's detectors.csv.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/detector_csv.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"
#include "io/csv.h"

#include <math.h>
#include <string.h>

/* TrackML writes rotations with six digits. */
#define ROTATION_TOLERANCE 0.01f

enum {
    VOLUME_ID,
    LAYER_ID,
    MODULE_ID,
    CENTER,                /* three columns */
    ROTATION = CENTER + 3, /* nine columns */
    HALF_THICKNESS = ROTATION + 9,
    PITCH_U,
    PITCH_V,
    HALF_U,
    HALF_V,
    RADIATION_LENGTHS,
    DEPTH,
    MATERIAL_OFFSET,
    TUBE_RADIUS,
    TUBE_RADIATION_LENGTHS,
    N_COLUMNS
};

static const struct etx_csv_wanted columns[N_COLUMNS] = {
    {"volume_id", ETX_CSV_INT32},
    {"layer_id", ETX_CSV_INT32},
    {"module_id", ETX_CSV_INT32},
    {"cx", ETX_CSV_FLOAT},
    {"cy", ETX_CSV_FLOAT},
    {"cz", ETX_CSV_FLOAT},
    {"rot_xu", ETX_CSV_FLOAT},
    {"rot_xv", ETX_CSV_FLOAT},
    {"rot_xw", ETX_CSV_FLOAT},
    {"rot_yu", ETX_CSV_FLOAT},
    {"rot_yv", ETX_CSV_FLOAT},
    {"rot_yw", ETX_CSV_FLOAT},
    {"rot_zu", ETX_CSV_FLOAT},
    {"rot_zv", ETX_CSV_FLOAT},
    {"rot_zw", ETX_CSV_FLOAT},
    {"module_t", ETX_CSV_FLOAT},
    {"pitch_u", ETX_CSV_FLOAT},
    {"pitch_v", ETX_CSV_FLOAT},
    {"module_maxhu", ETX_CSV_FLOAT | ETX_CSV_OPTIONAL},
    {"module_hv", ETX_CSV_FLOAT | ETX_CSV_OPTIONAL},
    {"radiation_lengths", ETX_CSV_FLOAT | ETX_CSV_OPTIONAL},
    {"depth", ETX_CSV_FLOAT | ETX_CSV_OPTIONAL},
    {"material_offset", ETX_CSV_FLOAT | ETX_CSV_OPTIONAL},
    {"tube_r", ETX_CSV_FLOAT | ETX_CSV_OPTIONAL},
    {"tube_radiation_lengths", ETX_CSV_FLOAT | ETX_CSV_OPTIONAL},
};

/* Whether the columns of rotation [3, 3] are unit vectors at right angles. */
static int is_rotation(const float *rotation)
{
    for (int32_t a = 0; a < 3; a++) {
        for (int32_t b = a; b < 3; b++) {
            const float product = rotation[a] * rotation[b] +
                                  rotation[3 + a] * rotation[3 + b] +
                                  rotation[6 + a] * rotation[6 + b];
            const float expected = a == b ? 1.0f : 0.0f;
            /* Written so that a NaN fails. */
            if (!(fabsf(product - expected) <= ROTATION_TOLERANCE))
                return 0;
        }
    }
    return 1;
}

/* Half of the diagonal of the smallest rectangle around a module, mm; 0: not
 * known, as for shapes that have no two half lengths. */
static float half_diagonal(const struct etx_csv *csv, int64_t row)
{
    const float *const half_u = csv->float_values[HALF_U];
    const float *const half_v = csv->float_values[HALF_V];

    return half_u != NULL && half_v != NULL && half_u[row] > 0.0f &&
                   half_v[row] > 0.0f
               ? sqrtf(half_u[row] * half_u[row] + half_v[row] * half_v[row])
               : 0.0f;
}

/* A number of a column that the file may lack. */
static float read_optional(
    const struct etx_csv *csv, int64_t row, int32_t column, float otherwise)
{
    const float *const values = csv->float_values[column];

    return values != NULL ? values[row] : otherwise;
}

/* The tube that a module's row names, unless a row before it has. */
static etx_status add_tube(
    struct etx_detector *detector, const struct etx_csv *csv, int64_t row)
{
    const struct etx_detector_tube made = {
        read_optional(csv, row, TUBE_RADIUS, 0.0f),
        read_optional(csv, row, TUBE_RADIATION_LENGTHS, 0.0f)};
    int32_t at = detector->n_tubes;

    if (made.radius == 0.0f || made.radiation_lengths == 0.0f)
        return ETX_OK;
    if (!(made.radius > 0.0f))
        return etx_csv_fail(csv, row, TUBE_RADIUS, "is negative");
    if (!(made.radiation_lengths > 0.0f))
        return etx_csv_fail(csv, row, TUBE_RADIATION_LENGTHS, "is negative");
    for (int32_t k = 0; k < detector->n_tubes; k++)
        if (detector->tube[k].radius == made.radius)
            return detector->tube[k].radiation_lengths == made.radiation_lengths
                       ? ETX_OK
                       : etx_csv_fail(csv, row, TUBE_RADIATION_LENGTHS,
                             "is not that of the same tube_r before");
    if (detector->n_tubes == ETX_MAX_TUBES)
        return etx_csv_fail(csv, row, TUBE_RADIUS, "is one radius too many");
    for (; at > 0 && detector->tube[at - 1].radius > made.radius; at--)
        detector->tube[at] = detector->tube[at - 1];
    detector->tube[at] = made;
    detector->n_tubes++;
    return ETX_OK;
}

static etx_status read_module(
    struct etx_detector_module *module, const struct etx_csv *csv, int64_t row)
{
    module->volume_id = csv->int32_values[VOLUME_ID][row];
    module->layer_id = csv->int32_values[LAYER_ID][row];
    module->module_id = csv->int32_values[MODULE_ID][row];
    for (int32_t k = 0; k < 3; k++)
        module->center[k] = csv->float_values[CENTER + k][row];
    for (int32_t k = 0; k < 9; k++)
        module->rotation[k] = csv->float_values[ROTATION + k][row];
    module->half_thickness = csv->float_values[HALF_THICKNESS][row];
    module->pitch_u = csv->float_values[PITCH_U][row];
    module->pitch_v = csv->float_values[PITCH_V][row];
    module->half_diagonal = half_diagonal(csv, row);
    module->depth = read_optional(csv, row, DEPTH, 0.0f);
    module->radiation_lengths =
        read_optional(csv, row, RADIATION_LENGTHS, 0.0f);
    module->material_offset = read_optional(csv, row, MATERIAL_OFFSET, 0.0f);
    if (!(module->radiation_lengths >= 0.0f))
        return etx_csv_fail(csv, row, RADIATION_LENGTHS, "is negative");
    if (!is_rotation(module->rotation))
        return etx_csv_fail(
            csv, row, ROTATION, "starts nine numbers that are no rotation");
    for (int32_t column = HALF_THICKNESS; column <= PITCH_V; column++)
        if (csv->float_values[column][row] <= 0.0f)
            return etx_csv_fail(csv, row, column, "is not positive");
    if (!(module->depth >= 0.0f))
        return etx_csv_fail(csv, row, DEPTH, "is negative");
    return ETX_OK;
}

/* By volume, layer and module. */
static etx_status sort_modules(struct etx_detector *detector)
{
    const int64_t n = detector->n_modules;
    struct etx_detector_module *sorted = NULL;
    int64_t *key = NULL;
    int32_t *by_module = NULL;
    int32_t *order = NULL;
    etx_status status;

    ETX_NEW(sorted, n, "detector modules");
    ETX_NEW(key, n, "ids of modules");
    ETX_NEW(by_module, n, "order of modules");
    ETX_NEW(order, n, "order of modules");
    for (int64_t i = 0; i < n; i++)
        key[i] = detector->modules[i].module_id;
    ETX_CHECK(etx_sort_order(by_module, key, n));
    for (int64_t k = 0; k < n; k++) {
        const struct etx_detector_module *module =
            &detector->modules[by_module[k]];

        ETX_POLL(k);
        key[k] = module->volume_id * ((int64_t)1 << 32) + module->layer_id;
    }
    ETX_CHECK(etx_sort_order(order, key, n));
    for (int64_t k = 0; k < n; k++) {
        ETX_POLL(k);
        sorted[k] = detector->modules[by_module[order[k]]];
    }
    etx_free(detector->modules);
    detector->modules = sorted;
    sorted = NULL;
done:
    etx_free(sorted);
    etx_free(key);
    etx_free(by_module);
    etx_free(order);
    return status;
}

static etx_status check_unique(
    const struct etx_detector *detector, const char *path)
{
    for (int64_t i = 1; i < detector->n_modules; i++) {
        const struct etx_detector_module *module = &detector->modules[i];
        if (etx_detector_module_compare(module - 1, module) == 0)
            return etx_fail(ETX_ERR_FORMAT,
                "%s: volume_id %d, layer_id %d, module_id %d occurs twice",
                path, module->volume_id, module->layer_id, module->module_id);
    }
    return ETX_OK;
}

etx_status etx_detector_csv_read(etx_detector **out, const char *path)
{
    struct etx_csv csv = {0};
    etx_detector *detector = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_csv_read(&csv, path, columns, N_COLUMNS));
    ETX_NEW(detector, 1, "a detector");
    ETX_NEW(detector->modules, csv.n_rows, "detector modules");
    detector->n_modules = csv.n_rows;
    for (int64_t row = 0; row < csv.n_rows; row++) {
        ETX_POLL(row);
        ETX_CHECK(read_module(&detector->modules[row], &csv, row));
        ETX_CHECK(add_tube(detector, &csv, row));
    }
    ETX_CHECK(sort_modules(detector));
    ETX_CHECK(check_unique(detector, path));
    *out = detector;
    detector = NULL;
done:
    etx_detector_free(detector);
    etx_csv_release(&csv);
    return status;
}
