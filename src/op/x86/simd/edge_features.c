/* op/x86/simd/edge_features.c -- geometry of edges, vectorised by the
 * compiler.
 *
 * A block of edges at a time: every step is a loop over arrays that stay in
 * the first-level cache. Edges inside any detector go through near_edges.c;
 * a block with coordinates beyond that is computed here, in float64 like the
 * reference, where nothing finite overflows. atan by the rational
 * approximation of Cephes (Moshier), log by the series of atanh.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/x86/operators.h"

#include "op/ref/ref.h"
#include "op/x86/edge_block.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

#define BLOCK  ETX_EDGE_BLOCK
#define PASSES 16 /* that make a block of work */

#define PI        3.14159265358979323846
#define MIN_DR    1e-6  /* mm */
#define MAX_SLOPE 100.0 /* half turns per mm */
#define MAX_LOGIT 16.0

/* Edges of one pass, an array per quantity. */
struct edges {
    double r_src[BLOCK], r_dst[BLOCK], z_src[BLOCK], z_dst[BLOCK];
    double dx[BLOCK], dy[BLOCK], dz[BLOCK];
    double dr[BLOCK], safe_dr[BLOCK]; /* safe: MIN_DR away from zero */
    double dphi[BLOCK], score[BLOCK];
    double value[BLOCK]; /* of the feature in work */
};

/* ----------------------------------------------------------- functions -- */

INLINE double clamp(double x, double bound)
{
    const double above = x < -bound ? -bound : x;

    return above > bound ? bound : above;
}

INLINE double square_root(double x)
{
    return __builtin_sqrt(x);
}

/* Of a finite x > 0, normal; relative error 1e-13. */
INLINE double logarithm(double x)
{
    const int64_t one = INT64_C(0x3ff0000000000000);
    const int64_t magic = INT64_C(0x4330000000000000); /* 2^52 */
    int64_t bits;
    double mantissa, exponent;

    memcpy(&bits, &x, sizeof bits);
    const int64_t mantissa_bits = (bits & INT64_C(0xfffffffffffff)) | one;
    const int64_t exponent_bits = (int64_t)((uint64_t)bits >> 52) | magic;
    memcpy(&mantissa, &mantissa_bits, sizeof mantissa);
    memcpy(&exponent, &exponent_bits, sizeof exponent);
    exponent -= 4503599627370496.0 + 1023.0;
    const int is_high = mantissa > 1.41421356237309505;
    const double m = is_high ? 0.5 * mantissa : mantissa;
    const double e = is_high ? exponent + 1.0 : exponent;
    const double s = (m - 1.0) / (m + 1.0);
    const double t = s * s;
    double p = 1.0 / 17.0;
    p = p * t + 1.0 / 15.0;
    p = p * t + 1.0 / 13.0;
    p = p * t + 1.0 / 11.0;
    p = p * t + 1.0 / 9.0;
    p = p * t + 1.0 / 7.0;
    p = p * t + 1.0 / 5.0;
    p = p * t + 1.0 / 3.0;
    return e * 0.693147180559945309 + 2.0 * (s + s * t * p);
}

/* Absolute error 1e-13 of 1 + the result; |x| up to 1e150. */
INLINE double arsinh(double x)
{
    const double a = fabs(x);

    return copysign(logarithm(a + square_root(a * a + 1.0)), x);
}

