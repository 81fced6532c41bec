/* train/checkpoint.c -- stop and go on bit for bit.
 *
 * A safetensors file of its own: parameters, moments, counters, thresholds,
 * and in its metadata the hash of what the trainer was made from and a
 * checksum over all tensors, so that a damaged file is refused.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "base/check.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#define N_COUNTERS 11
#define N_THRESHOLDS 3
#define MAX_TENSORS 6

/* What stands beside the parameters, as 64-bit integers. */
struct counters {
    int64_t step, n_training, n_training_hits, n_validation,
        n_validation_hits, validated;
    double metric[5]; /* loss, n_edges, efficiency, purity, auc */
};

static struct counters get_counters(const struct etx_trainer *trainer)
{
    const struct etx_train_result *result = &trainer->result;

    return (struct counters){.step = trainer->step,
        .n_training = trainer->training.n,
        .n_training_hits = trainer->training.n_hits,
        .n_validation = trainer->validation.n,
        .n_validation_hits = trainer->validation.n_hits,
        .validated = result->step,
        .metric = {result->loss, result->n_edges, result->efficiency,
            result->purity, result->auc}};
}

static struct etx_tensor describe(
    const char *name, int32_t type, int64_t n, const void *data)
{
    struct etx_tensor tensor = {.type = type,
        .n_dims = 1,
        .dim = {n},
        .n_values = n,
        .data = data};

    (void)snprintf(tensor.name, sizeof tensor.name, "%s", name);
    return tensor;
}

/* The tensors of a checkpoint, sorted by name. */
static int64_t describe_tensors(struct etx_tensor *tensor,
    const struct etx_trainer *trainer, const struct counters *counters,
    const float *threshold)
{
    const int64_t n = trainer->stage->network->n_values;
    int64_t count = 0;

    tensor[count++] =
        describe("counters", ETX_TENSOR_I64, N_COUNTERS, counters);
    tensor[count++] = describe("m", ETX_TENSOR_F32, n, trainer->m);
    tensor[count++] = describe(
        "parameter", ETX_TENSOR_F32, n, trainer->stage->network->value);
    tensor[count++] =
        describe("threshold", ETX_TENSOR_F32, N_THRESHOLDS, threshold);
    tensor[count++] = describe("v", ETX_TENSOR_F32, n, trainer->v);
    if (trainer->v_max != NULL)
        tensor[count++] = describe("v_max", ETX_TENSOR_F32, n, trainer->v_max);
    return count;
}

static size_t tensor_bytes(const struct etx_tensor *tensor)
{
    static const size_t size[] = {[ETX_TENSOR_F32] = sizeof(float),
        [ETX_TENSOR_I64] = sizeof(int64_t),
        [ETX_TENSOR_U8] = 1,
        [ETX_TENSOR_F16] = 2,
        [ETX_TENSOR_I8] = 1};

    return (size_t)tensor->n_values * size[tensor->type];
}

/* 16 hexadecimal digits of the checksum and of the trainer's hash. */
static void write_marks(char *checksum, char *hash, int64_t n_tensors,
    const struct etx_tensor *tensor, uint64_t trainer_hash)
{
    uLong sum = crc32(0L, Z_NULL, 0);

    for (int64_t t = 0; t < n_tensors; t++) {
        const unsigned char *data = tensor[t].data;
        size_t left = tensor_bytes(tensor + t);

        while (left > 0) {
            const size_t part = left < 1u << 30 ? left : 1u << 30;

            sum = crc32(sum, data, (uInt)part);
            data += part;
            left -= part;
        }
    }
    (void)snprintf(checksum, 17, "%08lx", (unsigned long)sum);
    (void)snprintf(hash, 17, "%08lx%08lx",
        (unsigned long)(trainer_hash >> 32),
        (unsigned long)(trainer_hash & 0xffffffffu));
}

etx_status etx_checkpoint_write(
    const struct etx_trainer *trainer, const char *path)
{
    const struct counters counters = get_counters(trainer);
    const float threshold[N_THRESHOLDS] = {trainer->model->radius,
        trainer->model->filter_cut, trainer->model->label.cut};
    struct etx_tensor tensor[MAX_TENSORS];
    const int64_t n =
        describe_tensors(tensor, trainer, &counters, threshold);
    char checksum[17];
    char hash[17];
    json_t *metadata;
    etx_status status;

    write_marks(checksum, hash, n, tensor, trainer->hash);
    metadata = json_pack("{s:s, s:s, s:s}", "etx.checkpoint", "1",
        "etx.checksum", checksum, "etx.hash", hash);
    if (metadata == NULL)
        return etx_fail(ETX_ERR_MEMORY, "no memory for a checkpoint");
    status = etx_tensor_file_write(path, n, tensor, metadata);
    json_decref(metadata);
    return status;
}

