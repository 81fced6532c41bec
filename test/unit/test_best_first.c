/* test_best_first.c -- chains of hits, best edge first, against a slow judge.
 *
 * The judge searches the best of all open edges again and again, walks the
 * chains to count them, and has its own formulas for circles and angles.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/random.h"
#include "op/shared/kink.h"
#include "track_graphs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE (-1)

/* ------------------------------------------------------------- the shape -- */

/* Hits on a helix of this radius, mm, one each 0.2 radian. */
static void fill_helix(float *position, int32_t n, double radius, double slope)
{
    for (int32_t i = 0; i < n; i++) {
        const double turn = 0.2 * (double)(i + 1);

        position[3 * i] = (float)(radius * sin(turn));
        position[3 * i + 1] = (float)(radius * (1.0 - cos(turn)));
        position[3 * i + 2] = (float)(radius * slope * turn);
    }
}

/* Hits 0 .. at-1 in one chain, the others in another. */
static struct etx_chains two_chains(const float *position, int32_t *next,
    int32_t *previous, int32_t n, int32_t at)
{
    for (int32_t i = 0; i < n; i++) {
        next[i] = i + 1 == n || i + 1 == at ? NONE : i + 1;
        previous[i] = i == 0 || i == at ? NONE : i - 1;
    }
    return (struct etx_chains){
        .position = position, .next = next, .previous = previous};
}

ETX_TEST(test_best_first_helix_is_smooth)
{
    float position[3 * 8];
    int32_t next[8];
    int32_t previous[8];

    fill_helix(position, 8, 1000.0, 0.7);
    for (int32_t at = 1; at < 8; at++) {
        const struct etx_chains chains =
            two_chains(position, next, previous, 8, at);

        ck_assert_float_lt(
            etx_link_kink(&chains, at - 1, at, 1e-3f, 1e-3f), 0.01f);
    }
}

/* Four hits of one circle and four of another: the spread of curvatures is
 * that of the two, where the steps meet in a common tangent. */
ETX_TEST(test_best_first_curvature)
{
    const double radius[2] = {1000.0, 500.0};
    float position[3 * 7];
    int32_t next[7];
    int32_t previous[7];
    float rough;

    for (int32_t i = 0; i < 7; i++) {
        const double turn = 0.1 * (double)(i - 3);
        const double r = radius[i > 3];

        position[3 * i] = (float)(r * sin(turn));
        position[3 * i + 1] = (float)(r * (1.0 - cos(turn)));
        position[3 * i + 2] = 0.0f;
    }
    const struct etx_chains chains = two_chains(position, next, previous, 7, 4);

    rough = etx_link_kink(&chains, 3, 4, 1.0f, 0.0f);
    ck_assert_float_eq_tol(rough, 1.0f, 1e-3f);
    rough = etx_link_kink(&chains, 3, 4, 0.5f, 0.0f);
    ck_assert_float_eq_tol(rough, 4.0f, 4e-3f);
    ck_assert(etx_link_kink(&chains, 3, 4, 0.0f, 0.0f) == 0.0f);
}

struct turn_row {
    float end[2]; /* (x, z) of the hit after (0, 0), (10, 0) */
    float expected;
};

/* Squared sines of the change of polar angle, over 0.5^2. */
static const struct turn_row turns[] = {
    {{20, 0}, 0.0f}, {{20, 10}, 2.0f},   /* 45 degrees */
    {{20, -10}, 2.0f}, {{10, 10}, 4.0f}, /* a right angle */
    {{5, 0}, 0.0f},  /* back: transverse steps have no sign */
    {{10, 0}, 0.0f}, /* the same hit again */
};

ETX_TEST(test_best_first_polar, .rows = ROWS(turns))
{
    const struct turn_row *row = &turns[_i];
    const float position[] = {0, 0, 0, 10, 0, 0, row->end[0], 0, row->end[1]};
    int32_t next[3];
    int32_t previous[3];
    struct etx_chains chains = two_chains(position, next, previous, 3, 2);

    ck_assert_float_eq_tol(
        etx_link_kink(&chains, 1, 2, 0.0f, 0.5f), row->expected, 1e-6f);
    chains = two_chains(position, next, previous, 3, 1);
    ck_assert_float_eq_tol(
        etx_link_kink(&chains, 0, 1, 0.0f, 0.5f), row->expected, 1e-6f);
}

/* ------------------------------------------------------------- by hand -- */