/* Like atan2 for finite arguments, relative error 1e-15. */
INLINE double angle(double y, double x)
{
    const double a = fabs(x);
    const double b = fabs(y);
    const double max = a > b ? a : b;
    const double min = a > b ? b : a;
    const double q = min / (max > 0.0 ? max : 1.0);
    const int is_high = q > 0.66;
    const double u = is_high ? (q - 1.0) / (q + 1.0) : q;
    const double z = u * u;
    double p = -8.750608600031904122785e-1;
    double d = z + 2.485846490142306297962e1;
    p = p * z - 1.615753718733365076637e1;
    p = p * z - 7.500855792314704667340e1;
    p = p * z - 1.228866684490136173410e2;
    p = p * z - 6.485021904942025371773e1;
    d = d * z + 1.650270098316988542046e2;
    d = d * z + 4.328810604912902668951e2;
    d = d * z + 4.853903996359136964868e2;
    d = d * z + 1.945506571482613964425e2;
    const double small = u + u * (z * p / d);
    const double eighth = is_high ? 0.25 * PI + small : small;
    const double quarter = b > a ? 0.5 * PI - eighth : eighth;
    const double half = copysign(1.0, x) < 0.0 ? PI - quarter : quarter;
    return copysign(half, y);
}

/* ---------------------------------------------------------------- edges -- */

/* Edges first .. first + n - 1; what lies beyond n repeats the last one.
 * Returns the largest magnitude of a coordinate. */
static float read_ends(struct etx_edge_block *block,
    const struct etx_edge_features_args *args, int64_t first, int64_t n)
{
    float max = 0.0f;

    for (int64_t t = 0; t < BLOCK; t++) {
        const int64_t e = first + (t < n ? t : n - 1);
        const float *from = args->position + 3 * (int64_t)args->src[e];
        const float *to = args->position + 3 * (int64_t)args->dst[e];
        block->x_src[t] = from[0];
        block->y_src[t] = from[1];
        block->z_src[t] = from[2];
        block->x_dst[t] = to[0];
        block->y_dst[t] = to[1];
        block->z_dst[t] = to[2];
        block->score[t] = args->score != NULL ? args->score[e] : 0.5f;
    }
#pragma omp simd reduction(max : max)
    for (int64_t t = 0; t < BLOCK; t++) {
        const double x = (double)block->x_src[t];
        const double y = (double)block->y_src[t];
        const double u = (double)block->x_dst[t];
        const double v = (double)block->y_dst[t];
        const float r = (float)square_root(x * x + y * y);
        const float q = (float)square_root(u * u + v * v);
        const float z = fabsf(block->z_src[t]);
        const float w = fabsf(block->z_dst[t]);
        const float radius = r > q ? r : q;
        const float height = z > w ? z : w;
        const float larger = radius > height ? radius : height;
        block->r_src[t] = r;
        block->r_dst[t] = q;
        max = max > larger ? max : larger;
    }
    return max;
}

/* The quantities that far features are made of. */
static void widen(struct edges *edges, const struct etx_edge_block *block)
{
#pragma omp simd
    for (int64_t t = 0; t < BLOCK; t++) {
        const double x = (double)block->x_src[t];
        const double y = (double)block->y_src[t];
        const double u = (double)block->x_dst[t];
        const double v = (double)block->y_dst[t];
        const double r = (double)block->r_src[t];
        const double q = (double)block->r_dst[t];
        const double dr = q - r;
        const double min = dr < 0.0 ? -MIN_DR : MIN_DR;
        edges->r_src[t] = r;
        edges->r_dst[t] = q;
        edges->z_src[t] = (double)block->z_src[t];
        edges->z_dst[t] = (double)block->z_dst[t];
        edges->dx[t] = u - x;
        edges->dy[t] = v - y;
        edges->dz[t] = edges->z_dst[t] - edges->z_src[t];
        edges->dr[t] = dr;
        edges->safe_dr[t] = fabs(dr) >= MIN_DR ? dr : min;
        edges->dphi[t] = angle(x * v - y * u, x * u + y * v);
        edges->score[t] = (double)block->score[t];
    }
}

static void pseudorapidity_difference(double *value, const struct edges *edges)
{
#pragma omp simd
    for (int64_t t = 0; t < BLOCK; t++) {
        const double r_src =
            edges->r_src[t] > MIN_DR ? edges->r_src[t] : MIN_DR;
        const double r_dst =
            edges->r_dst[t] > MIN_DR ? edges->r_dst[t] : MIN_DR;
        value[t] =
            arsinh(edges->z_dst[t] / r_dst) - arsinh(edges->z_src[t] / r_src);
    }
}

