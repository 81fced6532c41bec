/* io/model_file.c -- models to and from safetensors with etx.config.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/model_file.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/finite.h"
#include "base/heap.h"
#include "base/json.h"
#include "io/config.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "io/table_tensors.h"
#include "io/tensor_floats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define CONFIG_KEY "etx.config"
/* Enough digits for what is read back as float, and 0.48 stays 0.48. */
#define REAL_DIGITS 15
#define N_NETWORKS  3

/* The networks of a model by the name of their stage. */
struct named_network {
    const char *stage;
    struct etx_network *network; /* NULL when there is none */
};

static void list_networks(
    struct named_network *out, const struct etx_model *model)
{
    out[0] = (struct named_network){"embedding", model->embedding.network};
    out[1] = (struct named_network){"filter", model->filter.network};
    out[2] = (struct named_network){"gnn", model->gnn.network};
}

static const struct etx_table_kind *const table_kinds[] = {
    &etx_completion_kind, &etx_first_pass_kind, &etx_module_map_kind};

#define N_TABLES (sizeof table_kinds / sizeof *table_kinds)

static int32_t n_parameters(const struct named_network *named)
{
    return named->network == NULL ? 0 : named->network->n_parameters;
}

/* The tensor of a parameter, as stored in a file. */
static void describe(struct etx_tensor *out, const char *stage,
    const struct etx_network *network, const struct etx_parameter *parameter)
{
    memset(out, 0, sizeof *out);
    (void)snprintf(
        out->name, sizeof out->name, "%s.%s", stage, parameter->name);
    out->type = ETX_TENSOR_F32;
    out->n_dims = parameter->is_vector ? 1 : 2;
    out->dim[0] = parameter->is_vector ? parameter->n_cols : parameter->n_rows;
    out->dim[1] = parameter->n_cols;
    out->n_values = (int64_t)parameter->n_rows * parameter->n_cols;
    out->data = network->value + parameter->offset;
}

static etx_status set_config(
    struct etx_model *model, const char *text, size_t length)
{
    etx_status status = ETX_OK;

    ETX_CHECK(etx_alloc(
        &model->config, (int64_t)length + 1, 1, "the text of etx.config"));
    memcpy(model->config, text, length);
done:
    return status;
}

/* ------------------------------------------------------------- reading -- */

/* "[64, 32]" of a shape. */
static void write_shape(char *text, size_t size, const struct etx_tensor *shape)
{
    size_t length = 0;

    text[length++] = '[';
    for (int32_t d = 0; d < shape->n_dims && length + 32 < size; d++)
        length += (size_t)snprintf(text + length, size - length, "%s%" PRId64,
            d > 0 ? ", " : "", shape->dim[d]);
    text[length++] = ']';
    text[length] = '\0';
}

static etx_status check_tensor(
    const struct etx_tensor *found, const struct etx_tensor *expected)
{
    char found_shape[256];
    char expected_shape[256];
    int32_t equal = found->n_dims == expected->n_dims;

    for (int32_t d = 0; d < found->n_dims; d++)
        equal &= found->dim[d] == expected->dim[d];
    if (equal)
        return ETX_OK;
    write_shape(found_shape, sizeof found_shape, found);
    write_shape(expected_shape, sizeof expected_shape, expected);
    return etx_fail(ETX_ERR_FORMAT, "tensor %s has shape %s, expected %s",
        found->name, found_shape, expected_shape);
}

/* The scales that belong to a tensor; NULL when it needs or has none. */
static const struct etx_tensor *find_scale(
    const struct etx_tensor *tensor, const struct etx_tensor_file *file)
{
    char name[sizeof tensor->name + sizeof ETX_SCALE_SUFFIX];

    if (tensor->type != ETX_TENSOR_I8)
        return NULL;
    (void)snprintf(name, sizeof name, "%s" ETX_SCALE_SUFFIX, tensor->name);
    return etx_tensor_file_find(file, name);
}

/* Before it is written, too: what was written can be read. */
static etx_status check_parameter(const struct etx_tensor *tensor)
{
    const float *values = tensor->data;
    int64_t bad = -1;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_cancel_poll());
    bad = etx_find_beyond(values, tensor->n_values, ETX_MAX_PARAMETER);
    if (bad < 0)
        goto done;
    if (!isfinite(values[bad]))
        ETX_FAIL(ETX_ERR_FORMAT, "tensor %s: value %" PRId64 " is not finite",
            tensor->name, bad);
    ETX_FAIL(ETX_ERR_LIMIT,
        "tensor %s: value %" PRId64 " is %.9g, which is not in +-%g",
        tensor->name, bad, (double)values[bad], (double)ETX_MAX_PARAMETER);
