/* test_io_model.c -- model files: round trips, and refusal of hostile ones.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io_models.h"

#include "base/heap.h"
#include "io/model_file.h"
#include "io/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <exatrkx/graph.h>

/* ---------------------------------------------------------------- models -- */

/* Parse a copy whose end a sanitizer can see. */
static etx_status load_copy(etx_model **out, const char *data, size_t size)
{
    scoped char *copy = etx_test_alloc((int64_t)size, 1);

    memcpy(copy, data, size);
    return etx_model_load_memory(out, copy, size);
}

#define EDGE_FILTER                                                            \
    "{\"arch\":\"edge_filter\",\"options\":{\"hidden\":[2]},"                  \
    "\"node_features\":[{\"name\":\"r\",\"scale\":1000}],"                     \
    "\"edge_features\":[{\"name\":\"dr\",\"scale\":1}],\"cut\":0.1}"

static const char *const round_trips[] = {io_model_small, io_model_all,
    "{\"schema\":1}", "{\"schema\":1,\"filter\":" EDGE_FILTER "}"};

/* Contexts keep the weights of networks that do not change. */
static void check_frozen(const etx_model *model)
{
    const struct etx_network *const network[] = {
        model->embedding.network, model->filter.network, model->gnn.network};

    for (int n = 0; n < 3; n++)
        if (network[n] != NULL)
            ck_assert_uint_ne(network[n]->frozen_id, 0);
}

IO_TEST(test_io_model_round_trip, .rows = ROWS(round_trips))
{
    size_t first_size = 0;
    size_t second_size = 0;
    scoped char *first = io_model_bytes(round_trips[_i], &first_size);
    scoped char *second = NULL;
    scoped_model *model = NULL;

    ck_assert_ok(etx_model_load(&model, io_path("made")));
    check_frozen(model);
    ck_assert_ok(etx_model_save(model, io_path("again")));
    second = io_read(io_path("again"), &second_size);
    ck_assert_uint_eq(first_size, second_size);
    ck_assert_int_eq(memcmp(first, second, first_size), 0);
}

IO_TEST(test_io_model_content)
{
    scoped_model *made = io_model_make(io_model_small);
    scoped_model *model = NULL;
    etx_label_options label;
    size_t size = 0;
    scoped char *data = io_model_bytes(io_model_small, &size);

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
    ck_assert_int_eq(etx_model_has_stage(model, ETX_STAGE_GRAPH), 0);
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
}

/* No header has had a smaller struct. */
IO_TEST(test_io_model_label_options_size)
{
    scoped_model *model = io_model_make("{\"schema\":1}");
    etx_label_options label = {.struct_size = 8};

    ck_assert_refused(etx_model_label_options(&label, model), "struct_size 8");
}

/* Spaces, order and numbers of etx.config stay as they are in the file. */
IO_TEST(test_io_model_exact_config)
{
    static const char text[] =
        "{ \"training\" : {\"loss\": 0.1000000000000000055}, \"schema\": 1 }\n";
    static const char *const pair[][2] = {{"etx.config", text}};
    struct etx_json *metadata = NULL;
    scoped_model *model = NULL;

    ck_assert_ok(etx_json_create_texts(&metadata, pair, 1));
    ck_assert_ok(etx_tensor_file_write(io_path("m"), 0, NULL, metadata));
    etx_json_free(metadata);
    ck_assert_ok(etx_model_load(&model, io_path("m")));
    ck_assert_str_eq(etx_model_describe(model), text);
}

IO_TEST(test_io_model_defaults)
{
    scoped_model *model = io_model_make("{\"schema\":1}");
    etx_label_options label;
    etx_label_options expected;

    ck_assert_ok(etx_label_options_init(&expected, sizeof expected));
    ck_assert_int_eq(expected.method, ETX_LABEL_COMPONENTS);
    ck_assert(expected.cut == 0.5f && expected.min_hits == 3);
    ck_assert_ok(etx_label_options_init(&label, sizeof label));
    ck_assert_ok(etx_model_label_options(&label, model));
    ck_assert_int_eq(memcmp(&label, &expected, sizeof label), 0);
}

IO_TEST(test_io_model_arguments)
{
    scoped_model *model = io_model_make(io_model_small);
    etx_label_options label;

    ck_assert_refused(etx_label_options_init(&label, 3), "etx_label_options");
    ck_assert_str_eq(etx_model_describe(NULL), "");
    etx_model_free(NULL);
    ck_assert_fails(
        etx_model_save(model, io_path("no/m")), ETX_ERR_IO, "No such file");
    ck_assert_fails(
        etx_model_save(model, "/dev/full"), ETX_ERR_IO, "No space left");
}

/* ---------------------------------------------------------- broken files -- */

IO_TEST(test_io_model_prefixes)
{
    size_t size = 0;
    scoped char *data = io_model_bytes(io_model_small, &size);

    for (size_t n = 0; n < size; n++) {
        const int64_t before = etx_heap_in_use();
        etx_model *model = NULL;

        ck_assert_status(load_copy(&model, data, n), ETX_ERR_FORMAT);
        ck_assert_ptr_null(model);
        ck_assert_int_eq(etx_heap_in_use(), before);
    }
}

