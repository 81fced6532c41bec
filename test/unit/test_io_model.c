/* test_io_model.c -- model files: there and back, and what hostile ones get.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* feenableexcept */

#include "io_support.h"

#include "base/memory.h"
#include "io/file.h"
#include "io/model_file.h"
#include "io/safetensors.h"

#include <fenv.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <exatrkx/graph.h>

#define NODES                                                                  \
    "\"node_features\":[{\"name\":\"r\",\"scale\":1000.5},"                    \
    "{\"name\":\"z\",\"scale\":1e3}]"
#define MLP   "\"arch\":\"mlp\",\"options\":{\"hidden\":[2],\"n_out\":3}"
#define GRAPH "\"graph\":{\"radius\":0.48,\"orientation\":\"outward\"}"
#define LABEL                                                                  \
    "\"label\":{\"method\":\"walkthrough\",\"cut\":0.1,\"min_hits\":4}"
#define EMBEDDING "\"embedding\":{" MLP "," NODES "," GRAPH "}"
#define SMALL     "{\"schema\":1," EMBEDDING "," LABEL "}"
#define ALL                                                                    \
    "{\"schema\":1," EMBEDDING ",\"filter\":{\"arch\":\"edge_filter\"," NODES  \
    ",\"edge_features\":[{\"name\":\"dphi\",\"scale\":1}],\"cut\":0.009},"     \
    "\"gnn\":{\"arch\":\"interaction_network\",\"options\":{\"hidden\":4}"     \
    "," NODES ",\"edge_features\":[{\"name\":\"dr\",\"scale\":1},"             \
    "{\"name\":\"score_logit\",\"scale\":16}]},"                               \
    "\"training\":{\"seeds\":[1,2],\"metrics\":{\"auc\":[0.5]}}}"

/* ---------------------------------------------------------------- models -- */

static etx_model *make_model(const char *text)
{
    json_error_t error;
    json_t *config = json_loads(text, 0, &error);
    etx_model *model = NULL;

    ck_assert_msg(config != NULL, "%s", error.text);
    ck_assert_ok(etx_model_from_config(&model, config));
    json_decref(config);
    if (model->embedding.network != NULL)
        etx_network_init(model->embedding.network, 1);
    if (model->filter.network != NULL)
        etx_network_init(model->filter.network, 2);
    if (model->gnn.network != NULL)
        etx_network_init(model->gnn.network, 3);
    return model;
}

/* The bytes of a model file; freed with free. */
static char *model_bytes(const char *text, size_t *size)
{
    etx_model *model = make_model(text);

    ck_assert_ok(etx_model_save(model, io_path("made")));
    etx_model_free(model);
    return io_get(io_path("made"), size);
}

/* Parse a copy whose end a sanitizer can see. */
static etx_status load_copy(etx_model **out, const char *data, size_t size)
{
    char *copy = malloc(size + 1);
    etx_status status;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, data, size);
    status = etx_model_load_memory(out, copy, size);
    free(copy);
    return status;
}

static const char *const round_trips[] = {SMALL, ALL, "{\"schema\":1}"};

START_TEST(test_io_model_round_trip)
{
    size_t first_size = 0;
    size_t second_size = 0;
    char *first = model_bytes(round_trips[_i], &first_size);
    char *second = NULL;
    etx_model *model = NULL;

    ck_assert_ok(etx_model_load(&model, io_path("made")));
    ck_assert_ok(etx_model_save(model, io_path("again")));
    second = io_get(io_path("again"), &second_size);
    ck_assert_uint_eq(first_size, second_size);
    ck_assert_int_eq(memcmp(first, second, first_size), 0);
    etx_model_free(model);
    free(first);
    free(second);
}
END_TEST

