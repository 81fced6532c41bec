/* train/checkpoint.c -- write a training to a file and continue it bit for bit.
 *
 * A safetensors file of its own: parameters, moments, counters, thresholds,
 * what the trainer would go back to and its best model, and in its metadata
 * the hash of what the trainer was made from and a checksum over all tensors,
 * so that a damaged file is refused. Schema 1 had no "state"; before schema 3
 * the graphs of a step were not drawn and added up as they are now.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint.h"

#include "base/check.h"
#include "base/heap.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "train/hash.h"

#include <math.h>
#include <string.h>

#define N_COUNTERS   11
#define N_STATE      14
#define N_THRESHOLDS 5
#define N_LOSS_SCALE 6
#define MAX_TENSORS  14
#define SCHEMA       3

/* What stands beside the parameters, as 64-bit integers. */
struct counters {
    int64_t step, n_training, n_training_hits, n_validation, n_validation_hits,
        validated;
    double metric[5]; /* loss, n_edges, efficiency, purity, auc */
};

static struct counters get_counters(const struct etx_trainer *trainer)
{
    const struct etx_train_result *result = &trainer->result;

    return (struct counters){.step = trainer->progress.step,
        .n_training = trainer->training.n,
        .n_training_hits = trainer->training.n_hits,
        .n_validation = trainer->validation.n,
        .n_validation_hits = trainer->validation.n_hits,
        .validated = result->step,
        .metric = {result->loss, result->n_edges, result->efficiency,
            result->purity, result->auc}};
}

/* What came with schema 2, as 64-bit integers. */
struct state {
    int64_t n_rollbacks, mean_steps, snapshot_step, snapshot_mean_steps,
        best_step, n_since_best;
    double mean_loss, snapshot_mean_loss, best_value;
    double best_metric[5];
};

static struct state get_state(const struct etx_trainer *trainer)
{
    const struct etx_train_snapshot *snapshot = &trainer->snapshot;
    const struct etx_train_best *best = &trainer->best;
    const struct etx_train_result *result = &best->result;

    return (struct state){.n_rollbacks = trainer->snapshot.n_rollbacks,
        .mean_steps = trainer->progress.mean.n,
        .snapshot_step = snapshot->progress.step,
        .snapshot_mean_steps = snapshot->progress.mean.n,
        .best_step = result->step,
        .n_since_best = best->n_since,
        .mean_loss = trainer->progress.mean.loss,
        .snapshot_mean_loss = snapshot->progress.mean.loss,
        .best_value = best->value,
        .best_metric = {result->loss, result->n_edges, result->efficiency,
            result->purity, result->auc}};
}

/* Of a training with loss scaling, as 64-bit numbers: that of now, and that of
 * the state to go back to. */
struct loss_scales {
    struct etx_train_loss_scale now, snapshot;
};

/* Those of a cascade come last, and only its own training changes them. */
static int64_t n_thresholds(const struct etx_trainer *trainer)
{
    return trainer->config.stage == ETX_TRAIN_CASCADE ? N_THRESHOLDS
                                                      : N_THRESHOLDS - 2;
}

/* All that is written beside the arrays of the trainer. */
struct numbers {
    struct counters counters;
    struct state state;
    struct loss_scales loss_scales;
    float threshold[N_THRESHOLDS];
    float best_threshold[N_THRESHOLDS];
};

static void list_thresholds(float threshold[N_THRESHOLDS],
    const struct etx_train_thresholds *thresholds)
{
    threshold[0] = thresholds->radius;
    threshold[1] = thresholds->filter_cut;
    threshold[2] = thresholds->label_cut;
    threshold[3] = thresholds->cascade_cut;
    threshold[4] = thresholds->cascade_kept;
}

static struct etx_train_thresholds make_thresholds(
    const float threshold[N_THRESHOLDS])
{
    return (struct etx_train_thresholds){.radius = threshold[0],
        .filter_cut = threshold[1],
        .label_cut = threshold[2],
        .cascade_cut = threshold[3],
        .cascade_kept = threshold[4]};
}

