/* test_train_metrics.c -- truth chains, efficiency, purity, AUC, cuts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/validation/score_list.h"

#include "cylinders.h"

#include <math.h>

#include "support.h"

#define N 8

static const float scores[N] = {0.1f, 0.2f, 0.2f, 0.4f, 0.5f, 0.6f, 0.9f, 0.9f};
static const uint8_t pairs[N] = {ETX_PAIR_FALSE, ETX_PAIR_SIGNAL,
    ETX_PAIR_FALSE, ETX_PAIR_SAME, ETX_PAIR_LOW_PT, ETX_PAIR_FALSE,
    ETX_PAIR_SIGNAL, ETX_PAIR_SIGNAL};

static void fill(struct etx_score_list *list)
{
    *list = (struct etx_score_list){.n = 0};
    for (int k = 0; k < N; k++)
        ck_assert_ok(etx_score_list_add(
            list, 1, scores + (5 * k) % N, pairs + (5 * k) % N));
    etx_score_list_sort(list);
}

ETX_TEST(test_train_metrics_auc_counts_ties_half)
{
    struct etx_score_list list;
    struct etx_score_metrics metrics;

    fill(&list);
    metrics = etx_score_list_metrics(&list, 0.3f);
    /* True: .2 .5 .9 .9; false: .1 .2 .6: 1.5 + 2 + 3 + 3 of 12. */
    ck_assert_double_eq_tol(metrics.auc, 9.5 / 12.0, 1e-12);
    ck_assert_int_eq(metrics.n_kept, 5);
    ck_assert_int_eq(metrics.n_signal, 2);
    ck_assert_double_eq_tol(metrics.purity, 3.0 / 5.0, 1e-12);
    etx_score_list_clear(&list);
}

ETX_TEST(test_train_metrics_cut_keeps_the_target)
{
    struct etx_score_list list;
    const double targets[] = {0.1, 0.5, 0.66, 0.67, 0.9, 1.0};

    fill(&list);
    for (size_t k = 0; k < sizeof targets / sizeof targets[0]; k++) {
        const float cut = etx_score_list_cut(&list, targets[k]);
        float above = 1.0f; /* the next higher cut that drops a pair */

        for (int p = 0; p < N; p++)
            if (scores[p] > cut && scores[p] < above)
                above = scores[p];
        ck_assert_double_ge((double)etx_score_list_metrics(&list, cut).n_signal,
            3.0 * targets[k]);
        ck_assert_double_lt(
            (double)etx_score_list_metrics(&list, above).n_signal,
            3.0 * targets[k]);
    }
    /* One pair at least, and no more than there are. */
    ck_assert_float_eq(etx_score_list_quantile(&list, 0.0), 0.2f);
    ck_assert_float_eq(etx_score_list_quantile(&list, 1.1), 0.9f);
    ck_assert_float_eq(etx_score_list_quantile(&list, 0.3), 0.2f);
    ck_assert_float_eq(etx_score_list_quantile(&list, 0.5), 0.9f);
    etx_score_list_clear(&list);
}

ETX_TEST(test_train_metrics_empty)
{
    const struct etx_score_list list = {.n = 0};
    const struct etx_score_metrics metrics =
        etx_score_list_metrics(&list, 0.5f);

    ck_assert(isnan(metrics.auc));
    ck_assert(isnan(metrics.purity));
    ck_assert_float_eq(etx_score_list_cut(&list, 0.9), -1.0f);
}
