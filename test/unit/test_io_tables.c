/* test_io_tables.c -- model files whose tables (completion, first pass) are not
 * what they must be.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io_models.h"

#include "base/heap.h"
#include "io/safetensors.h"
#include "stage/model.h"

#include <math.h>
#include <stdlib.h>

#define MODEL       "examples/models/default.safetensors"
#define MAX_TENSORS 256
#define LAYERS      "completion.layers"
#define STEPS       "completion.steps"
#define WINDOWS     "completion.windows"
#define FIELD       "completion.field"
#define SEEDS       "first_pass.seeds"
#define NEAR        "first_pass.windows"
#define BEAM        "first_pass.beam"

/* What is wrong with a tensor, and how far from its first value. */
enum wrong {
    MISSING,
    TYPE,
    COLUMNS,
    DIMENSIONS,
    ROWS_LESS,
    NONE_LEFT,
    MANY, /* that many rows, the further ones valid layers */
    INTEGER,
    REAL
};

static const struct {
    const char *tensor;
    enum wrong wrong;
    int64_t at;
    double value;
    const char *piece;
} tables[] = {
    {LAYERS, MISSING, 0, 0, "there is no tensor " LAYERS},
    {STEPS, MISSING, 0, 0, "there is no tensor " STEPS},
    {FIELD, MISSING, 0, 0, "there is no tensor " FIELD},
    {BEAM, MISSING, 0, 0, "there is no tensor " BEAM},
    {LAYERS, TYPE, 0, 0, LAYERS " is not a matrix of 3 columns of I64"},
    {WINDOWS, TYPE, 0, 0, WINDOWS " is not a matrix of"},
    {STEPS, COLUMNS, 0, 0, STEPS " is not a matrix of 3 columns of I64"},
    {SEEDS, COLUMNS, 0, 0, SEEDS " is not a matrix of 4 columns of I64"},
    {FIELD, DIMENSIONS, 0, 0, FIELD " is not a matrix of 24 columns of F32"},
    {WINDOWS, ROWS_LESS, 0, 0, "tensor " STEPS " has "},
    {FIELD, NONE_LEFT, 0, 0, FIELD " has 0 rows, expected 1"},
    {NEAR, ROWS_LESS, 0, 0, "tensor " SEEDS " has "},
    {BEAM, NONE_LEFT, 0, 0, BEAM " has 0 rows, expected 1"},
    {LAYERS, NONE_LEFT, 0, 0, "completion: 0 layers, expected 1 to 64"},
    {LAYERS, MANY, 65, 0, "completion: 65 layers, expected 1 to 64"},
    {LAYERS, INTEGER, 0, -1, "completion: layer 0 is (-1, "},
    {LAYERS, INTEGER, 0, 2147483648.0, "completion: layer 0 is (2147483648, "},
    {LAYERS, INTEGER, 4, -1, "completion: layer 1 is ("},
    {LAYERS, INTEGER, 4, 2147483648.0, "completion: layer 1 is ("},
    {LAYERS, INTEGER, 2, 2, ", 2), expected ids from 0 on and 0 or 1"},
    {LAYERS, INTEGER, 2, -1, ", -1), expected ids from 0 on and 0 or 1"},
    {STEPS, INTEGER, 0, -1, "completion: step 0 is (-1, "},
    {STEPS, INTEGER, 1, -1, "completion: step 0 is (0, -1, "},
    {STEPS, INTEGER, 1, 1e6, "completion: step 0 is (0, 1000000, "},
    {STEPS, INTEGER, 1, 48, "completion: step 0 is (0, 48, "},
    {STEPS, INTEGER, 2, -1, ", -1), expected a direction and two of"},
    {STEPS, INTEGER, 2, 48, ", 48), expected a direction and two of"},
    {STEPS, INTEGER, 3, 2, "completion: step "},
    {WINDOWS, REAL, 0, -1.0, "completion: window 0 is (-1, "},
    {WINDOWS, REAL, 1, -1.0, ", -1) mm, expected both 0 or both in 0 to 1e6"},
    {WINDOWS, REAL, 0, 1.1e6, "completion: window 0 is (1100000, "},
    {WINDOWS, REAL, 1, NAN, "completion: window 0 is ("},
    {FIELD, REAL, 0, 1001.0, "completion: field 0 is 1001 T"},
    {FIELD, REAL, 23, -1001.0, "completion: field 23 is -1001 T"},
    {FIELD, REAL, 5, NAN, "completion: field 5 is nan T"},
    {SEEDS, INTEGER, 0, -1, "first pass: seed 0 is (-1, "},
    {SEEDS, INTEGER, 1, 64, ", 64, "},
    {SEEDS, INTEGER, 2, 64, ", 64), expected three of"},
    {SEEDS, INTEGER, 3, 2, " lacks 2 hits, expected 0 or 1"},
    {SEEDS, INTEGER, 4, 0, "first pass: seed "},
    {NEAR, REAL, 0, -1.0, "first pass: window 0 is (-1, "},
    {NEAR, REAL, 1, 1.1e6, "first pass: window 0 is ("},
    {NEAR, REAL, 2, NAN, "first pass: window 1 is (nan, "},
    {BEAM, REAL, 0, -1.1e6, "first pass: the beam is at -1100000"},
    {BEAM, REAL, 0, 1.1e6, "first pass: the beam is at 1100000"},
    {BEAM, REAL, 1, -1.0, "within -1 mm"},
    {BEAM, REAL, 1, NAN, "within nan mm"},
};

