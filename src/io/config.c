/* io/config.c -- etx.config: the JSON description of a model.
 *
 * docs/model_format.md is the specification. Flat objects are read by
 * arch/options.h, like the options of networks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/config.h"

#include "arch/options.h"
#include "base/check.h"
#include "base/json.h"
#include "base/nearest.h"
#include "stage/options.h"
#include "stage/track_building/track_building.h"

#include <exatrkx/graph.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define SCHEMA 1
/* Scales and radii beyond these would leave the range of a float. */
#define MIN 1e-30
#define MAX ETX_CONFIG_MAX_NUMBER
/* Fields of an options struct that a model has. */
#define MAX_FIELDS 16
/* Feature names in messages. */
#define NAME "%.40s"

static const char *const orientation_names[] = {
    [ETX_ORIENT_INDEX] = "index",
    [ETX_ORIENT_OUTWARD] = "outward",
    [ETX_ORIENT_BOTH] = "both",
    NULL,
};

#define EDGE_FEATURE_NAME(id, name) [ETX_EDGE_##id] = name,

static const char *const edge_feature_names[ETX_N_EDGE_FEATURES] = {
    ETX_EDGE_FEATURES(EDGE_FEATURE_NAME)};

/* --------------------------------------------------- reading of values -- */

static etx_status check_keys(
    const char *owner, const struct etx_json *object, const char *const *keys)
{
    if (!etx_json_is(object, ETX_JSON_OBJECT))
        return etx_fail(ETX_ERR_FORMAT, "%s is not an object", owner);
    for (const struct etx_json *member = etx_json_first(object); member != NULL;
         member = member->next) {
        struct etx_nearest nearest = etx_nearest_of(member->key);

        for (int32_t k = 0; keys[k] != NULL; k++)
            etx_nearest_add(&nearest, keys[k]);
        if (strcmp(nearest.name, member->key) != 0)
            return etx_fail(ETX_ERR_FORMAT,
                "%s: unknown key '" NAME "' (nearest: '%s')", owner,
                member->key, nearest.name);
    }
    return ETX_OK;
}

static etx_status fail_missing(const char *owner, const char *key)
{
    return etx_fail(ETX_ERR_FORMAT, "%s: there is no '%s'", owner, key);
}

static etx_status read_number(float *out, const char *owner, const char *key,
    const struct etx_json *value, double low, double high)
{
    const double number = etx_json_number(value);

    if (value == NULL)
        return fail_missing(owner, key);
    if (!etx_json_is_number(value))
        return etx_fail(ETX_ERR_FORMAT, "%s: %s is not a number", owner, key);
    if (!(number >= low && number <= high))
        return etx_fail(ETX_ERR_FORMAT, "%s: %s is %.9g, expected %.9g to %.9g",
            owner, key, number, low, high);
    *out = (float)number;
    return ETX_OK;
}

/* ------------------------------------------------------------ features -- */

/* One {"name": ..., "scale": ...}. */
static etx_status read_feature(const char **name, float *scale,
    const char *owner, const struct etx_json *value)
{
    static const char *const keys[] = {"name", "scale", NULL};
    etx_status status = check_keys(owner, value, keys);

    if (status != ETX_OK)
        return status;
    *name = etx_json_text(etx_json_get(value, "name"));
    if (*name == NULL)
        return fail_missing(owner, "name");
    return read_number(
        scale, owner, "scale", etx_json_get(value, "scale"), MIN, MAX);
}

static etx_status check_list(
    const char *owner, const struct etx_json *value, size_t max)
{
    if (!etx_json_is(value, ETX_JSON_LIST) || etx_json_size(value) > max)
        return etx_fail(ETX_ERR_FORMAT,
            "%s is not a list of at most %zu features", owner, max);
    return ETX_OK;
}

static etx_status fail_hit_feature(const char *owner, const char *name)
{
    struct etx_nearest nearest = etx_nearest_of(name);

    for (int32_t id = 0; id < etx_hit_feature_count(); id++)
        etx_nearest_add(&nearest, etx_hit_feature_name(id));
    return etx_fail(ETX_ERR_FORMAT,
        "%s: unknown hit feature '" NAME "' (nearest: '%s')", owner, name,
        nearest.name);
}

