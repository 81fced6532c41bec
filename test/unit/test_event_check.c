/* test_event_check.c -- what of an event does not fit, and is said.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "data/event.h"
#include "stage/model.h"

#include <stdio.h>

#define CROWD 120

struct world {
    const char *name;
    void (*make)(etx_event *event);
    const char *text; /* of the report; "" where it is empty */
};

static void make_nothing(etx_event *event)
{
    (void)event;
}

static void scale_vertices(etx_event *event, float factor)
{
    for (int64_t p = 0; p < event->n_particles; p++)
        for (int32_t k = 0; k < 3; k++)
            event->particles[p].vertex[k] *= factor;
}

static void scale(etx_event *event, float factor)
{
    for (int64_t k = 0; k < 3 * event->n_hits; k++)
        event->position[k] *= factor;
    scale_vertices(event, factor);
}

static void make_metres(etx_event *event)
{
    scale(event, 1e-3f);
}

static void make_centimetres(etx_event *event)
{
    scale(event, 0.1f);
}

static void make_micrometres(etx_event *event)
{
    scale(event, 1e3f);
}

static void make_mev(etx_event *event)
{
    for (int64_t p = 0; p < event->n_particles; p++)
        for (int32_t k = 0; k < 3; k++)
            event->particles[p].momentum[k] *= 1e3f;
}

static void make_tev(etx_event *event)
{
    for (int64_t p = 0; p < event->n_particles; p++)
        for (int32_t k = 0; k < 3; k++)
            event->particles[p].momentum[k] *= 1e-3f;
}

static void make_distant_vertices(etx_event *event)
{
    for (int64_t p = 0; p < event->n_particles; p++)
        event->particles[p].vertex[2] *= 1e3f;
}

static void make_vertices_in_cm(etx_event *event)
{
    scale_vertices(event, 0.1f);
}

static void make_vertices_in_m(etx_event *event)
{
    scale_vertices(event, 1e-3f);
}

static void make_vertices_in_tenths(etx_event *event)
{
    scale_vertices(event, 10.0f);
}

/* As where they are not known. */
static void make_no_vertices(etx_event *event)
{
    scale_vertices(event, 0.0f);
}

/* The truth in the order of other hits. */
static void make_other_truth(etx_event *event)
{
    for (int64_t i = 0, j = event->n_hits - 1; i < j; i++, j--) {
        const int32_t row = event->particle_row[i];

        event->particle_row[i] = event->particle_row[j];
        event->particle_row[j] = row;
    }
}

static void repeat(etx_event *event, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(event->position + 3 * (event->n_hits - 1 - i),
            event->position + 3 * i, 3 * sizeof *event->position);
}

static void make_repeated(etx_event *event)
{
    repeat(event, 9);
}

static void make_some_repeated(etx_event *event)
{
    repeat(event, 8);
}

static void make_turned_charges(etx_event *event)
{
    for (int64_t p = 0; p < event->n_particles; p++)
        event->particles[p].charge *= -1;
}

static void make_unknown(etx_event *event)
{
    for (int64_t i = 0; i < event->n_hits; i += 10)
        event->volume_id[i] = 99;
}

static void make_one_module(etx_event *event)
{
    for (int64_t i = 0; i < event->n_hits; i++)
        event->module_id[i] = 0;
}

static void make_shifted(etx_event *event)
{
    for (int64_t i = 0; i < event->n_hits; i += 10)
        event->position[3 * i + 2] += 100.0f;
}

/* A hundredth of a hundred hits is no fault. */
static void make_misplaced_hit(etx_event *event)
{
    event->position[0] += 100.0f;
    event->module_id[1] = 1000000;
}

static void make_misaligned(etx_event *event)
{
    scale(event, 1.0003f);
}

/* All of them along x, y or z, as where the detector was moved. */
static void move(etx_event *event, int axis, float by)
{
    for (int64_t i = 0; i < event->n_hits; i++)
        event->position[3 * i + axis] += by;
}

static void make_moved_along_x(etx_event *event)
{
    move(event, 0, 2.0f);
}

static void make_moved_along_z(etx_event *event)
{
    move(event, 2, -2.0f);
}

