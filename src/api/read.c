/* api/read.c -- events and detectors from files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/arguments.h"
#include "base/check.h"
#include "base/float_environment.h"
#include "io/detector_csv.h"
#include "io/event_csv.h"
#include "io/features_csv.h"

etx_status etx_detector_read(etx_detector **out, const char *path)
{
    etx_status status;
    fenv_t host;

    etx_float_environment_enter(&host);
    ETX_CHECK(etx_check_given(__func__, ETX_GIVEN(out), ETX_GIVEN(path), NULL));
    ETX_CHECK(etx_detector_csv_read(out, path));
done:
    etx_float_environment_leave(&host);
    return status;
}

etx_status etx_event_read_trackml(
    etx_event **out, const char *prefix, const etx_detector *detector)
{
    etx_status status;
    fenv_t host;

    etx_float_environment_enter(&host);
    ETX_CHECK(
        etx_check_given(__func__, ETX_GIVEN(out), ETX_GIVEN(prefix), NULL));
    ETX_CHECK(etx_event_csv_read_prefix(out, prefix, detector));
done:
    etx_float_environment_leave(&host);
    return status;
}

etx_status etx_event_read_trackml_files(etx_event **out, const char *hits,
    const char *cells, const char *truth, const char *particles,
    const etx_detector *detector)
{
    const struct etx_event_paths paths = {
        .hits = hits, .cells = cells, .truth = truth, .particles = particles};
    etx_status status;
    fenv_t host;

    etx_float_environment_enter(&host);
    ETX_CHECK(etx_check_given(__func__, ETX_GIVEN(out), ETX_GIVEN(hits), NULL));
    if (truth != NULL)
        ETX_CHECK(etx_check_given(__func__, ETX_GIVEN(particles), NULL));
    if (particles != NULL)
        ETX_CHECK(etx_check_given(__func__, ETX_GIVEN(truth), NULL));
    if (cells != NULL)
        ETX_CHECK(etx_check_given(__func__, ETX_GIVEN(detector), NULL));
    ETX_CHECK(etx_event_csv_read(out, &paths, detector));
done:
    etx_float_environment_leave(&host);
    return status;
}

etx_status etx_event_read_features(
    etx_event **out, const char *path, const float *scales)
{
    etx_status status;
    fenv_t host;

    etx_float_environment_enter(&host);
    ETX_CHECK(etx_check_given(__func__, ETX_GIVEN(out), ETX_GIVEN(path), NULL));
    ETX_CHECK(etx_check_finite(__func__, "scales", scales, 1, 3));
    ETX_CHECK(etx_features_csv_read(out, path, scales));
done:
    etx_float_environment_leave(&host);
    return status;
}
