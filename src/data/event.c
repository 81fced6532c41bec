/* data/event.c -- the hits of one collision: create, set arrays, free. What
 * made the hits is in event_truth.c.
 *
 * Functions build the new arrays first and assign them when nothing can fail
 * any more.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/event.h"

#include "base/check.h"
#include "base/finite.h"
#include "base/heap.h"
#include "base/status.h"
#include "data/id_index.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#define COLUMN_ENTRY(type, name, width, kind, what)                            \
    {offsetof(struct etx_event, name), sizeof(type), width, ETX_COLUMN_##kind, \
        what},

const struct etx_event_column etx_event_columns[ETX_N_EVENT_COLUMNS] = {
    ETX_EVENT_COLUMNS(COLUMN_ENTRY)};

/* An array with a row per hit that stands in the struct alone would be lost by
 * selections and leaked: the other fields are these. */
struct other_fields {
    int64_t n_hits, n_repeated_cells, n_cell_pairs, n_cell_misfits, number,
        n_joined, n_features, n_particles, n_shared;
    struct etx_borrowed_array borrowed[2];
    void *first_hit, *particles, *shared[3];
};
_Static_assert(
    sizeof(struct etx_event) ==
        ETX_N_EVENT_COLUMNS * sizeof(void *) + sizeof(struct other_fields),
    "a column of hits belongs in ETX_EVENT_COLUMNS; what is not one is freed "
    "in etx_event_free and stands in struct other_fields");

/* Walk the columns. */
#define EACH_COLUMN(column)                                                    \
    const struct etx_event_column *column = etx_event_columns;                 \
    column < etx_event_columns + ETX_N_EVENT_COLUMNS;                          \
    column++

void *etx_event_column_get(
    const struct etx_event *event, const struct etx_event_column *column)
{
    void *values;

    memcpy(&values, (const char *)event + column->offset, sizeof values);
    return values;
}

void etx_event_column_set(struct etx_event *event,
    const struct etx_event_column *column, void *values)
{
    memcpy((char *)event + column->offset, &values, sizeof values);
}

size_t etx_event_row_bytes(
    const struct etx_event *event, const struct etx_event_column *column)
{
    return column->size * (column->width > 0 ? (size_t)column->width
                                             : (size_t)event->n_features);
}

static etx_status check_hit_ids(int64_t n_hits, const int64_t *hit_ids)
{
    struct etx_id_index index = {.n_ids = 0};
    int64_t row = -1;
    etx_status status = ETX_OK;

    for (int64_t i = 0; i < n_hits; i++)
        if (hit_ids[i] <= 0)
            return etx_fail(ETX_ERR_ARGUMENT,
                "hit %" PRId64 ": id %" PRId64 " is not positive", i,
                hit_ids[i]);
    ETX_CHECK(etx_id_index_build(&index, n_hits, hit_ids));
    ETX_CHECK(etx_id_index_duplicate(&row, &index, hit_ids));
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

    ETX_CHECK(etx_check_within(
        "positions", "hit", positions, n_hits, 3, ETX_MAX_HIT_VALUE));
    ETX_NEW(event, 1, "event");
    event->n_hits = n_hits;
    event->number = -1;
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

    ETX_CHECK(etx_check_within(
        what, "hit", values, n_hits, n_columns, ETX_MAX_HIT_VALUE));
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
    event->borrowed_features.values = NULL;
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

/* The array of a column that the event lacks: its rows are *width bytes. */
static etx_status add_column(unsigned char **out, size_t *width,
    struct etx_event *event, const struct etx_event_column *column)
{
    etx_status status;

    *width = etx_event_row_bytes(event, column);
    ETX_CHECK(etx_alloc(out, event->n_hits, *width, column->what));
    etx_event_column_set(event, column, *out);
done:
    return status;
}

/* The hits rows [n] of an event, with the columns up to a kind. */
static etx_status select_columns(struct etx_event **out,
    const struct etx_event *event, const int32_t *rows, int64_t n,
    enum etx_column_kind last)
{
    struct etx_event *to = NULL;
    etx_status status;

    ETX_NEW(to, 1, "event");
    to->n_hits = n;
    to->n_features = event->n_features;
    for (EACH_COLUMN(column)) {
        const unsigned char *values = etx_event_column_get(event, column);
        unsigned char *copy;
        size_t width;

        if (values == NULL || column->kind > (int32_t)last)
            continue;
        ETX_CHECK(add_column(&copy, &width, to, column));
        for (int64_t k = 0; k < n; k++)
            memcpy(copy + (size_t)k * width, values + (size_t)rows[k] * width,
                width);
    }
    *out = to;
    to = NULL;
done:
    etx_event_free(to);
    return status;
}

etx_status etx_event_select(struct etx_event **out,
    const struct etx_event *event, const int32_t *rows, int64_t n)
{
    return select_columns(out, event, rows, n, ETX_COLUMN_INPUT);
}

etx_status etx_event_select_with_truth(struct etx_event **out,
    const struct etx_event *event, const int32_t *rows, int64_t n)
{
    struct etx_event *to = NULL;
    etx_status status;

    ETX_CHECK(select_columns(&to, event, rows, n, ETX_COLUMN_TRUTH));
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
    for (EACH_COLUMN(column))
        if (column->kind == ETX_COLUMN_INPUT &&
            (etx_event_column_get(a, column) == NULL) !=
                (etx_event_column_get(b, column) == NULL))
            return 0;
    return a->n_features == b->n_features;
}

etx_status etx_event_join(
    struct etx_event **out, const struct etx_event *const *events, int32_t n)
{
    struct etx_event *joined = NULL;
    etx_status status;

    ETX_NEW(joined, 1, "event");
    ETX_NEW(joined->first_hit, (int64_t)n + 1, "events side by side");
    joined->n_joined = n;
    joined->n_features = events[0]->n_features;
    for (int32_t e = 0; e < n; e++)
        joined->first_hit[e + 1] = joined->n_hits += events[e]->n_hits;
    for (EACH_COLUMN(column)) {
        unsigned char *copy;
        size_t width;

        if (column->kind != ETX_COLUMN_INPUT ||
            etx_event_column_get(events[0], column) == NULL)
            continue;
        ETX_CHECK(add_column(&copy, &width, joined, column));
        for (int32_t e = 0; e < n; e++)
            if (events[e]->n_hits > 0)
                memcpy(copy + (size_t)joined->first_hit[e] * width,
                    etx_event_column_get(events[e], column),
                    (size_t)events[e]->n_hits * width);
    }
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
    for (EACH_COLUMN(column))
        etx_free(etx_event_column_get(event, column));
    etx_free(event->particles);
    etx_free(event->shared_hit);
    etx_free(event->shared_particle_id);
    etx_free(event->shared_particle_row);
    etx_free(event);
}
