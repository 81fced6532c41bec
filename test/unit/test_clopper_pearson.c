/* test_clopper_pearson.c -- rates and their intervals.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "eval/metrics.h"

#include <math.h>

#define ONE_SIGMA_TAIL 0.15865525393145707

/* scipy.stats.beta.ppf(t, k, n - k + 1) and isf(t, k + 1, n - k) of scipy
 * 1.17.1, t = scipy.stats.norm.sf(1). */
struct row {
    int64_t matched, total;
    double low, high;
};

static const struct row rows[] = {
    {0, 10, 0.0, 0.1681491861379764},
    {1, 10, 0.017127014136728243, 0.29413538963846697},
    {5, 10, 0.3048178830085313, 0.6951821169914687},
    {10, 10, 0.8318508138620236, 1.0},
    {172, 180, 0.934366839233679, 0.9707902750015797},
    {177, 180, 0.9673871294499322, 0.9923904722373134},
    {99999, 100000, 0.999967005113774, 0.999998272463702},
    {0, 1, 0.0, 0.8413447460685429},
    {1, 1, 0.15865525393145707, 1.0},
    {1, 2, 0.08275153525964246, 0.9172484647403576},
    {3, 7, 0.20608381545494942, 0.6764124168463035},
    {500000, 1000000, 0.4994995002505001, 0.5005004997495},
    {1, 1000000000, 1.72753779008528e-10, 3.2995265501802784e-09},
    {999999999, 1000000000, 0.9999999967004735, 0.9999999998272462},
    {123456, 99999999, 0.0012310485436863286, 0.0012380814705188234},
};

/* As close as metrics.h says of a total. */
static void assert_near(double value, double expected, int64_t total)
{
    const double relative = 1e-13 + 1e-16 * (double)total;

    ck_assert_msg(fabs(value - expected) <= relative * expected,
        "%.17g and not %.17g", value, expected);
}

ETX_TEST(test_clopper_pearson_known, .rows = ROWS(rows))
{
    const struct row *row = &rows[_i];
    const etx_rate rate = etx_clopper_pearson(row->matched, row->total);

    ck_assert_double_eq(rate.value, (double)row->matched / (double)row->total);
    assert_near(rate.low, row->low, row->total);
    assert_near(rate.high, row->high, row->total);
}

ETX_TEST(test_clopper_pearson_nothing)
{
    const etx_rate rate = etx_clopper_pearson(0, 0);

    ck_assert_double_nan(rate.value);
    ck_assert_double_eq(rate.low, 0.0);
    ck_assert_double_eq(rate.high, 1.0);
}

/* Probability of at least k successes of n, added up term by term. */
static double upper_tail(int n, int k, double p)
{
    double sum = 0.0;

    for (int i = k; i <= n; i++) {
        double term = 1.0;

        for (int j = 1; j <= i; j++)
            term *= p * (n - i + j) / j;
        for (int j = 0; j < n - i; j++)
            term *= 1.0 - p;
        sum += term;
    }
    return sum;
}

/* What defines the interval: at its ends the result, or a more extreme one,
 * has the probability of a one-sigma tail. */
ETX_TEST(test_clopper_pearson_definition, .rows = 25)
{
    const int n = 1 + _i;

    for (int k = 0; k <= n; k++) {
        const etx_rate rate = etx_clopper_pearson(k, n);

        ck_assert(rate.low <= rate.value && rate.value <= rate.high);
        if (k == 0)
            ck_assert_double_eq(rate.low, 0.0);
        else
            ck_assert_double_eq_tol(
                upper_tail(n, k, rate.low), ONE_SIGMA_TAIL, 1e-12);
        if (k == n)
            ck_assert_double_eq(rate.high, 1.0);
        else
            ck_assert_double_eq_tol(
                upper_tail(n, k + 1, rate.high), 1.0 - ONE_SIGMA_TAIL, 1e-12);
    }
}

/* Successes and failures are exchanged. */
ETX_TEST(test_clopper_pearson_symmetric)
{
    for (int64_t n = 1; n < 3000000; n = 7 * n + 1)
        for (int64_t k = 0; k <= n; k += 1 + n / 9) {
            const etx_rate rate = etx_clopper_pearson(k, n);
            const etx_rate mirror = etx_clopper_pearson(n - k, n);

            ck_assert_double_eq_tol(rate.low, 1.0 - mirror.high, 1e-14);
            ck_assert_double_eq_tol(rate.high, 1.0 - mirror.low, 1e-14);
        }
}

/* --------------------------------------------------------------- rates -- */

static const etx_evaluation_counts good = {
    .struct_size = sizeof good,
    .n_events = 2,
    .n_particles_selected = 20,
    .n_particles_reconstructable = 10,
    .n_selected_matched = 10,
    .n_reconstructable_matched = 10,
    .n_tracks = 180,
    .n_tracks_matched = 172,
    .n_tracks_fake = 5,
    .n_tracks_duplicate = 1,
    .trackml_score_sum = 1.5,
};

ETX_TEST(test_clopper_pearson_rates)
{
    etx_evaluation rates = {.struct_size = sizeof rates};

    ck_assert_ok(etx_evaluation_rates(&rates, &good));
    ck_assert_double_eq(rates.physics_efficiency.value, 0.5);
    ck_assert_double_eq(rates.technical_efficiency.value, 1.0);
    assert_near(rates.technical_efficiency.low, rows[3].low, 10);
    ck_assert_double_eq(rates.technical_efficiency.high, 1.0);
    assert_near(rates.purity.value, 172.0 / 180.0, 180);
    assert_near(rates.purity.low, rows[4].low, 180);
    assert_near(rates.purity.high, rows[4].high, 180);
    assert_near(rates.fake_rate.value, 5.0 / 180.0, 180);
    assert_near(rates.duplicate_rate.value, 1.0 / 180.0, 180);
    ck_assert_double_eq(rates.trackml_score, 0.75);
}

ETX_TEST(test_clopper_pearson_no_events)
{
    const etx_evaluation_counts none = {.struct_size = sizeof none};
    etx_evaluation rates = {.struct_size = sizeof rates};

    ck_assert_ok(etx_evaluation_rates(&rates, &none));
    ck_assert_double_nan(rates.physics_efficiency.value);
    ck_assert_double_nan(rates.trackml_score);
}

#define BAD(field, value, text)                                                \
    {                                                                          \
        CHANGE(etx_evaluation_counts, field, value), ETX_ERR_ARGUMENT, text    \
    }

/* Counts that no evaluation makes. */
static const struct etx_test_change refused[] = {
    BAD(n_tracks_matched, 181, "tracks matched: 181 of 180"),
    BAD(n_reconstructable_matched, -1, "-1 of 10"),
    BAD(n_events, -1, "events"),
};

ETX_TEST(test_clopper_pearson_refuses, .rows = ROWS(refused))
{
    etx_evaluation rates = {.struct_size = sizeof rates, .trackml_score = 7.0};
    etx_evaluation_counts bad = good;

    etx_test_set(&bad, &refused[_i]);
    ck_assert_refused(etx_evaluation_rates(&rates, &bad), refused[_i].error);
    ck_assert_double_eq(rates.trackml_score, 7.0);
}
