/* test/conformance/network_cases.c -- which networks are tested.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "network_fixture.h"

#include <stdlib.h>
#include <string.h>

#define N_FEATURES 4

static const struct network_case cases[] = {
    {"tanh without norm", "mlp",
        "{'hidden': [7, 6], 'n_out': 3, 'norm': 'none',"
        " 'activation': 'tanh'}",
        .n_node_features = 5},
    {"norm after gelu, unit output", "mlp",
        "{'hidden': [8], 'n_out': 4, 'norm_last': true,"
        " 'activation': 'gelu', 'last_activation': 'tanh',"
        " 'normalize_output': true}",
        .n_node_features = 3},
    {"batch norm", "mlp",
        "{'hidden': [8, 8], 'n_out': 2, 'norm': 'batch', 'norm_eps': 6e-5,"
        " 'activation': 'elu'}",
        .n_node_features = 3, .is_global = 1},
    {"no hidden layer", "mlp", "{'hidden': [], 'n_out': 2}",
        .n_node_features = 3},
    {"geometry and score", "edge_filter", "{'hidden': [8, 6]}",
        .n_node_features = 3, .n_edge_features = 9, .with_score = 1},
    {"vanilla", "edge_filter",
        "{'hidden': [8, 8, 8], 'style': 'vanilla',"
        " 'order': 'target_source'}",
        .n_node_features = 3},
    {"vanilla without hidden layers", "edge_filter",
        "{'hidden': [], 'style': 'vanilla'}", .n_node_features = 3},
    {"pyramid, batch norm", "edge_filter",
        "{'hidden': [8, 4, 2], 'style': 'pyramid', 'norm': 'batch',"
        " 'activation': 'tanh'}",
        .n_node_features = 3, .is_global = 1},
    {"edge features alone", "edge_filter",
        "{'hidden': [6], 'norm_affine': false}", .n_edge_features = 4},
    {"lrt_gnn in small", "attention_gnn",
        "{'hidden': 6, 'n_iterations': 3, 'encoder_hidden': [5, 5],"
        " 'edge_hidden': [7, 6], 'node_hidden': [6, 5],"
        " 'activation': 'tanh', 'node_input': 'messages_node'}",
        .n_node_features = 3},
    {"without shortcut and residual", "attention_gnn",
        "{'hidden': 5, 'n_iterations': 2, 'encoder_hidden': [],"
        " 'input_shortcut': false, 'residual': false, 'activation': 'silu',"
        " 'order': 'target_source'}",
        .n_node_features = 3},
    {"relu without norm", "attention_gnn",
        "{'hidden': 4, 'n_iterations': 2, 'norm': 'none'}",
        .n_node_features = 2, .is_rough = 1},
    {"quickstart in small", "interaction_network",
        "{'hidden': 6, 'n_iterations': 3, 'encoder_layers': 3,"
        " 'edge_encoder_layers': 3, 'node_layers': 3, 'edge_layers': 3,"
        " 'decoder_layers': 4, 'edge_update': 'old', 'aggregation': ['max',"
        " 'sum'], 'aggregate_at': 'target', 'node_recurrent': true,"
        " 'edge_recurrent': true, 'edge_from_latents': true,"
        " 'edge_from_nodes': false, 'direction': 'doubled_first_half'}",
        .n_node_features = 3, .is_rough = 1},
    {"acorn in small", "interaction_network",
        "{'hidden': 5, 'n_iterations': 2, 'edge_update': 'new',"
        " 'aggregation': ['sum', 'mean'], 'node_residual': false,"
        " 'edge_residual': false, 'norm_affine': false,"
        " 'activation': 'tanh', 'last_activation': 'tanh',"
        " 'last_norm': 'layer', 'edge_from_latents': true,"
        " 'edge_from_nodes': false, 'order': 'target_source',"
        " 'direction': 'doubled_mean'}",
        .n_node_features = 4},
    {"InteractionGNN2 in small", "interaction_network",
        "{'hidden': 5, 'n_iterations': 3, 'node_residual': false,"
        " 'edge_residual': false, 'concat_initial': true,"
        " 'edge_from_nodes': false, 'decoder_input': 'edge',"
        " 'transform_layers': 2, 'edge_input': 'edge_nodes',"
        " 'node_input': 'messages_node', 'activation': 'gelu',"
        " 'last_activation': 'gelu'}",
        .n_node_features = 4, .n_edge_features = 6},
    {"InteractionGNN2, batch norm, summed", "interaction_network",
        "{'hidden': 4, 'n_iterations': 2, 'aggregate_at': 'both_summed',"
        " 'norm': 'batch', 'norm_eps': 6e-5, 'activation': 'tanh'}",
        .n_node_features = 3, .n_edge_features = 3, .is_global = 1},
    {"shipped", "interaction_network", "{'hidden': 8, 'n_iterations': 4}",
        .n_node_features = 4, .n_edge_features = 9, .with_score = 1},
    {"new with concatenation, mean and max", "interaction_network",
        "{'hidden': 4, 'n_iterations': 3, 'edge_update': 'new',"
        " 'concat_initial': true, 'aggregate_at': 'both_summed',"
        " 'aggregation': ['mean', 'max'], 'decoder_input': 'edge',"
        " 'node_residual': false}",
        .n_node_features = 2, .is_rough = 1},
    {"old, deviation, edge alone", "interaction_network",
        "{'hidden': 4, 'n_iterations': 2, 'edge_update': 'old',"
        " 'edge_residual': false, 'aggregation': ['std', 'sum'],"
        " 'decoder_input': 'edge'}",
        .n_node_features = 2, .is_rough = 1},
    /* From 16 columns on the first layer is factorised. */
    {"wide, all parts by both ends", "interaction_network",
        "{'hidden': 17, 'n_iterations': 2, 'concat_initial': true,"
        " 'edge_from_latents': true, 'edge_layers': 1,"
        " 'order': 'target_source'}",
        .n_node_features = 16, .n_edge_features = 3},
    {"wide, doubled, activation before norm", "interaction_network",
        "{'hidden': 16, 'n_iterations': 2, 'activation': 'tanh',"
        " 'norm_last': true, 'edge_update': 'new',"
        " 'direction': 'doubled_mean'}",
        .n_node_features = 3},
    {"wide", "attention_gnn",
        "{'hidden': 16, 'n_iterations': 2, 'activation': 'silu'}",
        .n_node_features = 18},
    {"as published", "graph_convolution",
        "{'encoder': false, 'residual': false, 'norm': 'none',"
        " 'n_iterations': 2, 'hidden': 6, 'decoder_hidden': [5],"
        " 'activation': 'tanh'}",
        .n_node_features = 3},
    {"recurrent with edge features", "graph_convolution",
        "{'hidden': 5, 'n_iterations': 3, 'encoder_hidden': [4],"
        " 'recurrent': true, 'activation': 'silu', 'order': 'target_source'}",
        .n_node_features = 3, .n_edge_features = 5, .with_score = 1},
    {"no encoder, as wide as the input, wide head", "graph_convolution",
        "{'hidden': 17, 'n_iterations': 2, 'encoder': false,"
        " 'recurrent': true, 'activation': 'gelu'}",
        .n_node_features = 17},
    {"batch norm", "graph_convolution",
        "{'hidden': 4, 'n_iterations': 2, 'norm': 'batch',"
        " 'activation': 'tanh'}",
        .n_node_features = 3, .is_global = 1},
    {"no iteration, no encoder", "graph_convolution",
        "{'n_iterations': 0, 'encoder': false, 'decoder_hidden': [4],"
        " 'activation': 'elu'}",
        .n_node_features = 2},
    {"with edge features", "triplet_gnn",
        "{'triplets': {'hidden': 4, 'n_iterations': 2},"
        " 'doublet_hidden': [5], 'activation': 'tanh'}",
        .n_node_features = 2, .n_edge_features = 5, .with_score = 1,
        .is_rough = 1},
    {"wide, recurrent, target first", "triplet_gnn",
        "{'triplets': {'hidden': 16, 'n_iterations': 2,"
        " 'node_recurrent': true, 'edge_recurrent': true},"
        " 'doublet_hidden': [], 'order': 'target_source'}",
        .n_node_features = 9, .is_rough = 1},
    {"with edge features, all contracted", "edge_pooling",
        "{'coarse': {'hidden': 4, 'n_iterations': 2}, 'edge_hidden': [5],"
        " 'contract_cut': 0, 'activation': 'tanh', 'order': 'target_source'}",
        .n_node_features = 2, .n_edge_features = 5},
    {"nothing contracted", "edge_pooling",
        "{'coarse': {'hidden': 4, 'n_iterations': 1}, 'edge_hidden': [],"
        " 'contract_cut': 1}",
        .n_node_features = 3},
    {"few neighbours", "gravnet",
        "{'hidden': 6, 'n_iterations': 2, 'n_space': 2, 'n_flow': 3,"
        " 'n_out': 3, 'n_neighbours': 13, 'activation': 'tanh'}",
        .n_node_features = 3, .is_global = 1},
    {"no iteration", "gravnet",
        "{'hidden': 4, 'n_iterations': 0, 'norm': 'none'}",
        .n_node_features = 3},
    {"large steps, edge features", "lorentz_network",
        "{'hidden': 5, 'n_iterations': 3, 'step': 0.1, 'ratio': 2,"
        " 'layers': 1,"
        " 'activation': 'tanh', 'order': 'target_source'}",
        .n_node_features = 7, .n_edge_features = 5, .with_score = 1},
    {"wide, large steps", "lorentz_network",
        "{'hidden': 16, 'n_iterations': 2, 'step': 0.1, 'ratio': 2}",
        .n_node_features = 5},
    {"no iteration", "lorentz_network", "{'n_iterations': 0}",
        .n_node_features = 4},
    {"helices and votes, doubled", "interaction_network",
        "{'hidden': 5, 'n_iterations': 2, 'norm': 'none',"
        " 'activation': 'tanh', 'direction': 'doubled_mean'}",
        .n_node_features = 2, .n_edge_features = ETX_EDGE_OWN_0},
    {"helices and votes", "edge_filter", "{'hidden': [5]}",
        .n_node_features = 2, .n_edge_features = ETX_EDGE_OWN_0},
    {"no iteration", "interaction_network",
        "{'hidden': 4, 'n_iterations': 0, 'decoder_input': 'edge'}",
        .n_node_features = 2},
};

