/* test_track_fitting.c -- parameters of tracks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fit_events.h"

#include "base/random.h"
#include "stage/helix/layer_table.h"
#include "stage/model.h"
#include "stage/track_fitting/measurements.h"

#include <math.h>
#include <stdlib.h>

#define LOSS  0.1f                /* GeV per radiation length */
#define PITCH 0.34641016151377546 /* mm: 0.1 times the square root of 12 */

static const struct etx_detector no_detector = {.n_modules = 0};

static etx_fit_options options_with(float material)
{
    etx_fit_options options;

    ck_assert_ok(etx_fit_options_init(&options, sizeof options));
    options.field = FIT_FIELD;
    options.material = material;
    options.energy_loss = 0.0f;
    return options;
}

static void fit(etx_track_parameters *out, uint8_t *is_outlier,
    const struct fit_sample *sample, const etx_tracks *tracks,
    int32_t n_threads, const etx_fit_options *options)
{
    scoped_event *event = fit_event_of(sample);
    scoped_context *context = etx_test_context_with(n_threads, 0, NULL, NULL);

    ck_assert_ok(etx_fit_tracks(out, is_outlier, tracks, context, NULL, event,
        &sample->detector, options));
}

/* Fitted less true value of parameter p. */
static double deviation(
    const etx_track_parameters *fitted, const double truth[ETX_N_FIT], int p)
{
    const double value[ETX_N_FIT] = {
        fitted->d0, fitted->z0, fitted->phi, fitted->theta, fitted->q_over_pt};

    return p == ETX_FIT_PHI ? remainder(value[p] - truth[p], 2.0 * acos(-1.0))
                            : value[p] - truth[p];
}

/* A map of the field of new_sample_in, which is linear between its points. */
static etx_fit_options options_with_map(float *map, double gradient)
{
    static const double max_r = 1200.0;
    static const double max_z = 2000.0;
    etx_fit_options options = options_with(0.0f);

    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 5; j++) {
            map[2 * (5 * i + j)] = (float)(0.5 * gradient * max_r * i / 3.0);
            map[2 * (5 * i + j) + 1] =
                (float)((double)FIT_FIELD - gradient * max_z * (0.5 * j - 1.0));
        }
    options.field = 0.0f;
    options.field_map = map;
    options.n_r = 4;
    options.n_z = 5;
    options.max_r = (float)max_r;
    options.max_z = (float)max_z;
    return options;
}

/* Hits without errors: the true parameters to the precision of float32, in a
 * uniform field, and to that of the arcs, 0.01 mm, in one that changes. */
ETX_TEST(test_track_fitting_exact, .rows = 2)
{
    static const double bound[][ETX_N_FIT] = {
        {2e-3, 1e-2, 2e-5, 2e-5, 1e-4}, {5e-2, 2e-1, 5e-4, 5e-4, 2e-3}};
    const double gradient = _i == 0 ? 0.0 : 3e-4; /* T/mm */
    scoped struct fit_sample *sample =
        new_fit_sample_in(150, 0.0, 0.0, gradient, 0.0);
    scoped_tracks *tracks = fit_tracks_of(sample);
    scoped etx_track_parameters *out = etx_test_alloc(150, sizeof *out);
    float map[40];
    const etx_fit_options options =
        _i == 0 ? options_with(0.0f) : options_with_map(map, gradient);

    fit(out, NULL, sample, tracks, 1, &options);
    for (int64_t t = 0; t < 150; t++) {
        ck_assert_int_eq(out[t].n_degrees, 2 * FIT_N_LAYERS - ETX_N_FIT);
        ck_assert_double_lt(out[t].chi2, _i == 0 ? 1e-3 : 6.0);
        for (int p = 0; p < ETX_N_FIT; p++)
            ck_assert_double_eq_tol(
                deviation(&out[t], sample->truth[t], p), 0.0, bound[_i][p]);
    }
}

/* Smeared hits, without and with scattering, and with energy loss: pulls have
 * width 1 and chi2 has the mean of its distribution. 1500 tracks: 5 standard
 * deviations are 9 %. */
ETX_TEST(test_track_fitting_pulls, .rows = 3)
{
    const float material = _i == 0 ? 0.0f : FIT_MATERIAL;
    const float loss = _i == 2 ? LOSS : 0.0f;
    scoped struct fit_sample *sample = new_fit_sample_in(
        FIT_MAX_TRACKS, 1.0, (double)material, 0.0, (double)loss);
    scoped_tracks *tracks = fit_tracks_of(sample);
    scoped etx_track_parameters *out =
        etx_test_alloc(FIT_MAX_TRACKS, sizeof *out);
    etx_fit_options options = options_with(material);
    double square[ETX_N_FIT] = {0.0};
    double chi2 = 0.0;

    options.energy_loss = loss;
    fit(out, NULL, sample, tracks, 2, &options);
    for (int64_t t = 0; t < FIT_MAX_TRACKS; t++) {
        ck_assert_int_gt(out[t].n_degrees, 0);
        chi2 += out[t].chi2 / out[t].n_degrees / FIT_MAX_TRACKS;
        for (int p = 0; p < ETX_N_FIT; p++) {
            const double d = deviation(&out[t], sample->truth[t], p);

            square[p] +=
                d * d / out[t].covariance[(ETX_N_FIT + 1) * p] / FIT_MAX_TRACKS;
        }
    }
    ck_assert_double_eq_tol(chi2, 1.0, 0.05);
    for (int p = 0; p < ETX_N_FIT; p++)
        ck_assert_double_eq_tol(sqrt(square[p]), 1.0, 0.09);
}

/* The derivatives against differences, in a field that falls along z. */
ETX_TEST(test_track_fitting_derivatives)
{
    static const float value[] = {2.0f, 1.9f, 1.7f, 1.3f, 0.8f};
    static const double at[ETX_N_PATH] = {3.0, -40.0, 1.0, 0.9, -1.2};
    static const double origin[3] = {250.0, 420.0, 380.0};
    static const double normal[3] = {0.48, 0.86, 0.15};
    const struct etx_path_field field = {.value = value, .n = 5, .bin = 1e3};
    struct etx_path_point point;

    etx_path_start(&point, at);
    ck_assert(etx_path_reach(&point, &field, origin, normal));
    for (int p = 0; p < ETX_N_PATH; p++) {
        const double h = 1e-5;
        struct etx_path_point side[2];

        for (int s = 0; s < 2; s++) {
            double moved[ETX_N_PATH];

            memcpy(moved, at, sizeof moved);
            moved[p] += s == 0 ? -h : h;
            etx_path_start(&side[s], moved);
            ck_assert(etx_path_reach(&side[s], &field, origin, normal));
        }
        /* The path's own derivative is at constant length; the plane moves the
         * crossing along the direction. */
        const double fixed[3] = {point.derivative[0][p], point.derivative[1][p],
            point.derivative[2][p]};
        const double along =
            fit_dot(fixed, normal) / fit_dot(point.direction, normal);
        for (int k = 0; k < 3; k++) {
            const double slope =
                (side[1].position[k] - side[0].position[k]) / (2.0 * h);

            ck_assert_double_eq_tol(fixed[k] - along * point.direction[k],
                slope, 2e-2 * (1.0 + fabs(slope)));
        }
    }
}

