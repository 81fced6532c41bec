/* api/read.c -- events and detectors from files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/float_environment.h"
#include "base/status.h"
#include "data/detector.h"
#include "io/detector_csv.h"
#include "io/event_csv.h"
#include "io/features_csv.h"

#include <math.h>

etx_status etx_detector_read(etx_detector **out, const char *path)
{
    fenv_t host;
    etx_status status;

    if (out == NULL || path == NULL)
        return etx_fail(ETX_ERR_ARGUMENT, "etx_detector_read: %s is NULL",
            out == NULL ? "out" : "path");
    etx_float_environment_enter(&host);
    status = etx_detector_csv_read(out, path);
    etx_float_environment_leave(&host);
    return status;
}

etx_status etx_event_read_trackml(
    etx_event **out, const char *prefix, const etx_detector *detector)
{
    fenv_t host;
    etx_status status;

    if (out == NULL || prefix == NULL)
        return etx_fail(ETX_ERR_ARGUMENT, "etx_event_read_trackml: %s is NULL",
            out == NULL ? "out" : "prefix");
    etx_float_environment_enter(&host);
    status = etx_event_csv_read_prefix(out, prefix, detector);
    etx_float_environment_leave(&host);
    return status;
}

static etx_status check_paths(const etx_event *const *out,
    const struct etx_event_paths *paths, const etx_detector *detector)
{
    static const char function[] = "etx_event_read_trackml_files";

    if (out == NULL || paths->hits == NULL)
        return etx_fail(ETX_ERR_ARGUMENT, "%s: %s is NULL", function,
            out == NULL ? "out" : "hits");
    if ((paths->truth == NULL) != (paths->particles == NULL))
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: %s is NULL; truth and particles go together", function,
            paths->truth == NULL ? "truth" : "particles");
    if (paths->cells != NULL && detector == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: detector is NULL and cells is not", function);
    return ETX_OK;
}

etx_status etx_event_read_trackml_files(etx_event **out, const char *hits,
    const char *cells, const char *truth, const char *particles,
    const etx_detector *detector)
{
    const struct etx_event_paths paths = {
        .hits = hits, .cells = cells, .truth = truth, .particles = particles};
    fenv_t host;
    etx_status status =
        check_paths((const etx_event *const *)out, &paths, detector);

    if (status != ETX_OK)
        return status;
    etx_float_environment_enter(&host);
    status = etx_event_csv_read(out, &paths, detector);
    etx_float_environment_leave(&host);
    return status;
}

etx_status etx_event_read_features(
    etx_event **out, const char *path, const float *scales)
{
    fenv_t host;
    etx_status status;

    if (out == NULL || path == NULL || scales == NULL)
        return etx_fail(ETX_ERR_ARGUMENT, "etx_event_read_features: %s is NULL",
            out == NULL    ? "out"
            : path == NULL ? "path"
                           : "scales");
    for (int32_t k = 0; k < 3; k++)
        if (!isfinite(scales[k]))
            return etx_fail(ETX_ERR_ARGUMENT,
                "etx_event_read_features: scales[%d] is not finite", k);
    etx_float_environment_enter(&host);
    status = etx_features_csv_read(out, path, scales);
    etx_float_environment_leave(&host);
    return status;
}
