/* api/read.c -- events and detectors from files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/arguments.h"
#include "base/check.h"
#include "io/detector_csv.h"
#include "io/event_csv.h"
#include "io/features_csv.h"

etx_status etx_detector_read(etx_detector **out, const char *path)
{
    ETX_FORWARD(
        etx_detector_csv_read(out, path), ETX_GIVEN(out), ETX_GIVEN(path));
}

etx_status etx_event_read_trackml(
    etx_event **out, const char *prefix, const etx_detector *detector)
{
    ETX_FORWARD(etx_event_csv_read_prefix(out, prefix, detector),
        ETX_GIVEN(out), ETX_GIVEN(prefix));
}

etx_status etx_event_read_trackml_files(etx_event **out, const char *hits,
    const char *cells, const char *truth, const char *particles,
    const etx_detector *detector)
{
    const struct etx_event_paths paths = {
        .hits = hits, .cells = cells, .truth = truth, .particles = particles};
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(
        &host, __func__, ETX_GIVEN(out), ETX_GIVEN(hits), ETX_END));
    if (truth != NULL)
        ETX_CHECK(etx_check_given(__func__, ETX_GIVEN(particles), ETX_END));
    if (particles != NULL)
        ETX_CHECK(etx_check_given(__func__, ETX_GIVEN(truth), ETX_END));
    if (cells != NULL)
        ETX_CHECK(etx_check_given(__func__, ETX_GIVEN(detector), ETX_END));
    ETX_CHECK(etx_event_csv_read(out, &paths, detector));
done:
    return etx_call_end(&host, status);
}

etx_status etx_event_read_features(
    etx_event **out, const char *path, const float *scales)
{
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(
        &host, __func__, ETX_GIVEN(out), ETX_GIVEN(path), ETX_END));
    ETX_CHECK(etx_check_finite(__func__, "scales", scales, 1, 3));
    ETX_CHECK(etx_features_csv_read(out, path, scales));
done:
    return etx_call_end(&host, status);
}
