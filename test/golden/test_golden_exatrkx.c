/* test/golden/test_golden_exatrkx.c -- the trained models of Exa.TrkX.
 *
 * The three trained networks that are public give the logits that their own
 * code gives, and from the recorded embedding of 314 space points the chain
 * radius graph, filter cut, GNN, cut, components gives what the Exa.TrkX
 * service recorded. See README.md of the reference data.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arrays.h"
#include "support.h"

#include "arch/arch.h"

#include "base/cpu.h"
#include "base/heap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MODELS "exatrkx_models/"
#define CHAIN  "exatrkx_chain/"

/* Where the weights of one block of ours are: layer K of block `ours` is the
 * linear `theirs`.3K and the norm `theirs`.3K+1 of torch.nn.Sequential. */
struct block_name {
    const char *ours, *theirs;
};

struct model {
    const char *name; /* of the weights file and of skipped tests */
    const char *arch, *options;
    int32_t n_node_features;
    struct block_name block[3];
};

static const struct model lrt_gnn = {.name = "lrt_gnn",
    .arch = "attention_gnn",
    .options = "{\"hidden\": 64, \"n_iterations\": 8,"
               " \"encoder_hidden\": [64, 64], \"edge_hidden\": [67, 67, 67],"
               " \"node_hidden\": [64, 64], \"activation\": \"relu\","
               " \"node_input\": \"messages_node\","
               " \"order\": \"target_source\"}",
    .n_node_features = 3,
    .block = {{"node_encoder", "input_network"},
        {"edge_network", "edge_network.network"},
        {"node_network", "node_network.network"}}};

static const struct model trackml_gnn = {.name = "trackml_gnn",
    .arch = "attention_gnn",
    .options = "{\"hidden\": 64, \"n_iterations\": 8, \"encoder_hidden\": [],"
               " \"edge_hidden\": [64, 64], \"node_hidden\": [64],"
               " \"activation\": \"relu\", \"order\": \"target_source\"}",
    .n_node_features = 3,
    .block = {{"node_encoder", "node_encoder"},
        {"edge_network", "edge_network"}, {"node_network", "node_network"}}};

static const struct model trackml_filter = {.name = "trackml_filter",
    .arch = "edge_filter",
    .options = "{\"hidden\": [512, 512, 512], \"style\": \"vanilla\"}",
    .n_node_features = 12};

/* ------------------------------------------------------------ loading -- */

/* The name that a parameter of ours has in the weights of a filter. */
static void filter_name(char *out, size_t capacity, const char *ours)
{
    static const char *const names[][2] = {
        {"layers.0.weight", "input_layer.weight"},
        {"layers.0.bias", "input_layer.bias"},
        {"layers.1.weight", "layers.0.weight"},
        {"layers.1.bias", "layers.0.bias"},
        {"layers.2.weight", "layers.1.weight"},
        {"layers.2.bias", "layers.1.bias"},
        {"layers.3.weight", "output_layer.weight"},
        {"layers.3.bias", "output_layer.bias"},
        {"norm.gain", "layernorm.weight"}, {"norm.shift", "layernorm.bias"}};

    out[0] = '\0';
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        if (strcmp(names[n][0], ours) == 0)
            (void)snprintf(out, capacity, "%s", names[n][1]);
    }
    ck_assert_msg(out[0] != '\0', "no name for %s", ours);
}

static void their_name(
    char *out, size_t capacity, const struct model *model, const char *ours)
{
    for (size_t b = 0; b < 3 && model->block[b].ours != NULL; b++) {
        const size_t length = strlen(model->block[b].ours);
        char kind[16] = "";
        int layer = 0;

        if (strncmp(ours, model->block[b].ours, length) != 0)
            continue;
        ck_assert_int_eq(sscanf(ours + length, ".%d.%15s", &layer, kind), 2);
        (void)snprintf(out, capacity, "%s.%d.%s", model->block[b].theirs,
            3 * layer + (kind[0] == 'g' || kind[0] == 's'),
            kind[0] == 'w' || kind[0] == 'g' ? "weight" : "bias");
        return;
    }
    filter_name(out, capacity, ours);
}

