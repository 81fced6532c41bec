/* test_train_config.c -- training configs are read strictly.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support.h"
#include "train/objective/objective.h"
#include "train/schedule.h"
#include "train_bench.h"

/* A config that is refused, and what its message must name. */
struct refusal {
    const char *text, *first, *second;
};

static const struct refusal refusals[] = {
    {"", "training config", "JSON"},
    {"[]", "training config", "object"},
    {"{}", "stage", "string"},
    {"{'stage': 'embeding'}", "stage", "embeding"},
    {"{'stage': 'gnn', 'stage': 'gnn'}", "duplicate", "stage"},
    {"{'stage': 'gnn', 'epochs': 3}", "unknown key", "epochs"},
    {"{'stage': 'gnn', 'seed': -1}", "seed", "2147483647"},
    {"{'stage': 'gnn', 'schedule': {'step': 3}}", "schedule",
        "(nearest: 'steps')"},
    {"{'stage': 'gnn', 'schedul': {}}", "schedul", "(nearest: \"schedule\")"},
    {"{'stage': 'gnn', 'schedule': {'steps': 0}}", "steps", "0"},
    {"{'stage': 'gnn', 'schedule': {'decay': 'slow'}}", "decay", "slow"},
    {"{'stage': 'gnn', 'optimiser': {'beta1': 1.5}}", "beta1", "1.5"},
    {"{'stage': 'gnn', 'loss': {'margin': 1.5}}", "loss", "margin"},
    {"{'stage': 'embedding', 'sampling': {'edges': 5}}", "sampling", "edges"},
    {"{'stage': 'gnn', 'truth': {'min_pt': 'low'}}", "min_pt", "truth"},
    {"{'stage': 'gnn', 'truth': {'pairs': 'modules'}}", "pairs", "modules"},
    {"{'stage': 'gnn', 'truth': {'max_eta': -1}}", "max_eta", "-1"},
    {"{'stage': 'gnn', 'truth': {'first_weight': -1}}", "first_weight", "-1"},
    {"{'stage': 'gnn', 'augmentation': {'drop_hits': 0.95}}", "drop_hits",
        "0.9"},
    {"{'stage': 'gnn', 'augmentation': {'drop_cells': 1.5}}", "drop_cells",
        "1.5"},
    {"{'stage': 'gnn', 'augmentation': {'jitter': -0.1}}", "jitter", "-0.1"},
    {"{'stage': 'gnn', 'stability': {'spike_factor': 0.5}}", "spike_factor",
        "above 1"},
    {"{'stage': 'gnn', 'stability': {'snapshot_every': 0}}", "snapshot_every",
        "0"},
    {"{'stage': 'gnn', 'sampling': {'hard_share': 0.5}}", "sampling",
        "hard_share"},
    {"{'stage': 'gnn', 'sampling': {'chunk_edges': 10}}", "sampling",
        "chunk_edges"},
    {"{'stage': 'filter', 'sampling': {'hard_share': 1.5}}", "hard_share",
        "1.5"},
    {"{'stage': 'gnn', 'sampling': {'graphs': 0}}", "graphs", "0"},
    {"{'stage': 'gnn', 'sampling': {'order': 'sorted'}}", "order", "sorted"},
    {"{'stage': 'gnn', 'loss': {'reduction': 'sum'}}", "reduction", "sum"},
    {"{'stage': 'embedding', 'loss': {'reduction': 'mean'}}", "loss",
        "reduction"},
    {"{'stage': 'gnn', 'loss': {'focal_gamma': -1}}", "focal_gamma", "-1"},
    {"{'stage': 'embedding', 'validation': {'criterion': 'auc'}}", "auc",
        "not measured"},
    {"{'stage': 'gnn', 'validation': {'radius': 0.5}}", "validation", "radius"},
    {"{'stage': 'gnn', 'validation': {'patience': 1.5}}", "patience",
        "integer"},
    {"{'stage': 'gnn', 'memory': {'precision': 'fp8'}}", "precision", "bf16"},
    {"{'stage': 'filter', 'loss': {'pt_weight': 1}}", "loss", "pt_weight"},
    {"{'stage': 'embedding', 'loss_scaling': {'initial': 3}}", "loss_scaling",
        "power of two"},
    {"{'stage': 'embedding', 'loss_scaling': {'initial': 0.5}}", "loss_scaling",
        "power of two"},
    {"{'stage': 'embedding', 'loss_scaling': {'initial': 1e30}}",
        "loss_scaling", "power of two"},
    {"{'stage': 'gnn', 'sampling': {'chunk_edges': 1}}", "sampling",
        "chunk_edges"},
    {"{'stage': 'cascade'}", "cascade", "none of embedding, filter, gnn"},
};

