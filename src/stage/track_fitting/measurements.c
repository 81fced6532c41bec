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
/* Least widths in pitches: charge is known to a tenth, and a path in a sensor
 * is not quite straight. */
#define MIN_SHARED  0.15
#define MIN_COUNTED 0.3
/* Of the energy loss in all material together: what is no pion loses more where
 * it is slow. */
#define LOSS_ERROR 0.5

/* A path at a module. */
struct crossing {
    struct etx_path_point at;
    double sigma[ETX_N_LOCAL]; /* mm, of the hit */
};

/* A path where it may scatter, by one standard deviation in a plane. */
struct scatterer {
    double position[3], length; /* of the path, mm */
    double turn;                /* about the z axis */
    double rise;                /* of the slope */
    double growth;              /* of the curvature, at the same momentum */
    double moved[3], turned;    /* derivatives of position and phi by q/pT */
};

/* All that a path crosses. */
struct way {
    int n; /* crossings */
    int n_scatterers;
    int n_tubes; /* of the detector, that it is beyond */
    struct crossing crossing[ETX_FIT_MAX_HITS];
    struct scatterer scatterer[ETX_FIT_MAX_HITS + ETX_MAX_TUBES];
};

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

void etx_measurement_make(struct etx_measurement *out, const float *position,
    const float *cells, const struct etx_detector_module *module,
    const etx_fit_options *options)
{
    const int is_known =
        options->material > 0.0f && module->radiation_lengths > 0.0f;
    const float pitch[ETX_N_LOCAL] = {module->pitch_u, module->pitch_v};

    for (int k = 0; k < 3; k++) {
        out->origin[k] = (double)position[k];
        out->axis[ETX_U][k] = (double)module->rotation[3 * k];
        out->axis[ETX_V][k] = (double)module->rotation[3 * k + 1];
        out->normal[k] = (double)module->rotation[3 * k + 2];
    }
    for (int a = 0; a < ETX_N_LOCAL; a++) {
        out->pitch[a] = (double)pitch[a];
        out->n_cells[a] =
            cells != NULL ? round((double)(cells[4 + a] / pitch[a])) : 0.0;
    }
    out->has_charge = cells != NULL && cells[0] != cells[1];
    out->depth = (double)module->depth;
    out->material =
        (double)(is_known ? module->radiation_lengths : options->material);
    out->material_offset = (double)module->material_offset;
    out->volume_id = module->volume_id;
    out->layer_id = module->layer_id;
}

/* The width, in pitches, of the uniform distribution of the true coordinate
 * about the middle of n cells, of which the path covers w. Where they share the
 * charge, their mean is wrong by the part of a cell that the path leaves; where
 * they count one each, n of them allow the path to be moved by that. Cells that
 * are missing or too many, at an edge or with another particle, move the mean
 * by half of them. */
