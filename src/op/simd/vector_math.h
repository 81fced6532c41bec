/* op/simd/vector_math.h -- exp, tanh and the activations on vectors.
 *
 * Arguments are clamped so that no finite input raises overflow, invalid or
 * divide-by-zero; a NaN stays a NaN. exp: reduction by multiples of ln 2 in
 * two parts and the polynomial of Cephes expf (Moshier). erfc: the Chebyshev
 * fit of Press et al., Numerical Recipes, section 6.2.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SIMD_VECTOR_MATH_H
#define ETX_OP_SIMD_VECTOR_MATH_H

#include "op/op.h"
#include "op/simd/vector.h"

/* exp(r) - 1 for r = x - n ln 2, |r| <= ln 2 / 2, with n next to
 * x / ln 2. */
static inline vec v_exp_rest(vec x, vec n)
{
    vec r = v_fnma(n, v_set1(0.693359375f), x);
    vec p = v_set1(1.9875691500e-4f);

    r = v_fnma(n, v_set1(-2.12194440e-4f), r);
    p = v_fma(p, r, v_set1(1.3981999507e-3f));
    p = v_fma(p, r, v_set1(8.3334519073e-3f));
    p = v_fma(p, r, v_set1(4.1665795894e-2f));
    p = v_fma(p, r, v_set1(1.6666665459e-1f));
    p = v_fma(p, r, v_set1(5.0000001201e-1f));
    return v_fma(p * r, r, r);
}

/* 2^n for whole n in -126 .. 127. */
static inline vec v_power(vec n)
{
    return v_as_float(vi_to_exponent(vi_add(v_to_int(n), vi_set1(127))));
}

/* exp(r) - 1 of the rest r of x; *power = 2^n. */
static inline vec v_exp_reduced(vec *power, vec x)
{
    const vec n = v_round(x * v_set1(1.44269504f));

    *power = v_power(n);
    return v_exp_rest(x, n);
}

/* exp(x), x clamped to [-87, 87]; 2 ulp. */
static inline vec v_exp(vec x)
{
    vec power;
    const vec p =
        v_exp_reduced(&power, v_max(v_set1(-87.0f), v_min(v_set1(87.0f), x)));
    return v_fma(p, power, power);
}

/* exp(x) - 1, x clamped to [-87, 87]; 2 ulp. */
static inline vec v_expm1(vec x)
{
    vec power;
    const vec p =
        v_exp_reduced(&power, v_max(v_set1(-87.0f), v_min(v_set1(87.0f), x)));
    return v_fma(p, power, power - v_set1(1.0f));
}

/* exp(-x) for x >= -87, x clamped to 87. */
static inline vec v_exp_minus(vec x)
{
    const vec low = v_min(v_set1(87.0f), x);
    const vec n = v_round(low * v_set1(-1.44269504f));
    const vec power = v_power(n);

    return v_fma(v_exp_rest(v_zero() - low, n), power, power);
}

/* 2^t for t in -126 .. 126; a relative error of 1e-7. The polynomial is the
 * best one of degree 5 with the value 1 at 0. */
static inline vec v_exp2(vec t)
{
    const vec n = v_round(t);
    const vec f = t - n;
    vec p = v_set1(1.32647273e-3f);

    p = v_fma(p, f, v_set1(9.67151299e-3f));
    p = v_fma(p, f, v_set1(5.55073358e-2f));
    p = v_fma(p, f, v_set1(2.40222424e-1f));
    p = v_fma(p, f, v_set1(6.93147004e-1f));
    return v_scale(v_fma(p, f, v_set1(1.0f)), n);
}

/* 1 / (1 + exp(-x)); 3 ulp for x >= -87. */
static inline vec v_sigmoid(vec x)
{
    return v_reciprocal(v_set1(1.0f) + v_exp_minus(v_max(v_set1(-87.0f), x)));
}

/* tanh(x) = x P(x^2) / Q(x^2), degrees 5 and 3, the best in relative error up
 * to where tanh is 1 in float32; 6 ulp, never beyond 1. */