static void length(double *value, const struct edges *edges)
{
#pragma omp simd
    for (int64_t t = 0; t < BLOCK; t++)
        value[t] = square_root(edges->dx[t] * edges->dx[t] +
                               edges->dy[t] * edges->dy[t] +
                               edges->dz[t] * edges->dz[t]);
}

static void theta(double *value, const struct edges *edges)
{
#pragma omp simd
    for (int64_t t = 0; t < BLOCK; t++)
        value[t] = angle(edges->dz[t], edges->dr[t]);
}

static void asinh_z0(double *value, const struct edges *edges)
{
#pragma omp simd
    for (int64_t t = 0; t < BLOCK; t++)
        value[t] = arsinh(edges->z_src[t] -
                          edges->r_src[t] * (edges->dz[t] / edges->safe_dr[t]));
}

static void asinh_slope(
    double *value, const struct edges *edges, const double *rise, double factor)
{
#pragma omp simd
    for (int64_t t = 0; t < BLOCK; t++)
        value[t] = arsinh(factor * rise[t] / edges->safe_dr[t]);
}

static void phi_slope(double *value, const struct edges *edges)
{
#pragma omp simd
    for (int64_t t = 0; t < BLOCK; t++) {
        const double dr = edges->dr[t];
        const double slope =
            clamp(edges->dphi[t] / PI / (dr == 0.0 ? 1.0 : dr), MAX_SLOPE);
        value[t] = dr == 0.0 ? 0.0 : slope;
    }
}

static void times_mean_radius(double *value, const struct edges *edges)
{
#pragma omp simd
    for (int64_t t = 0; t < BLOCK; t++)
        value[t] *= 0.5 * (edges->r_src[t] + edges->r_dst[t]);
}

static void score_logit(double *value, const struct edges *edges)
{
    const double min = 1.0 / (1.0 + exp(MAX_LOGIT));

#pragma omp simd
    for (int64_t t = 0; t < BLOCK; t++) {
        const double low = edges->score[t] < min ? min : edges->score[t];
        const double p = low > 1.0 - min ? 1.0 - min : low;
        value[t] = clamp(logarithm(p / (1.0 - p)), MAX_LOGIT);
    }
}

/* One feature of all edges; scratch is edges->value. */
static const double *evaluate(
    struct edges *edges, enum etx_edge_feature feature)
{
    double *value = edges->value;

    switch (feature) {
    case ETX_EDGE_DR:
        return edges->dr;
    case ETX_EDGE_DPHI:
        return edges->dphi;
    case ETX_EDGE_DZ:
        return edges->dz;
    case ETX_EDGE_DETA:
        pseudorapidity_difference(value, edges);
        break;
    case ETX_EDGE_LENGTH:
        length(value, edges);
        break;
    case ETX_EDGE_THETA:
        theta(value, edges);
        break;
    case ETX_EDGE_ASINH_Z0:
        asinh_z0(value, edges);
        break;
    case ETX_EDGE_ASINH_DZDR:
        asinh_slope(value, edges, edges->dz, 1.0);
        break;
    case ETX_EDGE_ASINH_DPHIDR:
        asinh_slope(value, edges, edges->dphi, 1000.0);
        break;
    case ETX_EDGE_PHI_SLOPE:
        phi_slope(value, edges);
        break;
    case ETX_EDGE_R_PHI_SLOPE:
        phi_slope(value, edges);
        times_mean_radius(value, edges);
        break;
    case ETX_EDGE_SCORE_LOGIT:
        score_logit(value, edges);
        break;
    case ETX_EDGE_HELIX_CURVATURE:
    case ETX_EDGE_HELIX_PHI0:
    case ETX_EDGE_ASINH_HELIX_Z0:
    case ETX_EDGE_HELIX_ETA:
    case ETX_EDGE_LOG_HOUGH_VOTES:
    case ETX_N_EDGE_FEATURES:
        break;
    }
    return value;
}