done:
    return status;
}

/* *n_tensors counts the tensors of the file that were read. */
static etx_status load_parameter(int64_t *n_tensors,
    const struct named_network *named, const struct etx_parameter *parameter,
    const struct etx_tensor_file *file)
{
    float *values = named->network->value + parameter->offset;
    struct etx_tensor expected;
    const struct etx_tensor *found = NULL;
    const struct etx_tensor *scale = NULL;
    etx_status status = ETX_OK;

    describe(&expected, named->stage, named->network, parameter);
    found = etx_tensor_file_find(file, expected.name);
    if (found == NULL)
        return etx_fail(ETX_ERR_FORMAT, "there is no tensor %s", expected.name);
    ETX_CHECK(check_tensor(found, &expected));
    scale = find_scale(found, file);
    ETX_CHECK(etx_tensor_floats(values, found, scale));
    *n_tensors += scale == NULL ? 1 : 2;
    ETX_CHECK(check_parameter(&expected));
done:
    return status;
}

/* Names of parameters are unique, so with as many tensors as were read there
 * is no other. */
static int32_t is_parameter(const struct named_network *named,
    const char *tensor_name, const struct etx_tensor_file *file)
{
    for (int32_t p = 0; p < n_parameters(named); p++) {
        struct etx_tensor expected;
        const struct etx_tensor *scale = NULL;

        describe(&expected, named->stage, named->network,
            &named->network->parameter[p]);
        if (strcmp(expected.name, tensor_name) == 0)
            return 1;
        scale = find_scale(etx_tensor_file_find(file, expected.name), file);
        if (scale != NULL && strcmp(scale->name, tensor_name) == 0)
            return 1;
    }
    return 0;
}

static etx_status check_others(const struct etx_model *model,
    const struct named_network *named, const struct etx_tensor_file *file)
{
    const int32_t has_table[N_TABLES] = {
        model->has_completion, model->has_first_pass, model->has_module_map};

    for (int64_t t = 0; t < file->n_tensors; t++) {
        int32_t is_expected = 0;

        for (size_t k = 0; k < N_TABLES; k++)
            is_expected |= has_table[k] && etx_table_has_tensor(table_kinds[k],
                                               file->tensor[t].name);
        for (int32_t n = 0; n < N_NETWORKS; n++)
            is_expected |= is_parameter(&named[n], file->tensor[t].name, file);
        if (!is_expected)
            return etx_fail(ETX_ERR_FORMAT,
                "tensor %s is no parameter of this model",
                file->tensor[t].name);
    }
    return ETX_OK;
}

/* *n_tensors counts the tensors of the file that were read. */
static etx_status load_tables(int64_t *n_tensors, struct etx_model *model,
    const struct etx_tensor_file *file)
{
    etx_status status = ETX_OK;

    if (model->has_completion) {
        ETX_CHECK(etx_table_from_tensors(
            &model->completion, &etx_completion_kind, file));
        ETX_CHECK(etx_completion_check(model->completion));
        *n_tensors += etx_completion_kind.n_arrays;
    }
    if (model->has_first_pass) {
        ETX_CHECK(etx_table_from_tensors(
            &model->first_pass, &etx_first_pass_kind, file));
        ETX_CHECK(etx_first_pass_check(
            model->first_pass, model->completion->n_layers));
        *n_tensors += etx_first_pass_kind.n_arrays;
    }
    if (model->has_module_map) {
        ETX_CHECK(etx_table_from_tensors(
            &model->module_map, &etx_module_map_kind, file));
        ETX_CHECK(etx_module_map_check(model->module_map));
        *n_tensors += etx_module_map_kind.n_arrays;
    }
done:
    return status;
}

static etx_status load_parameters(
    struct etx_model *model, const struct etx_tensor_file *file)
{
    struct named_network named[N_NETWORKS];
    int64_t n_read = 0;
    etx_status status = ETX_OK;

    list_networks(named, model);
    for (int32_t n = 0; n < N_NETWORKS; n++) {
        for (int32_t p = 0; p < n_parameters(&named[n]); p++)
            ETX_CHECK(load_parameter(
                &n_read, &named[n], &named[n].network->parameter[p], file));
    }
    ETX_CHECK(load_tables(&n_read, model, file));
    if (file->n_tensors != n_read)
        ETX_CHECK(check_others(model, named, file));
done:
    return status;
}

