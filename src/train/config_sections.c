/* train/config_sections.c -- the sections of a training config.
 *
 * One table of all keys: section, key, field, bounds or names, and the stages
 * that read it. A key that the stage would not read is refused.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/config_sections.h"

#include "arch/options.h"
#include "base/check.h"
#include "op/op.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define MAX_INT 2147483647.0

static const char *const decay_names[] = {"constant", "cosine", "step", NULL};
static const char *const scale_names[] = {"none", "linear", "sqrt", NULL};
static const char *const same_particle_names[] = {
    "ignore", "true", "false", NULL};
static const char *const pair_names[] = {
    "hit", "module", "module_all", "layer", "any", NULL};
static const char *const hinge_names[] = {"squared", "distance", NULL};
static const char *const reduction_names[] = {
    "weighted_mean", "mean", "equal", "balanced", NULL};
static const char *const average_names[] = {"pairs", "graphs", NULL};
static const char *const order_names[] = {"drawn", "epochs", "buckets", NULL};
static const char *const query_names[] = {"all", "no_noise", "signal", NULL};
static const char *const criterion_names[] = {
    "loss", "auc", "efficiency", "purity", NULL};

static const char *const pt_target_names[] = {"log", "inverse", NULL};
static const char *const precision_names[] = {"float32", "bf16", "fp16", NULL};
static const char *const product_names[] = {"float32", "fp16", NULL};

/* Sets of stages: EMBEDDING, FILTER, GNN, ... */
#define STAGE_BIT(constant, name, objective, scores_edges)                     \
    constant = 1 << ETX_TRAIN_##constant,
enum { ETX_TRAIN_STAGES(STAGE_BIT) ALL = (1 << ETX_N_TRAIN_STAGES) - 1 };

/* A key, whose option has no value: it is at offset of the config. */
struct key {
    const char *section;
    size_t offset;
    int32_t stages;
    struct etx_option option;
};

#define KEY(section, field, stages, ...)                                       \
    {                                                                          \
#section, offsetof(struct etx_train_config, section.field), stages,    \
        {                                                                      \
            __VA_ARGS__                                                        \
        }                                                                      \
    }
#define INT(section, name, field, low_, high_, stages)                         \
    KEY(section, field, stages, .key = name, .kind = ETX_OPTION_INT,           \
        .low = low_, .high = high_)
#define FLOAT(section, name, field, low_, high_, stages)                       \
    KEY(section, field, stages, .key = name, .kind = ETX_OPTION_FLOAT,         \
        .low = low_, .high = high_)
#define BOOL(section, name, field, stages)                                     \
    KEY(section, field, stages, .key = name, .kind = ETX_OPTION_BOOL)
#define CHOICE(section, name, field, names, stages)                            \
    KEY(section, field, stages, .key = name, .kind = ETX_OPTION_CHOICE,        \
        .choices = names)