static struct numbers get_numbers(const struct etx_trainer *trainer)
{
    const struct etx_train_thresholds now =
        etx_train_get_thresholds(trainer->model);
    struct numbers numbers = {.counters = get_counters(trainer),
        .state = get_state(trainer),
        .loss_scales = {trainer->progress.loss_scale,
            trainer->snapshot.progress.loss_scale}};

    list_thresholds(numbers.threshold, &now);
    list_thresholds(numbers.best_threshold, &trainer->best.thresholds);
    return numbers;
}

/* An array of the network's size, which a trainer may lack. */
static void add_array(struct etx_tensor *tensor, int64_t *count,
    const struct etx_trainer *trainer, const char *name, const float *array)
{
    if (array != NULL)
        tensor[(*count)++] = etx_tensor_vector(
            name, ETX_TENSOR_F32, trainer->stage->network->n_values, array);
}

/* The tensors of a checkpoint, sorted by name. */
static int64_t describe_tensors(struct etx_tensor *tensor,
    const struct etx_trainer *trainer, const struct numbers *numbers,
    int schema)
{
    const struct etx_train_snapshot *snapshot = &trainer->snapshot;
    const struct etx_train_best *best = &trainer->best;
    int64_t count = 0;

    add_array(tensor, &count, trainer, "best", best->parameter);
    if (best->parameter != NULL)
        tensor[count++] = etx_tensor_vector("best_threshold", ETX_TENSOR_F32,
            n_thresholds(trainer), numbers->best_threshold);
    tensor[count++] = etx_tensor_vector(
        "counters", ETX_TENSOR_I64, N_COUNTERS, &numbers->counters);
    if (trainer->config.loss_scaling.initial > 0.0f)
        tensor[count++] = etx_tensor_vector(
            "loss_scale", ETX_TENSOR_I64, N_LOSS_SCALE, &numbers->loss_scales);
    add_array(tensor, &count, trainer, "m", trainer->state.moments.m);
    add_array(
        tensor, &count, trainer, "parameter", trainer->stage->network->value);
    add_array(tensor, &count, trainer, "snapshot_m", snapshot->moments.m);
    add_array(
        tensor, &count, trainer, "snapshot_parameter", snapshot->parameter);
    add_array(tensor, &count, trainer, "snapshot_v", snapshot->moments.v);
    add_array(
        tensor, &count, trainer, "snapshot_v_max", snapshot->moments.v_max);
    if (schema > 1)
        tensor[count++] = etx_tensor_vector(
            "state", ETX_TENSOR_I64, N_STATE, &numbers->state);
    tensor[count++] = etx_tensor_vector(
        "threshold", ETX_TENSOR_F32, n_thresholds(trainer), numbers->threshold);
    add_array(tensor, &count, trainer, "v", trainer->state.moments.v);
    add_array(tensor, &count, trainer, "v_max", trainer->state.moments.v_max);
    return count;
}

etx_status etx_checkpoint_write(
    const struct etx_trainer *trainer, const char *path)
{
    const struct numbers numbers = get_numbers(trainer);
    struct etx_tensor tensor[MAX_TENSORS];
    const int64_t n = describe_tensors(tensor, trainer, &numbers, SCHEMA);
    char checksum[9];
    char hash[17];
    json_t *metadata;
    etx_status status = etx_train_state_to_host(&trainer->state);

    if (status != ETX_OK)
        return status;
    etx_tensor_checksum(checksum, n, tensor);
    etx_hash_text(hash, trainer->hash);
    metadata = json_pack("{s:s, s:s, s:s}", "etx.checkpoint", "3",
        "etx.checksum", checksum, "etx.hash", hash);
    if (metadata == NULL)
        return etx_fail(ETX_ERR_MEMORY, "no memory for a checkpoint");
    status = etx_tensor_file_write(path, n, tensor, metadata);
    json_decref(metadata);
    return status;
}

