/* api/event.c -- events from arrays, and their getters.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/event.h"
#include "api/arguments.h"
#include "backend/backend.h"
#include "base/check.h"
#include "base/finite.h"
#include "base/heap.h"
#include "base/status.h"
#include "data/cell_features.h"
#include "data/detector.h"
#include "data/hit_features.h"

#include <inttypes.h>

static etx_status create(etx_event **out, const char *function, int64_t n_hits,
    const int64_t *hit_ids, const float *positions)
{
    etx_status status = ETX_OK;

    if (hit_ids != NULL)
        ETX_CHECK(
            etx_check_array(function, ETX_ARRAY(hit_ids, n_hits, int64_t)));
    ETX_CHECK(etx_check_finite(function, "positions", positions, n_hits, 3));
    ETX_CHECK(etx_event_make(out, n_hits, hit_ids, positions));
done:
    return status;
}

etx_status etx_event_create(etx_event **out, int64_t n_hits,
    const int64_t *hit_ids, const float *positions)
{
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(out), ETX_END));
    ETX_CHECK(etx_check_count(__func__, "n_hits", n_hits));
    ETX_CHECK(create(out, __func__, n_hits, hit_ids, positions));
done:
    return etx_call_end(&host, status);
}

etx_status etx_event_create_device(etx_event **out, etx_context *context,
    int64_t n_hits, const int64_t *hit_ids, const float *positions,
    void *stream)
{
    float *copy = NULL;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(
        &host, __func__, ETX_GIVEN(out), ETX_GIVEN(context), ETX_END));
    ETX_CHECK(etx_check_count(__func__, "n_hits", n_hits));
    ETX_CHECK(etx_copy_from_device(&copy, __func__, "positions", context,
        positions, 3 * n_hits, sizeof *copy, stream));
    ETX_CHECK(create(out, __func__, n_hits, hit_ids, copy));
    (*out)->borrowed_position =
        (struct etx_borrowed_array){positions, context->options.device_index};
done:
    etx_free(copy);
    return etx_call_end(&host, etx_call_settle(context, status));
}

static etx_status check_n_features(const char *function, int64_t n_features)
{
    if (n_features >= 1 && n_features <= ETX_MAX_FEATURES)
        return ETX_OK;
    return etx_fail(n_features < 1 ? ETX_ERR_ARGUMENT : ETX_ERR_LIMIT,
        "%s: n_features %" PRId64 " is not in 1..%d", function, n_features,
        ETX_MAX_FEATURES);
}

etx_status etx_event_set_features_device(etx_event *event, etx_context *context,
    int64_t n_features, const float *features, void *stream)
{
    float *copy = NULL;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(
        &host, __func__, ETX_GIVEN(event), ETX_GIVEN(context), ETX_END));
    ETX_CHECK(check_n_features(__func__, n_features));
    ETX_CHECK(etx_copy_from_device(&copy, __func__, "features", context,
        features, event->n_hits * n_features, sizeof *copy, stream));
    ETX_CHECK(etx_check_finite(
        __func__, "features", copy, event->n_hits, n_features));
    ETX_CHECK(etx_event_replace_features(event, n_features, copy));
    event->borrowed_features =
        (struct etx_borrowed_array){features, context->options.device_index};
done:
    etx_free(copy);
    return etx_call_end(&host, etx_call_settle(context, status));
}

etx_status etx_event_set_features(
    etx_event *event, int64_t n_features, const float *features)
{
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(event), ETX_END));
    ETX_CHECK(check_n_features(__func__, n_features));
    ETX_CHECK(etx_check_finite(
        __func__, "features", features, event->n_hits, n_features));
    ETX_CHECK(etx_event_replace_features(event, n_features, features));
done:
    return etx_call_end(&host, status);
}

etx_status etx_event_set_cell_features(
    etx_event *event, const float *cell_features)
{
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(event), ETX_END));
    ETX_CHECK(etx_check_finite(__func__, "cell_features", cell_features,
        event->n_hits, ETX_N_CELL_FEATURES));
    ETX_CHECK(etx_event_replace_cell_features(event, cell_features));
done:
    return etx_call_end(&host, status);
}

etx_status etx_event_set_cluster_positions(
    etx_event *event, const float *positions)
{
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(event), ETX_END));
    ETX_CHECK(
        etx_check_finite(__func__, "positions", positions, event->n_hits, 6));
    ETX_CHECK(etx_event_replace_cluster_positions(event, positions));
done:
    return etx_call_end(&host, status);
}

etx_status etx_event_set_modules(etx_event *event, const int32_t *volume_ids,
    const int32_t *layer_ids, const int32_t *module_ids)
{
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(event), ETX_END));
    ETX_CHECK(etx_check_array(
        __func__, ETX_ARRAY(volume_ids, event->n_hits, int32_t)));
    ETX_CHECK(etx_check_array(
        __func__, ETX_ARRAY(layer_ids, event->n_hits, int32_t)));
    ETX_CHECK(etx_check_array(
        __func__, ETX_ARRAY(module_ids, event->n_hits, int32_t)));
    ETX_CHECK(
        etx_event_replace_modules(event, volume_ids, layer_ids, module_ids));
done:
    return etx_call_end(&host, status);
}

etx_status etx_event_set_cells(etx_event *event, int64_t n_cells,
    const int32_t *hit, const int32_t *channel0, const int32_t *channel1,
    const float *value, const etx_detector *detector)
{
    const struct etx_cells cells = {n_cells, hit, channel0, channel1, value};
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(
        &host, __func__, ETX_GIVEN(event), ETX_GIVEN(detector), ETX_END));
    ETX_CHECK(etx_check_count(__func__, "n_cells", n_cells));
    ETX_CHECK(etx_check_array(__func__, ETX_ARRAY(hit, n_cells, int32_t)));
    ETX_CHECK(etx_check_array(__func__, ETX_ARRAY(channel0, n_cells, int32_t)));
    ETX_CHECK(etx_check_array(__func__, ETX_ARRAY(channel1, n_cells, int32_t)));
    ETX_CHECK(etx_check_finite(__func__, "value", value, n_cells, 1));
    if (event->volume_id == NULL)
        ETX_FAIL(ETX_ERR_ARGUMENT,
            "%s: the event has no modules: call etx_event_set_modules first",
            __func__);
    ETX_CHECK(etx_event_replace_cells(event, &cells, detector));
done:
    return etx_call_end(&host, status);
}

static etx_status check_weights(
    const char *function, const float *weights, int64_t n_hits)
{
    etx_status status = ETX_OK;

    ETX_CHECK(etx_check_finite(function, "weights", weights, n_hits, 1));
    for (int64_t i = 0; i < n_hits; i++)
        if (weights[i] < 0.0f)
            return etx_fail(ETX_ERR_ARGUMENT,
                "%s: weight %" PRId64 " is %.9g and may not be negative",
                function, i, (double)weights[i]);
done:
    return status;
}

static etx_status check_particles(
    const char *function, int64_t n_particles, const etx_particle *particles)
{
    etx_status status = ETX_OK;

    ETX_CHECK(etx_check_count(function, "n_particles", n_particles));
    ETX_CHECK(etx_check_array(
        function, ETX_ARRAY(particles, n_particles, etx_particle)));
    for (int64_t i = 0; i < n_particles; i++) {
        const etx_particle *particle = &particles[i];

        if (particle->id <= 0)
            return etx_fail(ETX_ERR_ARGUMENT,
                "%s: particle %" PRId64 ": id %" PRId64 " is not positive",
                function, i, particle->id);
        if (particle->n_hits < 0)
            return etx_fail(ETX_ERR_ARGUMENT,
                "%s: particle %" PRId64 ": n_hits %d is negative", function, i,
                (int)particle->n_hits);
        if (etx_find_not_finite(particle->vertex, 3) >= 0 ||
            etx_find_not_finite(particle->momentum, 3) >= 0)
            return etx_fail(ETX_ERR_ARGUMENT,
                "%s: particle %" PRId64 ": vertex or momentum is not finite",
                function, i);
    }
done:
    return status;
}

etx_status etx_event_set_truth(etx_event *event, const int64_t *particle_ids,
    const float *weights, int64_t n_particles, const etx_particle *particles)
{
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(event), ETX_END));
    ETX_CHECK(etx_check_array(
        __func__, ETX_ARRAY(particle_ids, event->n_hits, int64_t)));
    if (weights != NULL)
        ETX_CHECK(check_weights(__func__, weights, event->n_hits));
    ETX_CHECK(check_particles(__func__, n_particles, particles));
    ETX_CHECK(etx_event_replace_truth(
        event, particle_ids, weights, n_particles, particles));
done:
    return etx_call_end(&host, status);
}

etx_status etx_event_set_shared_hits(etx_event *event, int64_t n_shared,
    const int32_t *hits, const int64_t *particle_ids)
{
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(event), ETX_END));
    ETX_CHECK(etx_check_count(__func__, "n_shared", n_shared));
    ETX_CHECK(etx_check_array(__func__, ETX_ARRAY(hits, n_shared, int32_t)));
    ETX_CHECK(
        etx_check_array(__func__, ETX_ARRAY(particle_ids, n_shared, int64_t)));
    if (event->particle_id == NULL)
        ETX_FAIL(ETX_ERR_ARGUMENT,
            "%s: the event has no truth: call etx_event_set_truth first",
            __func__);
    ETX_CHECK(etx_event_replace_shared(event, n_shared, hits, particle_ids));
done:
    return etx_call_end(&host, status);
}

ETX_GETTER(int64_t, etx_event_n_hits, etx_event, n_hits, 0)
ETX_GETTER(const int64_t *, etx_event_hit_ids, etx_event, hit_id, NULL)
ETX_GETTER(const float *, etx_event_positions, etx_event, position, NULL)
ETX_GETTER(
    const int64_t *, etx_event_particle_ids, etx_event, particle_id, NULL)
ETX_GETTER(int64_t, etx_event_n_particles, etx_event, n_particles, 0)
ETX_GETTER(
    const etx_particle *, etx_event_particles, etx_event, particles, NULL)
ETX_GETTER(int64_t, etx_event_n_shared_hits, etx_event, n_shared, 0)
ETX_GETTER(const int32_t *, etx_event_shared_hits, etx_event, shared_hit, NULL)
ETX_GETTER(const int64_t *, etx_event_shared_particle_ids, etx_event,
    shared_particle_id, NULL)
ETX_GETTER(
    const float *, etx_event_cell_features, etx_event, cell_features, NULL)
ETX_GETTER(const float *, etx_event_cluster_positions, etx_event,
    cluster_position, NULL)
ETX_GETTER(const int32_t *, etx_event_volume_ids, etx_event, volume_id, NULL)
ETX_GETTER(const int32_t *, etx_event_layer_ids, etx_event, layer_id, NULL)
ETX_GETTER(const int32_t *, etx_event_module_ids, etx_event, module_id, NULL)
ETX_GETTER(const float *, etx_event_weights, etx_event, weight, NULL)
ETX_GETTER(int64_t, etx_event_n_features, etx_event, n_features, 0)
ETX_GETTER(const float *, etx_event_features, etx_event, features, NULL)
ETX_GETTER(int64_t, etx_detector_n_modules, etx_detector, n_modules, 0)
