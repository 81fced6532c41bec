/* stage/track_fitting/measurements.c -- the hits of a track as measurements.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/track_fitting/measurements.h"

#include <math.h>
#include <string.h>

#define UNIFORM_RMS   3.4641016151377546 /* a width over its RMS, sqrt(12) */
#define MIN_SIGMA     1e-3               /* mm */
#define MIN_INCIDENCE 0.05               /* cosine: modules are finite */
#define MIN_MATERIAL  1e-4               /* radiation lengths */
#define MAX_MOMENTUM  1e6                /* GeV */

/* A path at a module: its unit direction, and how much it may scatter there. */
struct crossing {
    double direction[3];
    double incidence;            /* direction . normal */
    double kink[ETX_N_LOCAL][3]; /* mm per mm: one standard deviation */
    double length;               /* mm from the start of the path, in space */
    double slower; /* momentum before the module over that after */
    double gain;   /* derivative of 1 / momentum after it by that before it */
};

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

void etx_measurement_make(struct etx_measurement *out, const float *position,
    const struct etx_detector_module *module, const etx_fit_options *options)
{
    const double scale = (double)options->resolution_scale;
    const int is_known =
        options->material > 0.0f && module->radiation_lengths > 0.0f;
    const double pitch[ETX_N_LOCAL] = {
        (double)module->pitch_u, (double)module->pitch_v};

    for (int k = 0; k < 3; k++) {
        out->origin[k] = (double)position[k];
        out->axis[ETX_U][k] = (double)module->rotation[3 * k];
        out->axis[ETX_V][k] = (double)module->rotation[3 * k + 1];
        out->normal[k] = (double)module->rotation[3 * k + 2];
    }
    for (int a = 0; a < ETX_N_LOCAL; a++)
        out->sigma[a] = fmax(scale * pitch[a] / UNIFORM_RMS, MIN_SIGMA);
    out->material =
        (double)(is_known ? module->radiation_lengths : options->material);
}

static double find_energy(double momentum, double mass)
{
    return sqrt(momentum * momentum + mass * mass);
}

/* Standard deviation of the angle, in a plane, after x radiation lengths. */
static double scattering_angle(double momentum, double mass, double x)
{
    const double velocity = momentum / find_energy(momentum, mass);

    return 0.0136 / (velocity * momentum) * sqrt(x) * (1.0 + 0.038 * log(x));
}

/* Momentum before a loss of energy over that after it. A particle keeps half
 * of its kinetic energy at least: a step of the fit may guess too little. */
static double slow_down(double momentum, double mass, double loss)
{
    const double before = find_energy(momentum, mass);
    const double after = before - fmin(loss, 0.5 * (before - mass));

    return momentum / sqrt(after * after - mass * mass);
}

static void cross(struct crossing *out, const struct etx_path_point *point,
    const struct etx_measurement *measurement, const etx_fit_options *options)
{
    const double cot = point->direction[2];
    const double norm = sqrt(1.0 + cot * cot);
    const double sine = point->direction[1];
    const double cosine = point->direction[0];
    const double pt = 1.0 / fmax(fabs(point->q_over_pt), norm / MAX_MOMENTUM);

    for (int k = 0; k < 3; k++)
        out->direction[k] = point->direction[k] / norm;
    out->incidence = dot(out->direction, measurement->normal);
    out->length = point->length * norm;
    const double mass = (double)options->mass;
    const double x = fmax(measurement->material, MIN_MATERIAL) /
                     fmax(fabs(out->incidence), MIN_INCIDENCE);
    const bool has_material = measurement->material > 0.0;
    const double angle =
        has_material ? scattering_angle(pt * norm, mass, x) : 0.0;
    out->slower = has_material ? slow_down(pt * norm, mass,
                                     x * (double)options->energy_loss)
                               : 1.0;
    out->gain = out->slower * out->slower * out->slower *
                find_energy(pt * norm / out->slower, mass) /
                find_energy(pt * norm, mass);
    /* Across the path: in the transverse plane, and towards the axis. */
    const double sideward[3] = {-sine, cosine, 0.0};
    const double upward[3] = {
        -cosine * cot / norm, -sine * cot / norm, 1.0 / norm};
    for (int k = 0; k < 3; k++) {
        out->kink[ETX_U][k] = angle * sideward[k];
        out->kink[ETX_V][k] = angle * upward[k];
    }
}