/* 1 to SCHEMA; 0 when the file is no checkpoint, or of a later schema. */
static int find_schema(const struct etx_tensor_file *file)
{
    const char *schema =
        json_string_value(json_object_get(file->metadata, "etx.checkpoint"));

    if (schema == NULL || strlen(schema) != 1 || schema[0] < '1' ||
        schema[0] > '0' + SCHEMA)
        return 0;
    return schema[0] - '0';
}

static etx_status check_metadata(const struct etx_tensor_file *file,
    const char *path, const char *checksum, const char *hash)
{
    const char *sum =
        json_string_value(json_object_get(file->metadata, "etx.checksum"));
    const char *made =
        json_string_value(json_object_get(file->metadata, "etx.hash"));

    if (find_schema(file) == 0)
        return etx_fail(ETX_ERR_FORMAT,
            "%s: not a training checkpoint of schema 1 to %d", path, SCHEMA);
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

/* Going on would be silently another training. */
static etx_status check_draws(const struct etx_tensor_file *file,
    const struct etx_trainer *trainer, const char *path)
{
    const int32_t n_graphs = trainer->config.sampling.n_graphs;

    if (find_schema(file) > 2 || n_graphs == 1)
        return ETX_OK;
    return etx_fail(ETX_ERR_FORMAT,
        "%s: a checkpoint of schema %d, when steps of several graphs drew "
        "others: sampling.graphs is %d and must be 1 to go on from it",
        path, find_schema(file), (int)n_graphs);
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
        return etx_fail(ETX_ERR_FORMAT, "%s: step %lld is not in 0 .. %d", path,
            (long long)read->step, (int)trainer->config.schedule.n_steps);
    if (read->n_training != now.n_training ||
        read->n_training_hits != now.n_training_hits)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: made with %lld events of %lld hits, the trainer has %lld "
            "of %lld",
            path, (long long)read->n_training, (long long)read->n_training_hits,
            (long long)now.n_training, (long long)now.n_training_hits);
    if (read->n_validation != now.n_validation ||
        read->n_validation_hits != now.n_validation_hits)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: made with %lld validation events of %lld hits, the trainer "
            "has %lld of %lld",
            path, (long long)read->n_validation,
            (long long)read->n_validation_hits, (long long)now.n_validation,
            (long long)now.n_validation_hits);
    return ETX_OK;
}

/* Radius, cuts and a share, as a config may have them; the radius of a model
 * without an embedding is 0. */
static etx_status check_thresholds(
    const float threshold[N_THRESHOLDS], const char *path)
{
    const float max[N_THRESHOLDS] = {1e30f, 1.0f, 1.0f, 1.0f, 1.0f};

    for (int32_t k = 0; k < N_THRESHOLDS; k++)
        if (!(threshold[k] >= 0.0f && threshold[k] <= max[k]))
            return etx_fail(ETX_ERR_FORMAT,
                "%s: threshold %d is %g, not in 0 .. %g", path, (int)k,
                (double)threshold[k], (double)max[k]);
    return ETX_OK;
}

static etx_status check_state(const struct state *read,
    const struct counters *counters, const struct etx_trainer *trainer,
    const char *path)
{
    const struct etx_train_stability *options = &trainer->config.stability;
    const int has_snapshot =
        trainer->snapshot.parameter != NULL && counters->step > 0;

    if (read->n_rollbacks < 0 || read->n_rollbacks > options->max_rollbacks)
        return etx_fail(ETX_ERR_FORMAT, "%s: %lld rollbacks are not in 0 .. %d",
            path, (long long)read->n_rollbacks, (int)options->max_rollbacks);
    if (read->mean_steps < 0 || read->mean_steps > options->spike_window ||
        read->snapshot_mean_steps < 0 ||
        read->snapshot_mean_steps > options->spike_window)
        return etx_fail(ETX_ERR_FORMAT,
            "%s: a mean over %lld and one over %lld steps, not 0 .. %d", path,
            (long long)read->mean_steps, (long long)read->snapshot_mean_steps,
            (int)options->spike_window);
    if (read->snapshot_step < (has_snapshot ? 0 : -1) ||
        read->snapshot_step > counters->step)
        return etx_fail(ETX_ERR_FORMAT,
            "%s: state of step %lld to go back to, at step %lld", path,
            (long long)read->snapshot_step, (long long)counters->step);
    if (read->best_step < -1 ||
        read->best_step > trainer->config.schedule.n_steps ||
        read->n_since_best < 0 || read->n_since_best > INT32_MAX)
        return etx_fail(ETX_ERR_FORMAT,
            "%s: best validation at step %lld, %lld validations ago", path,
            (long long)read->best_step, (long long)read->n_since_best);
    return ETX_OK;
}

