/* test/conformance/test_conformance_interaction.c -- the published forms.
 *
 * Four settings of interaction_network on a graph of seven nodes, one of them
 * isolated, against logits computed in float64 with NumPy straight from the
 * equations of the original PyTorch code (see README.md of
 * src/arch/interaction_network). Weights, features and positions come from an
 * integer hash.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "network_fixture.h"

#include "base/cpu.h"

#include <math.h>

#include "case.h"

#define N_NODES    7
#define N_FEATURES 3
#define N_EDGES    11

struct published {
    const char *name, *options;
    int32_t n_edge_features;
    double logit[N_EDGES];
};

static const struct published cases[] = {
    {"Exa.TrkX quickstart",
        "{'hidden': 4, 'n_iterations': 3, 'encoder_layers': 3,"
        " 'edge_encoder_layers': 3, 'node_layers': 3, 'edge_layers': 3,"
        " 'decoder_layers': 4, 'edge_update': 'old',"
        " 'aggregation': ['max', 'sum'], 'aggregate_at': 'target',"
        " 'node_recurrent': true, 'edge_recurrent': true,"
        " 'edge_from_latents': true, 'edge_from_nodes': false,"
        " 'direction': 'doubled_first_half'}",
        0,
        {-0.1942843, -0.1925521, -0.1963163, -0.1973392, -0.1937560, -0.1918359,
            -0.1937463, -0.1924190, -0.1939904, -0.1951159, -0.1922301}},
    {"acorn InteractionGNN, undirected, two aggregations",
        "{'hidden': 4, 'n_iterations': 2, 'decoder_layers': 3,"
        " 'activation': 'relu', 'last_activation': 'tanh',"
        " 'norm_affine': false, 'edge_update': 'new',"
        " 'aggregation': ['sum', 'mean'], 'node_residual': false,"
        " 'edge_residual': false, 'edge_from_latents': true,"
        " 'edge_from_nodes': false, 'direction': 'doubled_mean'}",
        0,
        {-1.4430457, -1.4474879, -1.4406976, -1.4453861, -1.4564068, -1.4559889,
            -1.4460729, -1.4629304, -1.4403148, -1.4472645, -1.4543212}},
    {"acorn InteractionGNN2, batch norm",
        "{'hidden': 4, 'n_iterations': 2, 'last_activation': 'silu',"
        " 'norm': 'batch', 'norm_eps': 6e-5, 'edge_update': 'first',"
        " 'node_residual': false, 'edge_residual': false,"
        " 'concat_initial': true, 'edge_from_nodes': false,"
        " 'decoder_input': 'edge', 'transform_layers': 2,"
        " 'edge_input': 'edge_nodes', 'node_input': 'messages_node'}",
        2,
        {-0.1819701, -0.8770758, 0.1950588, -0.0669065, -0.1708399, -0.7657079,
            -0.3404267, -0.6628179, 0.1061144, 0.2443412, 0.0583543}},
    {"as shipped", "{'hidden': 4, 'n_iterations': 2}", 2,
        {0.5356483, 0.5232891, 0.5221058, 0.5006749, 0.5105970, 0.5366763,
            0.5293942, 0.5092347, 0.5541861, 0.5098781, 0.5160231}},
};

/* In [-1, 1), by a hash (MurmurHash3's finalizer). */
static float mix(int64_t index)
{
    uint32_t z = ((uint32_t)index + 1U) * 0x9E3779B1U;

    z ^= z >> 15;
    z *= 0x85EBCA77U;
    z ^= z >> 13;
    z *= 0xC2B2AE3DU;
    z ^= z >> 16;
    return (float)(z >> 8) / 8388608.0f - 1.0f;
}

static struct etx_network *make_network(const struct published *which)
{
    const struct etx_edge_feature_list list = {
        .n_features = which->n_edge_features,
        .feature = {ETX_EDGE_DR, ETX_EDGE_DPHI},
        .scale = {100.0f, 2.0f}};
    struct etx_network *network = NULL;
    struct etx_json *options = network_json(which->options);
    const etx_status status = etx_network_create(
        &network, "interaction_network", N_FEATURES, &list, options);

    ck_assert_msg(status == ETX_OK, "%s", etx_last_error());
    etx_json_free(options);
    for (int64_t v = 0; v < network->n_values; v++)
        network->value[v] = mix(v);
    return network;
}

ETX_TEST(test_interaction_published, .rows = ROWS(cases))
{
    static const int32_t src[] = {0, 4, 0, 1, 1, 2, 2, 3, 0, 1, 4};
    static const int32_t dst[] = {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5};
    const struct published *which = &cases[_i];
    scoped_network *network = make_network(which);
    scoped_problem problem;

    network_problem_make(&problem, 1, N_NODES, 0, N_FEATURES);
    network_problem_set_edges(&problem, N_EDGES, src, dst, NULL, NULL);
    for (int64_t v = 0; v < N_NODES * N_FEATURES; v++)
        problem.features[v] = mix(1000 + v);
    for (int64_t v = 0; v < N_NODES * 3; v++)
        problem.position[v] = 100.0f * mix(2000 + v);
    ETX_EACH_CPU_LEVEL (level) {
        struct etx_context context;
        float logit[N_EDGES];

        network_context_open(&context, 1, level);
        network_forward(logit, network, &context, &problem);
        network_context_close(&context);
        for (int32_t e = 0; e < N_EDGES; e++) {
            ck_assert_msg(fabs((double)logit[e] - which->logit[e]) <= 1e-5,
                "%s, level %d: edge %d has %.9g, expected %.9g", which->name,
                (int)level, (int)e, logit[e], which->logit[e]);
        }
    }
}
