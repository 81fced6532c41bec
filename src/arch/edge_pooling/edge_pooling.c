/* arch/edge_pooling/edge_pooling.c -- a graph of clusters of hits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/edge_pooling/network.h"

#include "base/check.h"
#include "base/heap.h"

#include <string.h>

extern const struct etx_arch etx_arch_edge_pooling;

/* concat[x_first, x_second, edge features] */
static etx_status edge_input(
    struct etx_mlp_input *out, const struct etx_nested_run *run)
{
    const struct etx_network *network = run->network;
    const float *x = run->input->node_features;
    const struct etx_edge_ends ends =
        etx_edge_ends(run->input->graph, run->nested->order);
    float *features = NULL;
    etx_status status;

    ETX_CHECK(
        etx_edge_features_make(&features, network, run->context, run->input));
    *out =
        (struct etx_mlp_input){.args = {.n_rows = run->input->graph->n_edges}};
    etx_mlp_append(out, x, &ends.first, network->n_node_features);
    etx_mlp_append(out, x, &ends.second, network->n_node_features);
    etx_mlp_append(out, features, NULL, network->edge_features.n_features);
done:
    return status;
}

/* out [n_edges] += the logits of the edges between their clusters. */
static etx_status add_coarse(float *out, const struct etx_nested_run *run)
{
    for (int64_t e = 0; e < run->input->graph->n_edges; e++)
        if (run->inner_edge[e] >= 0)
            out[e] += run->logit[run->inner_edge[e]];
    return ETX_OK;
}

/* The gradient of an edge between clusters is the sum of the gradients of its
 * edges. */
static etx_status coarse_backward(
    float *d_logit, const struct etx_nested_run *run, const float *d_out)
{
    memset(d_logit, 0, (size_t)run->inner.graph->n_edges * sizeof *d_logit);
    for (int64_t e = 0; e < run->input->graph->n_edges; e++)
        if (run->inner_edge[e] >= 0)
            d_logit[run->inner_edge[e]] += d_out[e];
    return ETX_OK;
}

static const struct etx_nested_steps steps = {
    .edge_hidden = "edge_hidden",
    .edge_prefix = "edges",
    .inner = "coarse",
    .needs_whole = "a cluster may have hits of two partitions",
    .build = etx_pooling_contract,
    .edge_input = edge_input,
    .combine = add_coarse,
    .combine_backward = coarse_backward,
};

static etx_status configure(
    struct etx_network *network, const struct etx_json *options)
{
    etx_status status = ETX_OK;
    struct etx_pooling *state = NULL;
    const int32_t n_columns =
        2 * network->n_node_features + network->edge_features.n_features;

    ETX_NEW(state, 1, "edge pooling options");
    network->state = state;
    state->contract_cut = 0.5f;
    const struct etx_option own =
        etx_option_float("contract_cut", &state->contract_cut, 0, 1);

    ETX_CHECK(etx_nested_configure(
        network, &steps, &own, n_columns, etx_pooling_width(network), options));
done:
    return status;
}

const struct etx_arch etx_arch_edge_pooling = {
    .name = "edge_pooling",
    .kind = ETX_NETWORK_EDGE,
    .configure = configure,
    .release = etx_nested_release,
    .forward = etx_nested_forward,
    .backward = etx_nested_backward,
    .is_host_only = 1,
};
