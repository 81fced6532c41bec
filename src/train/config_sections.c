/* train/config_sections.c -- the sections of a training config.
 *
 * One table of options per section; where stages differ, some use a shorter
 * table or one of their own, so that a key which the stage would not read is
 * refused.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/config_sections.h"

#include "arch/options.h"
#include "base/check.h"
#include "op/op.h"

#include <math.h>

#define LARGEST_INT 2147483647.0

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

static const char *const teacher_names[] = {"score", "decision", NULL};
static const char *const pt_target_names[] = {"log", "inverse", NULL};
static const char *const precision_names[] = {"float32", "bf16", "fp16", NULL};
static const char *const product_names[] = {"float32", "fp16", NULL};

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
    if (config->stage == ETX_TRAIN_CASCADE)
        config->validation.target_efficiency = 0.999f;
    config->stability = (struct etx_train_stability){
        .spike_window = 50, .snapshot_every = 200, .max_rollbacks = 10};
    config->loss_scaling.double_every = 2000;
}

static etx_status read_schedule(
    struct etx_train_schedule *schedule, const json_t *json)
{
    const struct etx_option options[] = {
        etx_option_int("steps", &schedule->n_steps, 1.0, LARGEST_INT),
        etx_option_int(
            "warmup_steps", &schedule->n_warmup_steps, 0.0, LARGEST_INT),
        etx_option_int("warmup_epochs", &schedule->n_warmup_epochs, 0.0, 1e6),
        etx_option_float("learning_rate", &schedule->learning_rate, 0.0, 1e3),
        etx_option_float(
            "min_learning_rate", &schedule->min_learning_rate, 0.0, 1e3),
        etx_option_choice("decay", &schedule->decay, decay_names),
        etx_option_int("decay_every", &schedule->decay_every, 1.0, LARGEST_INT),
        etx_option_int("decay_epochs", &schedule->decay_epochs, 0.0, 1e6),
        etx_option_float("decay_factor", &schedule->decay_factor, 0.0, 1.0),
        etx_option_choice(
            "scale_learning_rate", &schedule->scale, scale_names)};

    return etx_options_read("schedule", json, options, ETX_N_OPTIONS(options));
}

static etx_status read_optimiser(
    struct etx_train_optimiser *optimiser, const json_t *json)
{
    const struct etx_option options[] = {
        etx_option_float("beta1", &optimiser->beta1, 0.0, 0.999999),
        etx_option_float("beta2", &optimiser->beta2, 0.0, 0.999999),
        etx_option_float("eps", &optimiser->eps, 1e-30, 1.0),
        etx_option_float("weight_decay", &optimiser->weight_decay, 0.0, 1e3),
        etx_option_float("gradient_clip", &optimiser->gradient_clip, 0.0, 1e30),
        etx_option_bool("amsgrad", &optimiser->amsgrad)};

    return etx_options_read("optimiser", json, options, ETX_N_OPTIONS(options));
}

/* Weights of true pairs mean nothing to a cascade, which learns from scores. */
static etx_status read_truth(
    struct etx_train_truth *truth, const json_t *json, int32_t stage)
{
    const struct etx_option options[] = {
        etx_option_float("min_pt", &truth->min_pt, 0.0, 1e6),
        etx_option_choice("pairs", &truth->pairs, pair_names),
        etx_option_float("max_eta", &truth->max_eta, 0.0, 1e3),
        etx_option_int("min_hits", &truth->min_hits, 0.0, LARGEST_INT),
        etx_option_bool("drop_noise", &truth->drop_noise),
        etx_option_float(
            "background_min_pt", &truth->background_min_pt, 0.0, 1e6),
        etx_option_float("low_pt_weight", &truth->low_pt_weight, 0.0, 1e3),
        etx_option_choice(
            "same_particle", &truth->same_particle, same_particle_names),
        etx_option_float(
            "displaced_radius", &truth->displaced_radius, 0.0, 1e6),
        etx_option_float(
            "displaced_weight", &truth->displaced_weight, 0.0, 1e3)};

    return etx_options_read("truth", json, options,
        ETX_N_OPTIONS(options) - (stage == ETX_TRAIN_CASCADE ? 4 : 0));
}

