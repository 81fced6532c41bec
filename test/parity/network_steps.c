/* test/parity/network_steps.c -- gradients and training steps, for comparison.
 *
 * network-steps PROBLEM RESULT: reads a network, its input and targets from
 * the safetensors file PROBLEM and writes to RESULT the initial values, and
 * for every step the loss, the gradient and the values after AdamW. The loss
 * is the mean cross-entropy of edges, plus the loss of a momentum head if there
 * is one, or for networks of points the mean contrastive loss of pairs (hinge
 * on the distance, margin 1). The tests of test/python do the same in PyTorch.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/arch.h"
#include "base/check.h"
#include "base/heap.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "train/objective/momentum_loss.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((int64_t)1 << 28)

/* The contents of PROBLEM. */
struct problem {
    struct etx_tensor_file *file;
    struct etx_json
        *config; /* arch, options, edge_features, scales, seed, ... */
    int64_t n_nodes, n_edges;
    int32_t *src, *dst; /* [n_edges] in the order of the graph */
    float *score;       /* [n_edges] */
    float *target;      /* [n_edges] */
    float *pt;          /* [n_edges] of a momentum head; nan: not in its loss */
    struct etx_graph *graph;
    struct etx_network *network;
    struct etx_network_input input;
};

/* The contents of RESULT; values of a step follow the last step's. */
struct result {
    int64_t n_steps;
    float *start;    /* [n_values] */
    float *loss;     /* [n_steps] */
    float *gradient; /* [n_steps, n_values] */
    float *value;    /* [n_steps, n_values] */
    float *m, *v;    /* [n_values] moments */
};

static double number(const struct problem *problem, const char *key)
{
    return etx_json_number(etx_json_get(problem->config, key));
}

/* A copy of a tensor of the file, for alignment. */
static etx_status copy_tensor(void *out_pointer, int64_t *n_rows,
    const struct problem *problem, const char *name, size_t size)
{
    etx_status status = ETX_OK;
    const struct etx_tensor *tensor = etx_tensor_file_find(problem->file, name);
    void *copy = NULL;

    if (tensor == NULL)
        return etx_fail(ETX_ERR_FORMAT, "there is no tensor %s", name);
    ETX_CHECK(etx_alloc(&copy, tensor->n_values, size, name));
    memcpy(copy, tensor->data, (size_t)tensor->n_values * size);
    memcpy(out_pointer, &copy, sizeof copy);
    *n_rows = tensor->dim[0];
done:
    return status;
}

/* The edges are sorted as in a graph, so that they keep their indices. */
static etx_status read_graph(struct problem *problem)
{
    etx_status status = ETX_OK;
    int64_t *ends[2] = {NULL, NULL};
    int64_t n = 0;

    ETX_CHECK(copy_tensor(&ends[0], &n, problem, "src", sizeof **ends));
    ETX_CHECK(copy_tensor(&ends[1], &n, problem, "dst", sizeof **ends));
    ETX_CHECK(
        copy_tensor(&problem->score, &n, problem, "score", sizeof(float)));
    ETX_CHECK(
        copy_tensor(&problem->target, &n, problem, "target", sizeof(float)));
    ETX_CHECK(copy_tensor(&problem->pt, &n, problem, "pt", sizeof(float)));
    ETX_CHECK(etx_alloc(&problem->src, n, sizeof(int32_t), "src"));
    ETX_CHECK(etx_alloc(&problem->dst, n, sizeof(int32_t), "dst"));
    for (int64_t e = 0; e < n; e++) {
        problem->src[e] = (int32_t)ends[0][e];
        problem->dst[e] = (int32_t)ends[1][e];
    }
    problem->n_edges = n;
    ETX_CHECK(etx_graph_from_edges(&problem->graph, problem->n_nodes, n,
        problem->src, problem->dst, problem->score, NULL));
done:
    etx_free(ends[0]);
    etx_free(ends[1]);
    return status;
}