void etx_model_freeze(struct etx_model *model)
{
    etx_network_freeze(model->embedding.network);
    etx_network_freeze(model->filter.network);
    etx_network_freeze(model->gnn.network);
    if (model->module_map != NULL && model->module_map->frozen_id == 0)
        model->module_map->frozen_id = etx_frozen_id();
}

etx_status etx_model_parse(
    struct etx_model **out, const void *data, size_t size)
{
    struct etx_model *model = NULL;
    struct etx_tensor_file *file = NULL;
    struct etx_json *config = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_tensor_file_parse(&file, data, size));
    const struct etx_json *text = etx_json_get(file->metadata, CONFIG_KEY);
    if (text == NULL)
        ETX_FAIL(
            ETX_ERR_FORMAT, "no model file: its metadata lack " CONFIG_KEY);
    ETX_CHECK(etx_json_parse(&config, CONFIG_KEY, etx_json_text(text),
        text->length, ETX_CONFIG_MAX_DEPTH));
    ETX_NEW(model, 1, "a model");
    ETX_CHECK(etx_config_read(model, config));
    ETX_CHECK(set_config(model, etx_json_text(text), text->length));
    ETX_CHECK(load_parameters(model, file));
    etx_model_freeze(model);
    *out = model;
    model = NULL;
done:
    etx_model_free(model);
    etx_json_free(config);
    etx_tensor_file_free(file);
    return status;
}

etx_status etx_model_read(struct etx_model **out, const char *path)
{
    struct etx_bytes bytes = {NULL, 0};
    etx_status status = ETX_OK;

    ETX_CHECK(etx_tensor_file_read(&bytes, path));
    status = etx_model_parse(out, bytes.data, bytes.size);
    if (status == ETX_ERR_FORMAT || status == ETX_ERR_LIMIT)
        status = etx_fail(status, "%s: %s", path, etx_last_error());
done:
    etx_bytes_release(&bytes);
    return status;
}

etx_status etx_model_from_config(
    struct etx_model **out, const struct etx_json *config)
{
    struct etx_model *model = NULL;
    char *text = NULL;
    etx_status status = ETX_OK;

    ETX_NEW(model, 1, "a model");
    ETX_CHECK(etx_config_read(model, config));
    ETX_CHECK(etx_json_write(&text, config, REAL_DIGITS, 0));
    ETX_CHECK(set_config(model, text, strlen(text)));
    *out = model;
    model = NULL;
done:
    etx_free(text);
    etx_model_free(model);
    return status;
}

void etx_model_free(etx_model *model)
{
    if (model == NULL)
        return;
    etx_network_free(model->embedding.network);
    etx_network_free(model->filter.network);
    etx_network_free(model->gnn.network);
    etx_table_free(model->completion);
    etx_table_free(model->first_pass);
    etx_table_free(model->module_map);
    etx_free(model->config);
    etx_free(model);
}

/* ------------------------------------------------------------- writing -- */

etx_status etx_model_write(const struct etx_model *model, const char *path)
{
    const char *const pair[][2] = {{CONFIG_KEY, model->config}};
    const void *const table[N_TABLES] = {
        model->completion, model->first_pass, model->module_map};
    struct named_network named[N_NETWORKS];
    struct etx_tensor *tensors = NULL;
    struct etx_json *metadata = NULL;
    int64_t n_tensors = 0;
    etx_status status = ETX_OK;

    list_networks(named, model);
    for (int32_t n = 0; n < N_NETWORKS; n++)
        n_tensors += n_parameters(&named[n]);
    ETX_NEW(tensors, n_tensors + (int64_t)(N_TABLES * ETX_TABLE_MAX_ARRAYS),
        "a table of tensors");
    n_tensors = 0;
    for (int32_t n = 0; n < N_NETWORKS; n++)
        for (int32_t p = 0; p < n_parameters(&named[n]); p++) {
            describe(&tensors[n_tensors], named[n].stage, named[n].network,
                &named[n].network->parameter[p]);
            ETX_CHECK(check_parameter(&tensors[n_tensors++]));
        }
    for (size_t k = 0; k < N_TABLES; k++)
        if (table[k] != NULL) {
            etx_table_tensors(&tensors[n_tensors], table[k]);
            n_tensors += table_kinds[k]->n_arrays;
        }
    ETX_CHECK(etx_json_create_texts(&metadata, pair, 1));
    ETX_CHECK(etx_tensor_file_write(path, n_tensors, tensors, metadata));
done:
    etx_json_free(metadata);
    etx_free(tensors);
    return status;
}