/* The y at which a path comes to a plane at x = 440 mm in n steps of the same
 * length, after one of 40 mm. */
static double reach_in(int n, const struct etx_path_field *field)
{
    static const double at[ETX_N_PATH] = {0.0, 0.0, 0.3, 2.0, 1.5};
    static const double normal[3] = {1.0, 0.0, 0.0};
    struct etx_path_point point;

    etx_path_start(&point, at);
    for (int k = 0; k <= n; k++) {
        const double origin[3] = {40.0 + 400.0 * k / n, 0.0, 0.0};

        ck_assert(etx_path_reach(&point, field, origin, normal));
    }
    return point.position[1];
}

/* Arcs half as long have a quarter of the error, where the field also bends
 * along z. */
ETX_TEST(test_track_fitting_arcs)
{
    float map[40];
    const etx_fit_options options = options_with_map(map, 3e-4);
    const struct etx_path_field field = {.map = options.field_map,
        .n_r = options.n_r,
        .n_z = options.n_z,
        .max_r = (double)options.max_r,
        .max_z = (double)options.max_z};
    const double best = reach_in(128, &field);
    const double error = fabs(reach_in(16, &field) - best);

    ck_assert_double_gt(error, 1e-5);
    ck_assert_double_lt(fabs(reach_in(32, &field) - best), 0.3 * error);
}

/* A path along the axis has arcs as short as one across it. */
ETX_TEST(test_track_fitting_arcs_along_the_axis)
{
    static const float value[] = {2.0f, 1.98f, 1.92f, 1.82f, 1.68f, 1.5f, 1.28f,
        1.02f, 0.72f, 0.38f, 0.0f};
    static const double at[ETX_N_PATH] = {0.0, 0.0, 0.3, 8.0, 1.5};
    static const double normal[3] = {0.0, 0.0, 1.0};
    const struct etx_path_field field = {.value = value, .n = 11, .bin = 100.0};
    struct etx_path_point once, stepped;

    etx_path_start(&once, at);
    etx_path_start(&stepped, at);
    for (int k = 1; k <= 40; k++) {
        const double origin[3] = {0.0, 0.0, 20.0 * k};

        ck_assert(etx_path_reach(&stepped, &field, origin, normal));
        if (k == 40)
            ck_assert(etx_path_reach(&once, &field, origin, normal));
    }
    ck_assert_double_eq_tol(once.phi, stepped.phi, 1e-3);
}

/* The derivatives of a slow particle that loses energy in eight modules. */
ETX_TEST(test_track_fitting_derivatives_with_loss)
{
    static const double at[ETX_N_PATH] = {0.1, 2.0, 0.2, 0.3, 3.0};
    static const float value[] = {FIT_FIELD};
    const struct etx_path_field field = {.value = value, .n = 1};
    const int last = ETX_N_LOCAL * 7 + ETX_U;
    struct etx_measurement measurement[8];
    etx_fit_options options = options_with(FIT_MATERIAL);
    double residual[2];

    options.energy_loss = LOSS;
    for (int i = 0; i < 8; i++)
        measurement[i] = (struct etx_measurement){.origin = {50.0 * (i + 1)},
            .axis = {{0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}},
            .normal = {1.0, 0.0, 0.0},
            .pitch = {PITCH, PITCH},
            .material = (double)FIT_MATERIAL};
    scoped struct etx_least_squares *system = etx_test_alloc(1, sizeof *system);
    for (int s = 0; s < 3; s++) {
        const double h = 1e-4;
        double moved[ETX_N_PATH];

        memcpy(moved, at, sizeof moved);
        moved[ETX_PATH_Q_OVER_PT] += s == 0 ? -h : s == 1 ? h : 0.0;
        ck_assert(etx_measurements_compare(system, measurement, 8, moved,
            &no_detector, &field, &options, false));
        if (s < 2)
            residual[s] = system->residual[last] / (2.0 * h);
    }
    const double slope = residual[0] - residual[1];
    ck_assert_double_gt(fabs(slope), 1.0);
    ck_assert_double_eq_tol(
        system->derivative[last][ETX_PATH_Q_OVER_PT] / slope, 1.0, 5e-3);
}

/* Three modules that a soft particle reaches after it has turned by more than a
 * radian; only the first has material. */
static void make_turning(struct etx_measurement measurement[3])
{
    static const double origin[3][3] = {
        {60.0, 0.0, 30.0}, {330.0, 190.0, 230.0}, {400.0, 420.0, 330.0}};
    static const double normal[3][3] = {
        {1.0, 0.0, 0.0}, {0.8, 0.6, 0.0}, {0.0, 0.0, 1.0}};
    static const double axis[3][ETX_N_LOCAL][3] = {
        {{0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}}, {{-0.6, 0.8, 0.0}, {0.0, 0.0, 1.0}},
        {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}}};

    memset(measurement, 0, 3 * sizeof *measurement);
    for (int i = 0; i < 3; i++) {
        memcpy(measurement[i].origin, origin[i], sizeof origin[i]);
        memcpy(measurement[i].normal, normal[i], sizeof normal[i]);
        memcpy(measurement[i].axis, axis[i], sizeof axis[i]);
        for (int a = 0; a < ETX_N_LOCAL; a++)
            measurement[i].pitch[a] = PITCH;
    }
    measurement[0].material = (double)FIT_MATERIAL;
}

static const double turning[ETX_N_PATH] = {0.1, 2.0, -0.1, 0.6, -3.2};

/* Where the path comes to module i when it is turned by an angle, mm per mm,
 * at module 0: in the transverse plane, or out of it. */
static void follow_kink(double position[3],
    const struct etx_measurement measurement[3], int i, int kink, double angle)
{
    static const float value[] = {FIT_FIELD};
    const struct etx_path_field field = {.value = value, .n = 1};
    struct etx_path_point point;

    etx_path_start(&point, turning);
    ck_assert(etx_path_reach(
        &point, &field, measurement[0].origin, measurement[0].normal));
    const double cot = point.direction[2];
    if (kink == 0) {
        point.phi += angle * sqrt(1.0 + cot * cot);
        point.direction[0] = cos(point.phi);
        point.direction[1] = sin(point.phi);
    } else {
        point.direction[2] = tan(atan(cot) + angle);
        point.q_over_pt *= cos(atan(cot)) / cos(atan(cot) + angle);
    }
    ck_assert(etx_path_reach(
        &point, &field, measurement[i].origin, measurement[i].normal));
    memcpy(position, point.position, sizeof point.position);
}

/* The covariance of the hits after a module in which the particle scatters, by
 * following paths with a kink there. */
