/* test_train_steps.c -- steps of every stage: gradients, progress, bits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "base/memory.h"
#include "train_events.h"

#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_EVENTS 3
#define N_STAGES 3

static const char *const configs[N_STAGES] = {
    "{\"stage\": \"embedding\", \"seed\": 3, \"model\": {\"arch\": \"mlp\","
    "\"options\": {\"hidden\": [16], \"n_out\": 3, \"activation\": \"silu\","
    "\"norm\": \"layer\"}, \"node_features\": [{\"name\": \"r\", \"scale\":"
    "1000.0}, {\"name\": \"cos_phi\", \"scale\": 1.0}, {\"name\": \"sin_phi\","
    "\"scale\": 1.0}, {\"name\": \"eta\", \"scale\": 1.0}], \"graph\":"
    "{\"radius\": 0.4, \"max_neighbours\": 0, \"orientation\": \"outward\"}},"
    "\"schedule\": {\"steps\": 20, \"learning_rate\": 0.01,"
    "\"warmup_steps\": 2, \"decay\": \"constant\"}, \"optimiser\":"
    "{\"amsgrad\": true}, \"sampling\": {\"hits\": 300, \"neighbours\": 400,"
    "\"search_radius\": 100.0, \"random_pairs\": 50},"
    "\"validation\": {\"target_efficiency\": 0.9}}",
    "{\"stage\": \"filter\", \"seed\": 3, \"model\": {\"arch\":"
    "\"edge_filter\", \"options\": {\"hidden\": [16]}, \"node_features\":"
    "[{\"name\": \"r\", \"scale\": 1000.0}], \"edge_features\": [{\"name\":"
    "\"dphi\", \"scale\": 0.3}, {\"name\": \"deta\", \"scale\": 1.0},"
    "{\"name\": \"dr\", \"scale\": 100.0}], \"cut\": 0.1}, \"schedule\":"
    "{\"steps\": 20, \"learning_rate\": 0.01, \"warmup_steps\": 2},"
    "\"sampling\": {\"hits\": 300, \"edges\": 400},"
    "\"validation\": {\"target_efficiency\": 0.9}}",
    "{\"stage\": \"gnn\", \"seed\": 3, \"model\": {\"arch\":"
    "\"interaction_network\", \"options\": {\"hidden\": 8, \"n_iterations\":"
    "2}, \"node_features\": [{\"name\": \"r\", \"scale\": 1000.0}],"
    "\"edge_features\": [{\"name\": \"dphi\", \"scale\": 0.3}, {\"name\":"
    "\"deta\", \"scale\": 1.0}, {\"name\": \"score_logit\", \"scale\":"
    "4.0}]}, \"schedule\": {\"steps\": 20, \"learning_rate\": 0.01,"
    "\"warmup_steps\": 2}, \"sampling\": {\"hits\": 0, \"edges\": 500},"
    "\"validation\": {\"target_efficiency\": 0.9}}"};

/* A context, events and a trainer of one stage; the stages before it have
 * their initial weights. */
struct bench {
    etx_context *context;
    etx_event *event[N_EVENTS];
    etx_model *start;
    etx_trainer *trainer;
};

static etx_context *make_context(int32_t n_threads)
{
    etx_context_options options;
    etx_context *context = NULL;

    ck_assert_int_eq(
        etx_context_options_init(&options, sizeof options), ETX_OK);
    options.n_threads = n_threads;
    ck_assert_int_eq(etx_context_create(&context, &options), ETX_OK);
    return context;
}

static void add_trainer(struct bench *bench, int stage)
{
    ck_assert_msg(etx_trainer_create(&bench->trainer, bench->context,
                      configs[stage], bench->start) == ETX_OK,
        "%s", etx_last_error());
    for (int k = 0; k < N_EVENTS; k++)
        ck_assert_int_eq(etx_trainer_add_event(bench->trainer, bench->event[k],
                             k == N_EVENTS - 1),
            ETX_OK);
}

static void run_steps(etx_trainer *trainer, int n)
{
    etx_training_report report = {.struct_size = sizeof report};

    for (int k = 0; k < n; k++)
        ck_assert_msg(etx_trainer_step(trainer, &report) == ETX_OK, "%s",
            etx_last_error());
}