static etx_status make_network(struct problem *problem, int32_t n_features)
{
    etx_status status = ETX_OK;
    const struct etx_json *feature =
        etx_json_first(etx_json_get(problem->config, "edge_features"));
    const struct etx_json *scale =
        etx_json_first(etx_json_get(problem->config, "scales"));
    struct etx_edge_feature_list list = {.n_features = 0};

    for (; feature != NULL && scale != NULL; feature = feature->next) {
        list.feature[list.n_features] = (int32_t)etx_json_integer(feature);
        list.scale[list.n_features++] = (float)etx_json_number(scale);
        scale = scale->next;
    }
    ETX_CHECK(etx_network_create(&problem->network,
        etx_json_text(etx_json_get(problem->config, "arch")), n_features, &list,
        etx_json_get(problem->config, "options")));
    etx_network_init(problem->network, (uint64_t)number(problem, "seed"));
done:
    return status;
}

static etx_status read_problem(
    struct problem *problem, const char *path, struct etx_bytes *bytes)
{
    etx_status status = ETX_OK;
    const struct etx_tensor *features = NULL;
    float *x = NULL;
    float *position = NULL;
    int64_t n_position = 0;

    ETX_CHECK(etx_file_read(bytes, path, MAX_BYTES));
    ETX_CHECK(etx_tensor_file_parse(&problem->file, bytes->data, bytes->size));
    const struct etx_json *text =
        etx_json_get(problem->file->metadata, "problem");
    if (etx_json_text(text) == NULL)
        return etx_fail(ETX_ERR_FORMAT, "%s: no problem", path);
    ETX_CHECK(etx_json_parse(
        &problem->config, "problem", etx_json_text(text), text->length, 8));
    ETX_CHECK(
        copy_tensor(&x, &problem->n_nodes, problem, "features", sizeof *x));
    ETX_CHECK(copy_tensor(
        &position, &n_position, problem, "position", sizeof *position));
    features = etx_tensor_file_find(problem->file, "features");
    ETX_CHECK(read_graph(problem));
    ETX_CHECK(make_network(problem, (int32_t)features->dim[1]));
    problem->input = (struct etx_network_input){.n_nodes = problem->n_nodes,
        .node_features = x,
        .position = position,
        .graph = problem->graph};
done:
    return status;
}

static void free_problem(struct problem *problem)
{
    etx_free((float *)(uintptr_t)problem->input.node_features);
    etx_free((float *)(uintptr_t)problem->input.position);
    etx_free(problem->src);
    etx_free(problem->dst);
    etx_free(problem->score);
    etx_free(problem->target);
    etx_free(problem->pt);
    etx_graph_free(problem->graph);
    etx_network_free(problem->network);
    etx_tensor_file_free(problem->file);
    etx_json_free(problem->config);
}

static etx_status edge_loss(float *loss, float *d_out,
    struct etx_context *context, const struct problem *problem,
    const float *out)
{
    double sum = 0.0;
    const struct etx_bce_loss_args args = {.n = problem->n_edges,
        .logit = out,
        .target = problem->target,
        .pos_weight = 1.0f,
        .loss_sum = &sum,
        .scale = (float)(1.0 / (double)problem->n_edges),
        .d_logit = d_out};
    const etx_status status = context->ops->bce_loss(context->stream, &args);

    *loss = (float)(sum / (double)problem->n_edges);
    return status;
}

/* The edges are the pairs. */
static etx_status point_loss(float *loss, float *d_out,
    struct etx_context *context, const struct problem *problem,
    const float *out)
{
    etx_status status = ETX_OK;
    const float scale = (float)(1.0 / (double)problem->n_edges);
    const int32_t n_dim = problem->network->n_out;
    double positive = 0.0;
    double negative = 0.0;
    uint8_t *target = NULL;
    struct etx_hinge_loss_args args = {.n_pairs = problem->n_edges,
        .n_points = problem->n_nodes,
        .n_dim = n_dim,
        .hinge = ETX_HINGE_DISTANCE,
        .margin = 1.0f,
        .point = out,
        .a = problem->src,
        .b = problem->dst,
        .positive_scale = scale,
        .negative_scale = scale,
        .positive_sum = &positive,
        .negative_sum = &negative,
        .d_point = d_out};

    ETX_CHECK(etx_alloc(&target, problem->n_edges, 1, "targets"));
    for (int64_t e = 0; e < problem->n_edges; e++)
        target[e] = problem->target[e] > 0.5f;
    args.target = target;
    memset(d_out, 0, (size_t)(problem->n_nodes * n_dim) * sizeof *d_out);
    ETX_CHECK(context->ops->hinge_loss(context->stream, &args));
    *loss = (float)((double)scale * (positive + negative));
done:
    etx_free(target);
    return status;
}

