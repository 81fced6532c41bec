/* arch/nested.c -- networks with an interaction network on a second graph.
 *
 * The inner network is configured as a network of its own; its table of
 * parameters is then appended to that of the outer: one flat array of values
 * serves both.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/nested.h"

#include "base/check.h"
#include "base/heap.h"

#include <stdio.h>

#define MAX_WIDTH 4096

/* ------------------------------------------------------------- configure -- */

static etx_status read_options(struct etx_nested *nested,
    const struct etx_json **inner_options, const char *owner,
    const struct etx_option *own, const struct etx_json *options)
{
    struct etx_option style[ETX_STYLE_ALL];
    const struct etx_option option[] = {
        etx_option_widths(
            nested->steps->edge_hidden, &nested->hidden, MAX_WIDTH),
        etx_option_style(style, &nested->style, ETX_STYLE_ACTIVATION_NORM),
        etx_option_choice("order", &nested->order, etx_edge_order_names),
        etx_option_json(nested->steps->inner, inner_options),
        *own,
    };

    return etx_options_read(owner, options, option, ETX_N_OPTIONS(option));
}

/* Append the parameters of the inner network. */
static etx_status declare_inner(
    struct etx_nested *nested, struct etx_network *network)
{
    etx_status status = ETX_OK;

    nested->offset = network->n_values;
    for (int32_t p = 0; p < nested->inner.n_parameters; p++) {
        struct etx_parameter parameter = nested->inner.parameter[p];
        int64_t offset = 0;

        (void)snprintf(parameter.name, sizeof parameter.name, "%.8s.%.54s",
            nested->steps->inner, nested->inner.parameter[p].name);
        ETX_CHECK(etx_network_declare(network, &offset, &parameter));
    }
done:
    return status;
}

etx_status etx_nested_configure(struct etx_network *network,
    const struct etx_nested_steps *steps, const struct etx_option *own,
    int32_t n_edge_columns, int32_t n_inner_columns,
    const struct etx_json *options)
{
    etx_status status = ETX_OK;
    struct etx_nested *nested = network->state;
    const struct etx_json *inner_options = NULL;

    nested->steps = steps;
    nested->hidden = (struct etx_widths){.n = 2, .width = {32, 32}};
    nested->style = etx_mlp_style_default(ETX_ACTIVATION_SILU);
    network->n_out = 1;
    network->needs_whole = steps->needs_whole;
    ETX_CHECK(read_options(
        nested, &inner_options, network->arch->name, own, options));
    ETX_CHECK(etx_mlp_block_declare(&nested->edges, network, steps->edge_prefix,
        n_edge_columns, &nested->hidden, 1, &nested->style));
    nested->inner.arch = etx_arch_find("interaction_network");
    nested->inner.n_node_features = n_inner_columns;
    ETX_CHECK(nested->inner.arch->configure(&nested->inner, inner_options));
    if (nested->inner.has_pt_head)
        ETX_FAIL(ETX_ERR_FORMAT,
            "%s: option 'pt_layers' of '%s': the inner network has no momentum "
            "head",
            network->arch->name, steps->inner);
    ETX_CHECK(declare_inner(nested, network));
done:
    return status;
}

void etx_nested_release(struct etx_network *network)
{
    struct etx_nested *nested = network->state;

    etx_network_release(&nested->inner);
}

/* --------------------------------------------------------------- forward -- */

/* The tape of a forward, in the arena of the host; its arrays are where the
 * context computes. */
struct nested_tape {
    const float *features; /* of the nodes of the nested graph */
    float *logit;          /* of its edges */
    struct etx_tape inner; /* of the inner network */
};

etx_status etx_nested_open(struct etx_nested_run *run,
    const struct etx_network *network, struct etx_context *context,
    const struct etx_network_input *input,
    const struct etx_network_input *inner)
{
    const struct etx_nested *nested = network->state;

    *run = (struct etx_nested_run){
        .network = network,
        .nested = nested,
        .context = context,
        .input = input,
        .inner_network = nested->inner,
        .inner = *inner,
    };
    run->inner_network.value = network->value + nested->offset;
    return nested->steps->build(run);
}

void etx_nested_close(struct etx_nested_run *run)
{
    etx_graph_free(run->owned);
}