/* Train and take the stages before `stage` as the start of its trainer. */
static void open_bench(struct bench *bench, int stage, int32_t n_threads)
{
    *bench = (struct bench){.context = make_context(n_threads)};
    for (int k = 0; k < N_EVENTS; k++)
        bench->event[k] = train_event(50, (uint64_t)k);
    for (int s = 0; s < stage; s++) {
        etx_training_report report = {.struct_size = sizeof report};
        etx_model *made = NULL;

        add_trainer(bench, s);
        run_steps(bench->trainer, 20);
        ck_assert_int_eq(etx_trainer_validate(bench->trainer, &report), ETX_OK);
        ck_assert_int_eq(etx_trainer_model(&made, bench->trainer), ETX_OK);
        etx_trainer_free(bench->trainer);
        etx_model_free(bench->start);
        bench->start = made;
    }
    add_trainer(bench, stage);
}

static void close_bench(struct bench *bench)
{
    etx_trainer_free(bench->trainer);
    etx_model_free(bench->start);
    for (int k = 0; k < N_EVENTS; k++)
        etx_event_free(bench->event[k]);
    etx_context_free(bench->context);
}

/* Gradient and loss of step 1 without an update. */
static double step_loss(struct etx_trainer *trainer)
{
    struct etx_arena *arena = trainer->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    etx_training_report report = {.loss = 0.0};
    struct etx_random random;

    etx_random_init(&random, 5, 1, 1);
    memset(trainer->gradient, 0,
        (size_t)trainer->stage->network->n_values * sizeof(float));
    if (trainer->config.stage == ETX_TRAIN_EMBEDDING)
        ck_assert_int_eq(etx_train_embedding(trainer,
                             trainer->training.event, 1, &random, &report),
            ETX_OK);
    else
        ck_assert_int_eq(etx_train_edges(trainer, trainer->training.event, 1,
                             &random, &report),
            ETX_OK);
    etx_arena_reset(arena, mark);
    return report.loss;
}

static void move(float *value, const float *base, const float *direction,
    int64_t n, double h)
{
    for (int64_t k = 0; k < n; k++)
        value[k] = (float)((double)base[k] + h * (double)direction[k]);
}

/* The gradient of the whole loss along a random direction against central
 * differences. */
START_TEST(test_train_steps_gradient)
{
    struct bench bench;
    struct etx_random random;
    const double h = 2e-3;

    open_bench(&bench, _i, 1);
    struct etx_network *network = bench.trainer->stage->network;
    const int64_t n = network->n_values;
    float *base = malloc((size_t)n * sizeof *base);
    float *direction = malloc((size_t)n * sizeof *direction);
    ck_assert_ptr_nonnull(base);
    ck_assert_ptr_nonnull(direction);
    memcpy(base, network->value, (size_t)n * sizeof *base);
    etx_random_init(&random, 9, 0, 0);
    for (int trial = 0; trial < 5; trial++) {
        double expected = 0.0;
        double norm = 0.0;

        move(network->value, base, base, n, 0.0);
        (void)step_loss(bench.trainer);
        for (int64_t k = 0; k < n; k++) {
            const double g = (double)bench.trainer->gradient[k];

            direction[k] = etx_random_normal(&random);
            expected += g * (double)direction[k];
            norm += g * g;
        }
        move(network->value, base, direction, n, h);
        const double above = step_loss(bench.trainer);
        move(network->value, base, direction, n, -h);
        const double below = step_loss(bench.trainer);
        ck_assert_double_eq_tol(
            (above - below) / (2.0 * h), expected, 0.03 * sqrt(norm) + 1e-4);
    }
    free(base);
    free(direction);
    close_bench(&bench);
}
END_TEST

START_TEST(test_train_steps_loss_falls)
{
    struct bench bench;

    open_bench(&bench, _i, 1);
    const double before = step_loss(bench.trainer);
    run_steps(bench.trainer, 20);
    const double after = step_loss(bench.trainer);
    ck_assert_msg(after < 0.95 * before, "loss %g, then %g", before, after);
    close_bench(&bench);
}
END_TEST

START_TEST(test_train_steps_same_bits_for_any_threads)
{
    struct bench one;
    struct bench more;

    open_bench(&one, _i, 1);
    run_steps(one.trainer, 20);
    for (int32_t n_threads = 2; n_threads <= 4; n_threads += 2) {
        open_bench(&more, _i, n_threads);
        run_steps(more.trainer, 20);
        const struct etx_network *network = one.trainer->stage->network;
        ck_assert_mem_eq(network->value, more.trainer->stage->network->value,
            (size_t)network->n_values * sizeof(float));
        close_bench(&more);
    }
    close_bench(&one);
}
END_TEST