/* Column k of n rows of out = value / scale. */
static void write_column(const struct etx_edge_features_args *args, int32_t k,
    const float *value, int64_t first, int64_t n)
{
    const int32_t width = args->n_features;
    float *out = args->out + first * width + k;

    for (int64_t t = 0; t < n; t++)
        /* cppcheck-suppress uninitvar */
        out[t * width] = value[t];
}

/* Feature k of edges first .. */
static void near_column(const struct etx_edge_features_args *args, int32_t k,
    const struct etx_edge_block *block, int64_t first, int64_t n)
{
    const float factor = 1.0f / args->scale[k];
    float value[BLOCK];

    ETX_ISA_NAME(near_edge_feature)
    (value, block, (enum etx_edge_feature)args->feature[k]);
    for (int64_t t = 0; t < BLOCK; t++)
        value[t] *= factor;
    write_column(args, k, value, first, n);
}

static void far_column(const struct etx_edge_features_args *args, int32_t k,
    struct edges *edges, int64_t first, int64_t n)
{
    const double factor = 1.0 / (double)args->scale[k];
    const double *value =
        evaluate(edges, (enum etx_edge_feature)args->feature[k]);
    float column[BLOCK];

#pragma omp simd
    for (int64_t t = 0; t < BLOCK; t++)
        column[t] = (float)clamp(value[t] * factor, (double)FLT_MAX);
    write_column(args, k, column, first, n);
}

/* Features that few models have: by the reference, an edge at a time. */
static int32_t is_rare(int32_t feature)
{
    return feature >= ETX_EDGE_HELIX_CURVATURE;
}

static void rare_column(const struct etx_edge_features_args *args, int32_t k,
    int64_t first, int64_t n)
{
    float value[BLOCK];
    const struct etx_edge_features_args column = {
        .n_edges = n,
        .n_features = 1,
        .feature = args->feature + k,
        .scale = args->scale + k,
        .position = args->position,
        .src = args->src + first,
        .dst = args->dst + first,
        .votes = args->votes != NULL ? args->votes + first : NULL,
        .out = value,
    };

    etx_ref_edge_features(NULL, &column);
    write_column(args, k, value, first, n);
}

static void run_pass(
    const struct etx_edge_features_args *args, int64_t first, int64_t n)
{
    struct etx_edge_block block;
    struct edges edges;

    const int32_t is_near = read_ends(&block, args, first, n) <= ETX_EDGE_NEAR;

    if (!is_near)
        widen(&edges, &block);
    for (int32_t k = 0; k < args->n_features; k++) {
        if (is_rare(args->feature[k]))
            rare_column(args, k, first, n);
        else if (is_near)
            near_column(args, k, &block, first, n);
        else
            far_column(args, k, &edges, first, n);
    }
}

static etx_status run_block(void *argument, int64_t block, int32_t worker)
{
    const struct etx_edge_features_args *args = argument;
    const int64_t begin = block * BLOCK * PASSES;
    const int64_t left = args->n_edges - begin;
    const int64_t end = begin + (left < BLOCK * PASSES ? left : BLOCK * PASSES);

    (void)worker;
    for (int64_t first = begin; first < end; first += BLOCK)
        run_pass(args, first, end - first < BLOCK ? end - first : BLOCK);
    return ETX_OK;
}

etx_status ETX_ISA_NAME(edge_features)(
    struct etx_stream *stream, const struct etx_edge_features_args *args)
{
    const int64_t block = BLOCK * PASSES;
    struct etx_edge_features_args job = *args;

    return etx_parallel_for(
        stream->pool, (args->n_edges + block - 1) / block, run_block, &job);
}