static void load_parameter(struct etx_network *network,
    const struct etx_parameter *parameter, const struct model *model,
    const char *path)
{
    char name[64];
    struct golden_array array;

    their_name(name, sizeof name, model, parameter->name);
    array = golden_npz(path, name);
    ck_assert_msg(
        array.n_rows == parameter->n_rows && array.n_cols == parameter->n_cols,
        "%s is [%d, %d], expected [%d, %d]", name, (int)array.n_rows,
        (int)array.n_cols, (int)parameter->n_rows, (int)parameter->n_cols);
    for (int64_t v = 0; v < array.n_rows * array.n_cols; v++)
        network->value[parameter->offset + v] = (float)array.value[v];
    golden_free(&array);
}

/* NULL, and the test is reported as skipped, without the reference data. */
static struct etx_network *load(const struct model *model)
{
    struct etx_network *network = NULL;
    char file[64];
    const char *path = NULL;
    struct etx_json *options = NULL;

    (void)snprintf(file, sizeof file, MODELS "weights_%s.npz", model->name);
    path = etx_test_reference(model->name, file);
    ck_assert_ok(etx_json_parse(
        &options, "options", model->options, strlen(model->options), 8));
    if (path != NULL) {
        ck_assert_ok(etx_network_create(
            &network, model->arch, model->n_node_features, NULL, options));
        for (int32_t p = 0; p < network->n_parameters; p++)
            load_parameter(network, &network->parameter[p], model, path);
    }
    etx_json_free(options);
    return network;
}

static struct golden_array from_npz(const char *file, const char *name)
{
    const char *path = etx_test_reference("exatrkx", file);

    ck_assert_msg(path != NULL, "the reference data lack %s", file);
    return golden_npz(path, name);
}

static struct golden_array from_csv(const char *file)
{
    const char *path = etx_test_reference("exatrkx", file);

    ck_assert_msg(path != NULL, "the reference data lack %s", file);
    return golden_csv(path);
}

static void open_context(struct etx_context *context, int32_t cpu_level)
{
    memset(context, 0, sizeof *context);
    ck_assert_ok(
        etx_context_options_init(&context->options, sizeof context->options));
    context->options.cpu_level = cpu_level;
    ck_assert_ok(etx_backend_open(context));
}

/* ----------------------------------------------------------- networks -- */

/* A graph from two rows of ends; order[e] is edge e's column in them. */
static struct etx_graph *make_graph(int64_t *order, int64_t n_nodes,
    const struct golden_array *ends, int32_t src_row)
{
    struct etx_graph *graph = NULL;
    const int64_t n = ends->n_cols;
    int32_t *values = golden_ints(ends);

    ck_assert_int_eq(ends->n_rows, 2);
    ck_assert_ok(etx_graph_from_edges(&graph, n_nodes, n, values + src_row * n,
        values + (1 - src_row) * n, NULL, order));
    free(values);
    return graph;
}

/* Logits of every edge of ends, in their order. x [n_nodes, n_features]. */
static float *score(const struct etx_network *network,
    const struct golden_array *x, const struct golden_array *ends,
    int32_t src_row, int32_t cpu_level)
{
    struct etx_context context;
    const int64_t n = ends->n_cols;
    int64_t *order = calloc((size_t)n, sizeof *order);
    float *features = golden_floats(x);
    float *logit = calloc((size_t)n, sizeof *logit);
    float *out = calloc((size_t)n, sizeof *out);
    struct etx_graph *graph = make_graph(order, x->n_rows, ends, src_row);
    const struct etx_network_input input = {
        .n_nodes = x->n_rows, .node_features = features, .graph = graph};

    open_context(&context, cpu_level);
    ck_assert_ok(
        network->arch->forward(network, &context, &input, NULL, logit));
    etx_backend_close(&context);
    for (int64_t e = 0; e < n; e++)
        out[order[e]] = logit[e];
    etx_graph_free(graph);
    free(order);
    free(features);
    free(logit);
    return out;
}

static void check_close(const char *what, const float *got,
    const double *expected, int64_t n, double tolerance)
{
    double largest = 0.0;

    for (int64_t i = 0; i < n; i++) {
        const double difference = fabs((double)got[i] - expected[i]);

        ck_assert_msg(difference <= tolerance,
            "%s %d: %.9g, expected %.9g +- %.1e", what, (int)i, got[i],
            expected[i], tolerance);
        largest = fmax(largest, difference);
    }
    printf("%s: largest difference %.2e of %d, tolerance %.0e\n", what, largest,
        (int)n, tolerance);
}

/* Row 0 of the recorded edges is "start", which the model concatenates first;
 * it is the larger index and so our dst: order target_source. */
