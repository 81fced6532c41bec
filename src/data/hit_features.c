/* data/hit_features.c -- node features by name, as model files list them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/hit_features.h"

#include "base/status.h"

#include <inttypes.h>
#include <string.h>

/* In the order of their ids: the formula, and of what (op/graph.h). */
static const struct {
    const char *name;
    enum etx_hit_formula formula;
    int32_t of;
} table[] = {
    {"r", ETX_HIT_R, 0},
    {"phi", ETX_HIT_PHI, 0},
    {"z", ETX_HIT_Z, 0},
    {"cos_phi", ETX_HIT_COS_PHI, 0},
    {"sin_phi", ETX_HIT_SIN_PHI, 0},
    {"eta", ETX_HIT_ETA, 0},
    {"x", ETX_HIT_X, 0},
    {"y", ETX_HIT_Y, 0},
    {"R", ETX_HIT_DISTANCE, 0},
    {"log_cell_count", ETX_HIT_LOG_CELL, 0},
    {"cell_count", ETX_HIT_CELL, 0},
    {"cell_val", ETX_HIT_CELL, 1},
    {"leta", ETX_HIT_CELL, 2},
    {"lphi", ETX_HIT_CELL, 3},
    {"lx", ETX_HIT_CELL, 4},
    {"ly", ETX_HIT_CELL, 5},
    {"lz", ETX_HIT_CELL, 6},
    {"geta", ETX_HIT_CELL, 7},
    {"gphi", ETX_HIT_CELL, 8},
    {"cluster_x_1", ETX_HIT_X, 1},
    {"cluster_y_1", ETX_HIT_Y, 1},
    {"cluster_z_1", ETX_HIT_Z, 1},
    {"cluster_r_1", ETX_HIT_R, 1},
    {"cluster_phi_1", ETX_HIT_PHI, 1},
    {"cluster_eta_1", ETX_HIT_ETA, 1},
    {"cluster_x_2", ETX_HIT_X, 2},
    {"cluster_y_2", ETX_HIT_Y, 2},
    {"cluster_z_2", ETX_HIT_Z, 2},
    {"cluster_r_2", ETX_HIT_R, 2},
    {"cluster_phi_2", ETX_HIT_PHI, 2},
    {"cluster_eta_2", ETX_HIT_ETA, 2},
};

#define N_FEATURES ((int32_t)(sizeof table / sizeof table[0]))

static bool is_of_cells(int32_t id)
{
    return table[id].formula == ETX_HIT_CELL ||
           table[id].formula == ETX_HIT_LOG_CELL;
}

static bool is_of_cluster(int32_t id)
{
    return !is_of_cells(id) && table[id].of > 0;
}

static etx_status check_list(
    const struct etx_event *event, const struct etx_feature_list *list)
{
    for (int32_t k = 0; k < list->n_features; k++) {
        const int32_t id = list->feature[k].id;

        if (id < 0 || id >= N_FEATURES)
            return etx_fail(ETX_ERR_ARGUMENT,
                "feature %d of the list: there is no feature %d", k, id);
        if (is_of_cells(id) && event->cell_features == NULL &&
            !list->cells_optional)
            return etx_fail(ETX_ERR_ARGUMENT,
                "the model needs the feature %s, but the event has no cells",
                table[id].name);
        if (is_of_cluster(id) && event->cluster_position == NULL)
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
    return is_of_cluster(id);
}

const char *etx_hit_feature_name(int32_t id)
{
    return id >= 0 && id < N_FEATURES ? table[id].name : "unknown";
}

int32_t etx_hit_feature_count(void)
{
    return N_FEATURES;
}

static etx_status check_own(
    const struct etx_event *event, const struct etx_feature_list *list)
{
    if (event->n_features == list->n_features)
        return ETX_OK;
    return etx_fail(ETX_ERR_ARGUMENT,
        "the model needs %d features, but the event has %" PRId64,
        list->n_features, event->n_features);
}

etx_status etx_hit_feature_columns(struct etx_hit_features_args *args,
    struct etx_hit_column *column, const struct etx_event *event,
    const struct etx_feature_list *list)
{
    const etx_status status = event->features != NULL ? check_own(event, list)
                                                      : check_list(event, list);

    *args = (struct etx_hit_features_args){.n_hits = event->n_hits,
        .n_columns = list->n_features,
        .column = column,
        .position = event->position,
        .cell_stride = ETX_N_CELL_FEATURES};
    if (status != ETX_OK || event->features != NULL)
        return status;
    for (int32_t k = 0; k < list->n_features; k++) {
        const int32_t id = list->feature[k].id;
        const int32_t of = table[id].of;

        column[k].formula = (int32_t)table[id].formula;
        column[k].of = of;
        column[k].scale = list->feature[k].scale;
        if (is_of_cluster(id))
            args->cluster = event->cluster_position;
        if (is_of_cells(id) && event->cell_features != NULL)
            args->cell[of] = event->cell_features + of;
    }
    return ETX_OK;
}

etx_status etx_hit_features(float *out, struct etx_pool *pool,
    const struct etx_event *event, const struct etx_feature_list *list)
{
    struct etx_stream stream = {.pool = pool};
    struct etx_hit_column column[ETX_MAX_FEATURES];
    struct etx_hit_features_args args;
    const etx_status status =
        etx_hit_feature_columns(&args, column, event, list);

    if (status != ETX_OK)
        return status;
    args.out = out;
    if (event->features == NULL)
        return etx_op_ref.hit_features(&stream, &args);
    memcpy(out, event->features,
        (size_t)(event->n_hits * event->n_features) * sizeof *out);
    return ETX_OK;
}