static etx_status read_node_features(struct etx_feature_list *list,
    const char *owner, const struct etx_json *value)
{
    etx_status status = ETX_OK;

    ETX_CHECK(check_list(owner, value, ETX_MAX_FEATURES));
    const struct etx_json *entry = etx_json_first(value);
    list->n_features = (int32_t)etx_json_size(value);
    for (int32_t k = 0; k < list->n_features; k++, entry = entry->next) {
        struct etx_feature *feature = &list->feature[k];
        const char *name = "";
        ETX_CHECK(read_feature(&name, &feature->scale, owner, entry));
        feature->id = etx_hit_feature_find(name);
        if (feature->id < 0)
            return fail_hit_feature(owner, name);
    }
done:
    return status;
}

static int32_t find_edge_feature(const char *name)
{
    for (int32_t id = 0; id < ETX_N_EDGE_FEATURES; id++)
        if (strcmp(edge_feature_names[id], name) == 0)
            return id;
    return -1;
}

static etx_status fail_edge_feature(const char *owner, const char *name)
{
    struct etx_nearest nearest = etx_nearest_of(name);

    for (int32_t id = 0; id < ETX_N_EDGE_FEATURES; id++)
        etx_nearest_add(&nearest, edge_feature_names[id]);
    return etx_fail(ETX_ERR_FORMAT,
        "%s: unknown edge feature '" NAME "' (nearest: '%s')", owner, name,
        nearest.name);
}

static etx_status read_edge_features(struct etx_edge_feature_list *list,
    const char *owner, const struct etx_json *value)
{
    etx_status status = ETX_OK;

    ETX_CHECK(check_list(owner, value, ETX_N_EDGE_FEATURES));
    const struct etx_json *entry = etx_json_first(value);
    list->n_features = (int32_t)etx_json_size(value);
    for (int32_t k = 0; k < list->n_features; k++, entry = entry->next) {
        const char *name = "";
        ETX_CHECK(read_feature(&name, &list->scale[k], owner, entry));
        list->feature[k] = find_edge_feature(name);
        if (list->feature[k] < 0)
            return fail_edge_feature(owner, name);
    }
done:
    return status;
}

/* -------------------------------------------------------------- stages -- */

/* The names of a stage in messages. */
struct stage_names {
    const char *stage;
    const char *node_features;
    const char *edge_features;
    int32_t kind; /* enum etx_network_kind */
};

static const struct stage_names embedding_names = {"embedding",
    "embedding.node_features", "embedding.edge_features", ETX_NETWORK_POINT};
static const struct stage_names filter_names = {
    "filter", "filter.node_features", "filter.edge_features", ETX_NETWORK_EDGE};
static const struct stage_names gnn_names = {
    "gnn", "gnn.node_features", "gnn.edge_features", ETX_NETWORK_EDGE};

static etx_status check_kind(const struct etx_network *network,
    const struct stage_names *names, const char *arch)
{
    static const char *const kinds[] = {
        [ETX_NETWORK_POINT] = "points", [ETX_NETWORK_EDGE] = "edges"};

    if (network->arch->kind != names->kind)
        return etx_fail(ETX_ERR_FORMAT,
            "%s: " NAME " is a network for %s, expected one for %s",
            names->stage, arch, kinds[network->arch->kind], kinds[names->kind]);
    return ETX_OK;
}

/* Whether the network was trained to do without cells. */
static etx_status read_cells(struct etx_feature_list *list, const char *owner,
    const struct etx_json *value)
{
    const char *text = etx_json_text(value);

    if (value == NULL)
        return ETX_OK;
    list->cells_optional = text != NULL && strcmp(text, "optional") == 0;
    if (!list->cells_optional &&
        (text == NULL || strcmp(text, "required") != 0))
        return etx_fail(ETX_ERR_FORMAT,
            "%s: cells is neither \"required\" nor \"optional\"", owner);
    return ETX_OK;
}