START_TEST(test_io_model_content)
{
    etx_model *made = make_model(SMALL);
    etx_model *model = NULL;
    etx_label_options label;
    size_t size = 0;
    char *data = model_bytes(SMALL, &size);

    ck_assert_ok(load_copy(&model, data, size));
    ck_assert_str_eq(etx_model_describe(model), etx_model_describe(made));
    ck_assert_ptr_nonnull(
        strstr(etx_model_describe(model), "\"radius\":0.48,"));
    ck_assert(model->radius == 0.48f && model->max_neighbours == 0);
    ck_assert_int_eq(model->orientation, ETX_ORIENT_OUTWARD);
    ck_assert_int_eq(model->embedding.node_features.n_features, 2);
    ck_assert(model->embedding.node_features.feature[0].scale == 1000.5f);
    ck_assert_str_eq(
        etx_hit_feature_name(model->embedding.node_features.feature[1].id),
        "z");
    ck_assert_int_eq(model->embedding.network->n_out, 3);
    ck_assert_ptr_null(model->gnn.network);
    ck_assert_int_eq(etx_model_has_stage(model, ETX_STAGE_EMBEDDING), 1);
    ck_assert_int_eq(etx_model_has_stage(model, ETX_STAGE_FILTER), 0);
    ck_assert_int_eq(etx_model_has_stage(model, ETX_STAGE_GNN), 0);
    ck_assert_int_eq(etx_model_has_stage(model, ETX_STAGE_LABEL), 0);
    ck_assert_int_eq(etx_model_has_stage(NULL, ETX_STAGE_EMBEDDING), 0);
    ck_assert_int_eq(
        memcmp(model->embedding.network->value, made->embedding.network->value,
            (size_t)made->embedding.network->n_values * sizeof(float)),
        0);
    ck_assert_ok(etx_label_options_init(&label, sizeof label));
    ck_assert_ok(etx_model_label_options(&label, model));
    ck_assert_int_eq(label.struct_size, sizeof label);
    ck_assert_int_eq(label.method, ETX_LABEL_WALKTHROUGH);
    ck_assert(label.cut == 0.1f && label.min_hits == 4);
    etx_model_free(model);
    etx_model_free(made);
    free(data);
}
END_TEST

/* Spaces, order and numbers of etx.config stay as they are in the file. */
START_TEST(test_io_model_exact_config)
{
    static const char text[] =
        "{ \"training\" : {\"loss\": 0.1000000000000000055}, \"schema\": 1 }\n";
    json_t *metadata = json_pack("{s:s}", "etx.config", text);
    etx_model *model = NULL;

    ck_assert_ok(etx_tensor_file_write(io_path("m"), 0, NULL, metadata));
    json_decref(metadata);
    ck_assert_ok(etx_model_load(&model, io_path("m")));
    ck_assert_str_eq(etx_model_describe(model), text);
    etx_model_free(model);
}
END_TEST

START_TEST(test_io_model_defaults)
{
    etx_model *model = make_model("{\"schema\":1}");
    etx_label_options label;
    etx_label_options expected;

    ck_assert_ok(etx_label_options_init(&expected, sizeof expected));
    ck_assert_int_eq(expected.method, ETX_LABEL_COMPONENTS);
    ck_assert(expected.cut == 0.5f && expected.min_hits == 3);
    ck_assert_ok(etx_label_options_init(&label, sizeof label));
    ck_assert_ok(etx_model_label_options(&label, model));
    ck_assert_int_eq(memcmp(&label, &expected, sizeof label), 0);
    etx_model_free(model);
}
END_TEST

START_TEST(test_io_model_arguments)
{
    etx_model *model = NULL;
    etx_label_options label;

    ck_assert_fails(etx_model_load(NULL, "x"), ETX_ERR_ARGUMENT, "out");
    ck_assert_fails(etx_model_load(&model, NULL), ETX_ERR_ARGUMENT, "path");
    ck_assert_fails(
        etx_model_load_memory(NULL, "x", 1), ETX_ERR_ARGUMENT, "out");
    ck_assert_fails(
        etx_model_load_memory(&model, NULL, 1), ETX_ERR_ARGUMENT, "data");
    ck_assert_fails(etx_model_save(NULL, "x"), ETX_ERR_ARGUMENT, "model");
    ck_assert_fails(
        etx_model_label_options(&label, NULL), ETX_ERR_ARGUMENT, "model");
    ck_assert_fails(
        etx_label_options_init(&label, 3), ETX_ERR_ARGUMENT, "label options");
    ck_assert_str_eq(etx_model_describe(NULL), "");
    etx_model_free(NULL);
    model = make_model(SMALL);
    ck_assert_fails(etx_model_save(model, NULL), ETX_ERR_ARGUMENT, "path");
    ck_assert_fails(
        etx_model_label_options(NULL, model), ETX_ERR_ARGUMENT, "out");
    ck_assert_fails(
        etx_model_save(model, io_path("no/m")), ETX_ERR_IO, "No such file");
    ck_assert_fails(
        etx_model_save(model, "/dev/full"), ETX_ERR_IO, "No space left");
    etx_model_free(model);
}
END_TEST