ETX_TEST(test_track_fitting_kinks)
{
    static const float value[] = {FIT_FIELD};
    const struct etx_path_field field = {.value = value, .n = 1};
    const etx_fit_options options = options_with(FIT_MATERIAL);
    const double h = 1e-5;
    struct etx_measurement measurement[3];
    double shift[6][2] = {{0.0}};
    scoped struct etx_least_squares *system = etx_test_alloc(1, sizeof *system);
    struct etx_path_point point;

    make_turning(measurement);
    ck_assert(etx_measurements_compare(
        system, measurement, 3, turning, &no_detector, &field, &options, true));
    etx_path_start(&point, turning);
    ck_assert(etx_path_reach(
        &point, &field, measurement[0].origin, measurement[0].normal));
    const double norm = sqrt(1.0 + point.direction[2] * point.direction[2]);
    const double p = norm / fabs(turning[ETX_PATH_Q_OVER_PT]);
    const double x = (double)FIT_MATERIAL * norm / point.direction[0];
    const double angle = 0.0136 * sqrt(p * p + 0.13957 * 0.13957) / (p * p) *
                         sqrt(x) * (1.0 + 0.038 * log(x));
    for (int i = 1; i < 3; i++)
        for (int kink = 0; kink < 2; kink++) {
            double before[3], after[3];

            follow_kink(before, measurement, i, kink, -h);
            follow_kink(after, measurement, i, kink, h);
            for (int k = 0; k < 3; k++)
                after[k] -= before[k];
            for (int a = 0; a < ETX_N_LOCAL; a++)
                shift[2 * i + a][kink] =
                    angle * fit_dot(after, measurement[i].axis[a]) / (2.0 * h);
        }
    ck_assert_double_gt(fabs(shift[5][0]), 3.0);
    for (int row = 0; row < 6; row++)
        for (int column = 0; column <= row; column++) {
            const double expected = (row == column ? 0.01 : 0.0) +
                                    shift[row][0] * shift[column][0] +
                                    shift[row][1] * shift[column][1];

            ck_assert_double_eq_tol(system->covariance[row][column], expected,
                1e-3 * (1.0 + fabs(expected)));
        }
}

/* The losses are known to half of themselves, all together. */
ETX_TEST(test_track_fitting_error_of_the_loss)
{
    static const float value[] = {FIT_FIELD};
    static const float loss[] = {0.0f, 15.0f, 25.0f, 20.0f};
    const struct etx_path_field field = {.value = value, .n = 1};
    etx_fit_options options = options_with(FIT_MATERIAL);
    struct etx_measurement measurement[3];
    scoped struct etx_least_squares *system = etx_test_alloc(4, sizeof *system);
    double shift[6];

    make_turning(measurement);
    measurement[0].material = 1e-4; /* little scattering */
    for (int s = 0; s < 4; s++) {
        options.energy_loss = loss[s];
        ck_assert(etx_measurements_compare(&system[s], measurement, 3, turning,
            &no_detector, &field, &options, true));
    }
    for (int row = 0; row < 6; row++)
        shift[row] =
            0.5 * 2.0 * (system[2].residual[row] - system[1].residual[row]);
    ck_assert_double_gt(fabs(shift[4]), 0.1);
    for (int row = 0; row < 6; row++)
        for (int column = 0; column <= row; column++) {
            const double expected = shift[row] * shift[column];

            ck_assert_double_eq_tol(system[3].covariance[row][column] -
                                        system[0].covariance[row][column],
                expected, 1e-4 + 0.05 * fabs(expected));
        }
}

/* A hit in a plane at x = 100 mm that a straight path crosses with slope 2
 * along v: for a depth of 0.3 mm it covers 0.6 mm. */
static struct etx_measurement make_crossed(void)
{
    return (struct etx_measurement){.origin = {100.0, 0.0, 200.0},
        .axis = {{0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}},
        .normal = {1.0, 0.0, 0.0},
        .pitch = {1.0, 1.0},
        .depth = 0.3};
}

static const double straight[ETX_N_PATH] = {0.0, 0.0, 0.0, 2.0, 0.0};
static const double hard[ETX_N_PATH] = {0.0, 0.0, 0.0, 2.0, 1e-3};

/* The width in pitches of the distribution along v: pitch, cells, whether they
 * have charge. The path covers 0.6 mm. */
static const struct {
    double pitch, n_cells;
    bool has_charge;
    double width;
} widths[] = {
    {1.0, 0.0, false, 1.0}, /* no cells are known */
    {1.0, 1.0, true, 0.4},  /* 1 - w */
    {1.0, 2.0, true, 0.4},  /* the same */
    {0.5, 2.0, true, 0.15}, /* w = 1.2: the least */
    {1.0, 1.0, false, 0.4}, /* within one cell: 1 - w */
    {1.0, 2.0, false, 0.6}, /* both are touched: w */
    {0.5, 2.0, false, 0.8}, /* 1 - 0.2 */
    {0.6, 1.0, false, 0.3}, /* w = 1: the least */
    {0.1, 3.0, true, 6.0},  /* w = 6: 4 of 7 cells are missing */
    {1.0, 5.0, false, 4.8}, /* 5 cells, w = 0.6: 2.4 too many, and 1 */
};

ETX_TEST(test_track_fitting_clusters, .rows = ROWS(widths))
{
    static const float value[] = {FIT_FIELD};
    const struct etx_path_field field = {.value = value, .n = 1};
    struct etx_measurement hit = make_crossed();
    etx_fit_options options = options_with(0.0f);
    scoped struct etx_least_squares *system = etx_test_alloc(1, sizeof *system);

    hit.pitch[ETX_V] = widths[_i].pitch;
    hit.n_cells[ETX_V] = widths[_i].n_cells;
    hit.has_charge = widths[_i].has_charge;
    options.resolution_scale = 1.5f;
    ck_assert(etx_measurements_compare(
        system, &hit, 1, straight, &no_detector, &field, &options, true));
    ck_assert_double_eq_tol(sqrt(system->covariance[ETX_V][ETX_V]),
        1.5 * widths[_i].width * widths[_i].pitch / sqrt(12.0), 1e-6);
    ck_assert_double_eq_tol(
        sqrt(system->covariance[ETX_U][ETX_U]), 1.5 / sqrt(12.0), 1e-6);
    hit.depth = 0.0; /* not known */
    ck_assert(etx_measurements_compare(
        system, &hit, 1, straight, &no_detector, &field, &options, true));
    ck_assert_double_eq_tol(sqrt(system->covariance[ETX_V][ETX_V]),
        1.5 * widths[_i].pitch / sqrt(12.0), 1e-6);
}

/* Cells along both axes, and whether their charge is known. */
ETX_TEST(test_track_fitting_cells)
{
    static const float at[3] = {1.0f, 2.0f, 3.0f};
    const float shared[ETX_N_CELL_FEATURES] = {
        5.0f, 0.4f, 0.0f, 0.0f, 0.1f, 0.16875f, 0.3f, 0.0f, 0.0f};
    const float counted[ETX_N_CELL_FEATURES] = {
        5.0f, 5.0f, 0.0f, 0.0f, 0.1f, 0.16875f, 0.3f, 0.0f, 0.0f};
    const struct etx_detector_module module = {
        .rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1},
        .depth = 0.3f,
        .pitch_u = 0.05f,
        .pitch_v = 0.05625f};
    const etx_fit_options options = options_with(0.0f);
    struct etx_measurement hit;

    etx_measurement_make(&hit, at, shared, &module, &options);
    ck_assert_double_eq(hit.n_cells[ETX_U], 2.0);
    ck_assert_double_eq(hit.n_cells[ETX_V], 3.0);
    ck_assert(hit.has_charge);
    etx_measurement_make(&hit, at, counted, &module, &options);
    ck_assert(!hit.has_charge);
    etx_measurement_make(&hit, at, NULL, &module, &options);
    ck_assert_double_eq(hit.n_cells[ETX_U], 0.0);
}