/* The network and the features of a stage. */
static etx_status read_network(struct etx_model_stage *stage,
    const struct stage_names *names, const struct etx_json *object)
{
    const struct etx_json *nodes = etx_json_get(object, "node_features");
    const struct etx_json *edges = etx_json_get(object, "edge_features");
    const char *arch = etx_json_text(etx_json_get(object, "arch"));
    struct etx_edge_feature_list edge_features = {0};
    etx_status status = ETX_OK;

    if (arch == NULL)
        return fail_missing(names->stage, "arch");
    if (nodes == NULL)
        return fail_missing(names->stage, "node_features");
    ETX_CHECK(
        read_node_features(&stage->node_features, names->node_features, nodes));
    ETX_CHECK(read_cells(
        &stage->node_features, names->stage, etx_json_get(object, "cells")));
    if (edges != NULL)
        ETX_CHECK(
            read_edge_features(&edge_features, names->edge_features, edges));
    ETX_CHECK(etx_network_create(&stage->network, arch,
        stage->node_features.n_features, &edge_features,
        etx_json_get(object, "options")));
    ETX_CHECK(check_kind(stage->network, names, arch));
done:
    return status;
}

static etx_status read_graph(
    struct etx_model *model, const struct etx_json *object)
{
    const struct etx_option options[] = {
        etx_option_float("radius", &model->radius, MIN, MAX),
        etx_option_int("max_neighbours", &model->max_neighbours, 0, INT32_MAX),
        etx_option_float(
            "max_edges_per_hit", &model->graph_max_edges, 0.0, MAX),
        etx_option_choice(
            "orientation", &model->orientation, orientation_names),
    };

    etx_status status;

    if (etx_json_get(object, "radius") == NULL)
        return fail_missing("embedding.graph", "radius");
    ETX_CHECK(etx_options_read(
        "embedding.graph", object, options, ETX_N_OPTIONS(options)));
    if (model->graph_max_edges > 0.0f && model->max_neighbours > 0)
        return etx_fail(ETX_ERR_FORMAT,
            "embedding.graph: max_neighbours %d and max_edges_per_hit %.9g: "
            "one "
            "of them has to be 0",
            (int)model->max_neighbours, (double)model->graph_max_edges);
done:
    return status;
}

static etx_status read_embedding(
    struct etx_model *model, const struct etx_json *object)
{
    static const char *const keys[] = {
        "arch", "options", "node_features", "cells", "graph", NULL};
    const struct etx_json *graph = etx_json_get(object, "graph");
    etx_status status = ETX_OK;

    ETX_CHECK(check_keys("embedding", object, keys));
    if (graph == NULL)
        return fail_missing("embedding", "graph");
    ETX_CHECK(read_graph(model, graph));
    ETX_CHECK(read_network(&model->embedding, &embedding_names, object));
done:
    return status;
}

static etx_status read_filter(
    struct etx_model *model, const struct etx_json *object)
{
    static const char *const keys[] = {"arch", "options", "node_features",
        "cells", "edge_features", "cut", "max_edges_per_hit", NULL};
    const struct etx_json *max_edges =
        etx_json_get(object, "max_edges_per_hit");
    etx_status status = ETX_OK;

    ETX_CHECK(check_keys("filter", object, keys));
    ETX_CHECK(read_number(&model->filter_cut, "filter", "cut",
        etx_json_get(object, "cut"), 0.0, 1.0));
    if (max_edges != NULL)
        ETX_CHECK(read_number(&model->filter_max_edges, "filter",
            "max_edges_per_hit", max_edges, 0.0, MAX));
    ETX_CHECK(read_network(&model->filter, &filter_names, object));
done:
    return status;
}

static etx_status read_gnn(
    struct etx_model *model, const struct etx_json *object)
{
    static const char *const keys[] = {
        "arch", "options", "node_features", "cells", "edge_features", NULL};
    etx_status status = ETX_OK;

    ETX_CHECK(check_keys("gnn", object, keys));
    ETX_CHECK(read_network(&model->gnn, &gnn_names, object));
done:
    return status;
}

/* An entry of a table of options for a field of an options struct. */
static struct etx_option option_of(void *options, const struct etx_field *field)
{
    void *value = (char *)options + field->offset;

    if (field->choices != NULL)
        return etx_option_choice(field->name, value, field->choices);
    return field->kind == ETX_FIELD_FLOAT
               ? etx_option_float(field->name, value, field->low, field->high)
               : etx_option_int(field->name, value, field->low, field->high);
}

/* *out, a struct of int32_t and float, gets its defaults and what object, which
 * may be NULL, has. */