ETX_TEST(test_golden_lrt_gnn)
{
    scoped_network *network = load(&lrt_gnn);
    struct golden_array x, ends, f32, f64;

    if (network == NULL)
        return;
    x = from_npz(MODELS "lrt_gnn_in_e.npz", "lrt_x");
    ends = from_npz(MODELS "lrt_gnn_in_e.npz", "lrt_edges");
    f32 = from_npz(MODELS "lrt_gnn_in_e.npz", "lrt_logit_f32");
    f64 = from_npz(MODELS "lrt_gnn_in_e.npz", "lrt_logit_f64");
    ETX_EACH_CPU_LEVEL (level) {
        scoped float *logit = score(network, &x, &ends, 1, level);

        check_close("lrt_gnn (float32)", logit, f32.value, f32.n_cols, 5e-4);
        check_close("lrt_gnn (float64)", logit, f64.value, f64.n_cols, 5e-4);
    }
    golden_free(&x);
    golden_free(&ends);
    golden_free(&f32);
    golden_free(&f64);
}

/* Nothing is recorded for this model. Expected are every 73rd logit and two
 * sums for the graph of lrt_gnn, computed in float64 with NumPy after the
 * model's own TorchScript; float32 in another order moves them by 4e-4. */
ETX_TEST(test_golden_trackml_gnn)
{
    static const double expected[] = {-0.58899591, 0.85156747, -4.48485648,
        4.6831883, -0.5075313, -2.73477851, -2.67778516, -0.94598927};
    scoped_network *network = load(&trackml_gnn);
    struct golden_array x, ends;

    if (network == NULL)
        return;
    x = from_npz(MODELS "lrt_gnn_in_e.npz", "lrt_x");
    ends = from_npz(MODELS "lrt_gnn_in_e.npz", "lrt_edges");
    ETX_EACH_CPU_LEVEL (level) {
        scoped float *logit = score(network, &x, &ends, 1, level);
        float some[8];
        double sum = 0.0;
        double squares = 0.0;

        for (int32_t i = 0; i < 8; i++)
            some[i] = logit[73 * i];
        for (int64_t e = 0; e < ends.n_cols; e++) {
            sum += (double)logit[e];
            squares += (double)logit[e] * (double)logit[e];
        }
        check_close("trackml_gnn", some, expected, 8, 1e-3);
        ck_assert_double_eq_tol(sum, -376.45404201796646, 0.02);
        ck_assert_double_eq_tol(squares, 8081.103946479689, 0.2);
    }
    golden_free(&x);
    golden_free(&ends);
}

ETX_TEST(test_golden_trackml_filter)
{
    scoped_network *network = load(&trackml_filter);
    struct golden_array x, ends, f32;
    scoped float *logit = NULL;

    if (network == NULL)
        return;
    x = from_npz(MODELS "features12_event000000001_upstream_code.npz", "F");
    ends = from_npz(MODELS "trackml_filter_event000000001.npz", "edges");
    f32 = from_npz(MODELS "trackml_filter_event000000001.npz", "logit_f32");
    logit = score(network, &x, &ends, 0, ETX_CPU_BEST);
    check_close("trackml_filter", logit, f32.value, f32.n_cols, 1e-4);
    golden_free(&x);
    golden_free(&ends);
    golden_free(&f32);
}

/* -------------------------------------------------------------- chain -- */

/* All pairs of the recorded embedding closer than 1.6: the recorded edges
 * [2, n], of which row 0 is the larger index. */
static void check_graph(
    struct etx_context *context, const struct golden_array *recorded)
{
    struct golden_array points = from_csv(CHAIN "embedding.csv");
    scoped float *point = golden_floats(&points);
    struct etx_edge_list edges = {.n_edges = 0};
    struct etx_graph *graph = make_graph(NULL, points.n_rows, recorded, 1);
    const struct etx_radius_graph_args args = {.n_points = points.n_rows,
        .n_dim = (int32_t)points.n_cols,
        .radius = 1.6f,
        .point = point,
        .max_edges = 1000000,
        .out = &edges};

    ck_assert_ok(context->ops->radius_graph(context->stream, &args));
    ck_assert_int_eq(edges.n_edges, 2334);
    ck_assert_int_eq(edges.n_edges, graph->n_edges);
    for (int64_t e = 0; e < edges.n_edges; e++) {
        ck_assert_int_eq(edges.src[e], graph->src[e]);
        ck_assert_int_eq(edges.dst[e], graph->dst[e]);
    }
    etx_free(edges.src);
    etx_free(edges.dst);
    etx_graph_free(graph);
    golden_free(&points);
}