static void make_crowd(etx_event *event)
{
    for (int64_t i = event->n_hits - CROWD; i < event->n_hits; i++) {
        event->volume_id[i] = event->volume_id[0];
        event->layer_id[i] = event->layer_id[0];
        event->module_id[i] = event->module_id[0];
        memcpy(event->position + 3 * i, event->position,
            3 * sizeof *event->position);
    }
}

static const struct world worlds[] = {
    {"right", make_nothing, ""},
    {"m", make_metres, "hits reach to 3 mm, modules to 29"},
    {"cm", make_centimetres, "hits reach to 29"},
    {"um", make_micrometres, "lengths are wanted in mm"},
    {"MeV", make_mev, "units that are not GeV and mm"},
    {"TeV", make_tev, "units that are not GeV and mm"},
    {"vertices", make_distant_vertices,
        " mT along z: truth of other hits, vertices not in mm, or"},
    {"vertices in cm", make_vertices_in_cm,
        "true tracks come from 10 times as far as their vertices: "},
    {"vertices in m", make_vertices_in_m,
        "true tracks come from 1000 times as far as their vertices: "},
    {"vertices in 0.1 mm", make_vertices_in_tenths,
        "true tracks come from a tenth as far as their vertices: "},
    {"no vertices", make_no_vertices, ""},
    {"truth", make_other_truth, " mT along z: truth of other hits, "},
    {"repeated", make_repeated,
        "9 of 892 hits are where another one is, the first of hit_id "},
    {"charges", make_turned_charges, "bend as in -"},
    {"unknown", make_unknown,
        "modules that the detector lacks, the first on (99,"},
    {"layers", make_unknown,
        "layers that the model does not know, the first on "
        "volume 99,"},
    {"modules", make_one_module, "892 of 892 hits are on modules that the "},
    {"shifted", make_shifted,
        "86 of 892 hits are more than 10 mm from their modules, the first "
        "of hit_id 1"},
    {"moved along x", make_moved_along_x,
        " of 892 hits are more than 1 mm above or below their modules"},
    {"moved along z", make_moved_along_z,
        " of 892 hits are more than 1 mm above or below their modules"},
    {"few", make_misplaced_hit, ""},
    {"misaligned", make_misaligned, ""},
    {"crowd", make_crowd, "hits are on module (7, 2, "},
};

static void check(char text[1024], const etx_event *event, int has_both)
{
    scoped_detector *detector = NULL;
    scoped_model *model = NULL;

    if (has_both) {
        ck_assert_ok(
            etx_detector_read(&detector, etx_test_example("detectors.csv.gz")));
        ck_assert_ok(
            etx_model_load(&model, "examples/models/default.safetensors"));
    }
    ck_assert_ok(etx_event_check(text, 1024, event, detector, model));
}

ETX_TEST(test_event_check, .rows = ROWS(worlds))
{
    const struct world *const world = &worlds[_i];
    scoped_model *model = NULL;
    scoped_event *event = NULL;
    char text[1024];

    etx_test_open_example(&model, &event, "event000000001");
    world->make(event);
    check(text, event, 1);
    ck_assert_msg(world->text[0] == '\0' ? text[0] == '\0'
                                         : strstr(text, world->text) != NULL,
        "%s: \"%s\" lacks \"%s\"", world->name, text, world->text);
}

/* The shipped hits of one event with cells of one. */
static etx_event *read_cells(
    const char *hits, const char *cells, const etx_detector *detector)
{
    etx_event *event = NULL;
    char path[2][256];

    (void)snprintf(path[0], sizeof path[0], "%s", etx_test_example(hits));
    (void)snprintf(path[1], sizeof path[1], "%s", etx_test_example(cells));
    ck_assert_ok(etx_event_read_trackml_files(
        &event, path[0], path[1], NULL, NULL, detector));
    return event;
}

/* Hit ids of another event are there, too: where its cells are tells. */
ETX_TEST(test_event_check_cells)
{
    scoped_detector *detector = NULL;
    char text[1024];

    ck_assert_ok(
        etx_detector_read(&detector, etx_test_example("detectors.csv.gz")));
    scoped_event *right = read_cells(
        "event000000000-hits.csv.gz", "event000000000-cells.csv.gz", detector);
    scoped_event *wrong = read_cells(
        "event000000000-hits.csv.gz", "event000000001-cells.csv.gz", detector);

    ck_assert_int_gt(right->n_cell_pairs, 100);
    ck_assert_int_eq(right->n_cell_misfits, 0);
    ck_assert_ok(etx_event_check(text, sizeof text, right, detector, NULL));
    ck_assert_str_eq(text, "");
    ck_assert_ok(etx_event_check(text, sizeof text, wrong, NULL, NULL));
    ck_assert_ptr_nonnull(strstr(text, "pairs of hits of one module "));
    ck_assert_ptr_nonnull(
        strstr(text, " are not as far apart as their cells: "));
}

