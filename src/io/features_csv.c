/* io/features_csv.c -- events from files of node features alone.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/features_csv.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"
#include "data/hit_features.h"
#include "io/csv.h"

#include <inttypes.h>
#include <math.h>

/* x, y, z of a hit from its r, phi and z. */
static etx_status to_cartesian(float *position, const float *features,
    const float *scales, int64_t row, const char *path)
{
    const double r = (double)features[0] * (double)scales[0];
    const double phi = (double)features[1] * (double)scales[1];

    position[0] = (float)(r * cos(phi));
    position[1] = (float)(r * sin(phi));
    position[2] = features[2] * scales[2];
    for (int32_t k = 0; k < 3; k++)
        if (!(fabsf(position[k]) <= ETX_MAX_HIT_VALUE))
            return etx_fail(ETX_ERR_FORMAT,
                "%s:%" PRId64 ":1: %.9g, %.9g, %.9g times the scales is no "
                "position within +-1e9 mm",
                path, row + 1, (double)features[0], (double)features[1],
                (double)features[2]);
    return ETX_OK;
}

etx_status etx_features_csv_read(
    etx_event **out, const char *path, const float *scales)
{
    etx_event *event = NULL;
    float *features = NULL;
    float *positions = NULL;
    int64_t n_hits = 0;
    int64_t n_features = 0;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_csv_read_matrix(&features, &n_hits, &n_features, path));
    if (n_features < 3 || n_features > ETX_MAX_FEATURES)
        ETX_FAIL(ETX_ERR_FORMAT,
            "%s:1: %" PRId64 " numbers in a line, expected r, phi, z and at "
            "most %d more",
            path, n_features, ETX_MAX_FEATURES - 3);
    ETX_CHECK(
        etx_alloc(&positions, n_hits, 3 * sizeof *positions, "hit positions"));
    for (int64_t i = 0; i < n_hits; i++) {
        ETX_POLL(i);
        ETX_CHECK(to_cartesian(
            positions + 3 * i, features + n_features * i, scales, i, path));
    }
    ETX_CHECK(etx_event_make(&event, n_hits, NULL, positions));
    ETX_CHECK(etx_event_replace_features(event, n_features, features));
    *out = event;
    event = NULL;
done:
    etx_event_free(event);
    etx_free(positions);
    etx_free(features);
    return status;
}
