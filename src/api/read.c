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
    fenv_t host;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_check_given(__func__, "out", out));
    ETX_CHECK(etx_check_given(__func__, "path", path));
    etx_float_environment_enter(&host);
    status = etx_detector_csv_read(out, path);
    etx_float_environment_leave(&host);
done:
    return status;
}

etx_status etx_event_read_trackml(
    etx_event **out, const char *prefix, const etx_detector *detector)
{
    fenv_t host;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_check_given(__func__, "out", out));
    ETX_CHECK(etx_check_given(__func__, "prefix", prefix));
    etx_float_environment_enter(&host);
    status = etx_event_csv_read_prefix(out, prefix, detector);
    etx_float_environment_leave(&host);
done:
    return status;
}

etx_status etx_event_read_trackml_files(etx_event **out, const char *hits,
    const char *cells, const char *truth, const char *particles,
    const etx_detector *detector)
{
    const struct etx_event_paths paths = {
        .hits = hits, .cells = cells, .truth = truth, .particles = particles};
    fenv_t host;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_check_given(__func__, "out", out));
    ETX_CHECK(etx_check_given(__func__, "hits", hits));
    if (truth != NULL)
        ETX_CHECK(etx_check_given(__func__, "particles", particles));
    if (particles != NULL)
        ETX_CHECK(etx_check_given(__func__, "truth", truth));
    if (cells != NULL)
        ETX_CHECK(etx_check_given(__func__, "detector", detector));
    etx_float_environment_enter(&host);
    status = etx_event_csv_read(out, &paths, detector);
    etx_float_environment_leave(&host);
done:
    return status;
}

etx_status etx_event_read_features(
    etx_event **out, const char *path, const float *scales)
{
    fenv_t host;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_check_given(__func__, "out", out));
    ETX_CHECK(etx_check_given(__func__, "path", path));
    ETX_CHECK(etx_check_finite(__func__, "scales", scales, 1, 3));
    etx_float_environment_enter(&host);
    status = etx_features_csv_read(out, path, scales);
    etx_float_environment_leave(&host);
done:
    return status;
}
