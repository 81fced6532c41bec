/* stage/track_fitting/least_squares.h -- generalised least squares of a few
 * dozen correlated measurements and ETX_N_PATH parameters.
 *
 * With residuals r, derivatives J of the prediction and covariance V of the
 * measurements, the step is (J^T V^-1 J)^-1 J^T V^-1 r (Aitken's estimator).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_TRACK_FITTING_LEAST_SQUARES_H
#define ETX_STAGE_TRACK_FITTING_LEAST_SQUARES_H

#include "stage/track_fitting/path.h"

#define ETX_MAX_ROWS 128

struct etx_least_squares {
    int n_rows;
    double residual[ETX_MAX_ROWS];
    double derivative[ETX_MAX_ROWS][ETX_N_PATH];
    /* Of the measurements; etx_least_squares_solve replaces its lower triangle
     * by its Cholesky factor. */
    double covariance[ETX_MAX_ROWS][ETX_MAX_ROWS];
    /* Results of etx_least_squares_solve. */
    double step[ETX_N_PATH];
    double parameter_covariance[ETX_N_PATH][ETX_N_PATH];
    double chi2;      /* after the step, if the path were linear */
    double step_chi2; /* the step against the parameters' covariance */
};

/* is_new: the covariance is one, and not the factor of the last call. false
 * when a matrix is not positive definite. */
bool etx_least_squares_solve(struct etx_least_squares *fit, bool is_new);

#endif