static etx_label_options shape_options(float sure_cut, float strong_cut)
{
    etx_label_options options = label_options(ETX_LABEL_BEST_FIRST, 0.01f, 1);

    options.sure_cut = sure_cut;
    options.strong_cut = strong_cut;
    options.max_curvature_change = 10.0f;
    options.max_polar_change = 0.2f;
    return options;
}

struct row {
    struct edge_list list; /* nodes on the x axis, one each millimetre */
    float sure_cut, strong_cut;
    int32_t support_hits;
    int32_t expected[8];
};

static const struct row rows[] = {
    /* The better of two edges into a hit, and of two out of one. */
    {{5, 4, {{0, 2, 0.7f}, {1, 2, 0.9f}, {2, 3, 0.6f}, {2, 4, 0.8f}}}, 0, 0, 1,
        {0, 1, 1, 2, 1}},
    /* One good edge counts for more than a longer chain without it. */
    {{4, 4, {{0, 3, 0.9f}, {0, 1, 0.8f}, {1, 2, 0.8f}, {2, 3, 0.8f}}}, 0, 0, 1,
        {0, 1, 1, 0}},
    /* Equal scores: the edge that the graph has first, by target. */
    {{3, 2, {{0, 2, 0.5f}, {0, 1, 0.5f}}}, 0, 0, 1, {0, 0, 1}},
    /* Inward edges are turned, loops are nothing, a score at the cut neither.
     */
    {{4, 4, {{1, 0, 0.9f}, {2, 2, 0.9f}, {2, 1, 0.9f}, {2, 3, 0.01f}}}, 0, 0, 1,
        {0, 0, 0, 1}},
    /* Weak edges need a chain of support_hits hits on one side. */
    {{5, 4, {{0, 1, 0.9f}, {1, 2, 0.9f}, {2, 3, 0.1f}, {3, 4, 0.1f}}}, 0, 0.5f,
        3, {0, 0, 0, 0, 0}},
    {{5, 4, {{0, 1, 0.9f}, {1, 2, 0.1f}, {2, 3, 0.1f}, {3, 4, 0.1f}}}, 0, 0.5f,
        3, {0, 0, 1, 2, 3}},
    /* The chain grows and gives support to what was without at first. */
    {{5, 4, {{0, 1, 0.9f}, {1, 2, 0.9f}, {3, 4, 0.1f}, {2, 3, 0.05f}}}, 0, 0.5f,
        3, {0, 0, 0, 0, 0}},
    /* A middling edge is joined after all when shape leaves its ends open. */
    {{5, 2, {{0, 1, 0.7f}, {2, 3, 0.4f}}}, 0.9f, 0.5f, 3, {0, 0, 1, 2, 3}},
};

ETX_TEST(test_best_first_by_hand, .rows = ROWS(rows))
{
    const struct row *row = &rows[_i];
    etx_label_options options = shape_options(row->sure_cut, row->strong_cut);
    int32_t labels[8];

    options.support_hits = row->support_hits;
    label_list_at(labels, &row->list, NULL, &options);
    assert_labels(labels, row->expected, row->list.n_nodes);
}

/* Two helices that come near each other: the network prefers the wrong hit,
 * shape the right one; without limits the wrong one is joined. */
ETX_TEST(test_best_first_shape_decides)
{
    enum { ON_TRACK = 6, N = ON_TRACK + 1 };
    float position[3 * N];
    struct scored_edge edges[ON_TRACK];
    etx_label_options options = shape_options(0.0f, 0.5f);
    int32_t labels[N];

    fill_helix(position, ON_TRACK, 1000.0, 0.7);
    memcpy(position + 3 * ON_TRACK, position + 3 * (ON_TRACK - 1),
        3 * sizeof *position);
    position[3 * ON_TRACK + 2] += 150.0f;
    for (int32_t i = 0; i + 1 < ON_TRACK; i++)
        edges[i] = (struct scored_edge){i, i + 1, 0.9f};
    edges[ON_TRACK - 2].score = 0.2f;
    edges[ON_TRACK - 1] = (struct scored_edge){ON_TRACK - 2, ON_TRACK, 0.4f};
    label_at(labels, N, ON_TRACK, edges, position, &options);
    assert_labels(labels, (const int32_t[]){0, 0, 0, 0, 0, 0, 1}, N);
    options.max_curvature_change = 0.0f;
    options.max_polar_change = 0.0f;
    label_at(labels, N, ON_TRACK, edges, position, &options);
    assert_labels(labels, (const int32_t[]){0, 0, 0, 0, 0, 1, 0}, N);
}

