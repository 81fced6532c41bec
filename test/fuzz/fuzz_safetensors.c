/* fuzz_safetensors.c -- hostile model files. The first byte says whether the
 * rest is a whole file, a header that is given its length and some data, or
 * the etx.config of a file without tensors.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_support.h"

#include "base/check.h"
#include "base/heap.h"
#include "io/model_file.h"
#include "io/safetensors.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LENGTH_BYTES 8

/* A model that was accepted is written, and what was written is accepted. */
static void save_and_load(const struct etx_model *model)
{
    const char *path = fuzz_path("model");
    struct etx_model *again = NULL;

    if (etx_model_write(model, path) != ETX_OK ||
        etx_model_read(&again, path) != ETX_OK ||
        strcmp(model->config, again->config) != 0)
        __builtin_trap();
    (void)unlink(path);
    etx_model_free(again);
}

static etx_status load(const uint8_t *data, size_t size)
{
    struct etx_model *model = NULL;
    const etx_status status = etx_model_parse(&model, data, size);

    if (status == ETX_OK)
        save_and_load(model);
    etx_model_free(model);
    return status;
}

/* The rest is a header, followed by n_data bytes. */
static etx_status load_header(
    const uint8_t *header, size_t n_header, size_t n_data)
{
    uint8_t *file = calloc(LENGTH_BYTES + n_header + n_data, 1);
    etx_status status;

    if (file == NULL)
        return ETX_OK;
    for (uint32_t i = 0; i < LENGTH_BYTES; i++)
        file[i] = (uint8_t)((uint64_t)n_header >> (8 * i));
    memcpy(file + LENGTH_BYTES, header, n_header);
    status = load(file, LENGTH_BYTES + n_header + n_data);
    free(file);
    return status;
}

static etx_status load_config(const uint8_t *text, size_t size)
{
    char *config = calloc(size + 1, 1);
    const char *pair[1][2] = {{"etx.config", config}};
    struct etx_json *metadata = NULL;
    struct etx_json *header = NULL;
    char *dump = NULL;
    etx_status status = config == NULL ? ETX_ERR_MEMORY : ETX_OK;

    if (status == ETX_OK) {
        memcpy(config, text, size);
        ETX_CHECK(
            etx_json_create_texts(&metadata, (const char *const(*)[2])pair, 1));
        ETX_CHECK(etx_json_create_object(&header));
        ETX_CHECK(etx_json_set_copy(header, "__metadata__", metadata));
        ETX_CHECK(etx_json_write(&dump, header, ETX_JSON_DIGITS, 0));
        status = load_header((const uint8_t *)dump, strlen(dump), 0);
    }
done:
    etx_free(dump);
    etx_json_free(header);
    etx_json_free(metadata);
    free(config);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int64_t before = etx_heap_in_use();
    etx_status status;

    if (size == 0)
        return 0;
    if (data[0] == 'f')
        status = load(data + 1, size - 1);
    else if (data[0] == 'c')
        status = load_config(data + 1, size - 1);
    else
        status = load_header(data + 1, size - 1, data[0]);
    fuzz_check(status, before);
    return 0;
}