/* The variance along u of a hit 100 mm after others at x = 100 and 101 mm, of
 * layers with material at an offset, and after tubes. */
static double find_variance(
    double offset, int32_t layer, const struct etx_detector *detector)
{
    static const float value[] = {FIT_FIELD};
    const struct etx_path_field field = {.value = value, .n = 1};
    const etx_fit_options options = options_with(FIT_MATERIAL);
    struct etx_measurement hit[3];
    scoped struct etx_least_squares *system = etx_test_alloc(1, sizeof *system);

    for (int i = 0; i < 3; i++) {
        hit[i] = make_crossed();
        hit[i].origin[0] = i < 2 ? 100.0 + i : 200.0;
        hit[i].material = i < 2 ? (double)FIT_MATERIAL : 0.0;
        hit[i].material_offset = offset;
        hit[i].layer_id = i == 1 ? layer : 2;
    }
    ck_assert(etx_measurements_compare(
        system, hit, 3, hard, detector, &field, &options, true));
    return system->covariance[4][4] - 1.0 / 12.0;
}

/* Material of a layer at an offset counts once for two hits of it, with the
 * lever from there on, and so does a tube between hits. */
ETX_TEST(test_track_fitting_layers)
{
    struct etx_detector tubes = {
        .n_tubes = 2, .tube = {{50.0f, FIT_MATERIAL}, {150.0f, FIT_MATERIAL}}};
    const double own = find_variance(0.0, 2, &no_detector);
    const double unit = own / (100.0 * 100.0 + 99.0 * 99.0);

    ck_assert_double_gt(own, 0.0);
    ck_assert_double_eq_tol(
        find_variance(4.0, 2, &no_detector), 96.0 * 96.0 * unit, 1e-3 * own);
    ck_assert_double_eq_tol(find_variance(4.0, 3, &no_detector),
        (96.0 * 96.0 + 95.0 * 95.0) * unit, 1e-3 * own);
    ck_assert_double_eq_tol(
        find_variance(-5.0, 2, &no_detector), 105.0 * 105.0 * unit, 1e-3 * own);
    ck_assert_double_eq_tol(find_variance(0.0, 2, &tubes),
        own + (150.0 * 150.0 + 50.0 * 50.0) * unit, 1e-3 * own);
    tubes.tube[1].radius = 250.0f; /* after the last hit */
    ck_assert_double_eq_tol(
        find_variance(0.0, 2, &tubes), own + 150.0 * 150.0 * unit, 1e-3 * own);
}

/* As many measurements as parameters: chi2 is what rounding leaves, and never
 * negative. */
ETX_TEST(test_track_fitting_chi2)
{
    struct etx_random random;
    scoped struct etx_least_squares *system = etx_test_alloc(1, sizeof *system);

    etx_random_init(&random, 1, 0, 0);
    for (int k = 0; k < 200; k++) {
        memset(system, 0, sizeof *system);
        system->n_rows = ETX_N_PATH;
        for (int row = 0; row < ETX_N_PATH; row++) {
            system->covariance[row][row] = 1.0;
            system->residual[row] = (double)etx_random_normal(&random);
            for (int p = 0; p < ETX_N_PATH; p++)
                system->derivative[row][p] = (double)etx_random_normal(&random);
        }
        ck_assert(etx_least_squares_solve(system, true));
        ck_assert(system->chi2 >= 0.0 && system->chi2 < 1e-6);
    }
}

ETX_TEST(test_track_fitting_outliers)
{
    scoped struct fit_sample *sample =
        new_fit_sample(60, 1.0, (double)FIT_MATERIAL);
    scoped_tracks *tracks = fit_tracks_of(sample);
    scoped_tracks *cleaned = NULL;
    scoped etx_track_parameters *out = etx_test_alloc(60, sizeof *out);
    scoped uint8_t *is_outlier = etx_test_alloc(sample->n_hits, 1);
    etx_fit_options options = options_with(FIT_MATERIAL);

    for (int64_t t = 0; t < 60;
         t++) /* every fourth hit of the layers 3, 4, 5 */
        for (int k = 0; k < 3 && t % 4 == 0; k++) {
            const int64_t i = t * FIT_N_LAYERS + 3 + t % 3;

            sample->position[3 * i + k] +=
                8.0f * sample->module[0].pitch_v * (k == 2 ? -1.0f : 1.0f);
        }
    options.max_hit_chi2 = 25.0f;
    fit(out, is_outlier, sample, tracks, 1, &options);
    for (int64_t t = 0; t < 60; t++)
        for (int64_t k = t * FIT_N_LAYERS; k < (t + 1) * FIT_N_LAYERS; k++)
            ck_assert_int_eq(
                is_outlier[k], t % 4 == 0 && k == t * FIT_N_LAYERS + 3 + t % 3);
    ck_assert_int_eq(out[0].n_outliers, 1);
    ck_assert_int_eq(out[1].n_outliers, 0);
    ck_assert_int_eq(out[0].n_degrees, 2 * (FIT_N_LAYERS - 1) - ETX_N_FIT);
    ck_assert_ok(etx_tracks_select(&cleaned, tracks, NULL, is_outlier));
    ck_assert_int_eq(etx_tracks_count(cleaned), 60);
    ck_assert_int_eq(etx_tracks_offsets(cleaned)[1], FIT_N_LAYERS - 1);

    /* By default, too. */
    const etx_fit_options usual = options_with(FIT_MATERIAL);
    fit(out, is_outlier, sample, tracks, 1, &usual);
    ck_assert_int_eq(is_outlier[3], 1);
}

/* On tracks whose last hit is that of another the fit fails; where outliers are
 * sought it leaves this hit out. */
ETX_TEST(test_track_fitting_end_of_another)
{
    scoped struct fit_sample *sample = new_fit_sample(20, 0.0, 0.0);
    scoped_tracks *tracks = fit_tracks_of(sample);
    scoped etx_track_parameters *all = etx_test_alloc(20, sizeof *all);
    scoped etx_track_parameters *out = etx_test_alloc(20, sizeof *out);
    scoped uint8_t *is_outlier = etx_test_alloc(sample->n_hits, 1);
    etx_fit_options options = options_with(0.0f);
    int n_failed = 0;

    for (int64_t t = 0; t < 20; t++)
        for (int k = 0; k < 2; k++)
            sample->position[3 * (t * FIT_N_LAYERS + FIT_N_LAYERS - 1) + k] *=
                -1.0f;
    options.max_hit_chi2 = 0.0f;
    fit(all, NULL, sample, tracks, 1, &options);
    options.max_hit_chi2 = 12.0f;
    fit(out, is_outlier, sample, tracks, 1, &options);
    for (int64_t t = 0; t < 20; t++) {
        n_failed += all[t].n_degrees == 0;
        ck_assert_int_eq(out[t].n_outliers, 1);
        ck_assert_int_eq(is_outlier[(t + 1) * FIT_N_LAYERS - 1], 1);
        ck_assert_int_eq(out[t].n_degrees, 2 * (FIT_N_LAYERS - 1) - ETX_N_FIT);
    }
    ck_assert_int_ge(n_failed, 5);
}