/* A power of two in range, and counts that fit the steps. */
static etx_status check_loss_scale(const struct etx_train_loss_scale *read,
    const struct counters *counters, const char *path)
{
    int exponent;

    if (!(read->scale >= ETX_MIN_LOSS_SCALE &&
            read->scale <= ETX_MAX_LOSS_SCALE) ||
        frexp(read->scale, &exponent) != 0.5)
        return etx_fail(ETX_ERR_FORMAT,
            "%s: a loss scale of %g is no power of two in %g .. %g", path,
            read->scale, ETX_MIN_LOSS_SCALE, ETX_MAX_LOSS_SCALE);
    if (read->n_good < 0 || read->n_skipped < 0 ||
        read->n_good > counters->step || read->n_skipped > counters->step)
        return etx_fail(ETX_ERR_FORMAT,
            "%s: %lld good and %lld skipped steps are not in 0 .. %lld", path,
            (long long)read->n_good, (long long)read->n_skipped,
            (long long)counters->step);
    return ETX_OK;
}

static const void *tensor_data(
    const struct etx_tensor_file *file, const char *name)
{
    return etx_tensor_file_find(file, name)->data;
}

static void read_array(float *array, const struct etx_trainer *trainer,
    const struct etx_tensor_file *file, const char *name)
{
    if (array != NULL)
        memcpy(array, tensor_data(file, name),
            (size_t)trainer->stage->network->n_values * sizeof *array);
}

static void restore_arrays(
    struct etx_trainer *trainer, const struct etx_tensor_file *file)
{
    const struct etx_train_snapshot *snapshot = &trainer->snapshot;

    read_array(trainer->stage->network->value, trainer, file, "parameter");
    read_array(trainer->state.moments.m, trainer, file, "m");
    read_array(trainer->state.moments.v, trainer, file, "v");
    read_array(trainer->state.moments.v_max, trainer, file, "v_max");
    read_array(trainer->best.parameter, trainer, file, "best");
    read_array(snapshot->parameter, trainer, file, "snapshot_parameter");
    read_array(snapshot->moments.m, trainer, file, "snapshot_m");
    read_array(snapshot->moments.v, trainer, file, "snapshot_v");
    read_array(snapshot->moments.v_max, trainer, file, "snapshot_v_max");
}

static struct etx_train_result make_result(int64_t step, const double *metric)
{
    return (struct etx_train_result){.step = step,
        .loss = metric[0],
        .n_edges = metric[1],
        .efficiency = metric[2],
        .purity = metric[3],
        .auc = metric[4]};
}

static void restore_state(
    struct etx_trainer *trainer, const struct numbers *numbers)
{
    const struct state *state = &numbers->state;
    struct etx_train_best *best = &trainer->best;

    trainer->snapshot.n_rollbacks = state->n_rollbacks;
    trainer->progress.loss_scale = numbers->loss_scales.now;
    trainer->snapshot.progress.loss_scale = numbers->loss_scales.snapshot;
    trainer->progress.mean = (struct etx_train_mean){
        .loss = state->mean_loss, .n = state->mean_steps};
    trainer->snapshot.progress.step = state->snapshot_step;
    trainer->snapshot.progress.mean = (struct etx_train_mean){
        .loss = state->snapshot_mean_loss, .n = state->snapshot_mean_steps};
    best->result = make_result(state->best_step, state->best_metric);
    best->value = state->best_value;
    best->n_since = state->n_since_best;
    best->thresholds = make_thresholds(numbers->best_threshold);
}