ETX_TEST(test_train_config_refusals, .rows = ROWS(refusals))
{
    const struct refusal *refusal = refusals + _i;
    struct etx_train_config config = {.seed = 77};

    ck_assert_status(
        etx_train_config_read(&config, etx_test_json(refusal->text)),
        ETX_ERR_FORMAT);
    ck_assert_error(refusal->first);
    ck_assert_error(refusal->second);
    ck_assert_int_eq(config.seed, 77);
}

static void read_deep(void *unused)
{
    enum { depth = 1700 };
    static char text[2 * depth + 64];
    struct etx_train_config config = {.seed = 77};
    size_t n = (size_t)snprintf(text, sizeof text, "{'stage': ");

    (void)unused;
    memset(text + n, '[', depth);
    memset(text + n + depth, ']', depth);
    memcpy(text + n + 2 * (size_t)depth, "}", 2);
    ck_assert_fails(etx_train_config_read(&config, etx_test_json(text)),
        ETX_ERR_FORMAT, "nested deeper");
}

ETX_TEST(test_train_config_deep)
{
    etx_test_on_small_stack(read_deep, NULL);
}

/* Configs that the network they describe does not allow. */
#define MODEL(stage, arch, options, features, cut)                             \
    "{'stage': '" stage "', 'model': {'arch': '" arch                          \
    "', 'options': {" options "}, " cut                                        \
    "'node_features': [{'name': '" features "', 'scale': 1.0}]}"
#define EMBEDDING(feature, rest)                                               \
    MODEL("embedding", "mlp", "'hidden': [4], 'n_out': 2", feature,            \
        "'graph': {'radius': 0.4},")                                           \
    rest "}"
#define FILTER(arch, options, rest)                                            \
    MODEL("filter", arch, options, "r", "'cut': 0.1,")                         \
    ", " rest "}"

static const struct {
    const char *text;
    etx_status status;
    const char *error;
} refused_by_model[] = {
    /* Directions do not move along with the hits. */
    {EMBEDDING("lphi", ""), ETX_ERR_FORMAT, "lphi"},
    /* A network that keeps no latents of edges has nothing to save. */
    {EMBEDDING("r", ", 'memory': {'checkpointing': true}"), ETX_ERR_FORMAT,
        "\"mlp\""},
    {EMBEDDING("r", ", 'memory': {'precision': 'bf16'}"), ETX_ERR_FORMAT,
        "\"mlp\""},
    {EMBEDDING("r", ", 'memory': {'precision': 'fp16'}"), ETX_ERR_FORMAT,
        "\"mlp\""},
    {MODEL("gnn", "interaction_network", "", "r",
         "") ", 'loss': {'pt_weight': 0.1}}",
        ETX_ERR_FORMAT, "pt_layers"},
    /* Filters whose edges depend on each other. */
    {FILTER("edge_filter", "'hidden': [4], 'norm': 'batch'",
         "'sampling': {'chunk_edges': 10}"),
        ETX_ERR_FORMAT, "chunk_edges"},
    {FILTER("interaction_network", "'hidden': 4, 'n_iterations': 1",
         "'sampling': {'chunk_edges': 10}"),
        ETX_ERR_FORMAT, "chunk_edges"},
    {MODEL("filter", "edge_filter", "", "r",
         "'cut': 0.1, 'edge_features': [{'name': 'log_hough_votes', 'scale': "
         "1.0}],") "}",
        ETX_ERR_FORMAT, "log_hough_votes"},
    {MODEL("gnn", "interaction_network", "", "r",
         "'edge_features': [{'name': 'own_3', 'scale': 1.0}],") "}",
        ETX_ERR_FORMAT, "own_3"},
    {MODEL("gnn", "interaction_network", "", "r",
         "'edge_features': [{'name': 'own_0', 'scale': 1.0}],") "}",
        ETX_ERR_FORMAT, "own_0"},
    /* Without a device there are no products of float16. */
    {FILTER("edge_filter", "", "'arithmetic': {'products': 'fp16'}"),
        ETX_ERR_UNSUPPORTED, "arithmetic.products"},
};

ETX_TEST(test_train_config_refused_by_model, .rows = ROWS(refused_by_model))
{
    scoped_bench bench = train_bench_new(ETX_TRAIN_FILTER, 1, NULL);
    etx_trainer *trainer = NULL;

    ck_assert_fails(etx_trainer_create(&trainer, bench.context,
                        etx_test_json(refused_by_model[_i].text), bench.start),
        refused_by_model[_i].status, refused_by_model[_i].error);
    ck_assert_ptr_null(trainer);
}