/* A track of three hits keeps all of them, one of four loses the wrong one. */
ETX_TEST(test_track_fitting_outliers_of_few_hits, .rows = 2)
{
    const int64_t n_hits = 3 + _i;
    scoped struct fit_sample *sample = new_fit_sample(20, 0.0, 0.0);
    scoped etx_track_parameters *out = etx_test_alloc(20, sizeof *out);
    scoped uint8_t *is_outlier = etx_test_alloc(20 * FIT_N_LAYERS, 1);
    etx_fit_options options = options_with(0.0f);
    int64_t n_outliers = 0;

    for (int64_t t = 0; t < 20; t++) {
        for (int64_t l = n_hits; l < FIT_N_LAYERS; l++)
            sample->label[t * FIT_N_LAYERS + l] = -1;
        for (int k = 0; k < 3; k++)
            sample->position[3 * (t * FIT_N_LAYERS + 2) + k] +=
                4.0f * FIT_PITCH_V;
    }
    scoped_tracks *tracks = fit_tracks_of(sample);
    options.max_hit_chi2 = 9.0f;
    fit(out, is_outlier, sample, tracks, 1, &options);
    for (int64_t k = 0; k < 20 * n_hits; k++)
        n_outliers += is_outlier[k];
    ck_assert_int_ge(n_outliers, _i == 0 ? 0 : 18);
    for (int64_t t = 0; t < 20; t++)
        ck_assert_int_eq(
            out[t].n_degrees, 2 * (n_hits - out[t].n_outliers) - ETX_N_FIT);
    ck_assert_int_le(n_outliers, 20 * _i);
}

/* Hits that are off, up to four of a track, by 0.1 to 100 mm. */
static void move_hits(struct fit_sample *sample)
{
    struct etx_random random;

    etx_random_init(&random, 3, 0, 0);
    for (int64_t t = 0; t < FIT_MAX_TRACKS; t++)
        for (int k = 0; k < 4; k++) {
            const int64_t i = t * FIT_N_LAYERS +
                              (int64_t)etx_random_below(&random, FIT_N_LAYERS);
            const double size =
                pow(10.0, 3.0 * (double)etx_random_uniform(&random) - 1.0);

            for (int a = 0; a < 2; a++)
                sample->position[3 * i + a] +=
                    (float)(size * (double)etx_random_normal(&random));
        }
}

/* However far hits are off, a track has as many outliers as it says, or is not
 * fitted and has none. */
ETX_TEST(test_track_fitting_counts_outliers)
{
    scoped struct fit_sample *sample = new_fit_sample(FIT_MAX_TRACKS, 1.0, 0.0);
    scoped_tracks *tracks = fit_tracks_of(sample);
    scoped etx_track_parameters *out =
        etx_test_alloc(FIT_MAX_TRACKS, sizeof *out);
    scoped uint8_t *is_outlier = etx_test_alloc(sample->n_hits, 1);
    etx_fit_options options = options_with(0.0f);

    move_hits(sample);
    options.max_hit_chi2 = 9.0f;
    fit(out, is_outlier, sample, tracks, 1, &options);
    for (int64_t t = 0; t < FIT_MAX_TRACKS; t++) {
        int32_t n = 0;

        for (int64_t k = t * FIT_N_LAYERS; k < (t + 1) * FIT_N_LAYERS; k++)
            n += is_outlier[k];
        ck_assert_int_eq(n, out[t].n_outliers);
        if (out[t].n_degrees != 0)
            ck_assert_int_eq(
                out[t].n_degrees, 2 * (FIT_N_LAYERS - n) - ETX_N_FIT);
    }
}

static int32_t count_poll(void *n_polls)
{
    (*(int64_t *)n_polls)++;
    return 0;
}

/* Cancel is polled once for each track and each hit that is left out. */
ETX_TEST(test_track_fitting_polls)
{
    scoped struct fit_sample *sample = new_fit_sample(FIT_MAX_TRACKS, 1.0, 0.0);
    scoped_tracks *tracks = fit_tracks_of(sample);
    scoped_event *event = NULL;
    scoped etx_track_parameters *out =
        etx_test_alloc(FIT_MAX_TRACKS, sizeof *out);
    int64_t n_polls = 0;
    int64_t n_outliers = 0;
    scoped_context *context = etx_test_context_with(1, 0, count_poll, &n_polls);
    etx_fit_options options = options_with(0.0f);

    move_hits(sample);
    event = fit_event_of(sample);
    options.max_hit_chi2 = 9.0f;
    ck_assert_ok(etx_fit_tracks(
        out, NULL, tracks, context, NULL, event, &sample->detector, &options));
    for (int64_t t = 0; t < FIT_MAX_TRACKS; t++)
        n_outliers += out[t].n_outliers;
    ck_assert_int_gt(n_outliers, FIT_MAX_TRACKS);
    ck_assert_int_ge(n_polls, FIT_MAX_TRACKS + n_outliers);
}

/* One track of the first n hits, on a line, as without a field, each on a
 * module of its own that faces x. */
static void set_on_line(struct fit_sample *sample, int64_t n)
{
    static const float step[3] = {100.0f, 0.0f, 10.0f};
    static const float axes[9] = {0, 0, 1, 1, 0, 0, 0, 1, 0};

    for (int64_t i = 0; i < sample->n_hits; i++) {
        struct etx_detector_module *module = &sample->module[i];

        for (int k = 0; k < 3; k++)
            sample->position[3 * i + k] = (float)(i + 1) * step[k];
        memcpy(module->rotation, axes, sizeof axes);
        memcpy(module->center, sample->position + 3 * i, sizeof module->center);
        sample->volume_id[i] = module->volume_id = 1;
        sample->layer_id[i] = module->layer_id = 1;
        sample->module_id[i] = module->module_id = (int32_t)i;
        sample->label[i] = i < n ? 0 : -1;
    }
}

/* No helix leads through three of the hits. */
ETX_TEST(test_track_fitting_straight)
{
    scoped struct fit_sample *sample = new_fit_sample(1, 0.0, 0.0);
    scoped_tracks *tracks = fit_tracks_of(sample);
    const etx_fit_options options = options_with(0.0f);
    etx_track_parameters out;

    set_on_line(sample, FIT_N_LAYERS);
    fit(&out, NULL, sample, tracks, 1, &options);
    ck_assert_int_eq(out.n_degrees, 2 * FIT_N_LAYERS - ETX_N_FIT);
    ck_assert_double_eq_tol(out.q_over_pt, 0.0, 1e-6);
}