/* ---------------------------------------------------------- broken files -- */

START_TEST(test_io_model_prefixes)
{
    size_t size = 0;
    char *data = model_bytes(SMALL, &size);

    for (size_t n = 0; n < size; n++) {
        const int64_t before = etx_memory_in_use();
        etx_model *model = NULL;

        io_expect("prefix", load_copy(&model, data, n), ETX_ERR_FORMAT, NULL);
        ck_assert_ptr_null(model);
        ck_assert_int_eq(etx_memory_in_use(), before);
    }
    free(data);
}
END_TEST

/* Every bit of the header turned: refused, or a model that can be saved. */
START_TEST(test_io_model_header_bits)
{
    size_t size = 0;
    char *data = model_bytes(SMALL, &size);
    const size_t n_header =
        8 + (unsigned char)data[0] + 256 * (size_t)(unsigned char)data[1];

    ck_assert_uint_lt(n_header, size);
    for (size_t bit = 0; bit < 8 * n_header; bit++) {
        const int64_t before = etx_memory_in_use();
        etx_model *model = NULL;
        etx_status status;

        data[bit / 8] ^= (char)(1 << bit % 8);
        status = load_copy(&model, data, size);
        if (status != ETX_OK)
            ck_assert(status == ETX_ERR_FORMAT || status == ETX_ERR_LIMIT);
        ck_assert((model != NULL) == (status == ETX_OK));
        etx_model_free(model);
        ck_assert_int_eq(etx_memory_in_use(), before);
        data[bit / 8] ^= (char)(1 << bit % 8);
    }
    free(data);
}
END_TEST

/* ---------------------------------------------------------------- config -- */

struct refusal {
    const char *config;
    const char *piece;
};

#define EMBED(nodes, graph)                                                    \
    "{\"schema\":1,\"embedding\":{\"arch\":\"mlp\",\"node_features\":" nodes   \
    ",\"graph\":" graph "}}"
#define R "[{\"name\":\"r\",\"scale\":1}]"

