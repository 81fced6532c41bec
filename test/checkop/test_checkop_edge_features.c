/* checkop/test_checkop_edge_features.c -- geometry of edges.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <fenv.h>
#include <float.h>
#include <math.h>

static const int32_t sizes[] = {0, 1, 2, 7, 31, 33, 257, 1000, 9001};
#define N_SIZES ROWS(sizes)

CHECKOP_VERIFY(test_edge_features_sizes, N_SIZES,
    checkop_edge_features(&one, sizes[_i] / 3 + 1, sizes[_i]))

/* One feature at a time, and the whole list backwards. */
CHECKOP_TEST(test_edge_features_lists)
{
    struct checkop_case one;

    checkop_edge_features(&one, 50, 99);
    struct etx_edge_features_args *args = one.args;
    const int32_t *all = args->feature;
    for (int32_t k = 0; k < ETX_N_EDGE_FEATURES; k++) {
        args->feature = all + k;
        args->n_features = 1;
        one.output[0].n = args->n_edges;
        checkop_verify(&one);
    }
}

/* Huge, tiny and zero coordinates, equal hits: finite, and no exception that
 * a host may trap. */
CHECKOP_TEST(test_edge_features_extremes)
{
    struct checkop_case one;

    check.values = CHECKOP_EXTREME;
    checkop_edge_features(&one, 120, 3000);
    const struct etx_edge_features_args *args = one.args;
    float *score = checkop_uniform(3000, 0.0f, 1.0f);
    for (int64_t e = 0; e < args->n_edges; e += 3)
        score[e] = e % 2 ? 0.0f : 1.0f;
    ((struct etx_edge_features_args *)one.args)->score = score;
    for (int32_t i = 0; i < check.n_implementations; i++) {
        feclearexcept(FE_ALL_EXCEPT);
        ck_assert_ok(
            check.implementation[i].ops.edge_features(&check.stream[0], args));
        ck_assert_int_eq(
            fetestexcept(FE_INVALID | FE_OVERFLOW | FE_DIVBYZERO), 0);
        for (int64_t t = 0; t < one.output[0].n; t++)
            if (!isfinite(args->out[t]))
                ck_abort_msg("%s: feature %d is %g",
                    check.implementation[i].name,
                    (int)args->feature[t % args->n_features],
                    (double)args->out[t]);
    }
}

/* Two hits, the score of their edge, and all features computed independently of
 * this project: outward on a ray, across phi = pi, at equal radii, from the
 * beam line (where the angle counts as 0), a hit with itself, and inward. */
struct known {
    float position[6];
    float score, votes;
    double want[ETX_EDGE_OWN_0]; /* in the order of ETX_EDGE_FEATURES */
};

static const struct known known[] = {
    {{30.0f, 40.0f, -100.0f, 60.0f, 80.0f, 50.0f}, 0.5f, 1.0f,
        {50.0, 0.0, 150.0, 1.924847300238, 158.1138830084, 1.249045772398,
            -6.214612098398, 1.818446459232, 0.0, 0.0, 0.0, 0.0, 0.0,
            0.9272952180016, -6.214612098398, 1.818446459232, 0.0}},
    {{-100.0f, 5.0f, 20.0f, -150.0f, -20.0f, -35.0f}, 0.25f, 7.0f,
        {51.20253753171, 0.1825099280186, -55.0, -0.4277179886007,
            78.42193570679, -0.8211397321362, 5.541676778663, -0.9328564825758,
            1.983282656851, 1.134606158514, 0.1426497102982, -1.098612288668,
            6.493483582446, 2.760538181164, 5.478795880823, -0.8660293910314,
            1.945910149055}},
    {{30.0f, 40.0f, 7.0f, 40.0f, 30.0f, -7.0f}, 1.0f, 2.0f,
        {0.0, -0.2837941092083, -14.0, -0.2790933078117, 19.89974874213,
            -1.570796326795, 21.05973808357, -17.14771506814, -20.15690674619,
            -100.0, -5.0, 16.0, -39.59797974645, 2.356194490192, 5.043335118446,
            -0.8648121251665, 0.6931471805599}},
    {{0.0f, 0.0f, 10.0f, 3.0f, 4.0f, 0.0f}, 0.0f, 1.0f,
        {5.0, 0.0, -10.0, -16.81124283152, 11.1803398875, -1.107148717794,
            2.998222950298, -1.443635475179, 0.0, 0.0, 0.0, -16.0, 0.0,
            0.9272952180016, 2.998222950298, -1.443635475179, 0.0}},
    {{5.0f, 12.0f, 1.0f, 5.0f, 12.0f, 1.0f}, 0.75f, 1.0f,
        {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.8813735870195, 0.0, 0.0, 0.0, 0.0,
            1.098612288668, 0.0, 1.176005207095, 0.8813735870195, 0.0, 0.0}},
    {{-15.0f, 30.0f, 25.0f, -20.0f, -10.0f, 5.0f}, 0.5f, 1.0f,
        {-11.18033981323, 1.570796326795, -20.0, -0.4676437083943, 45.0,
            -2.080536002797, -4.248699261236, 1.345015115578, -5.63834096773,
            -44.72135984706, -1.25, 0.0, -49.61389383568, -2.089942441041,
            -1.642273453593, 0.3108228182652, 0.0}}};
#define N_KNOWN ROWS(known)

CHECKOP_TEST(test_edge_features_known, .rows = N_KNOWN)
{
    static const int32_t src[] = {0}, dst[] = {1};
    int32_t feature[ETX_N_EDGE_FEATURES];
    float scale[ETX_N_EDGE_FEATURES];
    float own[ETX_N_OWN_EDGE_FEATURES];

    for (int32_t k = 0; k < ETX_N_EDGE_FEATURES; k++) {
        feature[k] = k;
        scale[k] = 2.0f;
    }
    for (int32_t k = 0; k < ETX_N_OWN_EDGE_FEATURES; k++)
        own[k] = 1.5f * (float)(k - 3);
    for (int32_t i = 0; i < check.n_implementations; i++) {
        float out[ETX_N_EDGE_FEATURES];
        const struct etx_edge_features_args args = {.n_edges = 1,
            .n_features = ETX_N_EDGE_FEATURES,
            .feature = feature,
            .scale = scale,
            .position = known[_i].position,
            .src = src,
            .dst = dst,
            .score = &known[_i].score,
            .votes = &known[_i].votes,
            .n_own = ETX_N_OWN_EDGE_FEATURES,
            .own = own,
            .out = out};
        ck_assert_ok(
            check.implementation[i].ops.edge_features(&check.stream[0], &args));
        for (int32_t k = 0; k < ETX_N_EDGE_FEATURES; k++) {
            const double want =
                (k < ETX_EDGE_OWN_0 ? known[_i].want[k]
                                    : (double)own[k - ETX_EDGE_OWN_0]) /
                2.0;
            const double off = 2e-6 * (1.0 + fabs(want));
            if (!(fabs((double)out[k] - want) <= off))
                ck_abort_msg("%s: feature %d is %.9g, not %.9g",
                    check.implementation[i].name, (int)k, (double)out[k], want);
        }
    }
}
