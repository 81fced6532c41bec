/* checkop/test_checkop_labels.c -- components, cuts and mutual best edges.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <math.h>

static const int32_t shapes[][2] = {{0, 0}, {1, 0}, {1, 3}, {2, 1}, {31, 5},
    {33, 40}, {257, 100}, {257, 257}, {1000, 700}, {1000, 5000},
    {20000, 15000}};
#define N_SHAPES ROWS(shapes)

static int is_used(const struct etx_connected_components_args *args, int64_t e)
{
    return args->score == NULL || args->score[e] > args->cut;
}

/* Breadth-first from every node in turn, over incidence lists. */
static int32_t *labels_by_search(
    const struct etx_connected_components_args *args)
{
    const int64_t n = args->n_nodes;
    int64_t *first = checkop_buffer(n + 1, sizeof *first);
    int32_t *other = checkop_buffer(2 * args->n_edges, sizeof *other);
    int32_t *label = checkop_buffer(n, sizeof *label);
    int32_t *queue = checkop_buffer(n, sizeof *queue);

    for (int64_t e = 0; e < args->n_edges; e++)
        if (is_used(args, e)) {
            first[args->src[e]]++;
            first[args->dst[e]]++;
        }
    for (int64_t i = 1; i <= n; i++)
        first[i] += first[i - 1];
    for (int64_t e = 0; e < args->n_edges; e++)
        if (is_used(args, e)) {
            other[--first[args->src[e]]] = args->dst[e];
            other[--first[args->dst[e]]] = args->src[e];
        }
    for (int64_t i = 0; i < n; i++)
        label[i] = -1;
    for (int64_t root = 0; root < n; root++) {
        int64_t head = 0, tail = 0;
        if (label[root] >= 0)
            continue;
        label[root] = (int32_t)root;
        queue[tail++] = (int32_t)root;
        while (head < tail) {
            const int32_t i = queue[head++];
            for (int64_t t = first[i]; t < first[i + 1]; t++)
                if (label[other[t]] < 0) {
                    label[other[t]] = (int32_t)root;
                    queue[tail++] = other[t];
                }
        }
    }
    return label;
}

CHECKOP_TEST(test_labels_components, .rows = N_SHAPES)
{
    for (int32_t scored = 0; scored < 2; scored++) {
        struct checkop_case one;
        checkop_connected_components(
            &one, shapes[_i][0], shapes[_i][1], scored);
        checkop_verify(&one);
        const struct etx_connected_components_args *args = one.args;
        const int32_t *want = labels_by_search(args);
        ck_assert_mem_eq(
            args->label, want, (size_t)args->n_nodes * sizeof *want);
    }
}

/* A chain from the far end, a star around the last node, a ring. */
CHECKOP_TEST(test_labels_long_components, .rows = 3)
{
    enum { N = 5000 };
    struct checkop_case one;

    checkop_connected_components(&one, N, N - 1, 0);
    struct etx_connected_components_args *args = one.args;
    int32_t *src = checkop_buffer(N, sizeof *src);
    int32_t *dst = checkop_buffer(N, sizeof *dst);
    for (int32_t e = 0; e < N - 1; e++) {
        src[e] = _i == 0 ? N - 1 - e : e;
        dst[e] = _i == 0 ? N - 2 - e : _i == 1 ? N - 1 : (e + 1) % N;
    }
    args->src = src;
    args->dst = dst;
    checkop_verify(&one);
    for (int32_t i = 0; i < N; i++)
        if (args->label[i] != 0)
            ck_abort_msg("node %d has label %d", i, args->label[i]);
}

CHECKOP_TEST(test_labels_edge_select, .rows = N_SHAPES)
{
    struct checkop_case one;

    checkop_edge_select(&one, shapes[_i][1]);
    checkop_verify(&one);
    const struct etx_edge_select_args *args = one.args;
    int64_t at = 0, n_wrong = 0;
    for (int64_t e = 0; e < args->n_edges; e++)
        if (args->score[e] > 0.5f)
            n_wrong += args->selected[at++] != e;
    ck_assert_int_eq(at, *args->n_selected);
    ck_assert_int_eq(n_wrong, 0);
}

/* At most max_selected: the best, of equal scores the first. */
CHECKOP_TEST(test_labels_select_at_max)
{
    static const float scores[] = {0.9f, 0.5f, 0.7f, 0.1f, 0.7f, 0.7f, 0.95f};
    static const int32_t best[] = {6, 0, 2, 4, 5, 1, 3};
    struct checkop_case one;

    checkop_edge_select(&one, 7);
    struct etx_edge_select_args *args = one.args;
    args->score = checkop_copy(scores, 7, sizeof *scores);
    args->cut = -1.0f;
    for (args->max_selected = 1; args->max_selected <= 7;
         args->max_selected++) {
        checkop_verify(&one);
        ck_assert_int_eq(*args->n_selected, args->max_selected);
        for (int64_t t = 0; t < args->max_selected; t++) {
            int64_t at = 0;
            while (at < args->max_selected && args->selected[at] != best[t])
                at++;
            ck_assert_int_lt(at, args->max_selected);
        }
    }
    checkop_edge_select(&one, 10000);
    args = one.args;
    args->cut = 0.2f;
    for (args->max_selected = 1; args->max_selected < 10000;
         args->max_selected = 3 * args->max_selected + 7)
        checkop_verify(&one);
}

/* Nothing above the cut, everything, and scores that are no numbers. */
CHECKOP_TEST(test_labels_select_special, .rows = 3)
{
    static const float cut[] = {2.0f, -1.0f, 0.5f};
    struct checkop_case one;

    checkop_edge_select(&one, 1001);
    struct etx_edge_select_args *args = one.args;
    float *score = checkop_uniform(1001, 0.0f, 1.0f);
    for (int64_t e = 0; e < 1001 && _i == 2; e += 2)
        score[e] = e % 4 ? NAN : -INFINITY;
    args->cut = cut[_i];
    args->score = score;
    checkop_verify(&one);
    if (_i < 2)
        ck_assert_int_eq(*args->n_selected, _i == 0 ? 0 : 1001);
    for (int64_t t = 0; t < *args->n_selected; t++)
        if (!(score[args->selected[t]] > args->cut))
            ck_abort_msg("edge %d is not above the cut", args->selected[t]);
}

static int is_better(const float *score, int64_t one, int64_t two)
{
    return score[one] != score[two] ? score[one] > score[two] : one < two;
}

/* Every pair of edges at an end, compared with each other. */
static int is_mutual_best(const struct etx_mutual_best_args *args, int64_t e)
{
    if (!(args->score[e] > args->cut))
        return 0;
    for (int64_t f = 0; f < args->n_edges; f++)
        if ((args->src[f] == args->src[e] || args->dst[f] == args->dst[e]) &&
            is_better(args->score, f, e))
            return 0;
    return 1;
}

CHECKOP_TEST(test_labels_mutual_best, .rows = N_SHAPES)
{
    struct checkop_case one;

    checkop_mutual_best(&one, shapes[_i][0], shapes[_i][1]);
    checkop_verify(&one);
    const struct etx_mutual_best_args *args = one.args;
    int64_t at = 0, n_wrong = 0;
    if (args->n_edges > 6000)
        return; /* the comparison is quadratic */
    for (int64_t e = 0; e < args->n_edges; e++)
        if (is_mutual_best(args, e))
            n_wrong += args->selected[at++] != e;
    ck_assert_int_eq(at, *args->n_selected);
    ck_assert_int_eq(n_wrong, 0);
}