/* ------------------------------------------------------------ the judge -- */

#define JUDGED  12 /* hits */
#define N_EDGES 40

struct judge {
    const float *position;
    const etx_label_options *options;
    struct scored_edge edge[N_EDGES]; /* outward, by target and source */
    int32_t n_edges;
    int32_t next[JUDGED], previous[JUDGED];
};

static int32_t chain_length(const struct judge *judge, int32_t hit)
{
    int32_t n = 1;

    for (int32_t i = hit; judge->previous[i] != NONE; i = judge->previous[i])
        n++;
    for (int32_t i = hit; judge->next[i] != NONE; i = judge->next[i])
        n++;
    return n;
}

/* Four times the signed area over the product of the sides, 1/m. */
static double circle(const float *a, const float *b, const float *c)
{
    const double ab = hypot((double)b[0] - a[0], (double)b[1] - a[1]);
    const double bc = hypot((double)c[0] - b[0], (double)c[1] - b[1]);
    const double ca = hypot((double)a[0] - c[0], (double)a[1] - c[1]);
    const double area = 0.5 * ((double)a[0] * ((double)b[1] - c[1]) +
                                  (double)b[0] * ((double)c[1] - a[1]) +
                                  (double)c[0] * ((double)a[1] - b[1]));

    return 4000.0 * area / (ab * bc * ca);
}

static double polar_angle(const float *a, const float *b)
{
    return atan2(
        hypot((double)b[0] - a[0], (double)b[1] - a[1]), (double)b[2] - a[2]);
}

static double turn_at(const float *a, const float *b, const float *c)
{
    const double turn = fabs(polar_angle(a, b) - polar_angle(b, c));

    return turn < acos(0.0) ? sin(turn) : 1.0;
}

/* The four circles and two turns around tail -> head, where the hits exist. */
static double judge_kink(const struct judge *judge, int32_t tail, int32_t head)
{
    const int32_t t2 = judge->previous[tail];
    const int32_t t3 = t2 == NONE ? NONE : judge->previous[t2];
    const int32_t h2 = judge->next[head];
    const int32_t h3 = h2 == NONE ? NONE : judge->next[h2];
    const int32_t triple[4][3] = {
        {t3, t2, tail}, {t2, tail, head}, {tail, head, h2}, {head, h2, h3}};
    double low = INFINITY;
    double high = -INFINITY;
    double turn = 0.0;

    for (int k = 0; k < 4; k++) {
        const float *p[3];

        if (triple[k][0] == NONE || triple[k][2] == NONE)
            continue;
        for (int j = 0; j < 3; j++)
            p[j] = judge->position + 3 * triple[k][j];
        low = fmin(low, circle(p[0], p[1], p[2]));
        high = fmax(high, circle(p[0], p[1], p[2]));
        if (k == 1 || k == 2)
            turn = fmax(turn, turn_at(p[0], p[1], p[2]));
    }
    return (high > low ? pow((high - low) /
                                 (double)judge->options->max_curvature_change,
                             2.0)
                       : 0.0) +
           pow(turn / (double)judge->options->max_polar_change, 2.0);
}

static int is_open(const struct judge *judge, int32_t e)
{
    return judge->next[judge->edge[e].src] == NONE &&
           judge->previous[judge->edge[e].dst] == NONE;
}

static int has_support(const struct judge *judge, int32_t e)
{
    return chain_length(judge, judge->edge[e].src) >=
               judge->options->support_hits ||
           chain_length(judge, judge->edge[e].dst) >=
               judge->options->support_hits;
}

static void judge_join(struct judge *judge, int32_t e)
{
    judge->next[judge->edge[e].src] = judge->edge[e].dst;
    judge->previous[judge->edge[e].dst] = judge->edge[e].src;
}

/* The best open edge above the cut again and again. */
static void judge_scores(struct judge *judge, float cut)
{
    for (;;) {
        int32_t best = NONE;

        for (int32_t e = 0; e < judge->n_edges; e++)
            if (is_open(judge, e) && judge->edge[e].score > cut &&
                (best == NONE ||
                    judge->edge[e].score > judge->edge[best].score))
                best = e;
        if (best == NONE)
            return;
        judge_join(judge, best);
    }
}

