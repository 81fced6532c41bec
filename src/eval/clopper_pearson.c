/* eval/clopper_pearson.c -- a ratio of counts and how sure it is.
 *
 * Clopper and Pearson, Biometrika 26, 404 (1934): the interval ends are the
 * quantiles at one sigma of beta distributions, found by bisection of the
 * regularised incomplete beta function. That is a continued fraction
 * (Abramowitz and Stegun 26.5.8, evaluated from the front by Lentz's method)
 * times a binomial probability, taken from its deviance (Loader, "Fast and
 * accurate computation of binomial probabilities", 2000) to stay exact for
 * counts of any size.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "eval/metrics.h"

#include <math.h>

/* Probability of more than one sigma on one side of a normal distribution. */
#define ONE_SIGMA_TAIL 0.15865525393145707

#define LOG_2_PI 1.8378770664093453

/* Error of Stirling's formula: log(n!) - log(sqrt(2 pi n) (n / e)^n). */
static double stirling_error(double n)
{
    double log_factorial = 0.0;

    if (n > 15.0) {
        const double n2 = n * n;

        return (1.0 / 12.0 -
                   (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / (1680.0 * n2)) / n2) /
                       n2) /
               n;
    }
    for (double i = 2.0; i <= n; i += 1.0)
        log_factorial += log(i);
    return log_factorial - (n + 0.5) * log(n) + n - 0.5 * LOG_2_PI;
}

/* x log(x / mean) + mean - x, without cancellation where x is near mean. */
static double deviance(double x, double mean)
{
    const double v = (x - mean) / (x + mean);
    double sum = (x - mean) * v;
    double term = 2.0 * x * v;

    if (fabs(v) >= 0.1)
        return x * log(x / mean) + mean - x;
    for (int i = 1; i < 1000; i++) {
        const double before = sum;

        term *= v * v;
        sum += term / (2 * i + 1);
        if (sum == before)
            break;
    }
    return sum;
}

/* Probability of a successes and b failures at success probability x. */
static double binomial(double a, double b, double x)
{
    const double n = a + b;
    const double log_ratio = stirling_error(n) - stirling_error(a) -
                             stirling_error(b) - deviance(a, n * x) -
                             deviance(b, n * (1.0 - x));

    return exp(log_ratio + 0.5 * (log(n / (a * b)) - LOG_2_PI));
}

static double away_from_zero(double x)
{
    return fabs(x) < 1e-300 ? 1e-300 : x;
}

/* The continued fraction of I_x(a, b), for x < (a + 1) / (a + b + 2). It
 * needs about sqrt(max(a, b)) terms. */
static double continued_fraction(double a, double b, double x)
{
    double c = 1.0;
    double d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    double value = d;

    for (double m = 1.0; m < 1e6; m += 1.0) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd =
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double step;

        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        value *= c * d;
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        step = c * d;
        value *= step;
        if (fabs(step - 1.0) < 1e-15)
            break;
    }
    return value;
}

/* I_x(a, b) for x inside (0, 1). */
static double incomplete_beta(double a, double b, double x)
{
    const double front = binomial(a, b, x) * a * b / (a + b);

    if (x < (a + 1.0) / (a + b + 2.0))
        return front / a * continued_fraction(a, b, x);
    return 1.0 - front / b * continued_fraction(b, a, 1.0 - x);
}

double etx_beta_quantile(double probability, double a, double b)
{
    double low = 0.0;
    double high = 1.0;

    for (;;) {
        const double middle = 0.5 * (low + high);

        if (middle <= low || middle >= high)
            return middle;
        if (incomplete_beta(a, b, middle) < probability)
            low = middle;
        else
            high = middle;
    }
}

etx_rate etx_clopper_pearson(int64_t matched, int64_t total)
{
    const double a = (double)matched;
    const double b = (double)(total - matched);
    etx_rate rate = {.value = (double)NAN, .low = 0.0, .high = 1.0};

    if (total == 0)
        return rate;
    rate.value = a / (double)total;
    if (matched > 0)
        rate.low = etx_beta_quantile(ONE_SIGMA_TAIL, a, b + 1.0);
    if (matched < total)
        rate.high = etx_beta_quantile(1.0 - ONE_SIGMA_TAIL, a + 1.0, b);
    return rate;
}