/* The values of a tensor with one of them changed. */
static void *changed_values(
    const struct etx_tensor *tensor, int64_t at, double value)
{
    const size_t size =
        tensor->type == ETX_TENSOR_I64 ? sizeof(int64_t) : sizeof(float);
    char *values = etx_test_alloc(tensor->n_values, size);
    const int64_t integer = (int64_t)(isfinite(value) ? value : 0.0);
    const float real = (float)value;

    ck_assert_int_lt(at, tensor->n_values);
    memcpy(values, tensor->data, (size_t)tensor->n_values * size);
    memcpy(values + (size_t)at * size,
        tensor->type == ETX_TENSOR_I64 ? (const void *)&integer : &real, size);
    return values;
}

/* Rows: one less, or none. */
static void cut(struct etx_tensor *tensor, int64_t n_rows)
{
    tensor->dim[0] = n_rows;
    tensor->n_values = n_rows * tensor->dim[1];
}

/* The layers of a detector that has n of them. */
static void *more_layers(struct etx_tensor *tensor, int64_t n)
{
    int64_t *layers = etx_test_alloc(3 * n, sizeof *layers);

    ck_assert_int_lt(tensor->dim[0], n);
    memcpy(layers, tensor->data, (size_t)tensor->n_values * sizeof *layers);
    for (int64_t k = tensor->dim[0]; k < n; k++) {
        layers[3 * k] = 1000;
        layers[3 * k + 1] = k;
    }
    tensor->data = layers;
    cut(tensor, n);
    return layers;
}

static void *change(struct etx_tensor *tensor, int32_t row)
{
    switch (tables[row].wrong) {
    case MANY:
        return more_layers(tensor, tables[row].at);
    case MISSING:
        strcpy(tensor->name, "completion.other");
        break;
    case TYPE:
        tensor->type =
            tensor->type == ETX_TENSOR_I64 ? ETX_TENSOR_F32 : ETX_TENSOR_I64;
        tensor->n_values = 0;
        tensor->dim[0] = 0;
        break;
    case COLUMNS:
        tensor->dim[1]--;
        tensor->n_values = tensor->dim[0] * tensor->dim[1];
        break;
    case DIMENSIONS:
        tensor->n_dims = 3;
        tensor->dim[2] = 1;
        break;
    case ROWS_LESS:
        cut(tensor, tensor->dim[0] - 1);
        break;
    case NONE_LEFT:
        cut(tensor, 0);
        break;
    case INTEGER:
    case REAL:
        tensor->data =
            changed_values(tensor, tables[row].at, tables[row].value);
        return (void *)(uintptr_t)tensor->data;
    }
    return NULL;
}

IO_TEST(test_io_tables_refused, .rows = ROWS(tables))
{
    static struct etx_tensor tensors[MAX_TENSORS];
    scoped_tensor_file *file = NULL;
    struct etx_bytes bytes;
    scoped void *values = NULL;
    etx_model *model = NULL;

    ck_assert_ok(etx_tensor_file_read(&bytes, MODEL));
    ck_assert_ok(etx_tensor_file_parse(&file, bytes.data, bytes.size));
    ck_assert_int_lt(file->n_tensors, MAX_TENSORS);
    memcpy(tensors, file->tensor, (size_t)file->n_tensors * sizeof tensors[0]);
    for (int64_t t = 0; t < file->n_tensors; t++)
        if (strcmp(tensors[t].name, tables[_i].tensor) == 0)
            values = change(&tensors[t], _i);
    ck_assert_ok(etx_tensor_file_write(
        io_path("m"), file->n_tensors, tensors, file->metadata));
    ck_assert_fails(
        etx_model_load(&model, io_path("m")), ETX_ERR_FORMAT, tables[_i].piece);
    ck_assert_ptr_null(model);
    etx_bytes_release(&bytes);
}

