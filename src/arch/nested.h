/* arch/nested.h -- networks with an interaction network on a second graph.
 *
 * Such a network builds a second graph, scores its edges with an interaction
 * network, the inner one, and combines these logits with the logits of a
 * perceptron on every edge of the input graph:
 *
 *     u     = edge network(each edge)       q = inner network(nested graph)
 *     logit = combination of u and q
 *
 * The parameters of the inner network follow the edge network's.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_NESTED_H
#define ETX_ARCH_NESTED_H

#include "arch/edge_steps.h"
#include "arch/latents.h"

struct etx_nested_run;

/* What one of them adds: names of options and parameters, and steps. */
struct etx_nested_steps {
    const char *edge_hidden; /* option: hidden widths of the edge network */
    const char *edge_prefix; /* its parameters */
    const char *inner;       /* option, and prefix of the parameters */
    const char *needs_whole; /* see etx_network */

    /* Set run->inner, the graph owned by run->owned, its node features in the
     * arena, unless they are set already. */
    etx_status (*build)(struct etx_nested_run *run);

    /* The input of the edge network, with scratch from the arena. */
    etx_status (*edge_input)(
        struct etx_mlp_input *out, const struct etx_nested_run *run);

    /* out [n_edges] of the edge network += a function of the logits of the
     * nested graph. Backward: d_logit of these, overwritten. */
    etx_status (*combine)(float *out, const struct etx_nested_run *run);
    etx_status (*combine_backward)(
        float *d_logit, const struct etx_nested_run *run, const float *d_out);
};

/* The state of such a network begins with this. */
struct etx_nested {
    const struct etx_nested_steps *steps;
    struct etx_widths hidden; /* of the edge network */
    struct etx_mlp_style style;
    int32_t order; /* enum etx_edge_order */
    struct etx_mlp_block edges;
    struct etx_network inner; /* value is NULL */
    int64_t offset;           /* of its parameters in the outer network's */
};

/* One run over one graph. */
struct etx_nested_run {
    const struct etx_network *network;
    const struct etx_nested *nested; /* its state */
    struct etx_context *context;
    const struct etx_network_input *input;
    struct etx_network inner_network; /* with its values */
    struct etx_network_input inner;   /* what it reads */
    struct etx_graph *owned;          /* inner.graph, or NULL */
    int32_t *inner_edge; /* [n_edges] edge of inner.graph, set by build */
    float *logit;        /* [inner.graph->n_edges] */
};

/* For configure: read options, of which one is the network's own, and declare
 * the parameters. Columns of the edge network's input and of the inner node
 * features. */
etx_status etx_nested_configure(struct etx_network *network,
    const struct etx_nested_steps *steps, const struct etx_option *own,
    int32_t n_edge_columns, int32_t n_inner_columns,
    const struct etx_json *options);

/* etx_arch.release, .forward and .backward. */
void etx_nested_release(struct etx_network *network);
etx_status etx_nested_forward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    struct etx_tape *tape, float *out);
etx_status etx_nested_backward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    const struct etx_tape *tape, const float *d_out, float *gradient);

/* Steps of the forward, for networks with more outputs: the run, with a nested
 * graph or NULL to build it; always close. run->logit, in the arena; tape
 * NULL: inference. out [n_edges] = the edge network. */
etx_status etx_nested_open(struct etx_nested_run *run,
    const struct etx_network *network, struct etx_context *context,
    const struct etx_network_input *input,
    const struct etx_network_input *inner);
void etx_nested_close(struct etx_nested_run *run);
etx_status etx_nested_score_inner(
    struct etx_nested_run *run, struct etx_tape *tape);
etx_status etx_nested_score_edges(float *out, const struct etx_nested_run *run);

#endif
