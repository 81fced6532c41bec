/* api/fit.c -- parameters of tracks, and tracks selected by them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/fit.h>

#include "api/arguments.h"
#include "base/check.h"
#include "base/status.h"
#include "data/tracks.h"
#include "stage/helix/field.h"
#include "stage/model.h"
#include "stage/options.h"
#include "stage/track_fitting/fit.h"
#include "stage/track_fitting/resolve.h"

#include <float.h>
#include <inttypes.h>

/* A map, whose size the table of options bounds from above. */
static etx_status use_map(struct etx_path_field *out, const char *function,
    const etx_fit_options *options)
{
    const struct etx_range sizes[] = {{"n_r", options->n_r, 2, INT32_MAX},
        {"n_z", options->n_z, 2, INT32_MAX}};
    etx_status status;

    ETX_CHECK(etx_check_ranges(function, sizes, sizeof sizes / sizeof *sizes));
    if (options->max_r == 0.0f || options->max_z == 0.0f)
        ETX_FAIL(ETX_ERR_ARGUMENT,
            "%s: max_r %.9g and max_z %.9g mm: each has to be positive",
            function, (double)options->max_r, (double)options->max_z);
    ETX_CHECK(etx_check_finite(function, "field_map", options->field_map,
        (int64_t)options->n_r * options->n_z, 2));
    out->map = options->field_map;
    out->n_r = options->n_r;
    out->n_z = options->n_z;
    out->max_r = (double)options->max_r;
    out->max_z = (double)options->max_z;
    out->centre[0] = (double)options->map_x;
    out->centre[1] = (double)options->map_y;
    out->centre[2] = (double)options->map_z;
done:
    return status;
}

/* The field to fit in: uniform, a map, or learned. */
static etx_status choose_field(struct etx_path_field *out, const char *function,
    const etx_fit_options *options, const etx_model *model)
{
    *out = (struct etx_path_field){.value = &options->field, .n = 1};
    if (options->field != 0.0f)
        return ETX_OK;
    if (options->field_map != NULL)
        return use_map(out, function, options);
    if (model == NULL || model->completion == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: the field is 0, and there is neither a field_map nor a model "
            "with a completion",
            function);
    *out = (struct etx_path_field){.value = model->completion->field,
        .n = ETX_COMPLETION_N_FIELD,
        .bin = (double)ETX_COMPLETION_FIELD_BIN};
    return ETX_OK;
}

etx_status etx_fit_tracks(etx_track_parameters *out, uint8_t *is_outlier,
    const etx_tracks *tracks, etx_context *context, const etx_model *model,
    const etx_event *event, const etx_detector *detector,
    const etx_fit_options *options)
{
    etx_fit_options used;
    struct etx_path_field field;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(tracks),
        ETX_GIVEN(context), ETX_GIVEN(event), ETX_GIVEN(detector), ETX_END));
    ETX_CHECK(etx_check_array(
        __func__, ETX_ARRAY(out, tracks->n_tracks, etx_track_parameters)));
    etx_options_preset(&used, &etx_fit_options_type);
    ETX_CHECK(
        etx_options_accept(&used, __func__, options, &etx_fit_options_type));
    ETX_CHECK(choose_field(&field, __func__, &used, model));
    ETX_CHECK(etx_check_tracks(__func__, tracks, event));
    ETX_CHECK(etx_check_modules(__func__, event));
    ETX_CHECK(etx_fit_parameters(
        out, is_outlier, tracks, context, event, detector, &field, &used));
done:
    return etx_call_end(&host, status);
}

etx_status etx_tracks_select(etx_tracks **out, const etx_tracks *tracks,
    const uint8_t *keep, const uint8_t *drop)
{
    ETX_FORWARD(etx_tracks_copy_kept(out, tracks, keep, drop), ETX_GIVEN(out),
        ETX_GIVEN(tracks));
}

etx_status etx_tracks_resolve(etx_tracks **out, const etx_tracks *tracks,
    const etx_track_parameters *parameters, const etx_resolve_options *options)
{
    etx_resolve_options used;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(
        &host, __func__, ETX_GIVEN(out), ETX_GIVEN(tracks), ETX_END));
    ETX_CHECK(etx_check_array(__func__,
        ETX_ARRAY(parameters, tracks->n_tracks, etx_track_parameters)));
    etx_options_preset(&used, &etx_resolve_options_type);
    ETX_CHECK(etx_options_accept(
        &used, __func__, options, &etx_resolve_options_type));
    for (int64_t t = 0; t < tracks->n_tracks; t++) {
        if (!(parameters[t].chi2 >= 0.0 && parameters[t].chi2 <= DBL_MAX))
            ETX_FAIL(ETX_ERR_ARGUMENT,
                "%s: chi2 %g of track %" PRId64 " is negative or not finite",
                __func__, parameters[t].chi2, t);
        if (parameters[t].n_holes < 0)
            ETX_FAIL(ETX_ERR_ARGUMENT,
                "%s: n_holes %d of track %" PRId64 " is negative", __func__,
                parameters[t].n_holes, t);
        if (parameters[t].reserved != 0)
            ETX_FAIL(ETX_ERR_ARGUMENT,
                "%s: reserved of track %" PRId64 " is %d and must be 0",
                __func__, t, (int)parameters[t].reserved);
    }
    ETX_CHECK(etx_resolve_tracks(
        out, tracks, parameters, used.max_shared, used.min_hits));
done:
    return etx_call_end(&host, status);
}