/* Nothing but a device can fail any more. */
static etx_status restore(struct etx_trainer *trainer,
    const struct etx_tensor_file *file, const struct numbers *numbers)
{
    const struct counters *counters = &numbers->counters;
    const struct etx_train_thresholds thresholds =
        make_thresholds(numbers->threshold);

    restore_arrays(trainer, file);
    restore_state(trainer, numbers);
    etx_train_set_thresholds(trainer->model, &thresholds);
    trainer->progress.step = counters->step;
    trainer->result = make_result(counters->validated, counters->metric);
    return etx_train_state_to_device(&trainer->state);
}

/* The numbers of a file whose tensors are checked. */
static void read_numbers(struct numbers *out,
    const struct etx_tensor_file *file, int64_t n_threshold)
{
    const size_t threshold_bytes = (size_t)n_threshold * sizeof(float);
    const struct etx_tensor *best =
        etx_tensor_file_find(file, "best_threshold");
    const struct etx_tensor *state = etx_tensor_file_find(file, "state");
    const struct etx_tensor *scales = etx_tensor_file_find(file, "loss_scale");

    memcpy(&out->counters, tensor_data(file, "counters"), sizeof out->counters);
    memcpy(out->threshold, tensor_data(file, "threshold"), threshold_bytes);
    if (best != NULL)
        memcpy(out->best_threshold, best->data, threshold_bytes);
    if (state != NULL)
        memcpy(&out->state, state->data, sizeof out->state);
    if (scales != NULL)
        memcpy(&out->loss_scales, scales->data, sizeof out->loss_scales);
}

etx_status etx_checkpoint_read(struct etx_trainer *trainer, const char *path)
{
    struct etx_bytes bytes = {.data = NULL};
    struct etx_tensor_file *file = NULL;
    struct etx_tensor wanted[MAX_TENSORS];
    const struct etx_train_thresholds now =
        etx_train_get_thresholds(trainer->model);
    struct numbers numbers = get_numbers(trainer);
    int64_t n;
    char checksum[9];
    char hash[17];
    etx_status status;

    ETX_CHECK(etx_file_read(&bytes, path, ETX_MODEL_MAX_BYTES));
    ETX_CHECK(etx_tensor_file_parse(&file, bytes.data, bytes.size));
    etx_tensor_checksum(checksum, file->n_tensors, file->tensor);
    etx_hash_text(hash, trainer->hash);
    ETX_CHECK(check_metadata(file, path, checksum, hash));
    ETX_CHECK(check_draws(file, trainer, path));
    n = describe_tensors(wanted, trainer, &numbers, find_schema(file));
    ETX_CHECK(check_tensors(file, path, n, wanted));
    list_thresholds(numbers.best_threshold, &now);
    numbers.state = (struct state){.snapshot_step = -1, .best_step = -1};
    read_numbers(&numbers, file, n_thresholds(trainer));
    ETX_CHECK(check_counters(&numbers.counters, trainer, path));
    ETX_CHECK(check_state(&numbers.state, &numbers.counters, trainer, path));
    ETX_CHECK(
        check_loss_scale(&numbers.loss_scales.now, &numbers.counters, path));
    ETX_CHECK(check_loss_scale(
        &numbers.loss_scales.snapshot, &numbers.counters, path));
    ETX_CHECK(check_thresholds(numbers.threshold, path));
    ETX_CHECK(check_thresholds(numbers.best_threshold, path));
    status = restore(trainer, file, &numbers);
done:
    etx_tensor_file_free(file);
    etx_bytes_release(&bytes);
    return status;
}