START_TEST(test_train_steps_end)
{
    struct bench bench;
    etx_training_report report = {.struct_size = sizeof report};

    open_bench(&bench, 0, 1);
    ck_assert_int_eq(etx_trainer_n_steps(bench.trainer), 20);
    run_steps(bench.trainer, 20);
    ck_assert_int_eq(etx_trainer_steps_done(bench.trainer), 20);
    ck_assert_int_eq(
        etx_trainer_step(bench.trainer, &report), ETX_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(etx_last_error(), "20"));
    close_bench(&bench);
}
END_TEST

/* The threshold that validation finds is in the model that comes out. */
START_TEST(test_train_steps_threshold_is_exported)
{
    struct bench bench;
    etx_training_report report = {.struct_size = sizeof report};
    etx_label_options label;
    etx_model *model = NULL;

    open_bench(&bench, N_STAGES - 1, 1);
    run_steps(bench.trainer, 5);
    ck_assert_int_eq(etx_trainer_validate(bench.trainer, &report), ETX_OK);
    ck_assert(report.threshold > 0.0 && report.threshold != 0.5);
    ck_assert_int_eq(etx_trainer_model(&model, bench.trainer), ETX_OK);
    ck_assert_int_eq(etx_label_options_init(&label, sizeof label), ETX_OK);
    ck_assert_int_eq(etx_model_label_options(&label, model), ETX_OK);
    ck_assert(label.cut == (float)report.threshold);
    etx_model_free(model);
    close_bench(&bench);
}
END_TEST

START_TEST(test_train_steps_refuse_what_does_not_move)
{
    etx_context *context = make_context(1);
    etx_trainer *trainer = NULL;

    ck_assert_int_eq(
        etx_trainer_create(&trainer, context,
            "{\"stage\": \"embedding\", \"model\": {\"arch\": \"mlp\","
            "\"options\": {\"hidden\": [4], \"n_out\": 2},"
            "\"node_features\": [{\"name\": \"lphi\", \"scale\": 1.0}],"
            "\"graph\": {\"radius\": 0.4, \"max_neighbours\": 0,"
            "\"orientation\": \"index\"}}}",
            NULL),
        ETX_ERR_FORMAT);
    ck_assert_msg(strstr(etx_last_error(), "lphi") != NULL, "%s",
        etx_last_error());
    ck_assert_ptr_null(trainer);
    etx_context_free(context);
}
END_TEST

/* ---------------------------------------------------------- checkpoints -- */

static char path[64];

static void make_path(void)
{
    (void)snprintf(
        path, sizeof path, "/tmp/etx-train-%ld.checkpoint", (long)getpid());
}

START_TEST(test_train_checkpoint_resumes_bit_for_bit)
{
    struct bench whole;
    struct bench first;
    struct bench second;

    make_path();
    open_bench(&whole, _i, 1);
    run_steps(whole.trainer, 20);
    open_bench(&first, _i, 1);
    run_steps(first.trainer, 9);
    ck_assert_int_eq(etx_trainer_save_checkpoint(first.trainer, path), ETX_OK);
    open_bench(&second, _i, 2);
    ck_assert_msg(etx_trainer_load_checkpoint(second.trainer, path) == ETX_OK,
        "%s", etx_last_error());
    run_steps(second.trainer, 11);
    const struct etx_network *network = whole.trainer->stage->network;
    const size_t bytes = (size_t)network->n_values * sizeof(float);
    ck_assert_mem_eq(
        network->value, second.trainer->stage->network->value, bytes);
    ck_assert_mem_eq(whole.trainer->v, second.trainer->v, bytes);
    ck_assert_int_eq(unlink(path), 0);
    close_bench(&whole);
    close_bench(&first);
    close_bench(&second);
}
END_TEST

static char *read_all(long *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes;

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    *size = ftell(file);
    rewind(file);
    bytes = malloc((size_t)*size);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(fread(bytes, 1, (size_t)*size, file), (size_t)*size);
    (void)fclose(file);
    return bytes;
}

static void write_all(const char *bytes, long size)
{
    FILE *file = fopen(path, "wb");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, (size_t)size, file), (size_t)size);
    (void)fclose(file);
}

