/* io_models.c -- small models to write to files and read again.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io_models.h"

#include "arch/arch.h"
#include "io/model_file.h"

#define NODES                                                                  \
    "'node_features': [{'name': 'r', 'scale': 1000.5}, {'name': 'z', "         \
    "'scale': 1e3}]"
#define MLP       "'arch': 'mlp', 'options': {'hidden': [2], 'n_out': 3}"
#define GRAPH     "'graph': {'radius': 0.48, 'orientation': 'outward'}"
#define LABEL     "'label': {'method': 'walkthrough', 'cut': 0.1, 'min_hits': 4}"
#define EMBEDDING "'embedding': {" MLP "," NODES "," GRAPH "}"

const char io_model_small[] = "{'schema': 1," EMBEDDING "," LABEL "}";

const char io_model_all[] =
    "{'schema': 1," EMBEDDING ", 'filter': {'arch': 'edge_filter'," NODES
    ", 'edge_features': [{'name': 'dphi', 'scale': 1}], 'cut': 0.009}, 'gnn': "
    "{'arch': 'interaction_network', 'options': {'hidden': 4}," NODES
    ", 'edge_features': [{'name': 'dr', 'scale': 1}, {'name': 'score_logit', "
    "'scale': 16}]}, 'training': {'seeds': [1,2], 'metrics': {'auc': [0.5]}}}";

etx_model *io_model_make(const char *text)
{
    struct etx_json *config = NULL;
    etx_model *model = NULL;

    ck_assert_ok(etx_json_parse(
        &config, "config", etx_test_json(text), strlen(text), 8));
    ck_assert_ok(etx_model_from_config(&model, config));
    etx_json_free(config);
    if (model->embedding.network != NULL)
        etx_network_init(model->embedding.network, 1);
    if (model->filter.network != NULL)
        etx_network_init(model->filter.network, 2);
    if (model->gnn.network != NULL)
        etx_network_init(model->gnn.network, 3);
    return model;
}

char *io_model_bytes(const char *text, size_t *size)
{
    etx_model *model = io_model_make(text);

    ck_assert_ok(etx_model_save(model, io_path("made")));
    etx_model_free(model);
    return io_read(io_path("made"), size);
}