ETX_TEST(test_train_config_values)
{
    struct etx_train_config config;

    ck_assert_ok(etx_train_config_read(&config,
        etx_test_json("{'stage': 'filter', 'seed': 4, 'schedule': {'steps': "
                      "10, 'decay': 'step'}, 'sampling': {'edges': 5}, "
                      "'validation': {'target_efficiency': 0.5}}")));
    ck_assert_int_eq(config.stage, ETX_TRAIN_FILTER);
    ck_assert_int_eq(config.seed, 4);
    ck_assert_int_eq(config.schedule.n_steps, 10);
    ck_assert_int_eq(config.schedule.decay, ETX_DECAY_STEP);
    ck_assert_int_eq(config.sampling.n_edges, 5);
    ck_assert_float_eq(config.validation.target_efficiency, 0.5f);
    etx_train_config_clear(&config);
}

ETX_TEST(test_train_schedule)
{
    struct etx_train_schedule schedule = {.n_steps = 110,
        .n_warmup_steps = 10,
        .learning_rate = 1.0f,
        .min_learning_rate = 0.1f,
        .decay = ETX_DECAY_COSINE,
        .decay_every = 20,
        .decay_factor = 0.5f};

    ck_assert_float_eq_tol(
        etx_train_learning_rate(&schedule, 1, 1), 0.1f, 1e-6f);
    ck_assert_float_eq_tol(
        etx_train_learning_rate(&schedule, 10, 1), 1.0f, 1e-6f);
    ck_assert_float_eq_tol(
        etx_train_learning_rate(&schedule, 11, 1), 1.0f, 1e-6f);
    ck_assert_float_eq_tol(
        etx_train_learning_rate(&schedule, 61, 1), 0.55f, 1e-6f);
    ck_assert_float_lt(etx_train_learning_rate(&schedule, 110, 1), 0.102f);
    schedule.decay = ETX_DECAY_STEP;
    ck_assert_float_eq_tol(
        etx_train_learning_rate(&schedule, 31, 1), 0.5f, 1e-6f);
    ck_assert_float_eq_tol(
        etx_train_learning_rate(&schedule, 110, 1), 0.1f, 1e-6f);
    schedule.decay = ETX_DECAY_CONSTANT;
    ck_assert_float_eq(etx_train_learning_rate(&schedule, 100, 1), 1.0f);
}

/* learning_rate is the highest, even where min_learning_rate is above it. */
ETX_TEST(test_train_schedule_lowest)
{
    struct etx_train_schedule schedule = {.n_steps = 100,
        .learning_rate = 1e-6f,
        .min_learning_rate = 1e-5f,
        .decay = ETX_DECAY_COSINE,
        .decay_every = 20,
        .decay_factor = 0.5f};

    ck_assert_float_eq(etx_train_learning_rate(&schedule, 100, 1), 1e-6f);
    schedule.decay = ETX_DECAY_STEP;
    ck_assert_float_eq(etx_train_learning_rate(&schedule, 100, 1), 1e-6f);
}

/* Epochs of 7 steps, a warm-up of 3 of them: a third of the rate for steps 1
 * to 7, two thirds to 14, the whole to 21 and through the first two epochs of
 * the decay; then half every two epochs. */
ETX_TEST(test_train_schedule_epochs)
{
    const struct etx_train_schedule schedule = {.n_steps = 100,
        .n_warmup_steps = 10,
        .n_warmup_epochs = 3,
        .learning_rate = 0.9f,
        .decay = ETX_DECAY_STEP,
        .decay_every = 5,
        .decay_epochs = 2,
        .decay_factor = 0.5f};
    static const struct {
        int64_t step;
        float rate;
    } known[] = {{1, 0.3f}, {7, 0.3f}, {8, 0.6f}, {14, 0.6f}, {15, 0.9f},
        {21, 0.9f}, {22, 0.9f}, {35, 0.9f}, {36, 0.45f}, {49, 0.45f},
        {50, 0.225f}};

    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
        ck_assert_float_eq_tol(
            etx_train_learning_rate(&schedule, known[k].step, 7), known[k].rate,
            1e-6f);
}

