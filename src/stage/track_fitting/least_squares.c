/* stage/track_fitting/least_squares.c -- generalised least squares.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/track_fitting/least_squares.h"

#include <math.h>
#include <string.h>

/* Replace the lower triangle of a symmetric matrix [n, stride] by its Cholesky
 * factor. */
static bool factorise(double *matrix, int n, int stride)
{
    for (int i = 0; i < n; i++) {
        double *row = matrix + i * stride;

        for (int j = 0; j <= i; j++) {
            const double *other = matrix + j * stride;
            double sum = row[j];

            for (int k = 0; k < j; k++)
                sum -= row[k] * other[k];
            if (j < i)
                row[j] = sum / other[j];
            else if (sum > 0.0)
                row[i] = sqrt(sum);
            else
                return false;
        }
    }
    return true;
}

/* Replace a vector, whose elements lie stride apart, by L^-1 vector. */
static void solve_lower(
    const double *factor, int n, int factor_stride, double *vector, int stride)
{
    for (int i = 0; i < n; i++) {
        double sum = vector[i * stride];

        for (int k = 0; k < i; k++)
            sum -= factor[i * factor_stride + k] * vector[k * stride];
        vector[i * stride] = sum / factor[i * factor_stride + i];
    }
}

/* inverse = (L L^T)^-1 of a factor L [ETX_N_PATH, ETX_N_PATH]. */
static void invert(double inverse[ETX_N_PATH][ETX_N_PATH],
    double factor[ETX_N_PATH][ETX_N_PATH])
{
    double lower[ETX_N_PATH][ETX_N_PATH] = {{0.0}};

    for (int p = 0; p < ETX_N_PATH; p++) {
        lower[p][p] = 1.0;
        solve_lower(
            factor[0], ETX_N_PATH, ETX_N_PATH, &lower[0][p], ETX_N_PATH);
    }
    for (int p = 0; p < ETX_N_PATH; p++)
        for (int q = 0; q < ETX_N_PATH; q++) {
            inverse[p][q] = 0.0;
            for (int k = 0; k < ETX_N_PATH; k++)
                inverse[p][q] += lower[k][p] * lower[k][q];
        }
}

bool etx_least_squares_solve(struct etx_least_squares *fit, bool is_new)
{
    const int n = fit->n_rows;
    double normal[ETX_N_PATH][ETX_N_PATH];
    double slope[ETX_N_PATH] = {0.0};

    if (is_new && !factorise(fit->covariance[0], n, ETX_MAX_ROWS))
        return false;
    solve_lower(fit->covariance[0], n, ETX_MAX_ROWS, fit->residual, 1);
    for (int p = 0; p < ETX_N_PATH; p++)
        solve_lower(fit->covariance[0], n, ETX_MAX_ROWS, &fit->derivative[0][p],
            ETX_N_PATH);
    fit->chi2 = 0.0;
    memset(normal, 0, sizeof normal);
    for (int i = 0; i < n; i++) {
        fit->chi2 += fit->residual[i] * fit->residual[i];
        for (int p = 0; p < ETX_N_PATH; p++) {
            slope[p] += fit->derivative[i][p] * fit->residual[i];
            for (int q = 0; q < ETX_N_PATH; q++)
                normal[p][q] += fit->derivative[i][p] * fit->derivative[i][q];
        }
    }
    if (!factorise(normal[0], ETX_N_PATH, ETX_N_PATH))
        return false;
    invert(fit->parameter_covariance, normal);
    fit->step_chi2 = 0.0;
    for (int p = 0; p < ETX_N_PATH; p++) {
        fit->step[p] = 0.0;
        for (int q = 0; q < ETX_N_PATH; q++)
            fit->step[p] += fit->parameter_covariance[p][q] * slope[q];
        fit->step_chi2 += fit->step[p] * slope[p];
    }
    const double chi2 = fit->chi2 - fit->step_chi2;
    fit->chi2 = fmax(chi2, 0.0); /* an exact fit leaves what rounding does */
    return isfinite(chi2);
}