START_TEST(test_train_checkpoint_damaged_is_refused)
{
    struct bench bench;
    long size;
    char *bytes;

    make_path();
    open_bench(&bench, 0, 1);
    run_steps(bench.trainer, 2);
    ck_assert_int_eq(etx_trainer_save_checkpoint(bench.trainer, path), ETX_OK);
    bytes = read_all(&size);
    for (long cut = 0; cut < size; cut += 1 + size / 40) {
        write_all(bytes, cut);
        ck_assert_int_ne(
            etx_trainer_load_checkpoint(bench.trainer, path), ETX_OK);
    }
    for (long at = 0; at < size; at += 1 + size / 400) {
        etx_status status;

        bytes[at] ^= 4;
        write_all(bytes, size);
        status = etx_trainer_load_checkpoint(bench.trainer, path);
        bytes[at] ^= 4;
        ck_assert_msg(status != ETX_OK, "a flip at byte %ld passed", at);
    }
    write_all(bytes, size);
    ck_assert_int_eq(etx_trainer_load_checkpoint(bench.trainer, path), ETX_OK);
    ck_assert_int_eq(etx_trainer_steps_done(bench.trainer), 2);
    free(bytes);
    ck_assert_int_eq(unlink(path), 0);
    close_bench(&bench);
}
END_TEST

START_TEST(test_train_checkpoint_of_another_trainer_is_refused)
{
    struct bench bench;
    struct bench other;

    make_path();
    open_bench(&bench, 0, 1);
    open_bench(&other, 1, 1);
    ck_assert_int_eq(etx_trainer_save_checkpoint(bench.trainer, path), ETX_OK);
    ck_assert_int_eq(
        etx_trainer_load_checkpoint(other.trainer, path), ETX_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(etx_last_error(), "another config"));
    ck_assert_int_eq(
        etx_trainer_add_event(bench.trainer, bench.event[0], 0), ETX_OK);
    ck_assert_int_eq(
        etx_trainer_load_checkpoint(bench.trainer, path), ETX_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(etx_last_error(), "events"));
    ck_assert_int_eq(unlink(path), 0);
    close_bench(&bench);
    close_bench(&other);
}
END_TEST

/* Killed at any moment while it saves: what is there can be loaded. */
START_TEST(test_train_checkpoint_survives_kill)
{
    struct bench bench;

    make_path();
    open_bench(&bench, 0, 1);
    ck_assert_int_eq(etx_trainer_save_checkpoint(bench.trainer, path), ETX_OK);
    for (int k = 0; k < 5; k++) {
        const struct timespec pause = {0, 1000000L + 700000L * k};
        const pid_t child = fork();
        int state;

        ck_assert_int_ge(child, 0);
        if (child == 0)
            for (;;)
                if (etx_trainer_save_checkpoint(bench.trainer, path) != 0)
                    _exit(1);
        (void)nanosleep(&pause, NULL);
        ck_assert_int_eq(kill(child, SIGKILL), 0);
        ck_assert_int_eq(waitpid(child, &state, 0), child);
        ck_assert_int_eq(
            etx_trainer_load_checkpoint(bench.trainer, path), ETX_OK);
    }
    ck_assert_int_eq(unlink(path), 0);
    close_bench(&bench);
}
END_TEST

Suite *etx_suite_train_steps(void);
Suite *etx_suite_train_steps(void)
{
    Suite *suite = suite_create("train_steps");
    TCase *tests = tcase_create("train_steps");

    tcase_set_timeout(tests, 60.0);
    tcase_add_loop_test(tests, test_train_steps_gradient, 0, N_STAGES);
    tcase_add_loop_test(tests, test_train_steps_loss_falls, 0, N_STAGES);
    tcase_add_loop_test(
        tests, test_train_steps_same_bits_for_any_threads, 0, N_STAGES);
    tcase_add_test(tests, test_train_steps_end);
    tcase_add_test(tests, test_train_steps_threshold_is_exported);
    tcase_add_test(tests, test_train_steps_refuse_what_does_not_move);
    tcase_add_loop_test(
        tests, test_train_checkpoint_resumes_bit_for_bit, 0, N_STAGES);
    tcase_add_test(tests, test_train_checkpoint_damaged_is_refused);
    tcase_add_test(tests, test_train_checkpoint_of_another_trainer_is_refused);
    tcase_add_test(tests, test_train_checkpoint_survives_kill);
    suite_add_tcase(suite, tests);
    return suite;
}
