/* data/hit_features.c -- node features by name, as model files list them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/hit_features.h"

#include "base/finite.h"
#include "base/status.h"
#include "base/threads.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define BLOCK    1024
#define AXIS_ETA 20.0

/* One hit, as the features see it. */
struct hit {
    double x, y, z, r;  /* mm */
    const float *cells; /* [9] */
};

/* Squares of floats do not overflow or underflow in float64, so the slower
 * hypot is not needed. */
static double length(double x, double y)
{
    return sqrt(x * x + y * y);
}

static double value_r(const struct hit *hit)
{
    return hit->r;
}

static double value_phi(const struct hit *hit)
{
    return atan2(hit->y, hit->x);
}

static double value_z(const struct hit *hit)
{
    return hit->z;
}

/* On the axis, the direction is that of phi = 0. */
static double value_cos_phi(const struct hit *hit)
{
    return hit->r > 0.0 ? hit->x / hit->r : 1.0;
}

static double value_sin_phi(const struct hit *hit)
{
    return hit->r > 0.0 ? hit->y / hit->r : 0.0;
}

static double value_eta(const struct hit *hit)
{
    if (hit->r > 0.0)
        return asinh(hit->z / hit->r);
    if (hit->z == 0.0)
        return 0.0;
    return hit->z > 0.0 ? AXIS_ETA : -AXIS_ETA;
}

static double value_x(const struct hit *hit)
{
    return hit->x;
}

static double value_y(const struct hit *hit)
{
    return hit->y;
}

static double value_distance(const struct hit *hit)
{
    return length(hit->r, hit->z);
}

static double value_log_cell_count(const struct hit *hit)
{
    return log1p((double)hit->cells[0]);
}

/* Which position a coordinate is of. */
enum position { HIT, CLUSTER_1, CLUSTER_2, N_POSITIONS };

/* In the order of their ids. Without a function, the value is the cell
 * feature cell_column. */
static const struct {
    const char *name;
    double (*value)(const struct hit *hit);
    int32_t cell_column;
    bool needs_cells;
    enum position position;
} table[] = {
    {"r", value_r, 0, false, HIT},
    {"phi", value_phi, 0, false, HIT},
    {"z", value_z, 0, false, HIT},
    {"cos_phi", value_cos_phi, 0, false, HIT},
    {"sin_phi", value_sin_phi, 0, false, HIT},
    {"eta", value_eta, 0, false, HIT},
    {"x", value_x, 0, false, HIT},
    {"y", value_y, 0, false, HIT},
    {"R", value_distance, 0, false, HIT},
    {"log_cell_count", value_log_cell_count, 0, true, HIT},
    {"cell_count", NULL, 0, true, HIT},
    {"cell_val", NULL, 1, true, HIT},
    {"leta", NULL, 2, true, HIT},
    {"lphi", NULL, 3, true, HIT},
    {"lx", NULL, 4, true, HIT},
    {"ly", NULL, 5, true, HIT},
    {"lz", NULL, 6, true, HIT},
    {"geta", NULL, 7, true, HIT},
    {"gphi", NULL, 8, true, HIT},
    {"cluster_x_1", value_x, 0, false, CLUSTER_1},
    {"cluster_y_1", value_y, 0, false, CLUSTER_1},
    {"cluster_z_1", value_z, 0, false, CLUSTER_1},
    {"cluster_r_1", value_r, 0, false, CLUSTER_1},
    {"cluster_phi_1", value_phi, 0, false, CLUSTER_1},
    {"cluster_eta_1", value_eta, 0, false, CLUSTER_1},
    {"cluster_x_2", value_x, 0, false, CLUSTER_2},
    {"cluster_y_2", value_y, 0, false, CLUSTER_2},
    {"cluster_z_2", value_z, 0, false, CLUSTER_2},
    {"cluster_r_2", value_r, 0, false, CLUSTER_2},
    {"cluster_phi_2", value_phi, 0, false, CLUSTER_2},
    {"cluster_eta_2", value_eta, 0, false, CLUSTER_2},
};