static etx_status check_metadata(const struct etx_tensor_file *file,
    const char *path, const char *checksum, const char *hash)
{
    const char *schema =
        json_string_value(json_object_get(file->metadata, "etx.checkpoint"));
    const char *sum =
        json_string_value(json_object_get(file->metadata, "etx.checksum"));
    const char *made =
        json_string_value(json_object_get(file->metadata, "etx.hash"));

    if (schema == NULL || strcmp(schema, "1") != 0)
        return etx_fail(ETX_ERR_FORMAT,
            "%s: not a training checkpoint of schema 1", path);
    if (sum == NULL || strcmp(sum, checksum) != 0)
        return etx_fail(ETX_ERR_FORMAT,
            "%s: damaged: checksum %s, file says %s", path, checksum,
            sum == NULL ? "nothing" : sum);
    if (made == NULL || strcmp(made, hash) != 0)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: checkpoint of another config or start model (hash %s, "
            "this one has %s)",
            path, made == NULL ? "missing" : made, hash);
    return ETX_OK;
}

/* Every tensor is there with its type and size, and no other. */
static etx_status check_tensors(const struct etx_tensor_file *file,
    const char *path, int64_t n, const struct etx_tensor *wanted)
{
    for (int64_t t = 0; t < n; t++) {
        const struct etx_tensor *tensor =
            etx_tensor_file_find(file, wanted[t].name);

        if (tensor == NULL || tensor->type != wanted[t].type ||
            tensor->n_dims != 1 || tensor->n_values != wanted[t].n_values)
            return etx_fail(ETX_ERR_FORMAT,
                "%s: tensor \"%s\" is missing or not [%lld]", path,
                wanted[t].name, (long long)wanted[t].n_values);
    }
    if (file->n_tensors != n)
        return etx_fail(ETX_ERR_FORMAT, "%s: %lld tensors instead of %lld",
            path, (long long)file->n_tensors, (long long)n);
    return ETX_OK;
}

static etx_status check_counters(const struct counters *read,
    const struct etx_trainer *trainer, const char *path)
{
    const struct counters now = get_counters(trainer);

    if (read->step < 0 || read->step > trainer->config.schedule.n_steps)
        return etx_fail(ETX_ERR_FORMAT, "%s: step %lld is not in 0 .. %d",
            path, (long long)read->step, (int)trainer->config.schedule.n_steps);
    if (read->n_training != now.n_training ||
        read->n_training_hits != now.n_training_hits)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: made with %lld events of %lld hits, the trainer has %lld "
            "of %lld",
            path, (long long)read->n_training,
            (long long)read->n_training_hits, (long long)now.n_training,
            (long long)now.n_training_hits);
    return ETX_OK;
}

static const void *tensor_data(
    const struct etx_tensor_file *file, const char *name)
{
    return etx_tensor_file_find(file, name)->data;
}

/* Nothing can fail any more. */
static void restore(struct etx_trainer *trainer,
    const struct etx_tensor_file *file, const struct counters *counters)
{
    const size_t bytes =
        (size_t)trainer->stage->network->n_values * sizeof(float);
    float threshold[N_THRESHOLDS];

    memcpy(threshold, tensor_data(file, "threshold"), sizeof threshold);
    memcpy(trainer->stage->network->value, tensor_data(file, "parameter"),
        bytes);
    memcpy(trainer->m, tensor_data(file, "m"), bytes);
    memcpy(trainer->v, tensor_data(file, "v"), bytes);
    if (trainer->v_max != NULL)
        memcpy(trainer->v_max, tensor_data(file, "v_max"), bytes);
    trainer->model->radius = threshold[0];
    trainer->model->filter_cut = threshold[1];
    trainer->model->label.cut = threshold[2];
    trainer->step = counters->step;
    trainer->result = (struct etx_train_result){.step = counters->validated,
        .loss = counters->metric[0],
        .n_edges = counters->metric[1],
        .efficiency = counters->metric[2],
        .purity = counters->metric[3],
        .auc = counters->metric[4]};
}

etx_status etx_checkpoint_read(struct etx_trainer *trainer, const char *path)
{
    struct etx_bytes bytes = {.data = NULL};
    struct etx_tensor_file *file = NULL;
    struct etx_tensor wanted[MAX_TENSORS];
    const int64_t n = describe_tensors(wanted, trainer, NULL, NULL);
    struct counters counters;
    char checksum[17];
    char hash[17];
    etx_status status;

    ETX_CHECK(etx_file_read(&bytes, path, ETX_MODEL_MAX_BYTES));
    ETX_CHECK(etx_tensor_file_parse(&file, bytes.data, bytes.size));
    write_marks(
        checksum, hash, file->n_tensors, file->tensor, trainer->hash);
    ETX_CHECK(check_metadata(file, path, checksum, hash));
    ETX_CHECK(check_tensors(file, path, n, wanted));
    memcpy(&counters, tensor_data(file, "counters"), sizeof counters);
    ETX_CHECK(check_counters(&counters, trainer, path));
    restore(trainer, file, &counters);
done:
    etx_tensor_file_free(file);
    etx_bytes_release(&bytes);
    return status;
}