/* A tenth of the pairs is no fault, nor are few pairs. */
ETX_TEST(test_event_check_cell_share)
{
    scoped_event *event = etx_test_event(1, (const float[]){1, 2, 3});
    char text[1024];

    for (int32_t n = 19; n <= 20; n++)
        for (int32_t misfits = 2; misfits <= 3; misfits++) {
            event->n_cell_pairs = n;
            event->n_cell_misfits = misfits;
            check(text, event, 0);
            ck_assert_int_eq(text[0] != '\0', n == 20 && misfits == 3);
        }
}

/* Without detector and model hits and truth tell less. */
ETX_TEST(test_event_check_alone)
{
    static const float point[] = {1, 2, 3};
    scoped_model *model = NULL;
    scoped_event *event = NULL;
    scoped_event *single = etx_test_event(1, point);
    char text[1024];

    etx_test_open_example(&model, &event, "event000000001");
    make_centimetres(event);
    check(text, event, 0);
    ck_assert_ptr_nonnull(
        strstr(text, " mT: momenta are wanted in GeV, lengths"));
    scale(event, 0.01f);
    check(text, event, 0);
    ck_assert_str_eq(
        text, "no hit is 20 mm from the origin: lengths are wanted in mm");
    scale(event, 1e3f);
    make_mev(event);
    check(text, event, 0);
    ck_assert_ptr_nonnull(strstr(text, " mT: momenta are wanted in GeV"));
    check(text, single, 0);
    ck_assert_str_eq(text, "");
    ck_assert_ok(etx_event_check(text, sizeof text, single, NULL, model));
    ck_assert_str_eq(text, "there is no first pass, the tracks are not "
                           "completed: the event has no modules");
}

/* Nearly a hundredth of the hits are where others are. */
ETX_TEST(test_event_check_repeated)
{
    scoped_model *model = NULL;
    scoped_event *event = NULL;
    char text[1024];

    etx_test_open_example(&model, &event, "event000000001");
    make_some_repeated(event);
    check(text, event, 0);
    ck_assert_str_eq(text, "");
    event->position[2] += 0.001f; /* one is elsewhere along the beam */
    make_repeated(event);
    check(text, event, 0);
    ck_assert_str_ne(text, "");
    event->position[2] += 0.001f;
    check(text, event, 0);
    ck_assert_str_eq(text, "");
}

/* Each fault is said, one after the other, cut where text ends. */
ETX_TEST(test_event_check_several)
{
    scoped_model *model = NULL;
    scoped_event *event = NULL;
    char text[1024];

    etx_test_open_example(&model, &event, "event000000001");
    event->n_repeated_cells = 7;
    make_unknown(event);
    check(text, event, 1);
    ck_assert_ptr_nonnull(
        strstr(text, "7 cells are repeated, and count once; "));
    ck_assert_ptr_nonnull(strstr(text, "the detector lacks, "));
    ck_assert_ptr_nonnull(strstr(text, "; 90 of 892 hits are on layers "));
    ck_assert_ok(etx_event_check(text, 12, event, NULL, model));
    ck_assert_str_eq(text, "7 cells are");
    ck_assert_ok(etx_event_check(text, 1, event, NULL, model));
    ck_assert_str_eq(text, "");
}

/* Points and directions [n, 3] a quarter of a turn about z, exactly. */
static void turn(float *point, int64_t n, size_t stride)
{
    for (int64_t k = 0; k < n; k++, point += stride / sizeof *point) {
        const float x = point[0];

        point[0] = -point[1];
        point[1] = x;
    }
}