/* Memory for the output of the momentum head, and its gradient. */
static etx_status alloc_pt(struct etx_tape *tape, float **d_pt,
    struct etx_arena *arena, const struct problem *problem)
{
    const int64_t n = problem->n_edges;
    etx_status status = ETX_OK;

    if (!problem->network->has_pt_head)
        return ETX_OK;
    ETX_CHECK(etx_arena_alloc(&tape->pt, arena, n, sizeof(float), "momenta"));
    ETX_CHECK(etx_arena_alloc(d_pt, arena, n, sizeof(float), "gradient"));
    tape->d_pt = *d_pt;
done:
    return status;
}

/* Loss and gradient at the network's values. */
static etx_status differentiate(float *loss, float *gradient,
    struct etx_context *context, const struct problem *problem)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const struct etx_network *network = problem->network;
    const int32_t is_edge = network->arch->kind == ETX_NETWORK_EDGE;
    const int64_t n_out =
        is_edge ? problem->n_edges : problem->n_nodes * network->n_out;
    struct etx_tape tape = {NULL};
    float *out = NULL;
    float *d_out = NULL;
    float *d_pt = NULL;
    double pt_loss = 0.0;

    ETX_CHECK(etx_arena_alloc(&out, arena, n_out, sizeof *out, "output"));
    ETX_CHECK(etx_arena_alloc(&d_out, arena, n_out, sizeof *d_out, "gradient"));
    ETX_CHECK(alloc_pt(&tape, &d_pt, arena, problem));
    ETX_CHECK(
        network->arch->forward(network, context, &problem->input, &tape, out));
    ETX_CHECK(
        (is_edge ? edge_loss : point_loss)(loss, d_out, context, problem, out));
    if (d_pt != NULL)
        ETX_CHECK(etx_pt_loss(&pt_loss, d_pt, context, problem->n_edges,
            tape.pt, problem->pt, number(problem, "pt_scale"), 1.0));
    *loss += (float)pt_loss;
    ETX_CHECK(network->arch->backward(
        network, context, &problem->input, &tape, d_out, gradient));
done:
    etx_arena_reset(arena, mark);
    return status;
}

/* AdamW; weights decay, biases and norms do not, as in training. */
static etx_status update(const struct result *result,
    struct etx_context *context, const struct problem *problem,
    const float *gradient, int64_t step)
{
    etx_status status = ETX_OK;
    const struct etx_network *network = problem->network;

    for (int32_t p = 0; p < network->n_parameters; p++) {
        const struct etx_parameter *parameter = &network->parameter[p];
        const int64_t offset = parameter->offset;
        const struct etx_adamw_args args = {
            .n = (int64_t)parameter->n_rows * parameter->n_cols,
            .step = step,
            .learning_rate = (float)number(problem, "learning_rate"),
            .beta1 = 0.9f,
            .beta2 = 0.999f,
            .eps = (float)number(problem, "eps"),
            .weight_decay = parameter->decays
                                ? (float)number(problem, "weight_decay")
                                : 0.0f,
            .gradient = gradient + offset,
            .parameter = network->value + offset,
            .m = result->m + offset,
            .v = result->v + offset,
        };

        ETX_CHECK(context->ops->adamw(context->stream, &args));
    }
done:
    return status;
}