static const struct refusal refusals[] = {
    {"[]", "etx.config is not an object"},
    {"{}", "schema is not an integer"},
    {"{\"schema\":0}", "schema is not an integer from 1 on"},
    {"{\"schema\":\"1\"}", "schema is not an integer"},
    {"{\"schema\":1.0}", "schema is not an integer"},
    {"{\"schema\":2,\"new\":1}", "schema is 2, this library knows 1: the file "
                                 "is newer than the library"},
    {"{\"schema\":1,\"extra\":1}", "etx.config: unknown key 'extra'"},
    {"{\"schema\":1,\"gnn\":[]}", "gnn is not an object"},
    {"{\"schema\":1,\"gnn\":null}", "gnn is not an object"},
    {"{\"schema\":1,\"gnn\":{}}", "gnn: there is no 'arch'"},
    {"{\"schema\":1,\"gnn\":{\"arch\":7}}", "gnn: there is no 'arch'"},
    {"{\"schema\":1,\"gnn\":{\"arch\":\"mlp\"}}",
        "gnn: there is no 'node_features'"},
    {"{\"schema\":1,\"gnn\":{\"arch\":\"mlp\",\"node_features\":" R "}}",
        "gnn: mlp is a network for points, expected one for edges"},
    {"{\"schema\":1,\"gnn\":{\"arch\":\"none\",\"node_features\":" R "}}",
        "unknown network family 'none'"},
    {"{\"schema\":1,\"gnn\":{\"arch\":\"edge_filter\",\"node_features\":" R
     ",\"cut\":0.5}}",
        "gnn: unknown key 'cut'"},
    {"{\"schema\":1,\"gnn\":{\"arch\":\"edge_filter\",\"node_features\":" R
     ",\"options\":{\"no\":1}}}",
        "unknown option 'no'"},
    {"{\"schema\":1,\"gnn\":{\"arch\":\"edge_filter\",\"node_features\":" R
     ",\"options\":7}}",
        "expected an object"},
    {"{\"schema\":1,\"gnn\":{\"arch\":\"edge_filter\",\"node_features\":" R
     ",\"edge_features\":{}}}",
        "gnn.edge_features is not a list"},
    {"{\"schema\":1,\"gnn\":{\"arch\":\"edge_filter\",\"node_features\":" R
     ",\"edge_features\":[{\"name\":\"DR\",\"scale\":1}]}}",
        "gnn.edge_features: unknown edge feature 'DR'"},
    {"{\"schema\":1,\"filter\":{\"arch\":\"edge_filter\",\"node_features\":" R
     "}}",
        "filter: there is no 'cut'"},
    {"{\"schema\":1,\"filter\":{\"arch\":\"edge_filter\",\"cut\":\"x\"}}",
        "filter: cut is not a number"},
    {"{\"schema\":1,\"filter\":{\"arch\":\"edge_filter\",\"cut\":1.5}}",
        "filter: cut is 1.5, expected 0 to 1"},
    {"{\"schema\":1,\"embedding\":{\"arch\":\"mlp\",\"node_features\":" R "}}",
        "embedding: there is no 'graph'"},
    {"{\"schema\":1,\"embedding\":{\"arch\":\"edge_filter\","
     "\"node_features\":" R ",\"graph\":{\"radius\":1}}}",
        "embedding: edge_filter is a network for edges, expected one for "
        "points"},
    {EMBED(R, "{}"), "embedding.graph: there is no 'radius'"},
    {EMBED(R, "7"), "embedding.graph: there is no 'radius'"},
    {EMBED(R, "{\"radius\":0}"), "'radius' is 0"},
    {EMBED(R, "{\"radius\":-1}"), "'radius' is -1"},
    {EMBED(R, "{\"radius\":1e300}"), "'radius' is 1e300"},
    {EMBED(R, "{\"radius\":true}"), "'radius' is true or false"},
    {EMBED(R, "{\"radius\":1,\"max_neighbours\":-1}"),
        "'max_neighbours' is -1"},
    {EMBED(R, "{\"radius\":1,\"max_neighbours\":2147483648}"),
        "'max_neighbours' is 2147483648"},
    {EMBED(R, "{\"radius\":1,\"orientation\":\"inward\"}"),
        "'orientation' is 'inward', expected one of: index, outward, both"},
    {EMBED(R, "{\"radius\":1,\"k\":5}"), "unknown option 'k'"},
    {EMBED("7", "{\"radius\":1}"), "embedding.node_features is not a list"},
    {EMBED("[7]", "{\"radius\":1}"),
        "embedding.node_features is not an object"},
    {EMBED("[{\"scale\":1}]", "{\"radius\":1}"), "there is no 'name'"},
    {EMBED("[{\"name\":\"r\"}]", "{\"radius\":1}"), "there is no 'scale'"},
    {EMBED("[{\"name\":\"r\",\"scale\":0}]", "{\"radius\":1}"), "scale is 0"},
    {EMBED("[{\"name\":\"r\",\"scale\":-1}]", "{\"radius\":1}"), "scale is -1"},
    {EMBED("[{\"name\":\"r\",\"scale\":1e-300}]", "{\"radius\":1}"),
        "scale is 1e-300"},
    {EMBED("[{\"name\":\"r\",\"scale\":1,\"x\":1}]", "{\"radius\":1}"),
        "unknown key 'x'"},
    {EMBED("[{\"name\":\"R2\",\"scale\":1}]", "{\"radius\":1}"),
        "unknown hit feature 'R2'"},
    {"{\"schema\":1,\"label\":7}", "label: options are an integer"},
    {"{\"schema\":1,\"label\":{}}", "label: there is no 'method'"},
    {"{\"schema\":1,\"label\":{\"method\":\"dbscan\"}}", "dbscan"},
    {"{\"schema\":1,\"label\":{\"method\":\"components\",\"min_hits\":0}}",
        "'min_hits' is 0"},
    {"{\"schema\":1,\"label\":{\"method\":\"components\",\"cut\":\"0,5\"}}",
        "'cut' is a text"},
};