/* As many layers as a table may have. */
IO_TEST(test_io_tables_most_layers)
{
    static struct etx_tensor tensors[MAX_TENSORS];
    scoped_tensor_file *file = NULL;
    scoped_model *model = NULL;
    struct etx_bytes bytes;
    scoped void *values = NULL;

    ck_assert_ok(etx_tensor_file_read(&bytes, MODEL));
    ck_assert_ok(etx_tensor_file_parse(&file, bytes.data, bytes.size));
    memcpy(tensors, file->tensor, (size_t)file->n_tensors * sizeof tensors[0]);
    for (int64_t t = 0; t < file->n_tensors; t++)
        if (strcmp(tensors[t].name, LAYERS) == 0)
            values = more_layers(&tensors[t], 64);
    ck_assert_ptr_nonnull(values);
    ck_assert_ok(etx_tensor_file_write(
        io_path("m"), file->n_tensors, tensors, file->metadata));
    ck_assert_ok(etx_model_load(&model, io_path("m")));
    etx_bytes_release(&bytes);
}

/* A tensor that belongs to no table and no network is named, and no other. */
IO_TEST(test_io_tables_unknown_tensor)
{
    static struct etx_tensor tensors[MAX_TENSORS];
    scoped_tensor_file *file = NULL;
    struct etx_bytes bytes;
    etx_model *model = NULL;

    ck_assert_ok(etx_tensor_file_read(&bytes, MODEL));
    ck_assert_ok(etx_tensor_file_parse(&file, bytes.data, bytes.size));
    ck_assert_int_lt(file->n_tensors, MAX_TENSORS);
    memcpy(tensors, file->tensor, (size_t)file->n_tensors * sizeof tensors[0]);
    tensors[file->n_tensors] = tensors[0];
    strcpy(tensors[file->n_tensors].name, "unknown");
    ck_assert_ok(etx_tensor_file_write(
        io_path("m"), file->n_tensors + 1, tensors, file->metadata));
    ck_assert_fails(etx_model_load(&model, io_path("m")), ETX_ERR_FORMAT,
        "tensor unknown is no parameter of this model");
    ck_assert_ptr_null(model);
    etx_bytes_release(&bytes);
}

/* Nor a table that the config does not mention. */
IO_TEST(test_io_tables_without_a_key)
{
    scoped_tensor_file *file = NULL;
    scoped_model *whole = NULL;
    struct etx_bytes bytes;
    struct etx_json *config = NULL;
    struct etx_json *metadata = NULL;
    char *text = NULL;
    etx_model *model = NULL;

    ck_assert_ok(etx_model_load(&whole, MODEL));
    ck_assert_ok(etx_json_parse(
        &config, "etx.config", whole->config, strlen(whole->config), 8));
    etx_json_remove(config, "first_pass");
    ck_assert_ok(etx_json_write(&text, config, ETX_JSON_DIGITS, 0));
    const char *const pair[][2] = {{"etx.config", text}};
    ck_assert_ok(etx_json_create_texts(&metadata, pair, 1));
    ck_assert_ok(etx_tensor_file_read(&bytes, MODEL));
    ck_assert_ok(etx_tensor_file_parse(&file, bytes.data, bytes.size));
    ck_assert_ok(etx_tensor_file_write(
        io_path("m"), file->n_tensors, file->tensor, metadata));
    ck_assert_fails(etx_model_load(&model, io_path("m")), ETX_ERR_FORMAT,
        "tensor first_pass.");
    ck_assert_error("is no parameter of this model");
    etx_bytes_release(&bytes);
    etx_json_free(metadata);
    etx_json_free(config);
    etx_free(text);
}

/* Tables are written as they were read. */
IO_TEST(test_io_tables_round_trip)
{
    scoped_model *first = NULL;
    scoped_model *second = NULL;
    size_t first_size = 0;
    size_t second_size = 0;
    scoped char *first_bytes = NULL;
    scoped char *second_bytes = NULL;

    ck_assert_ok(etx_model_load(&first, MODEL));
    ck_assert_ok(etx_model_save(first, io_path("first")));
    ck_assert_ok(etx_model_load(&second, io_path("first")));
    ck_assert_ok(etx_model_save(second, io_path("second")));
    first_bytes = io_read(io_path("first"), &first_size);
    second_bytes = io_read(io_path("second"), &second_size);
    ck_assert_uint_eq(first_size, second_size);
    ck_assert_mem_eq(first_bytes, second_bytes, first_size);
    ck_assert_int_eq(etx_model_has_stage(second, ETX_STAGE_FIRST_PASS), 1);
}