static etx_status run_steps(struct result *result, struct etx_context *context,
    const struct problem *problem)
{
    etx_status status = ETX_OK;
    const struct etx_network *network = problem->network;
    const int64_t n = network->n_values;
    const size_t bytes = (size_t)n * sizeof(float);

    result->n_steps = (int64_t)number(problem, "steps");
    ETX_CHECK(etx_alloc(&result->start, n, sizeof(float), "start"));
    ETX_CHECK(etx_alloc(&result->loss, result->n_steps, sizeof(float), "loss"));
    ETX_CHECK(etx_alloc(
        &result->gradient, result->n_steps * n, sizeof(float), "gradients"));
    ETX_CHECK(etx_alloc(
        &result->value, result->n_steps * n, sizeof(float), "values"));
    ETX_CHECK(etx_alloc(&result->m, n, sizeof(float), "moments"));
    ETX_CHECK(etx_alloc(&result->v, n, sizeof(float), "moments"));
    memcpy(result->start, network->value, bytes);
    for (int64_t s = 0; s < result->n_steps; s++) {
        float *gradient = result->gradient + s * n;

        ETX_CHECK(differentiate(&result->loss[s], gradient, context, problem));
        ETX_CHECK(update(result, context, problem, gradient, s + 1));
        memcpy(result->value + s * n, network->value, bytes);
    }
done:
    return status;
}

/* [[name, rows, columns, is_vector], ...] in the order of the values. */
static etx_status list_parameters(char **out, const struct etx_network *network)
{
    const size_t size = 128 * (size_t)(network->n_parameters + 1);
    size_t length = 0;
    char *text = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_alloc(&text, (int64_t)size, 1, "the names of parameters"));
    for (int32_t p = 0; p < network->n_parameters; p++) {
        const struct etx_parameter *parameter = &network->parameter[p];

        length += (size_t)snprintf(text + length, size - length,
            "%c[\"%s\",%d,%d,%d]", p == 0 ? '[' : ',', parameter->name,
            (int)parameter->n_rows, (int)parameter->n_cols,
            (int)parameter->is_vector);
    }
    memcpy(text + length, "]", 2);
    *out = text;
done:
    return status;
}

static etx_status write_result(const struct result *result, const char *path,
    const struct etx_network *network)
{
    const int64_t n = network->n_values;
    const int64_t steps = result->n_steps;
    const char *pair[1][2] = {{"parameters", NULL}};
    char *text = NULL;
    struct etx_json *metadata = NULL;
    etx_status status = ETX_OK;
    const struct etx_tensor tensors[] = {
        {"gradient", ETX_TENSOR_F32, 2, {steps, n}, steps * n,
            result->gradient},
        {"loss", ETX_TENSOR_F32, 1, {steps}, steps, result->loss},
        {"start", ETX_TENSOR_F32, 1, {n}, n, result->start},
        {"value", ETX_TENSOR_F32, 2, {steps, n}, steps * n, result->value},
    };

    ETX_CHECK(list_parameters(&text, network));
    pair[0][1] = text;
    ETX_CHECK(
        etx_json_create_texts(&metadata, (const char *const(*)[2])pair, 1));
    ETX_CHECK(etx_tensor_file_write(
        path, sizeof tensors / sizeof tensors[0], tensors, metadata));
done:
    etx_json_free(metadata);
    etx_free(text);
    return status;
}

int main(int argc, char **argv)
{
    etx_status status = ETX_OK;
    struct problem problem = {.file = NULL};
    struct result result = {.n_steps = 0};
    struct etx_bytes bytes = {NULL, 0};
    etx_context *context = NULL;

    if (argc != 3) {
        (void)fprintf(stderr, "usage: network-steps PROBLEM RESULT\n");
        return 2;
    }
    ETX_CHECK(etx_context_create(&context, NULL));
    ETX_CHECK(read_problem(&problem, argv[1], &bytes));
    ETX_CHECK(run_steps(&result, context, &problem));
    ETX_CHECK(write_result(&result, argv[2], problem.network));
done:
    if (status != ETX_OK)
        (void)fprintf(stderr, "network-steps: %s\n", etx_last_error());
    etx_free(result.start);
    etx_free(result.loss);
    etx_free(result.gradient);
    etx_free(result.value);
    etx_free(result.m);
    etx_free(result.v);
    free_problem(&problem);
    etx_bytes_release(&bytes);
    etx_context_free(context);
    return status == ETX_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