/* A track of 64 hits is fitted, one of 65 is not. */
ETX_TEST(test_track_fitting_most_hits, .rows = 2)
{
    scoped struct fit_sample *sample = new_fit_sample(7, 0.0, 0.0);
    const etx_fit_options options = options_with(0.0f);
    etx_track_parameters out;

    set_on_line(sample, 64 + _i);
    scoped_tracks *tracks = fit_tracks_of(sample);
    fit(&out, NULL, sample, tracks, 1, &options);
    ck_assert_int_eq(out.n_degrees, _i == 0 ? 2 * 64 - ETX_N_FIT : 0);
}

/* Without the hits of a layer in between, a track has one hole; without the
 * first, none. The detector is the barrel alone. */
ETX_TEST(test_track_fitting_holes)
{
    scoped struct fit_sample *sample = new_fit_sample(60, 1.0, 0.0);
    scoped etx_track_parameters *out = etx_test_alloc(60, sizeof *out);
    const etx_fit_options options = options_with(0.0f);
    int64_t n_modules = 0;

    for (int64_t t = 0; t < 60; t++)
        for (int64_t l = 0; l < FIT_N_LAYERS; l++)
            if (t % 3 == 2 || l == (t % 2 == 0 ? 4 : 0))
                sample->label[t * FIT_N_LAYERS + l] = -1;
    while (sample->module[n_modules].volume_id == 1)
        n_modules++;
    sample->detector.n_modules = n_modules;
    scoped_tracks *tracks = fit_tracks_of(sample);
    const int64_t n = etx_tracks_count(tracks);
    ck_assert_int_eq(n, 40);
    fit(out, NULL, sample, tracks, 1, &options);
    int64_t n_right = 0;
    for (int64_t t = 0; t < n; t++) {
        const int32_t hit =
            etx_tracks_hits(tracks)[etx_tracks_offsets(tracks)[t]];
        const int32_t is_incomplete = sample->label[hit] % 2 == 0;

        ck_assert_int_le(out[t].n_holes, is_incomplete);
        n_right += out[t].n_holes == is_incomplete;
    }
    /* The layer may end between the two tracks at its ends. */
    ck_assert_int_ge(n_right, n - 2);
}

ETX_TEST(test_track_fitting_same_bits)
{
    scoped struct fit_sample *sample =
        new_fit_sample(400, 1.0, (double)FIT_MATERIAL);
    scoped_tracks *tracks = fit_tracks_of(sample);
    scoped etx_track_parameters *first = etx_test_alloc(400, sizeof *first);
    scoped etx_track_parameters *other = etx_test_alloc(400, sizeof *other);
    const etx_fit_options options = options_with(FIT_MATERIAL);

    fit(first, NULL, sample, tracks, 1, &options);
    for (int32_t n_threads = 2; n_threads <= 4; n_threads++) {
        fit(other, NULL, sample, tracks, n_threads, &options);
        ck_assert_mem_eq(first, other, 400 * sizeof *first);
    }
}

/* Tracks that cannot be fitted say so. */
ETX_TEST(test_track_fitting_too_short)
{
    scoped struct fit_sample *sample = new_fit_sample(10, 1.0, 0.0);
    scoped etx_track_parameters *out = etx_test_alloc(10, sizeof *out);
    const etx_fit_options options = options_with(0.0f);
    static const etx_track_parameters zero;

    for (int64_t i = 2; i < FIT_N_LAYERS; i++) /* two hits are left */
        sample->label[i] = -1;
    scoped_tracks *tracks = fit_tracks_of(sample);
    fit(out, NULL, sample, tracks, 1, &options);
    ck_assert_mem_eq(&out[0], &zero, sizeof zero);
    ck_assert_int_eq(out[1].n_degrees, 2 * FIT_N_LAYERS - ETX_N_FIT);
}

/* Without material, hits of twice the errors: a quarter of chi2, four times the
 * covariance. */
ETX_TEST(test_track_fitting_resolution_scale)
{
    scoped struct fit_sample *sample = new_fit_sample(60, 1.0, 0.0);
    scoped_tracks *tracks = fit_tracks_of(sample);
    etx_fit_options options = options_with(0.0f);
    etx_track_parameters plain[60], coarse[60];

    options.max_hit_chi2 = 0.0f; /* the same hits */
    fit(plain, NULL, sample, tracks, 1, &options);
    options.resolution_scale = 2.0f;
    fit(coarse, NULL, sample, tracks, 1, &options);
    for (int t = 0; t < 60; t++) {
        ck_assert_double_eq_tol(4.0 * coarse[t].chi2, plain[t].chi2, 0.05);
        for (int p = 0; p < ETX_N_FIT; p++)
            ck_assert_double_eq_tol(
                coarse[t].covariance[(ETX_N_FIT + 1) * p] /
                    plain[t].covariance[(ETX_N_FIT + 1) * p],
                4.0, 0.05);
    }
}

/* What the detector says of a module counts, in place of the option, unless
 * that is none at all. */
ETX_TEST(test_track_fitting_material_of_modules, .rows = 2)
{
    const float option = _i == 0 ? 0.1f * FIT_MATERIAL : 0.0f;
    scoped struct fit_sample *sample =
        new_fit_sample(60, 1.0, (double)FIT_MATERIAL);
    scoped_tracks *tracks = fit_tracks_of(sample);
    const etx_fit_options wrong = options_with(option);
    const etx_fit_options right = options_with(_i == 0 ? FIT_MATERIAL : 0.0f);
    etx_track_parameters expected[60], out[60];

    fit(expected, NULL, sample, tracks, 1, &right);
    for (int64_t m = 0; m < sample->detector.n_modules; m++)
        sample->module[m].radiation_lengths = FIT_MATERIAL;
    fit(out, NULL, sample, tracks, 1, &wrong);
    ck_assert_mem_eq(out, expected, sizeof out);
}

/* A proton of the same momentum is slower than a pion, and scatters more. */
ETX_TEST(test_track_fitting_mass)
{
    scoped struct fit_sample *sample =
        new_fit_sample(60, 1.0, (double)FIT_MATERIAL);
    scoped_tracks *tracks = fit_tracks_of(sample);
    etx_fit_options options = options_with(FIT_MATERIAL);
    etx_track_parameters pion[60], proton[60];

    fit(pion, NULL, sample, tracks, 1, &options);
    options.mass = 0.938f;
    fit(proton, NULL, sample, tracks, 1, &options);
    for (int t = 0; t < 60; t++)
        for (int p = 0; p < ETX_N_FIT; p++)
            ck_assert_double_gt(proton[t].covariance[(ETX_N_FIT + 1) * p],
                pion[t].covariance[(ETX_N_FIT + 1) * p]);
}

