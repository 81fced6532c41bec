/* test_train_config.c -- training configs are read strictly.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/config.h"

#include <check.h>
#include <math.h>
#include <string.h>

/* A config that is refused, and what its message must name. */
struct refusal {
    const char *text, *first, *second;
};

static const struct refusal refusals[] = {
    {"", "training config", "JSON"},
    {"[]", "training config", "object"},
    {"{}", "stage", "string"},
    {"{\"stage\": \"embeding\"}", "stage", "embeding"},
    {"{\"stage\": \"gnn\", \"stage\": \"gnn\"}", "duplicate", "stage"},
    {"{\"stage\": \"gnn\", \"epochs\": 3}", "unknown key", "epochs"},
    {"{\"stage\": \"gnn\", \"seed\": -1}", "seed", "2147483647"},
    {"{\"stage\": \"gnn\", \"schedule\": {\"step\": 3}}", "schedule", "step"},
    {"{\"stage\": \"gnn\", \"schedule\": {\"steps\": 0}}", "steps", "0"},
    {"{\"stage\": \"gnn\", \"schedule\": {\"decay\": \"slow\"}}", "decay",
        "slow"},
    {"{\"stage\": \"gnn\", \"optimiser\": {\"beta1\": 1.5}}", "beta1", "1.5"},
    {"{\"stage\": \"gnn\", \"loss\": {\"margin\": 1.5}}", "loss", "margin"},
    {"{\"stage\": \"embedding\", \"sampling\": {\"edges\": 5}}", "sampling",
        "edges"},
    {"{\"stage\": \"gnn\", \"truth\": {\"min_pt\": \"low\"}}", "min_pt",
        "truth"},
};

START_TEST(test_train_config_refusals)
{
    const struct refusal *refusal = refusals + _i;
    struct etx_train_config config = {.seed = 77};

    ck_assert_int_eq(
        etx_train_config_read(&config, refusal->text), ETX_ERR_FORMAT);
    ck_assert_msg(strstr(etx_last_error(), refusal->first) != NULL,
        "\"%s\" does not name %s", etx_last_error(), refusal->first);
    ck_assert_msg(strstr(etx_last_error(), refusal->second) != NULL,
        "\"%s\" does not name %s", etx_last_error(), refusal->second);
    ck_assert_int_eq(config.seed, 77);
}
END_TEST

START_TEST(test_train_config_values)
{
    struct etx_train_config config;

    ck_assert_int_eq(
        etx_train_config_read(&config,
            "{\"stage\": \"filter\", \"seed\": 4, \"schedule\": "
            "{\"steps\": 10, \"decay\": \"step\"}, \"sampling\": "
            "{\"edges\": 5}, \"validation\": {\"target_efficiency\": 0.5}}"),
        ETX_OK);
    ck_assert_int_eq(config.stage, ETX_TRAIN_FILTER);
    ck_assert_int_eq(config.seed, 4);
    ck_assert_int_eq(config.schedule.n_steps, 10);
    ck_assert_int_eq(config.schedule.decay, ETX_DECAY_STEP);
    ck_assert_int_eq(config.sampling.n_edges, 5);
    ck_assert_float_eq(config.validation.target_efficiency, 0.5f);
    etx_train_config_clear(&config);
}
END_TEST

START_TEST(test_train_schedule)
{
    struct etx_train_schedule schedule = {.n_steps = 110,
        .n_warmup_steps = 10,
        .learning_rate = 1.0f,
        .min_learning_rate = 0.1f,
        .decay = ETX_DECAY_COSINE,
        .decay_every = 20,
        .decay_factor = 0.5f};

    ck_assert_float_eq_tol(etx_train_learning_rate(&schedule, 1, 1), 0.1f, 1e-6f);
    ck_assert_float_eq_tol(etx_train_learning_rate(&schedule, 10, 1), 1.0f, 1e-6f);
    ck_assert_float_eq_tol(etx_train_learning_rate(&schedule, 11, 1), 1.0f, 1e-6f);
    ck_assert_float_eq_tol(
        etx_train_learning_rate(&schedule, 61, 1), 0.55f, 1e-6f);
    ck_assert_float_lt(etx_train_learning_rate(&schedule, 110, 1), 0.102f);
    schedule.decay = ETX_DECAY_STEP;
    ck_assert_float_eq_tol(etx_train_learning_rate(&schedule, 31, 1), 0.5f, 1e-6f);
    ck_assert_float_eq_tol(
        etx_train_learning_rate(&schedule, 110, 1), 0.1f, 1e-6f);
    schedule.decay = ETX_DECAY_CONSTANT;
    ck_assert_float_eq(etx_train_learning_rate(&schedule, 100, 1), 1.0f);
}
END_TEST

Suite *etx_suite_train_config(void);
Suite *etx_suite_train_config(void)
{
    Suite *suite = suite_create("train_config");
    TCase *tests = tcase_create("train_config");

    tcase_add_loop_test(tests, test_train_config_refusals, 0,
        (int)(sizeof refusals / sizeof refusals[0]));
    tcase_add_test(tests, test_train_config_values);
    tcase_add_test(tests, test_train_schedule);
    suite_add_tcase(suite, tests);
    return suite;
}