/* Sections one after the other. */
static const struct key keys[] = {
    INT(schedule, "steps", n_steps, 1.0, MAX_INT, ALL),
    INT(schedule, "warmup_steps", n_warmup_steps, 0.0, MAX_INT, ALL),
    INT(schedule, "warmup_epochs", n_warmup_epochs, 0.0, 1e6, ALL),
    FLOAT(schedule, "learning_rate", learning_rate, 0.0, 1e3, ALL),
    FLOAT(schedule, "min_learning_rate", min_learning_rate, 0.0, 1e3, ALL),
    CHOICE(schedule, "decay", decay, decay_names, ALL),
    INT(schedule, "decay_every", decay_every, 1.0, MAX_INT, ALL),
    INT(schedule, "decay_epochs", decay_epochs, 0.0, 1e6, ALL),
    FLOAT(schedule, "decay_factor", decay_factor, 0.0, 1.0, ALL),
    CHOICE(schedule, "scale_learning_rate", scale, scale_names, ALL),

    FLOAT(optimiser, "beta1", beta1, 0.0, 0.999999, ALL),
    FLOAT(optimiser, "beta2", beta2, 0.0, 0.999999, ALL),
    FLOAT(optimiser, "eps", eps, 1e-30, 1.0, ALL),
    FLOAT(optimiser, "weight_decay", weight_decay, 0.0, 1e3, ALL),
    FLOAT(optimiser, "gradient_clip", gradient_clip, 0.0, 1e30, ALL),
    BOOL(optimiser, "amsgrad", amsgrad, ALL),

    FLOAT(truth, "min_pt", min_pt, 0.0, 1e6, ALL),
    CHOICE(truth, "pairs", pairs, pair_names, ALL),
    FLOAT(truth, "max_eta", max_eta, 0.0, 1e3, ALL),
    INT(truth, "min_hits", min_hits, 0.0, MAX_INT, ALL),
    BOOL(truth, "drop_noise", drop_noise, ALL),
    FLOAT(truth, "background_min_pt", background_min_pt, 0.0, 1e6, ALL),
    FLOAT(truth, "low_pt_weight", low_pt_weight, 0.0, 1e3, ALL),
    CHOICE(truth, "same_particle", same_particle, same_particle_names, ALL),
    FLOAT(truth, "displaced_radius", displaced_radius, 0.0, 1e6, ALL),
    FLOAT(truth, "displaced_weight", displaced_weight, 0.0, 1e3, ALL),
    FLOAT(truth, "first_weight", first_weight, 0.0, 1e3, ALL),

    INT(sampling, "hits", n_hits, 0.0, MAX_INT, ALL),
    FLOAT(sampling, "eta_window", eta_window, 0.001, 1.0, ALL),
    INT(sampling, "graphs", n_graphs, 1.0, 1e4, ALL),
    CHOICE(sampling, "order", order, order_names, ALL),
    INT(sampling, "edges", n_edges, 0.0, MAX_INT, ALL & ~EMBEDDING),
    INT(sampling, "cache_mib", cache_mib, 0.0, 1e8, ALL & ~EMBEDDING),
    INT(sampling, "queries", n_queries, 1.0, 1e6, EMBEDDING),
    CHOICE(sampling, "queries_from", queries_from, query_names, EMBEDDING),
    INT(sampling, "neighbours", n_neighbours, 0.0, 1e6, EMBEDDING),
    INT(sampling, "other", n_other, 0.0, 1e6, EMBEDDING),
    INT(sampling, "pool", n_pool, 0.0, MAX_INT, EMBEDDING),
    FLOAT(sampling, "search_radius", search_radius, 1e-9, 1e9, EMBEDDING),
    INT(sampling, "random_pairs", n_random, 0.0, MAX_INT, EMBEDDING),
    BOOL(sampling, "random_from_queries", random_from_queries, EMBEDDING),
    BOOL(sampling, "count_true_twice", count_true_twice, EMBEDDING),
    FLOAT(sampling, "false_per_true", false_per_true, 0.0, 1e6, FILTER),
    FLOAT(sampling, "hard_share", hard_share, 0.0, 1.0, FILTER),
    FLOAT(sampling, "hard_cut", hard_cut, 0.0, 1.0, FILTER),
    INT(sampling, "chunk_edges", chunk_edges, 0.0, MAX_INT, FILTER),

    FLOAT(loss, "positive_weight", positive_weight, 0.0, 1e6, ALL),
    CHOICE(loss, "average", average, average_names, ALL),
    CHOICE(loss, "hinge", hinge, hinge_names, EMBEDDING),
    FLOAT(loss, "margin", margin, 1e-6, 1e6, EMBEDDING),
    CHOICE(loss, "reduction", reduction, reduction_names, FILTER | GNN),
    FLOAT(loss, "focal_gamma", focal_gamma, 0.0, 100.0, FILTER | GNN),
    FLOAT(loss, "hit_weight", hit_weight, 0.0, 1e9, FILTER | GNN),
    FLOAT(loss, "pt_weight", pt_weight, 0.0, 1e6, GNN),
    CHOICE(loss, "pt_target", pt_target, pt_target_names, GNN),

    BOOL(augmentation, "rotate_phi", rotate_phi, ALL),
    BOOL(augmentation, "reflect_z", reflect_z, ALL),
    BOOL(augmentation, "reflect_y", reflect_y, ALL),
    BOOL(augmentation, "reflect_x", reflect_x, ALL),
    FLOAT(augmentation, "drop_hits", drop_hits, 0.0, 0.9, ALL),
    FLOAT(augmentation, "drop_cells", drop_cells, 0.0, 1.0, ALL),
    FLOAT(augmentation, "jitter", jitter, 0.0, 100.0, ALL),
    FLOAT(augmentation, "first_pass", first_pass, 0.0, 1.0, ALL),

    FLOAT(validation, "target_efficiency", target_efficiency, 0.0, 1.0, ALL),
    CHOICE(validation, "criterion", criterion, criterion_names, ALL),
    BOOL(validation, "keep_best", keep_best, ALL),
    INT(validation, "patience", patience, 0.0, MAX_INT, ALL),
    FLOAT(validation, "min_delta", min_delta, 0.0, 1e9, ALL),
    FLOAT(validation, "radius", radius, 0.0, 1e9, EMBEDDING),

    FLOAT(stability, "spike_factor", spike_factor, 0.0, 1e9, ALL),
    INT(stability, "spike_window", spike_window, 1.0, 1e6, ALL),
    INT(stability, "snapshot_every", snapshot_every, 1.0, MAX_INT, ALL),
    INT(stability, "most_rollbacks", max_rollbacks, 0.0, 1e6, ALL),

    BOOL(memory, "checkpointing", checkpointing, ALL),
    CHOICE(memory, "precision", precision, precision_names, ALL),

    CHOICE(arithmetic, "products", products, product_names, ALL),

    FLOAT(loss_scaling, "initial", initial, 0.0, 0x1p126, ALL),
    INT(loss_scaling, "double_every", double_every, 1.0, MAX_INT, ALL),
};

#define N_KEYS      (sizeof keys / sizeof keys[0])
#define FIRST_FIELD offsetof(struct etx_train_config, schedule)
#define END_FIELDS                                                             \
    (offsetof(struct etx_train_config, loss_scaling) +                         \
        sizeof(struct etx_train_loss_scaling))
