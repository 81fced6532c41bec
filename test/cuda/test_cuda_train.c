/* test_cuda_train.c -- training on a device, compared with the CPU.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "device.h"
#include "train_bench.h"

/* Of a norm or loss after a few steps; sums differ in their order alone. */
#define MAX_DIFFERENCE 1e-3

#define ATTENTION                                                              \
    "{'model': {'arch': 'attention_gnn', 'options': {'hidden': 8, "            \
    "'n_iterations': 2}, 'edge_features': []}}"

#define CONVOLUTION                                                            \
    "{'model': {'arch': 'graph_convolution', 'options': {'hidden': 8, "        \
    "'n_iterations': 2}}}"

#define TRIPLETS                                                               \
    "{'model': {'arch': 'triplet_gnn', 'options': {'doublet_hidden': [8], "    \
    "'triplets': {'hidden': 8, 'n_iterations': 1}}}}"

#define MEMORY(checkpointing, precision)                                       \
    "{'memory': {'checkpointing': " checkpointing ", 'precision': '" precision \
    "'}, 'loss_scaling': {'initial': 1024, 'double_every': 2}, 'optimiser': "  \
    "{'amsgrad': true}}"

#define HEAD(options, loss)                                                    \
    "{'model': {'options': {'hidden': 8, 'n_iterations': 2, 'pt_layers': "     \
    "2" options "}}, 'loss': {'pt_weight': 0.3" loss                           \
    "}, 'loss_scaling': {'initial': 1024}}"

#define VOTES                                                                  \
    "{'model': {'edge_features': [{'name': 'dphi', 'scale': 0.3}, {'name': "   \
    "'log_hough_votes', 'scale': 1.0}]}}"

#define LORENTZ                                                                \
    "{'model': {'arch': 'lorentz_network', 'options': {'hidden': 8, "          \
    "'n_iterations': 2, 'ratio': 2}, 'node_features': ["                       \
    "{'name': 'R', 'scale': 1000}, {'name': 'x', 'scale': 1000}, "             \
    "{'name': 'y', 'scale': 1000}, {'name': 'z', 'scale': 1000}, "             \
    "{'name': 'r', 'scale': 1000}]}}"

/* A stage, and what differs from its usual config. */
static const struct {
    int stage;
    const char *change;
} cases[] = {
    {ETX_TRAIN_EMBEDDING, NULL},
    {ETX_TRAIN_FILTER, NULL},
    {ETX_TRAIN_FILTER, "{'sampling': {'hard_share': 0.5}}"},
    {ETX_TRAIN_FILTER, "{'sampling': {'chunk_edges': 100}}"},
    {ETX_TRAIN_GNN, NULL},
    {ETX_TRAIN_GNN, ATTENTION},
    {ETX_TRAIN_GNN, MEMORY("true", "bf16")},
    {ETX_TRAIN_GNN, MEMORY("false", "fp16")},
    {ETX_TRAIN_GNN, HEAD(", 'direction': 'doubled_mean'", "")},
    {ETX_TRAIN_GNN, CONVOLUTION},
    {ETX_TRAIN_GNN, LORENTZ},
    {ETX_TRAIN_GNN, TRIPLETS},
    {ETX_TRAIN_GNN, VOTES},
    {ETX_TRAIN_GNN, HEAD("", "")},
    {ETX_TRAIN_GNN,
        HEAD(", 'decoder_input': 'edge'", ", 'pt_target': 'inverse'")},
    {ETX_TRAIN_GNN, HEAD(", 'direction': 'doubled_first_half'", "")},
};

#define BF16       6 /* the case with latents and moments of every kind */
#define N_VARIANTS 3 /* the last cases: of the gradient alone */

#define N_CASES (sizeof cases / sizeof cases[0])

/* In float32, as the graphs of both are to be the same, and a filter's score
 * may lie at the cut. 0 after etx_test_skip where there is no device. */
static int32_t open_device(etx_context **out, const char *name)
{
    *out = device_context(name);
    return *out != NULL;
}

/* The CPU's events and start in another context, which becomes the bench's:
 * to be left, not closed. */
static void open_copy(struct train_bench *out, const struct train_bench *cpu,
    etx_context *device, int32_t i)
{
    *out = *cpu;
    out->context = device;
    train_bench_add(out, cases[i].stage, cases[i].change);
}

static double largest(const float *value, int64_t n)
{
    double out = 0.0;

    for (int64_t k = 0; k < n; k++)
        out = fmax(out, fabs((double)value[k]));
    return out;
}