/* Without options the field is that which the model's completion learned. */
ETX_TEST(test_track_fitting_in_the_field_of_a_model)
{
    scoped struct fit_sample *sample = new_fit_sample(10, 1.0, 0.0);
    scoped_tracks *tracks = fit_tracks_of(sample);
    scoped_event *event = fit_event_of(sample);
    scoped_context *context = etx_test_context();
    etx_track_parameters expected[10], out[10];
    float learned[ETX_COMPLETION_N_FIELD];
    struct etx_completion completion = {.field = learned};
    struct etx_model model = {.completion = NULL};
    etx_fit_options options;

    ck_assert_refused(etx_fit_tracks(out, NULL, tracks, context, &model, event,
                          &sample->detector, NULL),
        "neither a field_map nor a model");
    for (int32_t k = 0; k < ETX_COMPLETION_N_FIELD; k++)
        learned[k] = FIT_FIELD;
    model.completion = &completion;
    ck_assert_ok(etx_fit_tracks(
        out, NULL, tracks, context, &model, event, &sample->detector, NULL));
    ck_assert_ok(etx_fit_options_init(&options, sizeof options));
    options.field = FIT_FIELD;
    ck_assert_ok(etx_fit_tracks(expected, NULL, tracks, context, NULL, event,
        &sample->detector, &options));
    for (int64_t t = 0; t < 10; t++) {
        ck_assert_int_eq(out[t].n_degrees, expected[t].n_degrees);
        ck_assert_double_ne(out[t].q_over_pt, 0.0);
        ck_assert_double_eq_tol(out[t].q_over_pt, expected[t].q_over_pt, 1e-9);
    }
}

/* A map that is moved bends a path that is moved with it in the same way. */
ETX_TEST(test_track_fitting_moved_map)
{
    static const double at[ETX_N_PATH] = {3.0, -40.0, 1.0, 0.9, -1.2};
    static const double origin[3] = {250.0, 420.0, 380.0};
    static const double normal[3] = {0.48, 0.86, 0.15};
    static const double centre[3] = {60.0, -80.0, 300.0};
    float map[40];
    const etx_fit_options options = options_with_map(map, 3e-4);
    struct etx_path_field field = {.map = map,
        .n_r = options.n_r,
        .n_z = options.n_z,
        .max_r = (double)options.max_r,
        .max_z = (double)options.max_z};
    struct etx_path_point point, moved;
    double plane[3];

    etx_path_start(&point, at);
    moved = point;
    ck_assert(etx_path_reach(&point, &field, origin, normal));
    for (int k = 0; k < 3; k++) {
        moved.position[k] += centre[k];
        field.centre[k] = centre[k];
        plane[k] = origin[k] + centre[k];
    }
    ck_assert(etx_path_reach(&moved, &field, plane, normal));
    ck_assert_double_eq_tol(moved.phi, point.phi, 1e-12);
    for (int k = 0; k < 3; k++)
        ck_assert_double_eq_tol(
            moved.position[k] - centre[k], point.position[k], 1e-9);
}

/* The middle of a map reaches the fit: the same field, given about another
 * point of its axis, has the same results. */
ETX_TEST(test_track_fitting_middle_of_a_map)
{
    const double gradient = 3e-4; /* T/mm */
    scoped struct fit_sample *sample =
        new_fit_sample_in(50, 0.0, 0.0, gradient, 0.0);
    scoped_tracks *tracks = fit_tracks_of(sample);
    etx_track_parameters plain[50], moved[50];
    float map[40];
    etx_fit_options options = options_with_map(map, gradient);

    fit(plain, NULL, sample, tracks, 1, &options);
    options.map_z = 500.0f;
    options.max_z = 4000.0f;
    for (int k = 0; k < 20; k++)
        map[2 * k + 1] = FIT_FIELD - 3e-4f * (float)(2000 * (k % 5) - 3500);
    fit(moved, NULL, sample, tracks, 1, &options);
    for (int t = 0; t < 50; t++)
        ck_assert_double_eq_tol(moved[t].q_over_pt, plain[t].q_over_pt, 1e-6);
    options.map_x = 50.0f;
    fit(plain, NULL, sample, tracks, 1, &options);
    ck_assert_double_ne(moved[0].q_over_pt, plain[0].q_over_pt);
    options.map_y = 50.0f;
    fit(moved, NULL, sample, tracks, 1, &options);
    ck_assert_double_ne(moved[0].q_over_pt, plain[0].q_over_pt);
}

static const struct etx_test_change refused_maps[] = {
    {CHANGE(etx_fit_options, n_r, 1), ETX_ERR_ARGUMENT, "n_r"},
    {CHANGE(etx_fit_options, n_z, 100000), ETX_ERR_ARGUMENT, "n_z"},
    {CHANGE(etx_fit_options, max_r, 0.0f), ETX_ERR_ARGUMENT, "max_r 0"},
    {CHANGE(etx_fit_options, max_r, INFINITY), ETX_ERR_ARGUMENT, "max_r inf"},
    {CHANGE(etx_fit_options, max_z, 0.0f), ETX_ERR_ARGUMENT, "max_z 0 mm"},
    {CHANGE(etx_fit_options, max_z, NAN), ETX_ERR_ARGUMENT, "max_z is nan"},
    {CHANGE(etx_fit_options, max_z, INFINITY), ETX_ERR_ARGUMENT, "max_z inf"},
    {CHANGE(etx_fit_options, map_x, NAN), ETX_ERR_ARGUMENT, "map_x is nan"},
};

ETX_TEST(test_track_fitting_maps, .rows = ROWS(refused_maps) + 1)
{
    scoped struct fit_sample *sample = new_fit_sample(1, 1.0, 0.0);
    scoped_tracks *tracks = fit_tracks_of(sample);
    scoped_event *event = fit_event_of(sample);
    scoped_context *context = etx_test_context();
    etx_track_parameters out;
    float map[40];
    etx_fit_options options = options_with_map(map, 0.0);

    if (_i < ROWS(refused_maps))
        etx_test_set(&options, &refused_maps[_i]);
    else
        map[3] = NAN;
    ck_assert_refused(etx_fit_tracks(&out, NULL, tracks, context, NULL, event,
                          &sample->detector, &options),
        _i < ROWS(refused_maps) ? refused_maps[_i].error : "field_map");
}

ETX_TEST(test_track_fitting_refused)
{
    scoped struct fit_sample *sample = new_fit_sample(2, 1.0, 0.0);
    scoped_tracks *tracks = fit_tracks_of(sample);
    scoped_event *event = fit_event_of(sample);
    scoped_event *bare = etx_test_event(sample->n_hits, sample->position);
    scoped_event *shorter = etx_test_event(3, sample->position);
    scoped_context *context = etx_test_context();
    const etx_fit_options options = options_with(0.0f);
    const struct etx_detector *detector = &sample->detector;
    const struct etx_detector none = {.n_modules = 0};
    etx_track_parameters out[2];

    ck_assert_refused(etx_fit_tracks(out, NULL, tracks, context, NULL, bare,
                          detector, &options),
        "no modules");
    ck_assert_refused(etx_fit_tracks(out, NULL, tracks, context, NULL, shorter,
                          detector, &options),
        "3");
    ck_assert_refused(etx_fit_tracks(out, NULL, tracks, context, NULL, event,
                          &none, &options),
        "the detector has no module");
}

/* Three tracks of up to six hits (-1: no more), with parameters, and what is
 * left of them: the number of hits of each, 0: gone. */
