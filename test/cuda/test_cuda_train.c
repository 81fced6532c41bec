/* test_cuda_train.c -- training on a device beside the CPU.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include <math.h>
#include <stdlib.h>

#include "support.h"
#include "train_bench.h"

/* Of a norm or loss after a few steps; sums differ in their order alone. */
#define MOST_DIFFERENCE 1e-3

#define ATTENTION                                                              \
    "{\"model\": {\"arch\": \"attention_gnn\", \"options\": {\"hidden\": 8,"   \
    "\"n_iterations\": 2}, \"edge_features\": []}}"

/* A stage, and what differs from its usual config. */
static const struct {
    int stage;
    const char *change;
} cases[] = {
    {ETX_TRAIN_EMBEDDING, NULL},
    {ETX_TRAIN_FILTER, NULL},
    {ETX_TRAIN_FILTER, "{\"sampling\": {\"hard_share\": 0.5}}"},
    {ETX_TRAIN_FILTER, "{\"sampling\": {\"chunk_edges\": 100}}"},
    {ETX_TRAIN_GNN, NULL},
    {ETX_TRAIN_GNN, ATTENTION},
};

#define N_CASES (sizeof cases / sizeof cases[0])

/* 0 after etx_test_skip where there is no device. */
static int32_t open_device(etx_context **out, const char *name)
{
    etx_context_options options;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.device = ETX_DEVICE_CUDA;
    if (etx_context_create(out, &options) == ETX_OK)
        return 1;
    etx_test_skip(name, etx_last_error());
    return 0;
}

/* The same bench on another context; the stages before are the CPU's. */
static void open_beside(struct train_bench *out, const struct train_bench *cpu,
    etx_context *device, int32_t i)
{
    train_bench_open_in(out, device, cases[i].stage, cases[i].change);
    if (cases[i].stage == ETX_TRAIN_EMBEDDING)
        return;
    etx_trainer_free(out->trainer);
    etx_model_free(out->start);
    out->trainer = NULL;
    out->start = NULL;
    ck_assert_ok(etx_trainer_model(&out->start, cpu->trainer));
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
START_TEST(test_cuda_train_gradient)
{
    struct train_bench cpu;
    struct train_bench cuda;
    etx_context *device = NULL;

    if (!open_device(&device, __func__))
        return;
    train_bench_open(&cpu, cases[_i].stage, 1, cases[_i].change);
    open_beside(&cuda, &cpu, device, _i);
    const int64_t n = cpu.trainer->stage->network->n_values;
    const double expected = train_bench_loss(&cpu, 2);
    const double most = largest(cpu.trainer->gradient, n);

    ck_assert_double_eq_tol(train_bench_loss(&cuda, 2), expected,
        MOST_DIFFERENCE * fabs(expected));
    ck_assert_double_gt(most, 0.0);
    for (int64_t k = 0; k < n; k++)
        ck_assert_double_eq_tol((double)cuda.trainer->gradient[k],
            (double)cpu.trainer->gradient[k], MOST_DIFFERENCE * most);
    train_bench_close(&cuda);
    train_bench_close(&cpu);
}
END_TEST

/* Steps and a validation: near the CPU's, and the same bits again. */
START_TEST(test_cuda_train_steps)
{
    struct train_bench bench[3];
    etx_training_report report[3];
    etx_context *device = NULL;

    if (!open_device(&device, __func__))
        return;
    train_bench_open(&bench[0], cases[_i].stage, 1, cases[_i].change);
    open_beside(&bench[1], &bench[0], device, _i);
    ck_assert_int_eq(open_device(&device, __func__), 1);
    open_beside(&bench[2], &bench[0], device, _i);
    for (int32_t b = 0; b < 3; b++) {
        train_bench_steps(bench[b].trainer, 5);
        report[b] = train_bench_validate(bench[b].trainer);
    }
    ck_assert_double_eq_tol(report[1].weight_norm, report[0].weight_norm,
        MOST_DIFFERENCE * report[0].weight_norm);
    ck_assert_double_eq_tol(report[1].efficiency, report[0].efficiency, 0.02);
    ck_assert_double_eq_tol(report[1].purity, report[0].purity, 0.02);
    ck_assert_mem_eq(bench[1].trainer->stage->network->value,
        bench[2].trainer->stage->network->value,
        (size_t)bench[1].trainer->stage->network->n_values * sizeof(float));
    ck_assert_double_eq(report[1].efficiency, report[2].efficiency);
    for (int32_t b = 0; b < 3; b++)
        train_bench_close(&bench[b]);
}
END_TEST

/* A network that is for the CPU alone is refused, before anything is done. */
START_TEST(test_cuda_train_refuses)
{
    etx_context *device = NULL;
    etx_model *start = NULL;
    etx_trainer *trainer = NULL;

    if (!open_device(&device, __func__))
        return;
    ck_assert_ok(
        etx_model_load(&start, "examples/models/default.safetensors"));
    ck_assert_fails(
        etx_trainer_create(&trainer, device,
            "{\"stage\": \"gnn\", \"model\": {\"arch\": \"graph_convolution\","
            "\"node_features\": [{\"name\": \"r\", \"scale\": 1000.0}],"
            "\"edge_features\": []},"
            "\"schedule\": {\"steps\": 1, \"learning_rate\": 0.01}}",
            start),
        ETX_ERR_UNSUPPORTED, "graph_convolution: this network runs on the CPU");
    ck_assert_ptr_null(trainer);
    etx_model_free(start);
    etx_context_free(device);
}
END_TEST

Suite *etx_suite_cuda_train(void);
Suite *etx_suite_cuda_train(void)
{
    Suite *suite = suite_create("cuda_train");

    etx_test_add_loop(suite, "gradient", test_cuda_train_gradient, N_CASES);
    etx_test_add_loop(suite, "steps", test_cuda_train_steps, N_CASES);
    etx_test_add(suite, "refuses", test_cuda_train_refuses);
    return suite;
}
