/* test_io_config.c -- what etx.config may not say.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io_support.h"

#include "base/heap.h"
#include "io/safetensors.h"

struct refusal {
    const char *config;
    const char *piece;
};

#define EMBED(nodes, graph)                                                    \
    "{'schema': 1, 'embedding': {'arch': 'mlp', 'node_features':" nodes        \
    ", 'graph':" graph "}}"
#define R "[{'name': 'r', 'scale': 1}]"

static const struct refusal refusals[] = {
    {"[]", "etx.config is not an object"},
    {"{}", "schema is not an integer"},
    {"{'schema': 0}", "schema is not an integer from 1 on"},
    {"{'schema': '1'}", "schema is not an integer"},
    {"{'schema': 1.0}", "schema is not an integer"},
    {"{'schema': 2, 'new': 1}", "schema is 2, this library knows 1: the file "
                                "is newer than the library"},
    {"{'schema': 1, 'extra': 1}", "etx.config: unknown key 'extra'"},
    {"{'schema': 1, 'embeding': {}}",
        "unknown key 'embeding' (nearest: 'embedding')"},
    {"{'schema': 1, 'gnn': []}", "gnn is not an object"},
    {"{'schema': 1, 'gnn': null}", "gnn is not an object"},
    {"{'schema': 1, 'gnn': {}}", "gnn: there is no 'arch'"},
    {"{'schema': 1, 'gnn': {'arch': 7}}", "gnn: there is no 'arch'"},
    {"{'schema': 1, 'gnn': {'arch': 'mlp'}}",
        "gnn: there is no 'node_features'"},
    {"{'schema': 1, 'gnn': {'arch': 'mlp', 'node_features':" R "}}",
        "gnn: mlp is a network for points, expected one for edges"},
    {"{'schema': 1, 'gnn': {'arch': 'none', 'node_features':" R "}}",
        "unknown network 'none'"},
    {"{'schema': 1, 'gnn': {'arch': 'edge_filter', 'node_features':" R
     ", 'cut': 0.5}}",
        "gnn: unknown key 'cut'"},
    {"{'schema': 1, 'gnn': {'arch': 'edge_filter', 'node_features':" R
     ", 'options': {'no': 1}}}",
        "unknown option 'no'"},
    {"{'schema': 1, 'gnn': {'arch': 'edge_filter', 'node_features':" R
     ", 'options': 7}}",
        "expected an object"},
    {"{'schema': 1, 'gnn': {'arch': 'edge_filter', 'node_features':" R
     ", 'edge_features': {}}}",
        "gnn.edge_features is not a list"},
    {"{'schema': 1, 'gnn': {'arch': 'edge_filter', 'node_features':" R
     ", 'edge_features': [{'name': 'DR', 'scale': 1}]}}",
        "gnn.edge_features: unknown edge feature 'DR'"},
    {"{'schema': 1, 'gnn': {'arch': 'edge_filter', 'node_features':" R
     ", 'edge_features': [7]}}",
        "gnn.edge_features"},
    {"{'schema': 1, 'module_map': {'units': 1}}",
        "module_map: unknown option 'units'"},
    {"{'schema': 1, 'gnn': {'arch': 'triplet_gnn', 'node_features':" R
     ", 'options': {'triplets': {'pt_layers': 2}}}}",
        "triplet_gnn: option 'pt_layers' of 'triplets'"},
    {"{'schema': 1, 'filter': {'arch': 'edge_filter', 'node_features':" R "}}",
        "filter: there is no 'cut'"},
    {"{'schema': 1, 'filter': {'arch': 'edge_filter', 'cut': 'x'}}",
        "filter: cut is not a number"},
    {"{'schema': 1, 'filter': {'arch': 'edge_filter', 'cut': 1.5}}",
        "filter: cut is 1.5, expected 0 to 1"},
    {"{'schema': 1, 'filter': {'arch': 'edge_filter', 'radius': 1}}",
        "filter: unknown key 'radius'"},
    {"{'schema': 1, 'filter': {'arch': 'edge_filter', 'cut': 0.5, "
     "'max_edges_per_hit': -1}}",
        "filter: max_edges_per_hit is -1, expected 0 to"},
    {"{'schema': 1, 'embedding': {'arch': 'mlp', 'node_features':" R "}}",
        "embedding: there is no 'graph'"},
    {"{'schema': 1, 'embedding': {'arch': 'edge_filter', 'node_features':" R
     ", 'graph': {'radius': 1}}}",
        "embedding: edge_filter is a network for edges, expected one for "
        "points"},
    {"{\"schema\":1,\"gnn\":{\"arch\":\"interaction_network\","
     "\"node_features\":" R ",\"cells\":true}}",
        "gnn: cells is neither"},
    {"{\"schema\":1,\"gnn\":{\"arch\":\"interaction_network\","
     "\"node_features\":" R ",\"cells\":\"maybe\"}}",
        "gnn: cells is neither"},
    {EMBED(R, "{}"), "embedding.graph: there is no 'radius'"},
    {EMBED(R, "7"), "embedding.graph: there is no 'radius'"},
    {EMBED(R, "{'radius': 0}"), "'radius' is 0"},
    {EMBED(R, "{'radius': -1}"), "'radius' is -1"},
    {EMBED(R, "{'radius': 1e300}"), "'radius' is 1e300"},
    {EMBED(R, "{'radius': true}"), "'radius' is true or false"},
    {EMBED(R, "{'radius': 1, 'max_neighbours': 8, 'max_edges_per_hit': 5}"),
        "max_neighbours 8 and max_edges_per_hit 5"},
    {EMBED(R, "{'radius': 1, 'max_neighbours': -1}"), "'max_neighbours' is -1"},
    {EMBED(R, "{'radius': 1, 'max_neighbours': 2147483648}"),
        "'max_neighbours' is 2147483648"},
    {EMBED(R, "{'radius': 1, 'orientation': 'inward'}"),
        "'orientation' is 'inward', expected one of: index, outward, both"},
    {EMBED(R, "{'radius': 1, 'k': 5}"), "unknown option 'k'"},
    {EMBED(R, "{'radius': 1, 'max_neighbors': 5}"),
        "unknown option 'max_neighbors' (nearest: 'max_neighbours')"},
    {EMBED("7", "{'radius': 1}"), "embedding.node_features is not a list"},
    {EMBED("[7]", "{'radius': 1}"), "embedding.node_features is not an object"},
    {EMBED("[{'scale': 1}]", "{'radius': 1}"), "there is no 'name'"},
    {EMBED("[{'name': 'r'}]", "{'radius': 1}"), "there is no 'scale'"},
    {EMBED("[{'name': 'r', 'scale': 0}]", "{'radius': 1}"), "scale is 0"},
    {EMBED("[{'name': 'r', 'scale': -1}]", "{'radius': 1}"), "scale is -1"},
    {EMBED("[{'name': 'r', 'scale': 1e-300}]", "{'radius': 1}"),
        "scale is 1e-300"},
    {EMBED("[{'name': 'r', 'scale': 1, 'x': 1}]", "{'radius': 1}"),
        "unknown key 'x'"},
    {EMBED("[{'name': 'R2', 'scale': 1}]", "{'radius': 1}"),
        "unknown hit feature 'R2' (nearest: 'R')"},
    {"{'schema': 1, 'cascade': {}}", "unknown key 'cascade'"},
    {"{'schema': 1, 'first_pass': {}}", "first_pass"},
    {"{'schema': 1, 'label': 7}", "label: options are an integer"},
    {"{'schema': 1, 'label': {}}", "label: there is no 'method'"},
    {"{'schema': 1, 'label': {'method': 'dbscan'}}", "dbscan"},
    {"{'schema': 1, 'label': {'method': 'components', 'min_hits': 0}}",
        "'min_hits' is 0"},
    {"{'schema': 1, 'label': {'method': 'components', 'cut': '0,5'}}",
        "'cut' is a text"},
    {"", "etx.config: not valid JSON"},
    {"{'schema': 1, 'schema': 1}", "duplicate"},
    {"{'schema': 1}x", "not valid JSON"},
    {"{'training': [[[[[[[[1]]]]]]]]}", "nested deeper than 8 levels"},
    {"{'schema': 1e999}", "not valid JSON"},
};

/* A model file whose etx.config is this text. */
static etx_status load_config(const char *key, const char *text)
{
    const char *const pair[][2] = {{key, etx_test_json(text)}};
    struct etx_json *metadata = NULL;
    etx_model *model = NULL;
    etx_status status;

    ck_assert_ok(etx_json_create_texts(&metadata, pair, 1));
    ck_assert_ok(etx_tensor_file_write(io_path("m"), 0, NULL, metadata));
    etx_json_free(metadata);
    status = etx_model_load(&model, io_path("m"));
    ck_assert_ptr_null(model);
    return status;
}

IO_TEST(test_io_config_refusals, .rows = ROWS(refusals))
{
    const struct refusal *row = &refusals[_i];
    const int64_t before = etx_heap_in_use();

    io_expect_row(
        row->config, load_config("etx.config", row->config), row->piece);
    ck_assert_error(io_path("m: "));
    ck_assert_int_eq(etx_heap_in_use(), before);
}

IO_TEST(test_io_config_none)
{
    etx_model *model = NULL;

    ck_assert_fails(load_config("format", "pt"), ETX_ERR_FORMAT,
        "metadata lack etx.config");
    ck_assert_fails(
        etx_model_load(&model, io_path("none")), ETX_ERR_IO, "No such file");
}