static etx_status read_sampling(
    struct etx_train_sampling *sampling, const json_t *json, int32_t stage)
{
    const struct etx_option hits =
        etx_option_int("hits", &sampling->n_hits, 0.0, LARGEST_INT);
    const struct etx_option eta =
        etx_option_float("eta_window", &sampling->eta_window, 0.001, 1.0);
    const struct etx_option graphs =
        etx_option_int("graphs", &sampling->n_graphs, 1.0, 1e4);
    const struct etx_option order =
        etx_option_choice("order", &sampling->order, order_names);
    const struct etx_option edges =
        etx_option_int("edges", &sampling->n_edges, 0.0, LARGEST_INT);
    const struct etx_option cache =
        etx_option_int("cache_mib", &sampling->cache_mib, 0.0, 1e8);
    const struct etx_option embedding[] = {hits, eta, graphs, order,
        etx_option_int("queries", &sampling->n_queries, 1.0, 1e6),
        etx_option_choice("queries_from", &sampling->queries_from, query_names),
        etx_option_int("neighbours", &sampling->n_neighbours, 0.0, 1e6),
        etx_option_int("other", &sampling->n_other, 0.0, 1e6),
        etx_option_int("pool", &sampling->n_pool, 0.0, LARGEST_INT),
        etx_option_float("search_radius", &sampling->search_radius, 1e-9, 1e9),
        etx_option_int("random_pairs", &sampling->n_random, 0.0, LARGEST_INT),
        etx_option_bool("random_from_queries", &sampling->random_from_queries),
        etx_option_bool("count_true_twice", &sampling->count_true_twice)};
    const struct etx_option filter[] = {hits, eta, graphs, order, edges, cache,
        etx_option_float("false_per_true", &sampling->false_per_true, 0.0, 1e6),
        etx_option_float("hard_share", &sampling->hard_share, 0.0, 1.0),
        etx_option_float("hard_cut", &sampling->hard_cut, 0.0, 1.0),
        etx_option_int(
            "chunk_edges", &sampling->chunk_edges, 0.0, LARGEST_INT)};
    const struct etx_option gnn[] = {hits, eta, graphs, order, edges, cache};

    if (stage == ETX_TRAIN_EMBEDDING)
        return etx_options_read(
            "sampling", json, embedding, ETX_N_OPTIONS(embedding));
    if (stage == ETX_TRAIN_FILTER)
        return etx_options_read(
            "sampling", json, filter, ETX_N_OPTIONS(filter));
    if (stage == ETX_TRAIN_CASCADE)
        return etx_options_read(
            "sampling", json, filter, ETX_N_OPTIONS(filter) - 1);
    return etx_options_read("sampling", json, gnn, ETX_N_OPTIONS(gnn));
}

static etx_status read_loss(
    struct etx_train_loss *loss, const json_t *json, int32_t stage)
{
    const struct etx_option positive =
        etx_option_float("positive_weight", &loss->positive_weight, 0.0, 1e6);
    const struct etx_option average =
        etx_option_choice("average", &loss->average, average_names);
    const struct etx_option contrastive[] = {positive, average,
        etx_option_choice("hinge", &loss->hinge, hinge_names),
        etx_option_float("margin", &loss->margin, 1e-6, 1e6)};
    const struct etx_option distilled[] = {positive, average,
        etx_option_choice("teacher", &loss->teacher, teacher_names)};
    const struct etx_option edges[] = {positive, average,
        etx_option_choice("reduction", &loss->reduction, reduction_names),
        etx_option_float("focal_gamma", &loss->focal_gamma, 0.0, 100.0),
        etx_option_float("hit_weight", &loss->hit_weight, 0.0, 1e9),
        etx_option_float("pt_weight", &loss->pt_weight, 0.0, 1e6),
        etx_option_choice("pt_target", &loss->pt_target, pt_target_names)};

    if (stage == ETX_TRAIN_EMBEDDING)
        return etx_options_read(
            "loss", json, contrastive, ETX_N_OPTIONS(contrastive));
    if (stage == ETX_TRAIN_CASCADE)
        return etx_options_read(
            "loss", json, distilled, ETX_N_OPTIONS(distilled));
    return etx_options_read("loss", json, edges,
        ETX_N_OPTIONS(edges) - (stage == ETX_TRAIN_GNN ? 0 : 2));
}

static etx_status read_augmentation(
    struct etx_train_augmentation *augmentation, const json_t *json)
{
    const struct etx_option options[] = {
        etx_option_bool("rotate_phi", &augmentation->rotate_phi),
        etx_option_bool("reflect_z", &augmentation->reflect_z),
        etx_option_bool("reflect_y", &augmentation->reflect_y),
        etx_option_bool("reflect_x", &augmentation->reflect_x)};

    return etx_options_read(
        "augmentation", json, options, ETX_N_OPTIONS(options));
}