static const struct {
    const char *name;
    int32_t hits[3][6];
    int32_t n_holes[3], n_degrees[3], max_shared, min_hits;
    double chi2[3];
    int32_t left[3];
} resolved[] = {
    {"nothing shared",
        {{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}, {12, 13, 14, 15, 16, 17}},
        {0, 0, 0}, {7, 7, 7}, 0, 4, {5.0, 6.0, 7.0}, {6, 6, 6}},
    {"the smaller chi2 stays",
        {{0, 1, 2, 3, 4, 5}, {1, 2, 3, 4, 5, 0}, {2, 3, 4, 5, 0, 1}}, {0, 0, 0},
        {7, 7, 7}, 0, 4, {5.0, 4.0, 7.0}, {0, 6, 0}},
    {"holes count before chi2",
        {{0, 1, 2, 3, 4, 5}, {1, 2, 3, 4, 5, 0}, {2, 3, 4, 5, 0, 1}}, {0, 1, 1},
        {7, 7, 7}, 0, 4, {9.0, 4.0, 7.0}, {6, 0, 0}},
    {"the most holes that there may be",
        {{0, 1, 2, 3, 4, 5}, {1, 2, 3, 4, 5, 0}, {2, 3, 4, 5, 0, 1}},
        {INT32_MAX, 0, 1}, {7, 7, 7}, 0, 4, {1.0, 9.0, 7.0}, {0, 6, 0}},
    {"of equals the first",
        {{0, 1, 2, 3, 4, 5}, {1, 2, 3, 4, 5, 0}, {2, 3, 4, 5, 0, 1}}, {0, 0, 0},
        {7, 7, 7}, 0, 4, {4.0, 4.0, 4.0}, {6, 0, 0}},
    {"hits less holes count: five without before six with two",
        {{0, 1, 2, 3, 4, -1}, {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}},
        {0, 2, 3}, {7, 7, 7}, 0, 4, {9.0, 4.0, 7.0}, {5, 0, 0}},
    {"more hits count before chi2",
        {{0, 1, 2, 3, 4, -1}, {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, -1, -1}},
        {0, 0, 0}, {7, 7, 7}, 0, 4, {4.0, 9.0, 3.0}, {0, 6, 0}},
    {"not fitted is last",
        {{0, 1, 2, 3, 4, 5}, {5, 4, 3, 2, 1, 0}, {0, 1, 2, 3, 4, 5}}, {0, 5, 0},
        {0, 7, 0}, 0, 4, {0.0, 90.0, 0.0}, {0, 6, 0}},
    {"shared hits are lost",
        {{0, 1, 2, 3, 4, 5}, {4, 5, 6, 7, 8, 9}, {7, 8, 9, 10, 11, 12}},
        {0, 0, 0}, {7, 7, 7}, 0, 4, {1.0, 2.0, 3.0}, {6, 4, 0}},
    {"a shorter track",
        {{0, 1, 2, 3, 4, 5}, {4, 5, 6, 7, 8, 9}, {7, 8, 9, 10, 11, 12}},
        {0, 0, 0}, {7, 7, 7}, 0, 3, {1.0, 2.0, 3.0}, {6, 4, 3}},
    {"two may be shared",
        {{0, 1, 2, 3, 4, 5}, {4, 5, 6, 7, 8, 9}, {7, 8, 9, 10, 11, 12}},
        {0, 0, 0}, {7, 7, 7}, 2, 4, {1.0, 2.0, 3.0}, {6, 6, 0}},
    {"what a lost track had is free",
        {{0, 1, 2, 3, 4, 5}, {3, 4, 5, 6, 7, 8}, {6, 7, 8, 9, 10, 11}},
        {0, 0, 0}, {7, 7, 7}, 0, 4, {1.0, 2.0, 3.0}, {6, 0, 6}},
};

ETX_TEST(test_track_fitting_resolve, .rows = ROWS(resolved))
{
    int64_t offsets[4] = {0};
    int32_t hits[18];
    etx_track_parameters parameters[3] = {{.chi2 = 0.0}};
    etx_resolve_options options;
    scoped_tracks *tracks = NULL;
    scoped_tracks *left = NULL;
    int64_t n = 0;

    for (int t = 0; t < 3; t++) {
        parameters[t].chi2 = resolved[_i].chi2[t];
        parameters[t].n_holes = resolved[_i].n_holes[t];
        parameters[t].n_degrees = resolved[_i].n_degrees[t];
        offsets[t + 1] = offsets[t];
        for (int k = 0; k < 6 && resolved[_i].hits[t][k] >= 0; k++)
            hits[offsets[t + 1]++] = resolved[_i].hits[t][k];
    }
    ck_assert_ok(etx_tracks_from_lists(&tracks, 18, 3, offsets, hits));
    ck_assert_ok(etx_resolve_options_init(&options, sizeof options));
    options.max_shared = resolved[_i].max_shared;
    options.min_hits = resolved[_i].min_hits;
    ck_assert_ok(etx_tracks_resolve(&left, tracks, parameters,
        resolved[_i].max_shared == 0 && resolved[_i].min_hits == 4 ? NULL
                                                                   : &options));
    ck_assert_int_eq(etx_tracks_n_hits(left), 18);
    for (int t = 0; t < 3; t++) {
        const int32_t n_left = resolved[_i].left[t];
        const int64_t begin = etx_tracks_offsets(left)[n];

        if (n_left == 0)
            continue;
        ck_assert_msg(etx_tracks_offsets(left)[++n] - begin == n_left,
            "%s: track %d", resolved[_i].name, t);
        /* In these rows the last hits of a track are those that it keeps. */
        ck_assert_mem_eq(etx_tracks_hits(left) + begin,
            hits + offsets[t + 1] - n_left, (size_t)n_left * sizeof(int32_t));
    }
    ck_assert_int_eq(etx_tracks_count(left), n);
}

ETX_TEST(test_track_fitting_resolve_refused)
{
    static const int64_t offsets[] = {0, 2};
    static const int32_t hits[] = {0, 1};
    etx_track_parameters parameters = {.chi2 = 1.0};
    scoped_tracks *tracks = NULL;
    etx_tracks *left = NULL;

    ck_assert_ok(etx_tracks_from_lists(&tracks, 2, 1, offsets, hits));
    parameters.chi2 = NAN;
    ck_assert_refused(etx_tracks_resolve(&left, tracks, &parameters, NULL),
        "chi2 nan of track 0");
    parameters.chi2 = HUGE_VAL;
    ck_assert_refused(etx_tracks_resolve(&left, tracks, &parameters, NULL),
        "chi2 inf of track 0");
    parameters.chi2 = -1.0;
    ck_assert_refused(etx_tracks_resolve(&left, tracks, &parameters, NULL),
        "chi2 -1 of track 0");
    parameters = (etx_track_parameters){.chi2 = 1.0, .n_holes = -1};
    ck_assert_refused(etx_tracks_resolve(&left, tracks, &parameters, NULL),
        "n_holes -1 of track 0");
    parameters = (etx_track_parameters){.chi2 = 1.0, .reserved = 1};
    ck_assert_refused(etx_tracks_resolve(&left, tracks, &parameters, NULL),
        "reserved of track 0 is 1");
    ck_assert_ptr_null(left);
}
