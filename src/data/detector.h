/* data/detector.h -- module geometry, for cell features and track fits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_DETECTOR_H
#define ETX_DATA_DETECTOR_H

#include <exatrkx/exatrkx.h>

struct etx_detector_module {
    int32_t volume_id, layer_id, module_id;
    float center[3];      /* mm */
    float rotation[9];    /* [3, 3] local u, v, w (columns) to global x, y, z */
    float half_thickness; /* module_t, mm */
    float depth; /* mm, of the sensor's part that a cell collects charge from;
                  * 0: not known */
    float pitch_u, pitch_v;  /* mm */
    float half_diagonal;     /* mm, of its face; 0: not known */
    float radiation_lengths; /* at normal incidence; 0: not known */
    float material_offset;   /* mm along w, of the layer's material from the
                              * module; 0: each module has its own */
};

/* A cylinder of material around the z axis. */
struct etx_detector_tube {
    float radius; /* mm */
    float radiation_lengths;
};

#define ETX_MAX_TUBES 8

/* For qsort: by volume_id, layer_id, module_id. */
int etx_detector_module_compare(const void *left, const void *right);

/* modules in this order, unique. */
struct etx_detector {
    int64_t n_modules;
    struct etx_detector_module *modules; /* [n_modules] */
    int32_t n_tubes;
    struct etx_detector_tube tube[ETX_MAX_TUBES]; /* by radius */
};

/* NULL when the detector has no such module. */
const struct etx_detector_module *etx_detector_find(
    const struct etx_detector *detector, int32_t volume_id, int32_t layer_id,
    int32_t module_id);

#endif