static inline vec v_tanh(vec x)
{
    const vec c = v_max(v_set1(-9.02f), v_min(v_set1(9.02f), x));
    const vec u = c * c;
    vec p = v_set1(1.81626068e-11f);
    vec q = v_set1(2.27913990e-4f);
    vec y;

    p = v_fma(p, u, v_set1(-1.27438788e-8f));
    p = v_fma(p, u, v_set1(9.25514814e-6f));
    p = v_fma(p, u, v_set1(2.91941338e-3f));
    p = v_fma(p, u, v_set1(1.29179731e-1f));
    p = v_fma(p, u, v_set1(9.9999994e-1f));
    q = v_fma(q, u, v_set1(2.37576459e-2f));
    q = v_fma(q, u, v_set1(4.62512553e-1f));
    q = v_fma(q, u, v_set1(1.0f));
    y = c * p * v_reciprocal(q);
    return v_max(v_set1(-1.0f), v_min(v_set1(1.0f), y));
}

/* The distribution function of the normal distribution; *density = its
 * derivative at x. */
static inline vec v_normal(vec *density, vec x)
{
    const vec z = v_min(v_set1(13.0f), v_abs(x)) * v_set1(0.707106781f);
    const vec t = v_reciprocal(v_fma(z, v_set1(0.5f), v_set1(1.0f)));
    vec p = v_set1(0.17087277f);
    vec tail;

    p = v_fma(p, t, v_set1(-0.82215223f));
    p = v_fma(p, t, v_set1(1.48851587f));
    p = v_fma(p, t, v_set1(-1.13520398f));
    p = v_fma(p, t, v_set1(0.27886807f));
    p = v_fma(p, t, v_set1(-0.18628806f));
    p = v_fma(p, t, v_set1(0.09678418f));
    p = v_fma(p, t, v_set1(0.37409196f));
    p = v_fma(p, t, v_set1(1.00002368f));
    p = v_fma(p, t, v_set1(-1.26551223f));
    tail = v_set1(0.5f) * t * v_exp(v_fnma(z, z, p));
    *density = v_set1(0.398942280f) * v_exp(v_zero() - z * z);
    return v_select(v_less(x, v_zero()), tail, v_set1(1.0f) - tail);
}

/* f(x) and *slope = f'(x); kind is a constant where this is inlined. */
static inline __attribute__((always_inline)) vec v_activation(
    vec *slope, const enum etx_activation kind, vec x)
{
    const vec zero = v_zero();
    const vec one = v_set1(1.0f);

    switch (kind) {
    case ETX_ACTIVATION_RELU: {
        *slope = v_select(v_less(zero, x), one, zero);
        return v_max(zero, x);
    }
    case ETX_ACTIVATION_SILU: {
        /* s is within 2^-25 where it is not small, and then y is. */
        const vec low = v_max(v_set1(-87.0f), x);
        const vec e =
            v_exp2(v_max(v_set1(-126.0f), low * v_set1(-1.44269504f)));
        const vec s = v_reciprocal(one + e);
        const vec y = low * s;
        *slope = v_fma(v_min(v_set1(88.0f), y), e * s, s);
        return y;
    }
    case ETX_ACTIVATION_TANH: {
        const vec y = v_tanh(x);
        *slope = v_fnma(y, y, one);
        return y;
    }
    case ETX_ACTIVATION_GELU: {
        const vec low = v_max(v_set1(-13.0f), x);
        vec density;
        const vec s = v_normal(&density, low);
        *slope = v_fma(v_min(v_set1(13.0f), low), density, s);
        return low * s;
    }
    case ETX_ACTIVATION_ELU: {
        const vec y = v_expm1(v_min(zero, x));
        const vmask positive = v_less(zero, x);
        *slope = v_select(positive, one, y + one);
        return v_select(positive, x, y);
    }
    case ETX_ACTIVATION_SIGMOID: {
        const vec s = v_sigmoid(x);
        *slope = v_fnma(s, s, s);
        return s;
    }
    case ETX_ACTIVATION_NONE:
    case ETX_N_ACTIVATIONS:
        break;
    }
    *slope = one;
    return x;
}

#endif