static double find_width(
    const struct etx_measurement *measurement, int axis, double slope)
{
    const double n = measurement->n_cells[axis];
    const double w =
        fabs(slope) * measurement->depth / measurement->pitch[axis];
    const double more = fabs(w - (n - 1.0));

    if (n < 1.0 || measurement->depth == 0.0)
        return 1.0;
    return fmax(2.0 * (more - 1.0), measurement->has_charge
                                        ? fmax(1.0 - w, MIN_SHARED)
                                        : fmax(1.0 - more, MIN_COUNTED));
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

/* The particle loses energy, of which it keeps half of the kinetic one at
 * least: a step of the fit may guess too little momentum. */
static void slow_down(
    struct etx_path_point *point, double momentum, double mass, double loss)
{
    const double before = find_energy(momentum, mass);
    const double lost = fmin(loss, 0.5 * (before - mass));
    const double after = before - lost;
    const double slower = momentum / sqrt(after * after - mass * mass);
    const double gain = slower * slower * slower * after / before;

    point->q_over_pt *= slower;
    point->gain *= gain;
    point->loss_gain =
        gain * point->loss_gain +
        point->q_over_pt * after * lost / (after * after - mass * mass);
}

/* The path crosses material of radiation lengths x, along a normal, at a
 * transverse length ahead: it may scatter there, and loses energy here. */
static void pass_material(struct way *way, struct etx_path_point *point,
    double ahead, const double normal[3], double material,
    const etx_fit_options *options)
{
    struct scatterer *scatterer = &way->scatterer[way->n_scatterers++];
    const double *direction = point->direction;
    const double norm = sqrt(1.0 + direction[2] * direction[2]);
    const double mass = (double)options->mass;
    const double momentum =
        norm / fmax(fabs(point->q_over_pt), norm / MAX_MOMENTUM);
    const double incidence = fabs(dot(direction, normal)) / norm;
    const double x =
        fmax(material, MIN_MATERIAL) / fmax(incidence, MIN_INCIDENCE);
    const double angle = scattering_angle(momentum, mass, x);

    scatterer->length = point->length + ahead;
    for (int k = 0; k < 3; k++) {
        scatterer->position[k] = point->position[k] + ahead * direction[k];
        scatterer->moved[k] = point->derivative[k][ETX_PATH_Q_OVER_PT];
    }
    scatterer->turned = point->phi_derivative[ETX_PATH_Q_OVER_PT];
    scatterer->turn = angle * norm;
    scatterer->rise = angle * norm * norm;
    scatterer->growth = angle * direction[2] * point->q_over_pt / point->gain;
    slow_down(point, momentum, mass, x * (double)options->energy_loss);
}

/* The tubes between a point and the next hit, straight ahead. */
static void pass_tubes(struct way *way, struct etx_path_point *point,
    const double to[3], const struct etx_detector *detector,
    const etx_fit_options *options)
{
    const double *at = point->position;
    const double *direction = point->direction;
    const double inside = at[0] * at[0] + at[1] * at[1];
    const double outside = to[0] * to[0] + to[1] * to[1];
    const double along = at[0] * direction[0] + at[1] * direction[1];

    for (; way->n_tubes < detector->n_tubes; way->n_tubes++) {
        const struct etx_detector_tube *tube = &detector->tube[way->n_tubes];
        const double r = (double)tube->radius;

        if (r * r > outside)
            return;
        if (r * r <= inside || options->material <= 0.0f)
            continue;
        const double ahead = sqrt(along * along + r * r - inside) - along;
        const double normal[3] = {(at[0] + ahead * direction[0]) / r,
            (at[1] + ahead * direction[1]) / r, 0.0};
        pass_material(way, point, ahead, normal,
            (double)tube->radiation_lengths, options);
    }
}

/* A displacement of a path, as it is seen along an axis of the module. */
static double project(const double displacement[3],
    const struct etx_path_point *point,
    const struct etx_measurement *measurement, int axis)
{
    const double along = dot(displacement, measurement->normal) /
                         dot(point->direction, measurement->normal);

    return dot(displacement, measurement->axis[axis]) -
           along * dot(point->direction, measurement->axis[axis]);
}

static double project_derivative(int p, const struct etx_path_point *point,
    const struct etx_measurement *measurement, int axis)
{
    const double moved[3] = {point->derivative[0][p], point->derivative[1][p],
        point->derivative[2][p]};

    return project(moved, point, measurement, axis);
}

static void cross(struct crossing *out, const struct etx_path_point *point,
    const struct etx_measurement *measurement, const etx_fit_options *options)
{
    const double along = dot(point->direction, measurement->normal);

    out->at = *point;
    for (int a = 0; a < ETX_N_LOCAL; a++) {
        const double slope =
            dot(point->direction, measurement->axis[a]) / along;
        const double width =
            measurement->pitch[a] * find_width(measurement, a, slope);

        out->sigma[a] = fmax(
            (double)options->resolution_scale * width / UNIFORM_RMS, MIN_SIGMA);
    }
}

/* The two rows of measurement i, but for the covariance. */
static void fill_rows(struct etx_least_squares *out, int i,
    const struct etx_measurement *measurement,
    const struct etx_path_point *point)
{
    for (int a = 0; a < ETX_N_LOCAL; a++) {
        const int row = ETX_N_LOCAL * i + a;
        double to[3];

        for (int k = 0; k < 3; k++)
            to[k] = measurement->origin[k] - point->position[k];
        out->residual[row] = dot(to, measurement->axis[a]);
        for (int p = 0; p < ETX_N_PATH; p++)
            out->derivative[row][p] =
                project_derivative(p, point, measurement, a);
    }
}

/* How a point moves, mm, by one standard deviation of both kinks before it: the
 * path from there on turns about the z axis, or has another slope and, at the
 * same momentum, another curvature. */
static void scatter(double out[ETX_N_LOCAL][3],
    const struct scatterer *scatterer, const struct etx_path_point *point)
{
    const double growth = scatterer->growth;
    double to[3], moved[3];

    for (int k = 0; k < 3; k++) {
        to[k] = point->position[k] - scatterer->position[k];
        moved[k] =
            point->derivative[k][ETX_PATH_Q_OVER_PT] - scatterer->moved[k];
    }
    out[ETX_U][0] = -scatterer->turn * to[1];
    out[ETX_U][1] = scatterer->turn * to[0];
    out[ETX_U][2] = 0.0;
    out[ETX_V][0] = growth * (moved[0] + scatterer->turned * to[1]);
    out[ETX_V][1] = growth * (moved[1] - scatterer->turned * to[0]);
    out[ETX_V][2] = scatterer->rise * (point->length - scatterer->length);
}

/* Add the covariance of two independent shifts [n_rows, 2], from a row on. */
static void add_shifts(struct etx_least_squares *out, int first,
    double shift[ETX_MAX_ROWS][ETX_N_LOCAL])
{
    for (int row = first; row < out->n_rows; row++)
        for (int column = first; column <= row; column++)
            out->covariance[row][column] +=
                shift[row][ETX_U] * shift[column][ETX_U] +
                shift[row][ETX_V] * shift[column][ETX_V];
}

/* covariance = resolution + S S^T with S the shifts of all hits by every kink
 * and by the energy loss; only its lower triangle is filled. */
static void fill_covariance(struct etx_least_squares *out,
    const struct etx_measurement *measurement, const struct way *way)
{
    double shift[ETX_MAX_ROWS][ETX_N_LOCAL];

    for (int row = 0; row < out->n_rows; row++) {
        const int i = row / ETX_N_LOCAL;
        const int axis = row % ETX_N_LOCAL;
        const struct crossing *crossing = &way->crossing[i];

        memset(out->covariance[row], 0, sizeof out->covariance[row]);
        out->covariance[row][row] =
            crossing->sigma[axis] * crossing->sigma[axis];
        shift[row][0] = LOSS_ERROR * project_derivative(ETX_PATH_LOSS,
                                         &crossing->at, &measurement[i], axis);
        shift[row][1] = 0.0;
    }
    add_shifts(out, 0, shift);
    for (int k = 0; k < way->n_scatterers; k++) {
        const struct scatterer *scatterer = &way->scatterer[k];
        int first = out->n_rows;

        for (int i = way->n - 1; i >= 0; i--) {
            const struct etx_path_point *at = &way->crossing[i].at;
            double moved[ETX_N_LOCAL][3];

            if (at->length <= scatterer->length)
                break;
            first = ETX_N_LOCAL * i;
            scatter(moved, scatterer, at);
            for (int a = 0; a < ETX_N_LOCAL; a++)
                for (int kink = 0; kink < ETX_N_LOCAL; kink++)
                    shift[first + a][kink] =
                        project(moved[kink], at, &measurement[i], a);
        }
        add_shifts(out, first, shift);
    }
}

/* Whether hit i - 1 is on the layer of hit i, and so has its material. */
static bool is_passed(const struct etx_measurement *measurement, int i)
{
    return i > 0 && measurement[i].material_offset != 0.0 &&
           measurement[i].volume_id == measurement[i - 1].volume_id &&
           measurement[i].layer_id == measurement[i - 1].layer_id;
}

bool etx_measurements_compare(struct etx_least_squares *out,
    const struct etx_measurement *measurement, int n,
    const double parameters[ETX_N_PATH], const struct etx_detector *detector,
    const struct etx_path_field *field, const etx_fit_options *options,
    bool has_covariance)
{
    struct way way = {.n = n};
    struct etx_path_point point;

    out->n_rows = ETX_N_LOCAL * n;
    etx_path_start(&point, parameters);
    for (int i = 0; i < n; i++) {
        const struct etx_measurement *hit = &measurement[i];

        pass_tubes(&way, &point, hit->origin, detector, options);
        if (!etx_path_reach(&point, field, hit->origin, hit->normal))
            return false;
        cross(&way.crossing[i], &point, hit, options);
        fill_rows(out, i, hit, &point);
        if (hit->material > 0.0 && !is_passed(measurement, i))
            pass_material(&way, &point,
                hit->material_offset / dot(point.direction, hit->normal),
                hit->normal, hit->material, options);
    }
    if (has_covariance)
        fill_covariance(out, measurement, &way);
    return true;
}