/* What every config that ships was trained with. */
ETX_TEST(test_train_config_defaults)
{
    struct etx_train_config config;

    ck_assert_ok(
        etx_train_config_read(&config, etx_test_json("{'stage': 'filter'}")));
    ck_assert_int_eq(config.truth.pairs, ETX_PAIRS_HIT);
    ck_assert_int_eq(config.truth.drop_noise, 0);
    ck_assert_int_eq(config.sampling.n_graphs, 1);
    ck_assert_int_eq(config.sampling.order, ETX_ORDER_DRAWN);
    ck_assert_float_eq(config.sampling.hard_share, 0.0f);
    ck_assert_int_eq(config.loss.reduction, ETX_REDUCTION_WEIGHTED_MEAN);
    ck_assert_float_eq(config.loss.focal_gamma, 0.0f);
    ck_assert_int_eq(config.augmentation.reflect_x, 0);
    ck_assert_int_eq(config.augmentation.reflect_z, 0);
    ck_assert_float_eq(config.augmentation.drop_hits, 0.0f);
    ck_assert_float_eq(config.augmentation.drop_cells, 0.0f);
    ck_assert_float_eq(config.augmentation.jitter, 0.0f);
    ck_assert_float_eq(config.truth.first_weight, 1.0f);
    ck_assert_int_eq(config.validation.patience, 0);
    ck_assert_float_eq(config.stability.spike_factor, 0.0f);
    etx_train_config_clear(&config);
}

ETX_TEST(test_train_config_default_numbers)
{
    struct etx_train_config config;

    ck_assert_ok(
        etx_train_config_read(&config, etx_test_json("{'stage': 'filter'}")));
    ck_assert_int_eq(config.schedule.n_steps, 1000);
    ck_assert_int_eq(config.schedule.n_warmup_steps, 100);
    ck_assert_float_eq(config.schedule.learning_rate, 0.002f);
    ck_assert_float_eq(config.schedule.min_learning_rate, 1e-5f);
    ck_assert_int_eq(config.schedule.decay_every, 1000);
    ck_assert_int_eq(config.sampling.n_hits, 7000);
    ck_assert_int_eq(config.sampling.n_edges, 30000);
    ck_assert_int_eq(config.sampling.n_queries, 1000);
    ck_assert_int_eq(config.sampling.n_neighbours, 40);
    ck_assert_int_eq(config.sampling.n_other, 40);
    ck_assert_int_eq(config.sampling.n_random, 10000);
    ck_assert_int_eq(config.sampling.cache_mib, 4096);
    ck_assert_int_eq(config.stability.spike_window, 50);
    ck_assert_int_eq(config.stability.snapshot_every, 200);
    ck_assert_int_eq(config.stability.max_rollbacks, 10);
    ck_assert_int_eq(config.loss_scaling.double_every, 2000);
    etx_train_config_clear(&config);
}

/* What an embedding can be chosen by. */
ETX_TEST(test_train_config_criteria_of_embedding, .rows = 2)
{
    static const char *const names[] = {"efficiency", "purity"};
    struct etx_train_config config;
    char text[100];

    (void)snprintf(text, sizeof text,
        "{'stage': 'embedding', 'validation': {'criterion': '%s'}}", names[_i]);
    ck_assert_ok(etx_train_config_read(&config, etx_test_json(text)));
    ck_assert_int_eq(config.validation.criterion,
        _i == 0 ? ETX_CRITERION_EFFICIENCY : ETX_CRITERION_PURITY);
    etx_train_config_clear(&config);
}

ETX_TEST(test_train_config_scaled_rate, .rows = 3)
{
    static const struct {
        const char *scale;
        float rate;
    } known[] = {{"none", 0.01f}, {"linear", 0.16f}, {"sqrt", 0.04f}};
    struct etx_train_config config;
    char text[200];

    (void)snprintf(text, sizeof text,
        "{'stage': 'filter', 'sampling': {'graphs': 16}, 'schedule': "
        "{'learning_rate': 0.01, 'scale_learning_rate': '%s'}}",
        known[_i].scale);
    ck_assert_ok(etx_train_config_read(&config, etx_test_json(text)));
    ck_assert_float_eq_tol(
        config.schedule.learning_rate, known[_i].rate, 1e-7f);
    etx_train_config_clear(&config);
}

/* What a step and a validation call of every stage's objective. */
ETX_TEST(test_train_objectives, .rows = ETX_N_TRAIN_STAGES)
{
    const struct etx_objective *objective = etx_objectives[_i];

    ck_assert_uint_gt(objective->sample_size, 0);
    ck_assert(objective->sample != NULL);
    ck_assert(objective->add_gradient != NULL);
    ck_assert(objective->validate != NULL);
}
