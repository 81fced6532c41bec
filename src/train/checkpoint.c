/* train/checkpoint.c -- write a training to a file and continue it bit for bit.
 *
 * A safetensors file: parameters, moments, counters, thresholds, the snapshot
 * and the best model; in its metadata the hash of what the trainer was created
 * from and a checksum over all tensors, so that a damaged file is refused.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/train.h"

#include "base/check.h"
#include "base/heap.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "train/hash.h"
#include "train/training_model.h"

#include <math.h>
#include <string.h>

#define N_METRICS   5 /* loss, n_edges, efficiency, purity, auc */
#define MAX_TENSORS 14
#define SCHEMA      "1"

/* Tensor "counters", 64-bit numbers alone. */
struct counters {
    int64_t step, n_training, n_training_hits, n_validation, n_validation_hits,
        validated;
    double metric[N_METRICS];
};

/* Tensor "state", the same. */
struct state {
    int64_t n_rollbacks, mean_steps, snapshot_step, snapshot_mean_steps,
        best_step, n_since_best;
    double mean_loss, snapshot_mean_loss, best_value;
    double best_metric[N_METRICS];
};

/* Tensor "loss_scale", the same, of trainings with loss scaling. */
struct loss_scales {
    struct etx_train_loss_scale now, snapshot;
};

/* All but the arrays of the trainer. */
struct numbers {
    struct counters counters;
    struct state state;
    struct loss_scales loss_scales;
    struct etx_train_thresholds threshold, best_threshold;
};

#define COUNT(type, element) ((int64_t)(sizeof(type) / sizeof(element)))