START_TEST(test_io_model_refusals)
{
    const struct refusal *row = &refusals[_i];
    const int64_t before = etx_memory_in_use();
    json_t *metadata = json_pack("{s:s}", "etx.config", row->config);
    etx_model *model = NULL;

    ck_assert_ok(etx_tensor_file_write(io_path("m"), 0, NULL, metadata));
    json_decref(metadata);
    io_expect(row->config, etx_model_load(&model, io_path("m")), ETX_ERR_FORMAT,
        row->piece);
    ck_assert_error(io_path("m: "));
    ck_assert_ptr_null(model);
    ck_assert_int_eq(etx_memory_in_use(), before);
}
END_TEST

static const struct refusal texts[] = {
    {"", "etx.config: not valid JSON"},
    {"{\"schema\":1,\"schema\":1}", "duplicate"},
    {"{\"schema\":1}x", "not valid JSON"},
    {"{\"training\":[[[[[[[[1]]]]]]]]}", "nested deeper than 8 levels"},
    {"{\"schema\":1e999}", "not valid JSON"},
};

START_TEST(test_io_model_texts)
{
    json_t *metadata = json_pack("{s:s}", "etx.config", texts[_i].config);
    etx_model *model = NULL;

    ck_assert_ok(etx_tensor_file_write(io_path("m"), 0, NULL, metadata));
    json_decref(metadata);
    io_expect(texts[_i].config, etx_model_load(&model, io_path("m")),
        ETX_ERR_FORMAT, texts[_i].piece);
}
END_TEST

START_TEST(test_io_model_no_config)
{
    json_t *metadata = json_pack("{s:s}", "format", "pt");
    etx_model *model = NULL;

    ck_assert_ok(etx_tensor_file_write(io_path("m"), 0, NULL, metadata));
    json_decref(metadata);
    ck_assert_fails(etx_model_load(&model, io_path("m")), ETX_ERR_FORMAT,
        "metadata lack etx.config");
    ck_assert_fails(
        etx_model_load(&model, io_path("none")), ETX_ERR_IO, "No such file");
}
END_TEST

/* --------------------------------------------------------------- tensors -- */

#define MAX_TENSORS 16

/* The file of a small model after `change` to one of its tensors. */
static void expect_change(
    void (*change)(struct etx_tensor *tensor, int64_t *n_tensors),
    const char *piece)
{
    struct etx_tensor tensors[MAX_TENSORS];
    struct etx_tensor_file *file = NULL;
    size_t size = 0;
    char *data = model_bytes(SMALL, &size);
    etx_model *model = NULL;
    int64_t n = 0;

    ck_assert_ok(etx_tensor_file_parse(&file, data, size));
    ck_assert_int_lt(file->n_tensors, MAX_TENSORS);
    n = file->n_tensors;
    memcpy(tensors, file->tensor, (size_t)n * sizeof tensors[0]);
    ck_assert_str_eq(tensors[0].name, "embedding.layers.0.bias");
    change(tensors, &n);
    ck_assert_ok(
        etx_tensor_file_write(io_path("m"), n, tensors, file->metadata));
    etx_tensor_file_free(file);
    ck_assert_fails(
        etx_model_load(&model, io_path("m")), ETX_ERR_FORMAT, piece);
    ck_assert_ptr_null(model);
    free(data);
}

static const float odd_values[4] = {0.0f, NAN, 0.0f, INFINITY};

static void drop(struct etx_tensor *tensor, int64_t *n)
{
    tensor[0] = tensor[--*n];
}

static void add(struct etx_tensor *tensor, int64_t *n)
{
    tensor[*n] = tensor[0];
    (void)snprintf(
        tensor[*n].name, sizeof tensor[*n].name, "gnn.layers.0.bias");
    ++*n;
}

static void rename_one(struct etx_tensor *tensor, int64_t *n)
{
    (void)n;
    (void)snprintf(tensor[0].name, sizeof tensor[0].name, "embedding.bias");
}