/* A displacement of the path, as it is seen along an axis of the module. */
static double project(const double displacement[3],
    const struct crossing *crossing, const struct etx_measurement *measurement,
    int axis)
{
    const double along =
        dot(displacement, measurement->normal) / crossing->incidence;

    return dot(displacement, measurement->axis[axis]) -
           along * dot(crossing->direction, measurement->axis[axis]);
}

/* The two rows of measurement i, but for the covariance. */
static void fill_rows(struct etx_least_squares *out, int i,
    const struct etx_measurement *measurement, const struct crossing *crossing,
    const struct etx_path_point *point)
{
    for (int a = 0; a < ETX_N_LOCAL; a++) {
        const int row = ETX_N_LOCAL * i + a;
        double to[3];

        for (int k = 0; k < 3; k++)
            to[k] = measurement->origin[k] - point->position[k];
        out->residual[row] = dot(to, measurement->axis[a]);
        for (int p = 0; p < ETX_N_PATH; p++) {
            const double moved[3] = {point->derivative[0][p],
                point->derivative[1][p], point->derivative[2][p]};

            out->derivative[row][p] = project(moved, crossing, measurement, a);
        }
    }
}

/* How measurement i moves when the particle scatters in module k before it. */
static double scattered(const struct etx_measurement *measurement,
    const struct crossing *crossing, int i, int axis, int k, int kink)
{
    const double lever = crossing[i].length - crossing[k].length;

    return lever > 0.0 ? lever * project(crossing[k].kink[kink], &crossing[i],
                                     &measurement[i], axis)
                       : 0.0;
}

/* covariance = resolution + S S^T with S [row, 2 k + kink]; only its lower
 * triangle is filled. */
static void fill_covariance(struct etx_least_squares *out,
    const struct etx_measurement *measurement, const struct crossing *crossing,
    int n)
{
    double shift[ETX_MAX_ROWS][ETX_N_LOCAL];

    for (int row = 0; row < out->n_rows; row++) {
        memset(out->covariance[row], 0, sizeof out->covariance[row]);
        const double sigma =
            measurement[row / ETX_N_LOCAL].sigma[row % ETX_N_LOCAL];
        out->covariance[row][row] = sigma * sigma;
    }
    for (int k = 0; k < n; k++) {
        const int first = ETX_N_LOCAL * (k + 1);

        for (int row = first; row < out->n_rows; row++)
            for (int kink = 0; kink < ETX_N_LOCAL; kink++)
                shift[row][kink] = scattered(measurement, crossing,
                    row / ETX_N_LOCAL, row % ETX_N_LOCAL, k, kink);
        for (int row = first; row < out->n_rows; row++)
            for (int column = first; column <= row; column++)
                out->covariance[row][column] +=
                    shift[row][ETX_U] * shift[column][ETX_U] +
                    shift[row][ETX_V] * shift[column][ETX_V];
    }
}

bool etx_measurements_compare(struct etx_least_squares *out,
    const struct etx_measurement *measurement, int n,
    const double parameters[ETX_N_PATH], const struct etx_path_field *field,
    const etx_fit_options *options, bool has_covariance)
{
    struct crossing crossing[ETX_FIT_MAX_HITS];
    struct etx_path_point point;

    out->n_rows = ETX_N_LOCAL * n;
    etx_path_start(&point, parameters);
    for (int i = 0; i < n; i++) {
        if (!etx_path_reach(
                &point, field, measurement[i].origin, measurement[i].normal))
            return false;
        cross(&crossing[i], &point, &measurement[i], options);
        fill_rows(out, i, &measurement[i], &crossing[i], &point);
        point.q_over_pt *= crossing[i].slower;
        point.gain *= crossing[i].gain;
    }
    if (has_covariance)
        fill_covariance(out, measurement, crossing, n);
    return true;
}