#define N_FEATURES ((int32_t)(sizeof table / sizeof table[0]))

/* The loop over hits, for etx_parallel_ranges. */
struct work {
    float *out;
    const struct etx_event *event;
    const struct etx_feature_list *list;
};

static struct hit hit_at(const float *position, const float *cells)
{
    struct hit hit = {
        .x = (double)position[0],
        .y = (double)position[1],
        .z = (double)position[2],
        .cells = cells,
    };

    hit.r = length(hit.x, hit.y);
    return hit;
}

/* The positions that are known. */
static void describe_hit(
    struct hit at[N_POSITIONS], const struct etx_event *event, int64_t i)
{
    static const float no_cells[ETX_N_CELL_FEATURES];
    const float *cells = event->cell_features == NULL
                             ? no_cells
                             : event->cell_features + i * ETX_N_CELL_FEATURES;
    const float *clusters = event->cluster_position;

    at[HIT] = hit_at(event->position + 3 * i, cells);
    if (clusters == NULL)
        return;
    at[CLUSTER_1] = hit_at(clusters + 6 * i, cells);
    at[CLUSTER_2] = hit_at(clusters + 6 * i + 3, cells);
}

static etx_status fill_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct work *work = argument;
    const struct etx_event *event = work->event;
    const struct etx_feature_list *list = work->list;

    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        struct hit at[N_POSITIONS];
        float *row = work->out + i * list->n_features;

        describe_hit(at, event, i);
        for (int32_t k = 0; k < list->n_features; k++) {
            const int32_t id = list->feature[k].id;
            const struct hit *hit = &at[table[id].position];
            const double value =
                table[id].value != NULL
                    ? table[id].value(hit)
                    : (double)hit->cells[table[id].cell_column];

            row[k] = etx_narrow(value / (double)list->feature[k].scale);
        }
    }
    return ETX_OK;
}

static etx_status check_list(
    const struct etx_event *event, const struct etx_feature_list *list)
{
    for (int32_t k = 0; k < list->n_features; k++) {
        const int32_t id = list->feature[k].id;

        if (id < 0 || id >= N_FEATURES)
            return etx_fail(ETX_ERR_ARGUMENT,
                "feature %d of the list: there is no feature %d", k, id);
        if (table[id].needs_cells && event->cell_features == NULL &&
            !list->cells_optional)
            return etx_fail(ETX_ERR_ARGUMENT,
                "the model needs the feature %s, but the event has no cells",
                table[id].name);
        if (table[id].position != HIT && event->cluster_position == NULL)
            return etx_fail(ETX_ERR_ARGUMENT,
                "the model needs the feature %s, but the event has no cluster "
                "positions: call etx_event_set_cluster_positions",
                table[id].name);
    }
    return ETX_OK;
}

int32_t etx_hit_feature_find(const char *name)
{
    for (int32_t id = 0; id < N_FEATURES; id++)
        if (strcmp(table[id].name, name) == 0)
            return id;
    return -1;
}

bool etx_hit_feature_is_of_cluster(int32_t id)
{
    return table[id].position != HIT;
}

const char *etx_hit_feature_name(int32_t id)
{
    return id >= 0 && id < N_FEATURES ? table[id].name : "unknown";
}

etx_status etx_hit_features(float *out, struct etx_pool *pool,
    const struct etx_event *event, const struct etx_feature_list *list)
{
    struct work work = {out, event, list};

    if (event->features != NULL) {
        if (event->n_features != list->n_features)
            return etx_fail(ETX_ERR_ARGUMENT,
                "the model needs %d features, but the event has %" PRId64,
                list->n_features, event->n_features);
        memcpy(out, event->features,
            (size_t)(event->n_hits * event->n_features) * sizeof *out);
        return ETX_OK;
    }

    const etx_status status = check_list(event, list);
    if (status != ETX_OK)
        return status;
    return etx_parallel_ranges(pool, event->n_hits, BLOCK, fill_block, &work);
}