static void lengthen(struct etx_tensor *tensor, int64_t *n)
{
    (void)n;
    tensor[0].dim[0] = tensor[0].n_values = 4;
    tensor[0].data = odd_values;
}

static void raise_dimension(struct etx_tensor *tensor, int64_t *n)
{
    (void)n;
    tensor[0].n_dims = 2;
    tensor[0].dim[1] = 1;
}

static void retype(struct etx_tensor *tensor, int64_t *n)
{
    (void)n;
    tensor[0].type = ETX_TENSOR_U8;
}

static void put_nan(struct etx_tensor *tensor, int64_t *n)
{
    (void)n;
    tensor[0].data = odd_values;
}

static void put_infinity(struct etx_tensor *tensor, int64_t *n)
{
    (void)n;
    tensor[0].data = odd_values + 2;
}

START_TEST(test_io_model_tensors)
{
    expect_change(drop, "there is no tensor embedding.layers.0.bias");
    expect_change(add, "tensor gnn.layers.0.bias is no parameter");
    expect_change(rename_one, "there is no tensor embedding.layers.0.bias");
    expect_change(
        lengthen, "tensor embedding.layers.0.bias has shape [4], expected [2]");
    expect_change(raise_dimension,
        "tensor embedding.layers.0.bias has shape [2, 1], expected [2]");
    expect_change(retype, "embedding.layers.0.bias is not of dtype F32, F16 or I8");
    expect_change(put_nan, "embedding.layers.0.bias: value 1 is not finite");
    expect_change(
        put_infinity, "embedding.layers.0.bias: value 1 is not finite");
}
END_TEST

/* ------------------------------------------------------------ the host -- */

static etx_status load_made(void *argument)
{
    etx_model *model = NULL;
    const etx_status status = etx_model_load(&model, io_path("made"));

    (void)argument;
    ck_assert((model != NULL) == (status == ETX_OK));
    etx_model_free(model);
    return status;
}

static etx_status save_model(void *argument)
{
    return etx_model_save(argument, io_path("saved"));
}

START_TEST(test_io_model_no_memory)
{
    size_t size = 0;
    etx_model *model = make_model(ALL);

    free(model_bytes(ALL, &size));
    ck_assert_int_gt(etx_test_out_of_memory(load_made, NULL), 10);
    ck_assert_int_gt(etx_test_out_of_memory(save_model, model), 3);
    etx_model_free(model);
}
END_TEST

static void load_well(void *argument)
{
    ck_assert_ok(load_made(argument));
}

START_TEST(test_io_model_small_stack)
{
    size_t size = 0;

    free(model_bytes(ALL, &size));
    etx_test_on_small_stack(load_well, NULL);
}
END_TEST

/* Load the made model and compare it with the bytes that it was saved as. */
static void expect_same(const char *data, size_t size)
{
    etx_model *model = NULL;
    etx_event *event = NULL;
    size_t saved_size = 0;
    char *saved = NULL;

    ck_assert_ok(etx_model_load(&model, io_path("made")));
    ck_assert(model->radius == 0.48f && model->label.cut == 0.1f);
    ck_assert_ok(etx_model_save(model, io_path("saved")));
    etx_model_free(model);
    saved = io_get(io_path("saved"), &saved_size);
    ck_assert_uint_eq(saved_size, size);
    ck_assert_int_eq(memcmp(saved, data, size), 0);
    free(saved);
    model = make_model(SMALL);
    ck_assert_ptr_nonnull(
        strstr(etx_model_describe(model), "\"radius\":0.48,"));
    etx_model_free(model);
    ck_assert_ok(etx_event_read_features(
        &event, io_put_text("f.csv", "0.1,0.5,1000.25\n"), (float[]){1, 1, 1}));
    ck_assert(etx_event_positions(event)[2] == 1000.25f);
    etx_event_free(event);
}

/* A host that writes 0,48; the locale is compiled when it is missing. */
static void check_model(void *unused)
{
    size_t size = 0;
    char *data = model_bytes(SMALL, &size);

    (void)unused;
    expect_same(data, size);
    free(data);
}