static etx_status read_options(void *out, const char *owner,
    const struct etx_json *object, const struct etx_options_type *type)
{
    struct etx_option options[MAX_FIELDS];

    etx_options_preset(out, type);
    for (int32_t k = 0; k < type->n_fields; k++)
        options[k] = option_of(out, &type->field[k]);
    return etx_options_read(owner, object, options, type->n_fields);
}

etx_status etx_config_write_options(struct etx_json *object,
    const void *options, const struct etx_options_type *type)
{
    etx_status status = ETX_OK;

    for (int32_t k = 0; k < type->n_fields; k++) {
        const struct etx_field *field = &type->field[k];
        const double value = etx_options_value(options, field);

        if (field->choices != NULL)
            ETX_CHECK(etx_json_set_text(
                object, field->name, field->choices[(int32_t)value]));
        else if (field->kind == ETX_FIELD_FLOAT)
            ETX_CHECK(
                etx_json_set_number(object, field->name, fmin(value, MAX)));
        else
            ETX_CHECK(
                etx_json_set_integer(object, field->name, (int64_t)value));
    }
done:
    return status;
}

static etx_status read_label(
    struct etx_model *model, const struct etx_json *object)
{
    if (etx_json_is(object, ETX_JSON_OBJECT) &&
        etx_json_get(object, "method") == NULL)
        return fail_missing("label", "method");
    return read_options(
        &model->label, "label", object, &etx_label_options_type);
}

static etx_status read_completion(
    struct etx_model *model, const struct etx_json *object)
{
    model->has_completion = object != NULL;
    return read_options(&model->completion_options, "completion", object,
        &etx_completion_options_type);
}

static etx_status read_first_pass(
    struct etx_model *model, const struct etx_json *object)
{
    model->has_first_pass = object != NULL;
    if (model->has_first_pass && !model->has_completion)
        return fail_missing("first_pass", "completion");
    return read_options(&model->first_pass_options, "first_pass", object,
        &etx_first_pass_options_type);
}

/* The map is in the tensors: there is nothing to choose. */
static etx_status read_module_map(
    struct etx_model *model, const struct etx_json *object)
{
    model->has_module_map = object != NULL;
    return object == NULL ? ETX_OK
                          : etx_options_read("module_map", object, NULL, 0);
}

/* -------------------------------------------------------------- config -- */

static etx_status check_schema(const struct etx_json *config)
{
    const struct etx_json *schema = etx_json_get(config, "schema");

    if (!etx_json_is(schema, ETX_JSON_INTEGER) ||
        etx_json_integer(schema) < SCHEMA)
        return etx_fail(ETX_ERR_FORMAT,
            "etx.config: schema is not an integer from %d on", SCHEMA);
    if (etx_json_integer(schema) > SCHEMA)
        return etx_fail(ETX_ERR_FORMAT,
            "etx.config: schema is %" PRId64 ", this library knows %d: the "
            "file is newer than the library",
            (int64_t)etx_json_integer(schema), SCHEMA);
    return ETX_OK;
}

etx_status etx_config_read(
    struct etx_model *model, const struct etx_json *config)
{
    static const char *const keys[] = {"schema", "embedding", "module_map",
        "filter", "gnn", "label", "completion", "first_pass", "training", NULL};
    const struct etx_json *embedding = etx_json_get(config, "embedding");
    const struct etx_json *filter = etx_json_get(config, "filter");
    const struct etx_json *gnn = etx_json_get(config, "gnn");
    etx_status status = ETX_OK;

    if (!etx_json_is(config, ETX_JSON_OBJECT))
        return etx_fail(ETX_ERR_FORMAT, "etx.config is not an object");
    ETX_CHECK(check_schema(config));
    ETX_CHECK(check_keys("etx.config", config, keys));
    ETX_CHECK(read_label(model, etx_json_get(config, "label")));
    ETX_CHECK(read_completion(model, etx_json_get(config, "completion")));
    ETX_CHECK(read_first_pass(model, etx_json_get(config, "first_pass")));
    ETX_CHECK(read_module_map(model, etx_json_get(config, "module_map")));
    if (embedding != NULL)
        ETX_CHECK(read_embedding(model, embedding));
    if (filter != NULL)
        ETX_CHECK(read_filter(model, filter));
    if (gnn != NULL)
        ETX_CHECK(read_gnn(model, gnn));
done:
    return status;
}