static float sigmoid(double logit)
{
    return (float)(1.0 / (1.0 + exp(-logit)));
}

/* What the recorded filter passes of the recorded edges is, in order, what
 * was recorded. */
static void check_filter(struct etx_context *context,
    const struct golden_array *edges, const struct golden_array *filtered)
{
    struct golden_array logits = from_csv(CHAIN "filter_logits.csv");
    const int64_t n = edges->n_cols;
    int64_t n_selected = 0;
    scoped float *scores = calloc((size_t)n, sizeof *scores);
    scoped int32_t *selected = calloc((size_t)n, sizeof *selected);
    const struct etx_edge_select_args args = {.n_edges = n,
        .score = scores,
        .cut = 0.21f,
        .selected = selected,
        .n_selected = &n_selected};

    ck_assert_int_eq(logits.n_rows, n);
    for (int64_t e = 0; e < n; e++)
        scores[e] = sigmoid(logits.value[e]);
    ck_assert_ok(context->ops->edge_select(context->stream, &args));
    ck_assert_int_eq(n_selected, filtered->n_cols);
    for (int64_t e = 0; e < n_selected; e++) {
        ck_assert(edges->value[selected[e]] == filtered->value[e]);
        ck_assert(
            edges->value[n + selected[e]] == filtered->value[n_selected + e]);
    }
    golden_free(&logits);
}

/* Logits of lrt_gnn in the order of the filtered edges, within 5e-4 of the
 * recorded. */
static float *score_chain(const struct golden_array *filtered, int32_t level)
{
    struct golden_array x = from_csv(CHAIN "input.csv");
    struct golden_array recorded = from_csv(CHAIN "gnn_logits.csv");
    struct etx_network *network = load(&lrt_gnn);
    float *logit = score(network, &x, filtered, 1, level);

    ck_assert_int_eq(recorded.n_rows, filtered->n_cols);
    check_close("recorded chain", logit, recorded.value, recorded.n_rows, 5e-4);
    etx_network_free(network);
    golden_free(&x);
    golden_free(&recorded);
    return logit;
}

/* Same partition: the labels of each are a function of the labels of the other.
 * The recording left out the last vertex. */
static void check_partition(const int32_t *label, int64_t n_nodes)
{
    struct golden_array recorded = from_csv(CHAIN "labels.csv");
    int32_t n_components = 0;

    ck_assert_int_eq(recorded.n_rows, n_nodes - 1);
    for (int64_t i = 0; i < recorded.n_rows; i++) {
        n_components += label[i] == (int32_t)i;
        for (int64_t j = 0; j < i; j++) {
            ck_assert_int_eq(
                label[i] == label[j], recorded.value[i] == recorded.value[j]);
        }
    }
    printf("recorded chain: %d components, as recorded\n", (int)n_components);
    golden_free(&recorded);
}

/* Components of the edges whose score is above 0.75. */
static void check_components(struct etx_context *context, float *logit,
    const struct golden_array *filtered)
{
    const int64_t n = filtered->n_cols;
    scoped int32_t *ends = golden_ints(filtered);
    int32_t label[314];
    const struct etx_connected_components_args args = {.n_nodes = 314,
        .n_edges = n,
        .src = ends + n,
        .dst = ends,
        .score = logit,
        .cut = 0.75f,
        .label = label};

    for (int64_t e = 0; e < n; e++)
        logit[e] = sigmoid((double)logit[e]);
    ck_assert_ok(context->ops->connected_components(context->stream, &args));
    check_partition(label, 314);
}

ETX_TEST(test_golden_chain, .rows = 2)
{
    struct etx_context context;
    struct golden_array edges, filtered;
    scoped float *logit = NULL;

    if (etx_test_reference("exatrkx_chain", CHAIN "edges.csv") == NULL)
        return;
    edges = from_csv(CHAIN "edges.csv");
    filtered = from_csv(CHAIN "filtered_edges.csv");
    open_context(&context, _i);
    check_graph(&context, &edges);
    check_filter(&context, &edges, &filtered);
    logit = score_chain(&filtered, _i);
    check_components(&context, logit, &filtered);
    etx_backend_close(&context);
    golden_free(&edges);
    golden_free(&filtered);
}