START_TEST(test_io_model_locale)
{
    etx_test_in_comma_locale("test_io_model_locale", check_model, NULL);
}
END_TEST

/* A host that rounds upward and traps what it can: same model, same host. */
START_TEST(test_io_model_float_environment)
{
    size_t size = 0;
    char *data = model_bytes(SMALL, &size);

    ck_assert_int_eq(fesetround(FE_UPWARD), 0);
    ck_assert_int_ne(
        feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW), -1);
    etx_model *model = NULL;
    ck_assert_ok(etx_model_load(&model, io_path("made")));
    ck_assert_ok(etx_model_save(model, io_path("saved")));
    const int32_t is_right = model->radius == 0.48f;
    ck_assert_int_eq(fegetround(), FE_UPWARD);
    ck_assert_int_eq(fegetexcept(), FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    ck_assert_int_eq(is_right, 1);
    etx_model_free(model);
    etx_detector *detector = NULL;
    ck_assert_fails(
        etx_detector_read(&detector,
            io_put_text("d.csv",
                "volume_id,layer_id,module_id,cx,cy,cz,rot_xu,rot_xv,rot_xw,"
                "rot_yu,rot_yv,rot_yw,rot_zu,rot_zv,rot_zw,module_t,pitch_u,"
                "pitch_v\n1,1,1,0,0,0,3e38,0,0,0,1,0,0,0,1,1,1,1\n")),
        ETX_ERR_FORMAT, "no rotation");
    free(data);
}
END_TEST

/* ---------------------------------------------------------- killed hosts -- */

#define N_KILLS 200

static void save_for_ever(const etx_model *first, const etx_model *second)
{
    for (;;) {
        (void)!etx_model_save(first, io_path("m"));
        (void)!etx_model_save(second, io_path("m"));
    }
}

/* A host that is killed while it saves leaves one model or the other. */
START_TEST(test_io_model_killed)
{
    etx_model *first = make_model(SMALL);
    etx_model *second = make_model(ALL);
    char command[600];

    ck_assert_ok(etx_model_save(first, io_path("m")));
    for (int32_t n = 0; n < N_KILLS; n++) {
        const struct timespec pause = {0, 1000 * (n * 7919 % 4000)};
        etx_model *model = NULL;
        int ending = 0;
        const pid_t child = fork();

        ck_assert_int_ge(child, 0);
        if (child == 0)
            save_for_ever(first, second);
        (void)nanosleep(&pause, NULL);
        ck_assert_int_eq(kill(child, SIGKILL), 0);
        ck_assert_int_eq(waitpid(child, &ending, 0), child);
        ck_assert_ok(etx_model_load(&model, io_path("m")));
        etx_model_free(model);
    }
    (void)snprintf(command, sizeof command, "rm -f %s/m.*.tmp", io_path("."));
    ck_assert_int_eq(system(command), 0);
    etx_model_free(first);
    etx_model_free(second);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof(table)[0]))

Suite *etx_suite_io_model(void)
{
    Suite *suite = suite_create("io_model");
    TCase *tests = io_case("model");

    tcase_add_loop_test(tests, test_io_model_round_trip, 0, COUNT(round_trips));
    tcase_add_test(tests, test_io_model_content);
    tcase_add_test(tests, test_io_model_exact_config);
    tcase_add_test(tests, test_io_model_defaults);
    tcase_add_test(tests, test_io_model_arguments);
    tcase_add_test(tests, test_io_model_prefixes);
    tcase_add_test(tests, test_io_model_header_bits);
    tcase_add_loop_test(tests, test_io_model_refusals, 0, COUNT(refusals));
    tcase_add_loop_test(tests, test_io_model_texts, 0, COUNT(texts));
    tcase_add_test(tests, test_io_model_no_config);
    tcase_add_test(tests, test_io_model_tensors);
    tcase_add_test(tests, test_io_model_no_memory);
    tcase_add_test(tests, test_io_model_small_stack);
    tcase_add_test(tests, test_io_model_locale);
    tcase_add_test(tests, test_io_model_float_environment);
    tcase_add_test(tests, test_io_model_killed);
    suite_add_tcase(suite, tests);
    return suite;
}