/* The gradient of the first step is the CPU's, on the same edges. */
ETX_TEST(test_cuda_train_gradient, .rows = N_CASES)
{
    scoped_bench cpu = {NULL};
    struct train_bench cuda;
    etx_context *device = NULL;

    if (!open_device(&device, __func__))
        return;
    cpu = train_bench_new(cases[_i].stage, 1, cases[_i].change);
    open_copy(&cuda, &cpu, device, _i);
    const int64_t n = cpu.trainer->stage->network->n_values;
    const double expected = train_bench_loss(&cpu, 2);
    const double max = largest(cpu.trainer->state.gradient, n);
    scoped float *gradient = etx_test_alloc(n, sizeof *gradient);

    ck_assert_double_eq_tol(
        train_bench_loss(&cuda, 2), expected, MAX_DIFFERENCE * fabs(expected));
    ck_assert_double_gt(max, 0.0);
    ck_assert_ok(etx_memory_to_host(device->stream->memory, gradient,
        cuda.trainer->state.gradient, n, sizeof *gradient));
    for (int64_t k = 0; k < n; k++)
        ck_assert_double_eq_tol((double)gradient[k],
            (double)cpu.trainer->state.gradient[k], MAX_DIFFERENCE * max);
    train_bench_leave(&cuda);
}

/* What a validation says of momenta: all or nothing of it. */
static void check_momenta(
    const etx_training_report *got, const etx_training_report *expected)
{
    ck_assert_int_eq(isnan(got->pt_error), isnan(expected->pt_error));
    if (isnan(expected->pt_error))
        return;
    ck_assert_double_eq_tol(
        got->pt_error, expected->pt_error, 0.01 * expected->pt_error);
    ck_assert_double_eq_tol(
        got->pt_spread, expected->pt_spread, 0.01 * expected->pt_spread);
}

/* Steps and a validation: near the CPU's, and the same bits again. */
ETX_TEST(test_cuda_train_steps, .rows = N_CASES - N_VARIANTS, .n_quick = 5)
{
    struct train_bench bench[3];
    etx_training_report report[3];
    etx_context *device = NULL;

    if (!open_device(&device, __func__))
        return;
    bench[0] = train_bench_new(cases[_i].stage, 1, cases[_i].change);
    open_copy(&bench[1], &bench[0], device, _i);
    ck_assert_int_eq(open_device(&device, __func__), 1);
    open_copy(&bench[2], &bench[0], device, _i);
    for (int32_t b = 0; b < 3; b++) {
        train_bench_steps(bench[b].trainer, 3);
        report[b] = train_bench_validate(bench[b].trainer);
    }
    ck_assert_double_eq_tol(report[1].weight_norm, report[0].weight_norm,
        MAX_DIFFERENCE * report[0].weight_norm);
    ck_assert_double_eq_tol(report[1].efficiency, report[0].efficiency, 0.02);
    ck_assert_double_eq_tol(report[1].purity, report[0].purity, 0.02);
    check_momenta(&report[1], &report[0]);
    ck_assert_mem_eq(bench[1].trainer->stage->network->value,
        bench[2].trainer->stage->network->value,
        (size_t)bench[1].trainer->stage->network->n_values * sizeof(float));
    ck_assert_double_eq(report[1].efficiency, report[2].efficiency);
    train_bench_leave(&bench[1]);
    train_bench_leave(&bench[2]);
    train_bench_close(&bench[0]);
}

/* Steps leave the host copies of the training as they are; a checkpoint updates
 * them, and another training goes on from there with the same bits. */
ETX_TEST(test_cuda_train_stays, .rows = 3, .n_quick = 1)
{
    static const int32_t which[] = {0, 1, BF16};
    const int32_t i = which[_i];
    scoped_bench cpu = {NULL};
    struct train_bench bench[2];
    etx_context *device = NULL;
    char path[64];

    if (!open_device(&device, __func__))
        return;
    (void)snprintf(
        path, sizeof path, "/tmp/etx-cuda-%ld.checkpoint", (long)getpid());
    cpu = train_bench_new(cases[i].stage, 1, cases[i].change);
    open_copy(&bench[0], &cpu, device, i);
    ck_assert_int_eq(open_device(&device, __func__), 1);
    open_copy(&bench[1], &cpu, device, i);
    const struct etx_trainer *trainer = bench[0].trainer;
    const int64_t n = trainer->stage->network->n_values;

    train_bench_steps(bench[0].trainer, 3);
    ck_assert_double_eq(largest(trainer->state.moments.m, n), 0.0);
    ck_assert_ok(etx_trainer_save_checkpoint(bench[0].trainer, path));
    ck_assert_double_gt(largest(trainer->state.moments.m, n), 0.0);
    ck_assert_ok(etx_trainer_load_checkpoint(bench[1].trainer, path));
    for (int32_t b = 0; b < 2; b++)
        train_bench_steps(bench[b].trainer, 3);
    ck_assert(etx_trainer_hash(bench[0].trainer) ==
              etx_trainer_hash(bench[1].trainer));
    ck_assert_int_eq(unlink(path), 0);
    train_bench_leave(&bench[0]);
    train_bench_leave(&bench[1]);
}