_Static_assert(N_KEYS * sizeof(int32_t) == END_FIELDS - FIRST_FIELD,
    "every field of a section has one key, and four bytes");

#define MAX_OPTIONS 32 /* of one section and stage */

static void set_defaults(struct etx_train_config *config)
{
    config->schedule = (struct etx_train_schedule){.n_steps = 1000,
        .n_warmup_steps = 100,
        .learning_rate = 0.002f,
        .min_learning_rate = 1e-5f,
        .decay = ETX_DECAY_COSINE,
        .decay_every = 1000,
        .decay_factor = 0.5f};
    config->optimiser = (struct etx_train_optimiser){.beta1 = 0.9f,
        .beta2 = 0.999f,
        .eps = 1e-8f,
        .weight_decay = 0.01f,
        .gradient_clip = 1.0f};
    config->truth = (struct etx_train_truth){.min_pt = 0.5f,
        .low_pt_weight = 0.5f,
        .displaced_radius = 10.0f,
        .displaced_weight = 1.0f,
        .first_weight = 1.0f,
        .same_particle = ETX_SAME_PARTICLE_IGNORE};
    config->sampling = (struct etx_train_sampling){.n_hits = 7000,
        .eta_window = 1.0f,
        .n_edges = 30000,
        .false_per_true = 4.0f,
        .n_queries = 1000,
        .search_radius = 1.0f,
        .n_neighbours = 40,
        .n_other = 40,
        .n_random = 10000,
        .cache_mib = 4096,
        .n_graphs = 1,
        .hard_cut = 0.5f};
    config->loss = (struct etx_train_loss){
        .positive_weight = config->stage == ETX_TRAIN_EMBEDDING ? 4.0f : 1.0f,
        .hinge = ETX_HINGE_DISTANCE,
        .margin = 1.0f};
    config->augmentation =
        (struct etx_train_augmentation){.rotate_phi = 1, .reflect_y = 1};
    config->validation.criterion = config->stage == ETX_TRAIN_EMBEDDING
                                       ? ETX_CRITERION_PURITY
                                       : ETX_CRITERION_LOSS;
    config->stability = (struct etx_train_stability){
        .spike_window = 50, .snapshot_every = 200, .max_rollbacks = 10};
    config->loss_scaling.double_every = 2000;
}

/* The section that begins at keys[first]; returns where the next one does. */
static etx_status read_section(size_t *next, struct etx_train_config *config,
    const struct etx_json *json, size_t first)
{
    const char *section = keys[first].section;
    struct etx_option options[MAX_OPTIONS];
    int32_t n = 0;
    size_t k = first;

    for (; k < N_KEYS && strcmp(keys[k].section, section) == 0; k++)
        if (keys[k].stages & 1 << config->stage) {
            options[n] = keys[k].option;
            options[n++].value = (char *)config + keys[k].offset;
        }
    *next = k;
    return etx_options_read(section, etx_json_get(json, section), options, n);
}

/* What bounds do not say. */
static etx_status check_values(const struct etx_train_config *config)
{
    const float spike_factor = config->stability.spike_factor;
    const float initial = config->loss_scaling.initial;
    const int32_t criterion = config->validation.criterion;
    int exponent;

    /* Nothing measures the loss of an embedding, nor its AUC. */
    if (!etx_train_scores_edges(config) && criterion < ETX_CRITERION_EFFICIENCY)
        return etx_fail(ETX_ERR_FORMAT,
            "validation: criterion \"%s\" is not measured for an embedding",
            criterion_names[criterion]);
    if (spike_factor > 0.0f && spike_factor <= 1.0f)
        return etx_fail(ETX_ERR_FORMAT,
            "stability: spike_factor %.9g is neither 0 nor above 1",
            (double)spike_factor);
    /* Only powers of two scale a gradient without rounding. */
    if (initial != 0.0f &&
        (initial < 1.0f || frexpf(initial, &exponent) != 0.5f))
        return etx_fail(ETX_ERR_FORMAT,
            "loss_scaling: initial %.9g is neither 0 nor a power of two from "
            "1 on",
            (double)initial);
    return ETX_OK;
}

/* A step of n graphs sees n times as much: the rate follows linearly (Goyal et
 * al., arXiv:1706.02677) or, as the noise of the gradient does, by the root. */
static void scale_learning_rate(
    struct etx_train_schedule *schedule, int32_t n_graphs)
{
    switch ((enum etx_rate_scale)schedule->scale) {
    case ETX_SCALE_NONE:
        break;
    case ETX_SCALE_LINEAR:
        schedule->learning_rate *= (float)n_graphs;
        break;
    case ETX_SCALE_SQRT:
        schedule->learning_rate *= sqrtf((float)n_graphs);
        break;
    }
}

etx_status etx_train_config_read_sections(
    struct etx_train_config *config, const struct etx_json *json)
{
    etx_status status = ETX_OK;

    set_defaults(config);
    for (size_t k = 0; k < N_KEYS;)
        ETX_CHECK(read_section(&k, config, json, k));
    ETX_CHECK(check_values(config));
    scale_learning_rate(&config->schedule, config->sampling.n_graphs);
done:
    return status;
}