/* All open edges, in the order of their shape before any is joined. */
static void judge_shapes(struct judge *judge)
{
    double rough[N_EDGES];
    int32_t is_done[N_EDGES];

    for (int32_t e = 0; e < judge->n_edges; e++) {
        is_done[e] = !is_open(judge, e);
        if (is_done[e])
            continue;
        rough[e] = judge_kink(judge, judge->edge[e].src, judge->edge[e].dst);
        if (!has_support(judge, e) || rough[e] > 2.0)
            rough[e] = 2.0;
    }
    for (;;) {
        int32_t best = NONE;

        for (int32_t e = 0; e < judge->n_edges; e++)
            if (!is_done[e] &&
                (best == NONE || rough[e] < rough[best] ||
                    (rough[e] == rough[best] &&
                        judge->edge[e].score > judge->edge[best].score)))
                best = e;
        if (best == NONE)
            return;
        is_done[best] = 1;
        if (is_open(judge, best) && has_support(judge, best) &&
            judge_kink(judge, judge->edge[best].src, judge->edge[best].dst) <=
                1.0)
            judge_join(judge, best);
    }
}

static void judge_labels(int32_t *labels, struct judge *judge)
{
    int32_t n_labels = 0;

    for (int32_t i = 0; i < JUDGED; i++)
        judge->next[i] = judge->previous[i] = NONE;
    if (judge->options->sure_cut > judge->options->strong_cut) {
        judge_scores(judge, judge->options->sure_cut);
        judge_shapes(judge);
    }
    judge_scores(judge, judge->options->strong_cut);
    judge_shapes(judge);
    for (int32_t i = 0; i < JUDGED; i++)
        labels[i] = judge->previous[i] == NONE ? n_labels++
                                               : labels[judge->previous[i]];
}

/* Nearly straight rows of hits with some scatter, and random edges outward
 * between neighbours: rows of the judge are numbered outward. */
static void draw_judged(struct judge *judge, float *position, uint32_t seed)
{
    struct etx_random random;

    etx_random_init(&random, seed, 0, 0);
    for (int32_t i = 0; i < JUDGED; i++) {
        position[3 * i] = (float)(10 * (i + 1));
        position[3 * i + 1] = 2.0f * etx_random_uniform(&random);
        position[3 * i + 2] = 2.0f * etx_random_uniform(&random);
    }
    judge->n_edges = 0;
    for (int32_t j = 0; j < JUDGED; j++)
        for (int32_t i = j > 4 ? j - 4 : 0; i < j; i++)
            if (etx_random_uniform(&random) < 0.8f)
                judge->edge[judge->n_edges++] =
                    (struct scored_edge){i, j, etx_random_uniform(&random)};
}

ETX_TEST(test_best_first_judged, .rows = 200)
{
    static const float cuts[][2] = {
        {0.0f, 0.6f}, {0.9f, 0.6f}, {0.8f, 0.0f}, {0.0f, 1.0f}, {0.7f, 0.3f}};
    float position[3 * JUDGED];
    etx_label_options options = shape_options(cuts[_i % 5][0], cuts[_i % 5][1]);
    struct judge judge = {.position = position, .options = &options};
    int32_t expected[JUDGED];
    int32_t labels[JUDGED];

    options.cut = 0.0f;
    options.support_hits = 1 + _i % 4;
    options.max_curvature_change = 40.0f;
    draw_judged(&judge, position, (uint32_t)_i);
    judge_labels(expected, &judge);
    label_at(labels, JUDGED, judge.n_edges, judge.edge, position, &options);
    assert_labels(labels, expected, JUDGED);
}

/* All edges, with the same score and at one point: nothing but ties,
 * no shape; each hit still has one next and one before. */
ETX_TEST(test_best_first_one_point)
{
    enum { N = 40 };
    const float position[3 * N] = {0};
    scoped struct scored_edge *edges = etx_test_alloc(N * N, sizeof *edges);
    etx_label_options options = shape_options(0.9f, 0.6f);
    int32_t labels[N];

    for (int32_t i = 0; i < N; i++)
        for (int32_t j = 0; j < N; j++)
            edges[N * i + j] = (struct scored_edge){i, j, 0.5f};
    options.support_hits = 1;
    label_at(labels, N, N * N, edges, position, &options);
    for (int32_t i = 0; i < N; i++)
        ck_assert_int_eq(labels[i], 0);
}