/* A jump of the loss restores the kept parameters. */
ETX_TEST(test_cuda_train_goes_back)
{
    scoped_bench bench = {NULL};
    etx_training_report report = {.struct_size = sizeof report};
    etx_context *device = NULL;

    if (!open_device(&device, __func__))
        return;
    train_bench_open_in(&bench, device, ETX_TRAIN_EMBEDDING,
        "{'stability': {'spike_factor': 1.0001, 'spike_window': 2, "
        "'snapshot_every': 2, 'most_rollbacks': 2}}");
    const struct etx_trainer *trainer = bench.trainer;
    const size_t bytes =
        (size_t)trainer->stage->network->n_values * sizeof(float);

    while (!report.is_rollback) {
        ck_assert_ok(etx_trainer_step(&report, bench.trainer));
        ck_assert_int_lt(report.step, 20);
    }
    ck_assert_ok(etx_train_state_to_host(&trainer->state));
    ck_assert_mem_eq(
        trainer->stage->network->value, trainer->snapshot.parameter, bytes);
    ck_assert_mem_eq(
        trainer->state.moments.m, trainer->snapshot.moments.m, bytes);
}

static double length(const float *value, int64_t n)
{
    double sum = 0.0;

    for (int64_t k = 0; k < n; k++)
        sum += (double)value[k] * (double)value[k];
    return sqrt(sum);
}

/* With products of float16 the gradient is near the one without, and the same
 * every time. */
ETX_TEST(test_cuda_train_half_products, .rows = 2)
{
    static const int stages[] = {ETX_TRAIN_FILTER, ETX_TRAIN_GNN};
    static const char *const changes[] = {NULL,
        "{'arithmetic': {'products': 'fp16'}, 'loss_scaling': "
        "{'initial': 1024}}"};
    float *gradient[3] = {NULL};
    double loss[3];
    struct train_bench cpu;
    etx_context *device = NULL;
    int64_t n = 0;

    if (!open_device(&device, __func__))
        return;
    etx_context_free(device);
    cpu = train_bench_new(stages[_i], 1, NULL);
    for (int32_t b = 0; b < 3; b++) {
        struct train_bench bench = cpu;

        ck_assert_int_eq(open_device(&device, __func__), 1);
        bench.context = device;
        train_bench_add(&bench, stages[_i], changes[b > 0]);
        n = bench.trainer->stage->network->n_values;
        gradient[b] = calloc((size_t)n, sizeof(float));
        ck_assert_ptr_nonnull(gradient[b]);
        loss[b] = train_bench_loss(&bench, 2);
        ck_assert_ok(etx_memory_to_host(device->stream->memory, gradient[b],
            bench.trainer->state.gradient, n, sizeof(float)));
        train_bench_leave(&bench);
    }
    train_bench_close(&cpu);
    ck_assert_double_eq(loss[1], loss[2]);
    ck_assert_mem_eq(gradient[1], gradient[2], (size_t)n * sizeof(float));
    ck_assert_double_ne(loss[0], loss[1]);
    ck_assert_double_eq_tol(loss[0], loss[1], 0.01 * loss[0]);
    for (int64_t k = 0; k < n; k++)
        gradient[1][k] = gradient[1][k] / 1024.0f - gradient[0][k];
    ck_assert_double_lt(length(gradient[1], n), 0.02 * length(gradient[0], n));
    for (int32_t b = 0; b < 3; b++)
        free(gradient[b]);
}

/* A network that is for the CPU alone is refused, before anything is done. */
ETX_TEST(test_cuda_train_refuses)
{
    scoped_context *device = NULL;
    scoped_model *start = NULL;
    etx_trainer *trainer = NULL;

    if (!open_device(&device, __func__))
        return;
    ck_assert_ok(etx_model_load(&start, "examples/models/default.safetensors"));
    ck_assert_fails(
        etx_trainer_create(&trainer, device,
            etx_test_json("{'stage': 'gnn', 'model': {'arch': 'edge_pooling', "
                          "'node_features': [{'name': 'r', 'scale': 1000.0}], "
                          "'edge_features': []}, 'schedule': {'steps': 1, "
                          "'learning_rate': 0.01}}"),
            start),
        ETX_ERR_UNSUPPORTED, "edge_pooling: this network runs on the CPU");
    ck_assert_ptr_null(trainer);
}