/* Every bit of the header turned: refused, or a model that can be saved. */
IO_TEST(test_io_model_header_bits)
{
    size_t size = 0;
    scoped char *data = io_model_bytes(io_model_small, &size);
    const size_t n_header =
        8 + (unsigned char)data[0] + 256 * (size_t)(unsigned char)data[1];

    ck_assert_uint_lt(n_header, size);
    for (size_t bit = 0; bit < 8 * n_header; bit++) {
        const int64_t before = etx_heap_in_use();
        etx_model *model = NULL;
        etx_status status;

        data[bit / 8] ^= (char)(1 << bit % 8);
        status = load_copy(&model, data, size);
        if (status != ETX_OK)
            ck_assert(status == ETX_ERR_FORMAT || status == ETX_ERR_LIMIT);
        ck_assert((model != NULL) == (status == ETX_OK));
        etx_model_free(model);
        ck_assert_int_eq(etx_heap_in_use(), before);
        data[bit / 8] ^= (char)(1 << bit % 8);
    }
}

/* --------------------------------------------------------------- tensors -- */

#define MAX_TENSORS 16

static const float odd_values[4] = {0.0f, NAN, 0.0f, INFINITY};
static const float large_values[4] = {1e6f, -1.0000001e6f, 1e6f, -1e6f};

enum change {
    DROP,
    ADD,
    RENAME,
    LENGTHEN,
    ADD_DIMENSION,
    RETYPE,
    SET_NAN,
    SET_INFINITY,
    SET_LARGE,
    SET_LARGEST
};

/* Change the first of n tensors, or their number. */
static void change_tensor(
    struct etx_tensor *tensor, int64_t *n, enum change change)
{
    switch (change) {
    case DROP:
        tensor[0] = tensor[--*n];
        break;
    case ADD:
        tensor[*n] = tensor[0];
        strcpy(tensor[*n].name, "gnn.layers.0.bias");
        ++*n;
        break;
    case RENAME:
        strcpy(tensor[0].name, "embedding.bias");
        break;
    case LENGTHEN:
        tensor[0].dim[0] = tensor[0].n_values = 4;
        tensor[0].data = odd_values;
        break;
    case ADD_DIMENSION:
        tensor[0].n_dims = 2;
        tensor[0].dim[1] = 1;
        break;
    case RETYPE:
        tensor[0].type = ETX_TENSOR_U8;
        break;
    case SET_NAN:
    case SET_INFINITY:
        tensor[0].data = odd_values + (change == SET_NAN ? 0 : 2);
        break;
    case SET_LARGE:
    case SET_LARGEST:
        tensor[0].data = large_values + (change == SET_LARGE ? 0 : 2);
        break;
    }
}

#define FIRST "embedding.layers.0.bias"

#define BAD ETX_ERR_FORMAT

static const struct {
    enum change change;
    etx_status status;
    const char *piece;
} changes[] = {
    {DROP, BAD, "there is no tensor " FIRST},
    {ADD, BAD, "tensor gnn.layers.0.bias is no parameter"},
    {RENAME, BAD, "there is no tensor " FIRST},
    {LENGTHEN, BAD, "tensor " FIRST " has shape [4], expected [2]"},
    {ADD_DIMENSION, BAD, "tensor " FIRST " has shape [2, 1], expected [2]"},
    {RETYPE, BAD, FIRST " is not of dtype F32, F16 or I8"},
    {SET_NAN, BAD, FIRST ": value 1 is not finite"},
    {SET_INFINITY, BAD, FIRST ": value 1 is not finite"},
    {SET_LARGE, ETX_ERR_LIMIT, FIRST ": value 1 is -1000000.1"},
    {SET_LARGEST, ETX_OK, ""},
};

/* The file of a small model after a change to one of its tensors. */
IO_TEST(test_io_model_tensors, .rows = ROWS(changes))
{
    struct etx_tensor tensors[MAX_TENSORS];
    struct etx_tensor_file *file = NULL;
    size_t size = 0;
    scoped char *data = io_model_bytes(io_model_small, &size);
    etx_model *model = NULL;

    ck_assert_ok(etx_tensor_file_parse(&file, data, size));
    int64_t n = file->n_tensors;
    ck_assert_int_lt(n, MAX_TENSORS);
    memcpy(tensors, file->tensor, (size_t)n * sizeof tensors[0]);
    ck_assert_str_eq(tensors[0].name, FIRST);
    change_tensor(tensors, &n, changes[_i].change);
    ck_assert_ok(
        etx_tensor_file_write(io_path("m"), n, tensors, file->metadata));
    etx_tensor_file_free(file);
    ck_assert_fails(etx_model_load(&model, io_path("m")), changes[_i].status,
        changes[_i].piece);
    ck_assert((model != NULL) == (changes[_i].status == ETX_OK));
    etx_model_free(model);
}

/* What could not be read is not written. */
IO_TEST(test_io_model_large_parameter)
{
    scoped_model *model = io_model_make(io_model_small);

    model->embedding.network->value[0] = ETX_MAX_PARAMETER;
    ck_assert_ok(etx_model_save(model, io_path("m")));
    model->embedding.network->value[0] = 2.0f * ETX_MAX_PARAMETER;
    ck_assert_fails(
        etx_model_save(model, io_path("m")), ETX_ERR_LIMIT, "is 2000000");
}
