/* data/event.c -- the hits of one collision: create, set arrays, free. What
 * made the hits is in event_truth.c.
 *
 * Functions build the new arrays first and assign them when nothing can fail
 * any more.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/event.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"
#include "data/id_index.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

static etx_status check_hit_ids(int64_t n_hits, const int64_t *hit_ids)
{
    struct etx_id_index index = {.n_ids = 0};
    etx_status status = ETX_OK;

    for (int64_t i = 0; i < n_hits; i++)
        if (hit_ids[i] <= 0)
            return etx_fail(ETX_ERR_ARGUMENT,
                "hit %" PRId64 ": id %" PRId64 " is not positive", i,
                hit_ids[i]);
    ETX_CHECK(etx_id_index_build(&index, n_hits, hit_ids));

    const int64_t row = etx_id_index_duplicate(&index, hit_ids);
    if (row >= 0)
        status = etx_fail(ETX_ERR_ARGUMENT,
            "hits %" PRId64 " and %" PRId64 " have the same id %" PRId64, row,
            etx_id_index_find(&index, hit_ids[row]), hit_ids[row]);
done:
    etx_id_index_release(&index);
    return status;
}

etx_status etx_event_make(struct etx_event **out, int64_t n_hits,
    const int64_t *hit_ids, const float *positions)
{
    struct etx_event *event = NULL;
    etx_status status = ETX_OK;

    ETX_NEW(event, 1, "event");
    event->n_hits = n_hits;
    ETX_NEW(event->hit_id, n_hits, "hit ids");
    ETX_CHECK(etx_alloc_copy(&event->position, positions, n_hits,
        3 * sizeof *event->position, "positions"));
    if (hit_ids != NULL)
        ETX_CHECK(check_hit_ids(n_hits, hit_ids));
    for (int64_t i = 0; i < n_hits; i++)
        event->hit_id[i] = hit_ids != NULL ? hit_ids[i] : i + 1;
    *out = event;
    event = NULL;
done:
    etx_event_free(event);
    return status;
}

/* *array = a copy of values [n_hits, n_columns]. */
static etx_status replace(float **array, const float *values, int64_t n_hits,
    int64_t n_columns, const char *what)
{
    float *copy = NULL;
    etx_status status;

    ETX_CHECK(etx_alloc_copy(
        &copy, values, n_hits, (size_t)n_columns * sizeof *copy, what));
    etx_free(*array);
    *array = copy;
done:
    return status;
}

etx_status etx_event_replace_features(
    struct etx_event *event, int64_t n_features, const float *features)
{
    etx_status status;

    ETX_CHECK(replace(
        &event->features, features, event->n_hits, n_features, "features"));
    event->n_features = n_features;
    event->lent_features.values = NULL;
done:
    return status;
}

etx_status etx_event_replace_cell_features(
    struct etx_event *event, const float *cell_features)
{
    return replace(&event->cell_features, cell_features, event->n_hits,
        ETX_N_CELL_FEATURES, "cell features");
}

etx_status etx_event_replace_cluster_positions(
    struct etx_event *event, const float *cluster_position)
{
    return replace(&event->cluster_position, cluster_position, event->n_hits, 6,
        "cluster positions");
}

etx_status etx_event_replace_modules(struct etx_event *event,
    const int32_t *volume_ids, const int32_t *layer_ids,
    const int32_t *module_ids)
{
    int32_t *volume = NULL;
    int32_t *layer = NULL;
    int32_t *module = NULL;
    etx_status status = ETX_OK;
    const int64_t n = event->n_hits;

    ETX_CHECK(
        etx_alloc_copy(&volume, volume_ids, n, sizeof *volume, "volumes"));
    ETX_CHECK(etx_alloc_copy(&layer, layer_ids, n, sizeof *layer, "layers"));
    ETX_CHECK(
        etx_alloc_copy(&module, module_ids, n, sizeof *module, "modules"));
    etx_free(event->volume_id);
    etx_free(event->layer_id);
    etx_free(event->module_id);
    event->volume_id = volume;
    event->layer_id = layer;
    event->module_id = module;
    volume = layer = module = NULL;
done:
    etx_free(volume);
    etx_free(layer);
    etx_free(module);
    return status;
}

/* *out [n, width]: rows of values, which may be NULL. */
static etx_status select_rows(void *out, const void *values,
    const int32_t *rows, int64_t n, size_t width, const char *what)
{
    unsigned char *copy = NULL;
    etx_status status = ETX_OK;

    if (values == NULL)
        return ETX_OK;
    ETX_CHECK(etx_alloc(&copy, n, width, what));
    for (int64_t k = 0; k < n; k++)
        memcpy(copy + (size_t)k * width,
            (const unsigned char *)values + (size_t)rows[k] * width, width);
    memcpy(out, &copy, sizeof copy);
done:
    return status;
}