static void list_metrics(
    double metric[N_METRICS], const struct etx_train_result *result)
{
    metric[0] = result->loss;
    metric[1] = result->n_edges;
    metric[2] = result->efficiency;
    metric[3] = result->purity;
    metric[4] = result->auc;
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

static struct numbers collect_numbers(const struct etx_trainer *trainer)
{
    const struct etx_train_progress *now = &trainer->progress;
    const struct etx_train_progress *before = &trainer->snapshot.progress;
    const struct etx_train_best *best = &trainer->best;
    struct numbers numbers = {
        .counters = {.step = now->step,
            .n_training = trainer->training.n,
            .n_training_hits = trainer->training.n_hits,
            .n_validation = trainer->validation.n,
            .n_validation_hits = trainer->validation.n_hits,
            .validated = trainer->result.step},
        .state = {.n_rollbacks = trainer->snapshot.n_rollbacks,
            .mean_steps = now->mean.n,
            .snapshot_step = before->step,
            .snapshot_mean_steps = before->mean.n,
            .best_step = best->result.step,
            .n_since_best = best->n_since,
            .mean_loss = now->mean.loss,
            .snapshot_mean_loss = before->mean.loss,
            .best_value = best->value},
        .loss_scales = {now->loss_scale, before->loss_scale},
        .threshold = etx_train_get_thresholds(trainer->model),
        .best_threshold = best->thresholds};

    list_metrics(numbers.counters.metric, &trainer->result);
    list_metrics(numbers.state.best_metric, &best->result);
    return numbers;
}

static void set_numbers(
    struct etx_trainer *trainer, const struct numbers *numbers)
{
    const struct counters *counters = &numbers->counters;
    const struct state *state = &numbers->state;
    struct etx_train_best *best = &trainer->best;

    trainer->progress = (struct etx_train_progress){.step = counters->step,
        .mean = {state->mean_loss, state->mean_steps},
        .loss_scale = numbers->loss_scales.now};
    trainer->snapshot.progress =
        (struct etx_train_progress){.step = state->snapshot_step,
            .mean = {state->snapshot_mean_loss, state->snapshot_mean_steps},
            .loss_scale = numbers->loss_scales.snapshot};
    trainer->snapshot.n_rollbacks = state->n_rollbacks;
    trainer->result = make_result(counters->validated, counters->metric);
    best->result = make_result(state->best_step, state->best_metric);
    best->value = state->best_value;
    best->n_since = state->n_since_best;
    best->thresholds = numbers->best_threshold;
    etx_train_set_thresholds(trainer->model, &numbers->threshold);
}

/* A tensor of the file and where its values are in memory. */
struct entry {
    const char *name;
    enum etx_tensor_type type;
    int64_t n;
    void *data;
    int is_array; /* of the trainer, [n_values]; else of numbers */
};

static void add_array(struct entry *entry, int64_t *count, const char *name,
    float *array, int64_t n)
{
    if (array != NULL)
        entry[(*count)++] = (struct entry){name, ETX_TENSOR_F32, n, array, 1};
}

/* The tensors of a checkpoint, sorted by name. */
static int64_t list_entries(struct entry *entry,
    const struct etx_trainer *trainer, struct numbers *numbers)
{
    const struct etx_train_snapshot *snapshot = &trainer->snapshot;
    const struct etx_moments *moments = &trainer->state.moments;
    const int64_t n = trainer->stage->network->n_values;
    const int64_t n_thresholds = COUNT(struct etx_train_thresholds, float);
    int64_t count = 0;

    add_array(entry, &count, "best", trainer->best.parameter, n);
    if (trainer->best.parameter != NULL)
        entry[count++] = (struct entry){"best_threshold", ETX_TENSOR_F32,
            n_thresholds, &numbers->best_threshold, 0};
    entry[count++] = (struct entry){"counters", ETX_TENSOR_I64,
        COUNT(struct counters, int64_t), &numbers->counters, 0};
    if (trainer->config.loss_scaling.initial > 0.0f)
        entry[count++] = (struct entry){"loss_scale", ETX_TENSOR_I64,
            COUNT(struct loss_scales, int64_t), &numbers->loss_scales, 0};
    add_array(entry, &count, "m", moments->m, n);
    add_array(entry, &count, "parameter", trainer->stage->network->value, n);
    add_array(entry, &count, "snapshot_m", snapshot->moments.m, n);
    add_array(entry, &count, "snapshot_parameter", snapshot->parameter, n);
    add_array(entry, &count, "snapshot_v", snapshot->moments.v, n);
    add_array(entry, &count, "snapshot_v_max", snapshot->moments.v_max, n);
    entry[count++] = (struct entry){"state", ETX_TENSOR_I64,
        COUNT(struct state, int64_t), &numbers->state, 0};
    entry[count++] = (struct entry){
        "threshold", ETX_TENSOR_F32, n_thresholds, &numbers->threshold, 0};
    add_array(entry, &count, "v", moments->v, n);
    add_array(entry, &count, "v_max", moments->v_max, n);
    return count;
}

/* Of the sizes of all events in order, and of what the first pass finds in
 * them. */
static void hash_events(char text[17], const struct etx_trainer *trainer)
{
    uint64_t hash = etx_hash_bytes(
        ETX_HASH_START, &trainer->training.hash, sizeof trainer->training.hash);

    hash = etx_hash_bytes(
        hash, &trainer->validation.hash, sizeof trainer->validation.hash);
    if (trainer->config.augmentation.first_pass > 0.0f) {
        hash = etx_train_hash_table(hash, trainer->model->completion);
        hash = etx_train_hash_table(hash, trainer->model->first_pass);
    }
    etx_hash_text(text, hash);
}

etx_status etx_checkpoint_write(
    const struct etx_trainer *trainer, const char *path)
{
    struct numbers numbers = collect_numbers(trainer);
    struct entry entry[MAX_TENSORS];
    struct etx_tensor tensor[MAX_TENSORS];
    const int64_t n = list_entries(entry, trainer, &numbers);
    char checksum[9];
    char events[17];
    char hash[17];
    const char *const pair[][2] = {{"etx.checkpoint", SCHEMA},
        {"etx.checksum", checksum}, {"etx.events", events}, {"etx.hash", hash}};
    struct etx_json *metadata = NULL;
    etx_status status;

    ETX_CHECK(etx_train_state_to_host(&trainer->state));
    for (int64_t t = 0; t < n; t++)
        tensor[t] = etx_tensor_vector(
            entry[t].name, entry[t].type, entry[t].n, entry[t].data);
    ETX_CHECK(etx_tensor_checksum(checksum, n, tensor));
    hash_events(events, trainer);
    etx_hash_text(hash, trainer->hash);
    ETX_CHECK(etx_json_create_texts(&metadata, pair, 4));
    ETX_CHECK(etx_tensor_file_write(path, n, tensor, metadata));
done:
    etx_json_free(metadata);
    return status;
}

/* --------------------------------------------------------------- checks -- */

static etx_status check_metadata(const struct etx_tensor_file *file,
    const char *path, const char *checksum, const char *hash)
{
    const char *schema =
        etx_json_text(etx_json_get(file->metadata, "etx.checkpoint"));
    const char *sum =
        etx_json_text(etx_json_get(file->metadata, "etx.checksum"));
    const char *made = etx_json_text(etx_json_get(file->metadata, "etx.hash"));

    if (schema == NULL || strcmp(schema, SCHEMA) != 0)
        return etx_fail(ETX_ERR_FORMAT,
            "%s: not a training checkpoint of schema " SCHEMA, path);
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

static etx_status check_order(const struct etx_tensor_file *file,
    const struct etx_trainer *trainer, const char *path)
{
    const char *made =
        etx_json_text(etx_json_get(file->metadata, "etx.events"));
    char hash[17];

    hash_events(hash, trainer);
    if (made != NULL && strcmp(made, hash) == 0)
        return ETX_OK;
    return etx_fail(ETX_ERR_ARGUMENT,
        "%s: made with other events, or in another order, or with another "
        "first "
        "pass (hash %s, these have %s)",
        path, made == NULL ? "missing" : made, hash);
}

/* Every tensor with its type and size, and no other. */
static etx_status check_tensors(const struct etx_tensor_file *file,
    const char *path, int64_t n, const struct entry *entry)
{
    for (int64_t t = 0; t < n; t++) {
        const struct etx_tensor *tensor =
            etx_tensor_file_find(file, entry[t].name);

        if (tensor == NULL || tensor->type != (int32_t)entry[t].type ||
            tensor->n_dims != 1 || tensor->n_values != entry[t].n)
            return etx_fail(ETX_ERR_FORMAT,
                "%s: tensor \"%s\" is missing or not [%lld]", path,
                entry[t].name, (long long)entry[t].n);
    }
    if (file->n_tensors != n)
        return etx_fail(ETX_ERR_FORMAT, "%s: %lld tensors instead of %lld",
            path, (long long)file->n_tensors, (long long)n);
    return ETX_OK;
}

/* what: "" or "validation ", before "events". */
static etx_status check_events(int64_t n, int64_t n_hits,
    const struct etx_train_events *events, const char *path, const char *what)
{
    if (n == events->n && n_hits == events->n_hits)
        return ETX_OK;
    return etx_fail(ETX_ERR_ARGUMENT,
        "%s: made with %lld %sevents of %lld hits, the trainer has %lld of "
        "%lld",
        path, (long long)n, what, (long long)n_hits, (long long)events->n,
        (long long)events->n_hits);
}

static etx_status check_counters(const struct counters *read,
    const struct etx_trainer *trainer, const char *path)
{
    etx_status status;

    if (read->step < 0 || read->step > trainer->config.schedule.n_steps)
        return etx_fail(ETX_ERR_FORMAT, "%s: step %lld is not in 0 .. %d", path,
            (long long)read->step, (int)trainer->config.schedule.n_steps);
    ETX_CHECK(check_events(
        read->n_training, read->n_training_hits, &trainer->training, path, ""));
    ETX_CHECK(check_events(read->n_validation, read->n_validation_hits,
        &trainer->validation, path, "validation "));
done:
    return status;
}

static etx_status check_threshold(
    float value, float max, int index, const char *path)
{
    if (value >= 0.0f && value <= max)
        return ETX_OK;
    return etx_fail(ETX_ERR_FORMAT, "%s: threshold %d is %g, not in 0 .. %g",
        path, index, (double)value, (double)max);
}

/* As a config may have them; the radius of a model without an embedding is
 * 0. */
static etx_status check_thresholds(
    const struct etx_train_thresholds *read, const char *path)
{
    etx_status status;

    ETX_CHECK(check_threshold(read->radius, 1e30f, 0, path));
    ETX_CHECK(check_threshold(read->filter_cut, 1.0f, 1, path));
    ETX_CHECK(check_threshold(read->label_cut, 1.0f, 2, path));
done:
    return status;
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
    /* A spike is a loss above a multiple of it: above nan none is. */
    if (!isfinite(read->mean_loss) || !isfinite(read->snapshot_mean_loss))
        return etx_fail(ETX_ERR_FORMAT,
            "%s: a mean loss of %g and one of %g are not both finite", path,
            read->mean_loss, read->snapshot_mean_loss);
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

static etx_status check_numbers(const struct numbers *read,
    const struct etx_trainer *trainer, const char *path)
{
    const struct counters *counters = &read->counters;
    etx_status status;

    ETX_CHECK(check_counters(counters, trainer, path));
    ETX_CHECK(check_state(&read->state, counters, trainer, path));
    ETX_CHECK(check_loss_scale(&read->loss_scales.now, counters, path));
    ETX_CHECK(check_loss_scale(&read->loss_scales.snapshot, counters, path));
    ETX_CHECK(check_thresholds(&read->threshold, path));
    ETX_CHECK(check_thresholds(&read->best_threshold, path));
done:
    return status;
}

/* Parameters and moments are finite, second moments not negative. */
static etx_status check_arrays(const struct etx_tensor_file *file,
    const char *path, int64_t n, const struct entry *entry)
{
    for (int64_t t = 0; t < n; t++) {
        const char *bytes = etx_tensor_file_find(file, entry[t].name)->data;
        const int is_square =
            entry[t].name[0] == 'v' || strstr(entry[t].name, "_v") != NULL;

        for (int64_t k = 0; entry[t].is_array && k < entry[t].n; k++) {
            float value;

            memcpy(&value, bytes + (size_t)k * sizeof value, sizeof value);
            if (!isfinite(value) || (is_square && value < 0.0f))
                return etx_fail(ETX_ERR_FORMAT,
                    "%s: tensor \"%s\": value %lld is %g", path, entry[t].name,
                    (long long)k, (double)value);
        }
    }
    return ETX_OK;
}

/* Copy the arrays, or the numbers, of a file whose tensors are checked. */
static void copy_entries(const struct etx_tensor_file *file, int64_t n,
    const struct entry *entry, int is_array)
{
    for (int64_t t = 0; t < n; t++)
        if (entry[t].is_array == is_array)
            memcpy(entry[t].data,
                etx_tensor_file_find(file, entry[t].name)->data,
                (size_t)entry[t].n * (entry[t].type == ETX_TENSOR_F32
                                             ? sizeof(float)
                                             : sizeof(int64_t)));
}

/* After the checks nothing but a device can fail. */
etx_status etx_checkpoint_read(struct etx_trainer *trainer, const char *path)
{
    struct etx_bytes bytes = {.data = NULL};
    struct etx_tensor_file *file = NULL;
    struct entry entry[MAX_TENSORS];
    struct numbers numbers = collect_numbers(trainer);
    int64_t n;
    char checksum[9];
    char hash[17];
    etx_status status;

    ETX_CHECK(etx_tensor_file_read(&bytes, path));
    ETX_CHECK(etx_tensor_file_parse(&file, bytes.data, bytes.size));
    ETX_CHECK(etx_tensor_checksum(checksum, file->n_tensors, file->tensor));
    etx_hash_text(hash, trainer->hash);
    ETX_CHECK(check_metadata(file, path, checksum, hash));
    n = list_entries(entry, trainer, &numbers);
    ETX_CHECK(check_tensors(file, path, n, entry));
    ETX_CHECK(check_arrays(file, path, n, entry));
    copy_entries(file, n, entry, 0);
    ETX_CHECK(check_numbers(&numbers, trainer, path));
    ETX_CHECK(check_order(file, trainer, path));
    copy_entries(file, n, entry, 1);
    set_numbers(trainer, &numbers);
    status = etx_train_state_to_device(&trainer->state);
done:
    etx_tensor_file_free(file);
    etx_bytes_release(&bytes);
    return status;
}