/* The field that bends the truth does not know where x is. */
ETX_TEST(test_event_check_turned)
{
    scoped_model *model = NULL;
    scoped_event *event = NULL;
    char before[1024], after[1024];

    etx_test_open_example(&model, &event, "event000000001");
    make_mev(event);
    check(before, event, 0);
    turn(event->position, event->n_hits, 3 * sizeof(float));
    turn(
        event->particles->vertex, event->n_particles, sizeof *event->particles);
    turn(event->particles->momentum, event->n_particles,
        sizeof *event->particles);
    check(after, event, 0);
    ck_assert_ptr_nonnull(strstr(before, " mT: momenta are wanted in GeV"));
    ck_assert_str_eq(after, before);
}

/* The field that the model has learned in is that of the middle. */
ETX_TEST(test_event_check_field)
{
    scoped_model *model = NULL;
    scoped_event *event = NULL;
    char text[1024];

    etx_test_open_example(&model, &event, "event000000001");
    model->completion->field[0] = 40.0f;
    ck_assert_ok(etx_event_check(text, sizeof text, event, NULL, model));
    ck_assert_ptr_nonnull(strstr(text, "the model has learned in 40000 mT"));
}

#define N_PLANES  6
#define N_FORWARD 30

/* Straight tracks along z, whose hits tell no field, are no fault of a truth;
 * those that turn are. */
ETX_TEST(test_event_check_forward)
{
    float position[3 * N_FORWARD * N_PLANES];
    int64_t id[N_FORWARD * N_PLANES];
    etx_particle particle[N_FORWARD] = {{.id = 0}};
    scoped_model *model = NULL;
    char text[1024];

    ck_assert_ok(etx_model_load(&model, "examples/models/default.safetensors"));
    for (int32_t bent = 0; bent < 2; bent++) {
        for (int32_t p = 0; p < N_FORWARD; p++) {
            const float slope = 0.03f + 0.002f * (float)p;

            particle[p] = (etx_particle){.id = p + 1,
                .momentum = {40.0f * slope, 0, 40},
                .charge = p % 2 == 0 ? 1 : -1};
            for (int32_t k = 0; k < N_PLANES; k++) {
                const int32_t i = p * N_PLANES + k;
                const float z = 100.0f * (float)(k + 1);

                position[3 * i] = slope * z;
                position[3 * i + 1] =
                    0.0004f * (float)(i * 7919 % 101 - 50) +
                    (bent && k > 2 ? 0.1f * (z - 300.0f) : 0.0f);
                position[3 * i + 2] = z;
                id[i] = p + 1;
            }
        }
        scoped_event *event = etx_test_event(N_FORWARD * N_PLANES, position);

        ck_assert_ok(etx_event_set_truth(event, id, NULL, N_FORWARD, particle));
        check(text, event, 0);
        if (bent)
            ck_assert_ptr_nonnull(strstr(text, " mT along z: truth of other"));
        else
            ck_assert_str_eq(text, "");
        ck_assert_ok(etx_event_check(text, sizeof text, event, NULL, model));
        if (!bent)
            ck_assert_ptr_nonnull(strstr(
                text, "true tracks are straight, the model has learned in "));
    }
}

/* One hit of a hundred elsewhere is no fault, two are. */
ETX_TEST(test_event_check_share)
{
    scoped_model *model = NULL;
    scoped_event *event = NULL;
    char text[1024];

    etx_test_open_example(&model, &event, "event000000001");
    scoped_event *hundred = etx_test_event(100, event->position);

    for (int32_t n = 1; n <= 2; n++) {
        event->volume_id[n - 1] = 99;
        ck_assert_ok(etx_event_set_modules(
            hundred, event->volume_id, event->layer_id, event->module_id));
        ck_assert_ok(etx_event_check(text, sizeof text, hundred, NULL, model));
        ck_assert_int_eq(strstr(text, "volume 99,") != NULL, n == 2);
    }
}

/* After a call that was stopped the text is as it was. */
ETX_TEST(test_event_check_cancelled)
{
    scoped_model *model = NULL;
    scoped_event *event = NULL;
    char text[1024] = "as before";

    etx_test_open_example(&model, &event, "event000000001");
    etx_set_cancel(etx_test_cancel, NULL);
    ck_assert_fails(etx_event_check(text, sizeof text, event, NULL, model),
        ETX_ERR_CANCELLED, "cancelled by the caller");
    etx_set_cancel(NULL, NULL);
    ck_assert_str_eq(text, "as before");
}