etx_status etx_event_select(struct etx_event **out,
    const struct etx_event *event, const int32_t *rows, int64_t n)
{
    const struct etx_event *const from = event;
    struct etx_event *to = NULL;
    etx_status status;

    ETX_NEW(to, 1, "event");
    to->n_hits = n;
    to->n_features = from->n_features;
    ETX_CHECK(select_rows(
        &to->hit_id, from->hit_id, rows, n, sizeof *to->hit_id, "hit ids"));
    ETX_CHECK(select_rows(&to->position, from->position, rows, n,
        3 * sizeof *to->position, "positions"));
    ETX_CHECK(select_rows(&to->volume_id, from->volume_id, rows, n,
        sizeof *to->volume_id, "volumes"));
    ETX_CHECK(select_rows(&to->layer_id, from->layer_id, rows, n,
        sizeof *to->layer_id, "layers"));
    ETX_CHECK(select_rows(&to->module_id, from->module_id, rows, n,
        sizeof *to->module_id, "modules"));
    ETX_CHECK(select_rows(&to->cell_features, from->cell_features, rows, n,
        ETX_N_CELL_FEATURES * sizeof *to->cell_features, "cell features"));
    ETX_CHECK(select_rows(&to->cluster_position, from->cluster_position, rows,
        n, 6 * sizeof *to->cluster_position, "cluster positions"));
    ETX_CHECK(select_rows(&to->features, from->features, rows, n,
        (size_t)from->n_features * sizeof *to->features, "features"));
    *out = to;
    to = NULL;
done:
    etx_event_free(to);
    return status;
}

etx_status etx_event_select_with_truth(struct etx_event **out,
    const struct etx_event *event, const int32_t *rows, int64_t n)
{
    struct etx_event *to = NULL;
    etx_status status;

    ETX_CHECK(etx_event_select(&to, event, rows, n));
    ETX_CHECK(select_rows(&to->particle_id, event->particle_id, rows, n,
        sizeof *to->particle_id, "particle ids"));
    ETX_CHECK(select_rows(&to->particle_row, event->particle_row, rows, n,
        sizeof *to->particle_row, "particles of hits"));
    ETX_CHECK(select_rows(&to->weight, event->weight, rows, n,
        sizeof *to->weight, "hit weights"));
    if (event->particles != NULL)
        ETX_CHECK(etx_alloc_copy(&to->particles, event->particles,
            event->n_particles, sizeof *to->particles, "particles"));
    to->n_particles = event->n_particles;
    *out = to;
    to = NULL;
done:
    etx_event_free(to);
    return status;
}

int32_t etx_event_can_join(const struct etx_event *a, const struct etx_event *b)
{
    return (a->layer_id == NULL) == (b->layer_id == NULL) &&
           (a->cell_features == NULL) == (b->cell_features == NULL) &&
           (a->cluster_position == NULL) == (b->cluster_position == NULL) &&
           (a->features == NULL) == (b->features == NULL) &&
           a->n_features == b->n_features;
}

/* An array of events, by the offset of its pointer in the struct. */
static const void *array_of(const struct etx_event *event, size_t offset)
{
    const void *values;

    memcpy(&values, (const char *)event + offset, sizeof values);
    return values;
}

/* The array of joined: the rows [n_hits, width] of all events, if they have it.
 */
static etx_status join_rows(struct etx_event *joined,
    const struct etx_event *const *events, size_t offset, size_t width,
    const char *what)
{
    unsigned char *copy = NULL;
    etx_status status = ETX_OK;

    if (array_of(events[0], offset) == NULL)
        return ETX_OK;
    ETX_CHECK(etx_alloc(&copy, joined->n_hits, width, what));
    memcpy((char *)joined + offset, &copy, sizeof copy);
    for (int32_t e = 0; e < joined->n_joined; e++)
        if (events[e]->n_hits > 0)
            memcpy(copy + (size_t)joined->first_hit[e] * width,
                array_of(events[e], offset), (size_t)events[e]->n_hits * width);
done:
    return status;
}

etx_status etx_event_join(
    struct etx_event **out, const struct etx_event *const *events, int32_t n)
{
    const size_t number = sizeof(float);
    const struct {
        size_t offset, width;
        const char *what;
    } arrays[] = {
        {offsetof(struct etx_event, position), 3 * number, "positions"},
        {offsetof(struct etx_event, volume_id), number, "volumes"},
        {offsetof(struct etx_event, layer_id), number, "layers"},
        {offsetof(struct etx_event, module_id), number, "modules"},
        {offsetof(struct etx_event, cell_features),
            ETX_N_CELL_FEATURES * number, "cell features"},
        {offsetof(struct etx_event, cluster_position), 6 * number,
            "cluster positions"},
        {offsetof(struct etx_event, features),
            (size_t)events[0]->n_features * number, "features"}};
    struct etx_event *joined = NULL;
    etx_status status;

    ETX_NEW(joined, 1, "event");
    ETX_NEW(joined->first_hit, (int64_t)n + 1, "events side by side");
    joined->n_joined = n;
    joined->n_features = events[0]->n_features;
    for (int32_t e = 0; e < n; e++)
        joined->first_hit[e + 1] = joined->n_hits += events[e]->n_hits;
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        ETX_CHECK(join_rows(
            joined, events, arrays[k].offset, arrays[k].width, arrays[k].what));
    *out = joined;
    joined = NULL;
done:
    etx_event_free(joined);
    return status;
}

void etx_event_free(etx_event *event)
{
    if (event == NULL)
        return;
    etx_free(event->first_hit);
    etx_free(event->hit_id);
    etx_free(event->position);
    etx_free(event->volume_id);
    etx_free(event->layer_id);
    etx_free(event->module_id);
    etx_free(event->cell_features);
    etx_free(event->cluster_position);
    etx_free(event->features);
    etx_free(event->particle_id);
    etx_free(event->particle_row);
    etx_free(event->weight);
    etx_free(event->particles);
    etx_free(event->shared_hit);
    etx_free(event->shared_particle_id);
    etx_free(event->shared_particle_row);
    etx_free(event);
}