/* Nothing measures the loss of an embedding, nor its AUC. */
static etx_status read_validation(
    struct etx_train_validation *validation, const json_t *json, int32_t stage)
{
    const int is_embedding = stage == ETX_TRAIN_EMBEDDING;
    const struct etx_option options[] = {
        etx_option_float(
            "target_efficiency", &validation->target_efficiency, 0.0, 1.0),
        etx_option_choice("criterion", &validation->criterion, criterion_names),
        etx_option_bool("keep_best", &validation->keep_best),
        etx_option_int("patience", &validation->patience, 0.0, LARGEST_INT),
        etx_option_float("min_delta", &validation->min_delta, 0.0, 1e9),
        etx_option_float("radius", &validation->radius, 0.0, 1e9)};
    const etx_status status = etx_options_read("validation", json, options,
        ETX_N_OPTIONS(options) - (is_embedding ? 0 : 1));

    if (status == ETX_OK && is_embedding &&
        validation->criterion < ETX_CRITERION_EFFICIENCY)
        return etx_fail(ETX_ERR_FORMAT,
            "validation: criterion \"%s\" is not measured for an embedding",
            criterion_names[validation->criterion]);
    return status;
}

static etx_status read_stability(
    struct etx_train_stability *stability, const json_t *json)
{
    const struct etx_option options[] = {
        etx_option_float("spike_factor", &stability->spike_factor, 0.0, 1e9),
        etx_option_int("spike_window", &stability->spike_window, 1.0, 1e6),
        etx_option_int(
            "snapshot_every", &stability->snapshot_every, 1.0, LARGEST_INT),
        etx_option_int("most_rollbacks", &stability->max_rollbacks, 0.0, 1e6)};
    const etx_status status =
        etx_options_read("stability", json, options, ETX_N_OPTIONS(options));

    if (status == ETX_OK && stability->spike_factor > 0.0f &&
        stability->spike_factor <= 1.0f)
        return etx_fail(ETX_ERR_FORMAT,
            "stability: spike_factor %.9g is neither 0 nor above 1",
            (double)stability->spike_factor);
    return status;
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

static etx_status read_memory(
    struct etx_train_memory *memory, const json_t *json)
{
    const struct etx_option options[] = {
        etx_option_bool("checkpointing", &memory->checkpointing),
        etx_option_choice("precision", &memory->precision, precision_names)};

    return etx_options_read("memory", json, options, ETX_N_OPTIONS(options));
}

static etx_status read_arithmetic(
    struct etx_train_arithmetic *arithmetic, const json_t *json)
{
    const struct etx_option options[] = {
        etx_option_choice("products", &arithmetic->products, product_names)};

    return etx_options_read(
        "arithmetic", json, options, ETX_N_OPTIONS(options));
}

/* Powers of two alone change no gradient by a rounding. */
static etx_status read_loss_scaling(
    struct etx_train_loss_scaling *scaling, const json_t *json)
{
    const struct etx_option options[] = {
        etx_option_float("initial", &scaling->initial, 0.0, 0x1p126),
        etx_option_int(
            "double_every", &scaling->double_every, 1.0, LARGEST_INT)};
    const etx_status status =
        etx_options_read("loss_scaling", json, options, ETX_N_OPTIONS(options));
    int exponent;

    if (status == ETX_OK && scaling->initial != 0.0f &&
        (scaling->initial < 1.0f ||
            frexpf(scaling->initial, &exponent) != 0.5f))
        return etx_fail(ETX_ERR_FORMAT,
            "loss_scaling: initial %.9g is neither 0 nor a power of two from "
            "1 on",
            (double)scaling->initial);
    return status;
}

etx_status etx_train_config_read_sections(
    struct etx_train_config *config, const json_t *json)
{
    etx_status status;

    set_defaults(config);
    ETX_CHECK(
        read_schedule(&config->schedule, json_object_get(json, "schedule")));
    ETX_CHECK(
        read_optimiser(&config->optimiser, json_object_get(json, "optimiser")));
    ETX_CHECK(read_truth(
        &config->truth, json_object_get(json, "truth"), config->stage));
    ETX_CHECK(read_sampling(
        &config->sampling, json_object_get(json, "sampling"), config->stage));
    ETX_CHECK(
        read_loss(&config->loss, json_object_get(json, "loss"), config->stage));
    ETX_CHECK(read_augmentation(
        &config->augmentation, json_object_get(json, "augmentation")));
    ETX_CHECK(read_validation(&config->validation,
        json_object_get(json, "validation"), config->stage));
    ETX_CHECK(
        read_stability(&config->stability, json_object_get(json, "stability")));
    scale_learning_rate(&config->schedule, config->sampling.n_graphs);
    ETX_CHECK(read_memory(&config->memory, json_object_get(json, "memory")));
    ETX_CHECK(read_arithmetic(
        &config->arithmetic, json_object_get(json, "arithmetic")));
    ETX_CHECK(read_loss_scaling(
        &config->loss_scaling, json_object_get(json, "loss_scaling")));
done:
    return status;
}