#define N_CASES ((int32_t)(sizeof cases / sizeof cases[0]))

static int32_t n_archs(void)
{
    int32_t n = 0;

    while (etx_archs[n] != NULL)
        n++;
    return n;
}

/* Of all cases: those above, then every family with its defaults. */
static struct network_case any_case(int32_t index)
{
    struct network_case defaults = {
        "defaults", .n_node_features = N_FEATURES, .is_rough = 1};

    if (index < N_CASES)
        return cases[index];
    defaults.arch = etx_archs[index - N_CASES]->name;
    defaults.is_global = strcmp(defaults.arch, "gravnet") == 0;
    return defaults;
}

/* ETX_FAMILY names the family to test; without it all are. */
static int32_t is_wanted(const struct network_case *which)
{
    const char *family = getenv("ETX_FAMILY");

    return family == NULL || strcmp(family, which->arch) == 0;
}

int32_t network_n_cases(void)
{
    int32_t n = 0;

    for (int32_t index = 0; index < N_CASES + n_archs(); index++) {
        const struct network_case which = any_case(index);

        n += is_wanted(&which);
    }
    return n;
}

struct network_case network_case_at(int32_t index)
{
    int32_t all = 0;

    for (int32_t left = index;; all++) {
        const struct network_case which = any_case(all);

        if (is_wanted(&which) && left-- == 0)
            return which;
    }
}