etx_status etx_nested_score_inner(
    struct etx_nested_run *run, struct etx_tape *tape)
{
    etx_status status = ETX_OK;

    ETX_CHECK(etx_floats_alloc(&run->logit, run->context,
        run->inner.graph->n_edges, "logits of the nested graph"));
    ETX_CHECK(run->inner_network.arch->forward(
        &run->inner_network, run->context, &run->inner, tape, run->logit));
done:
    return status;
}

etx_status etx_nested_score_edges(float *out, const struct etx_nested_run *run)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_mlp_input rows;

    ETX_CHECK(run->nested->steps->edge_input(&rows, run));
    rows.args.out = out;
    ETX_CHECK(etx_mlp_block_forward(
        run->context, &run->nested->edges, run->network->value, &rows));
done:
    etx_arena_reset(arena, mark);
    return status;
}

static etx_status combine(float *out, const struct etx_nested_run *run)
{
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const etx_status status = run->nested->steps->combine(out, run);

    etx_arena_reset(arena, mark);
    return status;
}

etx_status etx_nested_forward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    struct etx_tape *tape, float *out)
{
    etx_status status = ETX_OK;
    const struct etx_scratch_mark mark = etx_scratch_mark(context);
    const struct etx_network_input to_build = {.graph = NULL};
    struct etx_nested_run run = {.owned = NULL};
    struct nested_tape *own = NULL;

    if (tape != NULL)
        tape->state = NULL;
    if (input->graph->n_edges == 0)
        return ETX_OK;
    ETX_CHECK(etx_check_cancelled(context->stream));
    ETX_CHECK(etx_nested_open(&run, network, context, input, &to_build));
    ETX_SCRATCH(own, etx_host_of(context)->stream->arena, 1, "tape");
    own->inner = etx_tape_of(network, tape);
    ETX_CHECK(etx_nested_score_inner(&run, tape == NULL ? NULL : &own->inner));
    own->features = run.inner.node_features;
    own->logit = run.logit;
    ETX_CHECK(etx_nested_score_edges(out, &run));
    ETX_CHECK(combine(out, &run));
    if (tape != NULL)
        tape->state = own;
done:
    etx_nested_close(&run);
    if (tape == NULL || tape->is_forward_only || status != ETX_OK)
        etx_scratch_reset(context, mark);
    return status;
}

/* -------------------------------------------------------------- backward -- */

static etx_status inner_backward(const struct etx_nested_run *run,
    const struct etx_tape *tape, const float *d_out, float *gradient)
{
    etx_status status = ETX_OK;
    float *d_logit = NULL;

    ETX_CHECK(etx_floats_alloc(&d_logit, run->context,
        run->inner.graph->n_edges, "gradients of the nested graph"));
    ETX_CHECK(run->nested->steps->combine_backward(d_logit, run, d_out));
    ETX_CHECK(
        run->inner_network.arch->backward(&run->inner_network, run->context,
            &run->inner, tape, d_logit, gradient + run->nested->offset));
done:
    return status;
}

static etx_status edges_backward(
    const struct etx_nested_run *run, const float *d_out, float *gradient)
{
    etx_status status = ETX_OK;
    struct etx_mlp_input rows;

    ETX_CHECK(run->nested->steps->edge_input(&rows, run));
    ETX_CHECK(etx_mlp_block_backward(run->context, &run->nested->edges,
        run->network->value, gradient, &rows, d_out));
done:
    return status;
}

etx_status etx_nested_backward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    const struct etx_tape *tape, const float *d_out, float *gradient)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const struct nested_tape *own = tape->state;
    struct etx_network_input to_build = {.graph = NULL};
    struct etx_nested_run run = {.owned = NULL};

    if (input->graph->n_edges == 0)
        return ETX_OK;
    to_build.node_features = own->features;
    ETX_CHECK(etx_nested_open(&run, network, context, input, &to_build));
    run.logit = own->logit;
    ETX_CHECK(inner_backward(&run, &own->inner, d_out, gradient));
    ETX_CHECK(edges_backward(&run, d_out, gradient));
done:
    etx_nested_close(&run);
    etx_arena_reset(arena, mark);
    return status;
}
