/* test_io_event.c -- the files of an event together: hits with their cells,
 * truth and particles.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io_columns.h"
#include "io_support.h"

#include "base/heap.h"
#include "data/event.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TWO_HITS     HEAD "7,1,0,0,8,2,1\n3,0,2,0,8,2,1\n"
#define TRUTH        "hit_id,particle_id,tx,ty,tz,tpx,tpy,tpz,weight\n"
#define PARTICLES    "particle_id,particle_type,vx,vy,vz,px,py,pz,q,nhits\n"
#define ONE_PARTICLE PARTICLES "4503599627370497,13,0,0,1,1,0,2,-1,2\n"
#define GOOD_TRUTH                                                             \
    TRUTH "3,4503599627370497,0,0,0,0,0,0,0.25\n7,0,0,0,0,0,0,0,0\n"

#define TWO_PARTICLES ONE_PARTICLE "7,13,0,0,1,1,0,2,1,2\n"
#define SHARED_TRUTH                                                           \
    TRUTH "3,4503599627370497,0,0,0,0,0,0,0.25\n7,7,0,0,0,0,0,0,0.5\n"         \
          "3,7,0,0,0,0,0,0,0.125\n"

struct truth_row {
    const char *name;
    const char *truth;
    const char *particles;
    const char *piece; /* of the message, NULL: accepted */
};

static const struct truth_row truth_rows[] = {
    {"good", GOOD_TRUTH, ONE_PARTICLE, NULL},
    {"no particle_type", GOOD_TRUTH,
        "particle_id,vx,vy,vz,px,py,pz,q,nhits\n"
        "4503599627370497,0,0,1,1,0,2,-1,2\n",
        NULL},
    {"all weights 0, all noise", TRUTH "3,0,0,0,0,0,0,0,0\n7,0,0,0,0,0,0,0,0\n",
        PARTICLES, NULL},
    {"truth momentum is text nobody reads",
        TRUTH "3,0,a,b,c,inf,-,+,0\n7,0,0,0,0,0,0,0,0\n", PARTICLES, NULL},
    {"unknown hit",
        TRUTH "3,0,0,0,0,0,0,0,0\n7,0,0,0,0,0,0,0,0\n"
              "8,0,0,0,0,0,0,0,0\n",
        PARTICLES, "truth.csv:4:1: hit_id 8 is not in"},
    {"hit without a row", TRUTH "3,0,0,0,0,0,0,0,0\n", PARTICLES,
        "there is no row for hit_id 7 of"},
    {"no rows", TRUTH, PARTICLES, "there is no row for hit_id 7 of"},
    {"noise twice", TRUTH "3,0,0,0,0,0,0,0,0\n3,0,0,0,0,0,0,0,0\n", PARTICLES,
        "truth.csv:3:1: hit_id 3 occurs twice, once as noise"},
    {"noise and a particle",
        TRUTH "3,0,0,0,0,0,0,0,0\n3,4503599627370497,0,0,0,0,0,0,0\n",
        ONE_PARTICLE, "truth.csv:3:1: hit_id 3 occurs twice, once as noise"},
    {"a particle twice",
        TRUTH "3,4503599627370497,0,0,0,0,0,0,0\n"
              "3,4503599627370497,0,0,0,0,0,0,0\n",
        ONE_PARTICLE, "truth.csv:3:1: hit_id 3 occurs twice with one particle"},
    {"a further particle twice",
        TRUTH "3,4503599627370497,0,0,0,0,0,0,0\n"
              "3,7,0,0,0,0,0,0,0\n7,7,0,0,0,0,0,0,0\n3,7,0,0,0,0,0,0,0\n",
        TWO_PARTICLES,
        "truth.csv:5:1: hit_id 3 occurs twice with one particle"},
    {"shared hits", SHARED_TRUTH, TWO_PARTICLES, NULL},
    {"a later row and a hit without one",
        TRUTH "3,4503599627370497,0,0,0,0,0,0,0\n3,7,0,0,0,0,0,0,0\n",
        TWO_PARTICLES, "there is no row for hit_id 7 of"},
    {"unknown particle", GOOD_TRUTH, PARTICLES,
        "truth.csv:2:2: particle_id 4503599627370497 is not in"},
    {"negative particle", TRUTH "3,-5,0,0,0,0,0,0,0\n", ONE_PARTICLE,
        "truth.csv:2:2: particle_id -5 is negative; noise is 0"},
    {"particle of 65 bits", TRUTH "3,18446744073709551617,0,0,0,0,0,0,0\n",
        ONE_PARTICLE, "truth.csv:2:2: found \"18446744073709551617\""},
    {"negative weight", TRUTH "3,0,0,0,0,0,0,0,-0.5\n", ONE_PARTICLE,
        "truth.csv:2:9: weight -0.5 is negative"},
    {"weights with an infinite sum",
        TRUTH "7,0,0,0,0,0,0,0,0\n3,7,0,0,0,0,0,0,3e38\n"
              "3,4503599627370497,0,0,0,0,0,0,3e38\n",
        TWO_PARTICLES, "truth.csv:4:9: weight 3e38 makes that of the hit"},
    {"weight nan", TRUTH "3,0,0,0,0,0,0,0,nan\n", ONE_PARTICLE,
        "truth.csv:2:9: found \"nan\""},
    {"no particle_id", "hit_id,weight\n", ONE_PARTICLE,
        "there is no column particle_id"},
    {"particle 0", GOOD_TRUTH, PARTICLES "0,13,0,0,1,1,0,2,-1,2\n",
        "particles.csv:2:1: particle_id 0 is not positive"},
    {"particle twice", GOOD_TRUTH,
        ONE_PARTICLE "4503599627370497,13,0,0,1,1,0,2,-1,2\n",
        "particles.csv:3:1: particle_id 4503599627370497 occurs twice"},
    {"vertex inf", GOOD_TRUTH, PARTICLES "1,13,0,0,inf,1,0,2,-1,2\n",
        "particles.csv:2:5: found \"inf\""},
    {"momentum too large", GOOD_TRUTH, PARTICLES "1,13,0,0,0,1,0,2e39,-1,2\n",
        "particles.csv:2:8: found \"2e39\""},
    {"negative nhits", GOOD_TRUTH, PARTICLES "1,13,0,0,0,1,0,2,-1,-2\n",
        "particles.csv:2:10: nhits -2 is negative"},
    {"charge of a third", GOOD_TRUTH, PARTICLES "1,13,0,0,0,1,0,2,0.33,2\n",
        "particles.csv:2:9: q 0.33 is no whole number of charges"},
    {"charge beyond an integer", GOOD_TRUTH,
        PARTICLES "1,13,0,0,0,1,0,2,3e9,2\n",
        "particles.csv:2:9: q 3000000000 is no whole number of charges"},
    {"no charge", GOOD_TRUTH, PARTICLES "1,13,0,0,0,1,0,2,,2\n",
        "particles.csv:2:9: found \"\", expected a number"},
    {"no q", GOOD_TRUTH, "particle_id,vx,vy,vz,px,py,pz,nhits\n",
        "particles.csv:1:1: there is no column q"},
    {"empty truth", "", ONE_PARTICLE, "truth.csv:1:1"},
    {"empty particles", GOOD_TRUTH, "", "particles.csv:1:1"},
};

IO_TEST(test_io_event_truth, .rows = ROWS(truth_rows))
{
    const struct truth_row *row = &truth_rows[_i];
    const int64_t before = etx_heap_in_use();
    etx_event *event = NULL;
    etx_status status;

    (void)io_write_text("e-hits.csv", TWO_HITS);
    (void)io_write_text("e-truth.csv", row->truth);
    (void)io_write_text("e-particles.csv", row->particles);
    status = etx_event_read_trackml(&event, io_path("e"), NULL);
    io_expect_row(row->name, status, row->piece);
    if (_i == 0) {
        ck_assert_int_eq(event->particle_id[0], 0);
        ck_assert_int_eq(event->particle_id[1], 4503599627370497);
        ck_assert(event->weight[0] == 0.0f && event->weight[1] == 0.25f);
        ck_assert_int_eq(event->n_particles, 1);
        ck_assert(event->particles[0].vertex[2] == 1.0f);
        ck_assert(event->particles[0].momentum[2] == 2.0f);
        ck_assert_int_eq(event->particles[0].charge, -1);
        ck_assert_int_eq(event->particles[0].n_hits, 2);
    }
    ck_assert((event != NULL) == (status == ETX_OK));
    etx_event_free(event);
    ck_assert_int_eq(etx_heap_in_use(), before);
}

#define CELLS "hit_id,ch0,ch1,value\n"

static const struct truth_row cells_rows[] = {
    {"good", CELLS "7,1,1,0.5\n7,2,1,0.25\n3,0,0,1\n", NULL, NULL},
    {"hits without cells", CELLS, NULL, NULL},
    {"unknown hit", CELLS "5,1,1,0.5\n", NULL,
        "cells.csv:2:1: hit_id 5 is not in"},
    {"value nan", CELLS "7,1,1,nan\n", NULL, "cells.csv:2:4: found \"nan\""},
    {"channel too large", CELLS "7,1,4294967296,1\n", NULL,
        "cells.csv:2:3: found \"4294967296\""},
    {"no ch1", "hit_id,ch0,value\n", NULL, "there is no column ch1"},
    {"empty", "", NULL, "cells.csv:1:1"},
};

IO_TEST(test_io_event_cells, .rows = ROWS(cells_rows))
{
    const struct truth_row *row = &cells_rows[_i];
    scoped_detector *detector = NULL;
    scoped_event *event = NULL;
    etx_status status;

    (void)io_write_text("e-hits.csv", TWO_HITS);
    (void)io_write_text("e-cells.csv", row->truth);
    ck_assert_ok(etx_detector_read(
        &detector, io_write_text("d.csv", DETECTOR_HEAD "8,2,1" MODULE_TAIL)));
    status = etx_event_read_trackml(&event, io_path("e"), detector);
    io_expect_row(row->name, status, row->piece);
    if (_i == 0) {
        const float *features = etx_event_cell_features(event);
        ck_assert(features[0] == 2.0f && features[1] == 0.75f);
        ck_assert(features[9] == 1.0f && features[10] == 1.0f);

        /* The same by the names of the files. */
        scoped_event *named = NULL;
        ck_assert_ok(etx_event_read_trackml_files(&named, io_path("e-hits.csv"),
            io_path("e-cells.csv"), NULL, NULL, detector));
        ck_assert_mem_eq(
            etx_event_cell_features(named), features, 18 * sizeof *features);
    }
}

/* A hit of two particles: the first, a further one, and the sum of weights. */
IO_TEST(test_io_event_shared_hits)
{
    scoped_event *event = NULL;

    (void)io_write_text("e-hits.csv", TWO_HITS);
    (void)io_write_text("e-truth.csv", SHARED_TRUTH);
    (void)io_write_text("e-particles.csv", TWO_PARTICLES);
    ck_assert_ok(etx_event_read_trackml(&event, io_path("e"), NULL));
    ck_assert_int_eq(event->particle_id[1], 4503599627370497);
    ck_assert_int_eq(etx_event_n_shared_hits(event), 1);
    ck_assert_int_eq(etx_event_shared_hits(event)[0], 1);
    ck_assert_int_eq(etx_event_shared_particle_ids(event)[0], 7);
    ck_assert(event->weight[0] == 0.5f && event->weight[1] == 0.375f);
}

/* Truth without weights, particles without nhits and with charges of a table of
 * floats. */
IO_TEST(test_io_event_of_other_tools)
{
    scoped_event *event = NULL;

    (void)io_write_text("e-hits.csv", TWO_HITS);
    (void)io_write_text("e-truth.csv", "hit_id,particle_id\n3,7\n7,0\n");
    (void)io_write_text("e-particles.csv",
        "particle_id,vx,vy,vz,px,py,pz,q\n7,0,0,1,1,0,2,-1.0\n8,0,0,1,1,0,2,2e0"
        "\n");
    ck_assert_ok(etx_event_read_trackml(&event, io_path("e"), NULL));
    ck_assert(event->weight[0] == 0.5f && event->weight[1] == 0.5f);
    ck_assert_int_eq(event->particles[0].charge, -1);
    ck_assert_int_eq(event->particles[0].n_hits, 0);
    ck_assert_int_eq(event->particles[1].charge, 2);
}

/* Hits may have no modules; cells need them. */
IO_TEST(test_io_event_no_modules)
{
    scoped_detector *detector = NULL;
    scoped_event *event = NULL;
    scoped_event *with_cells = NULL;

    (void)io_write_text("e-hits.csv", "z,hit_id,x,y\n1,7,2,3\n4,3,5,6\n");
    ck_assert_ok(etx_event_read_trackml(&event, io_path("e"), NULL));
    ck_assert_ptr_null(etx_event_volume_ids(event));
    ck_assert(etx_event_positions(event)[2] == 1.0f);
    ck_assert_ok(etx_detector_read(
        &detector, io_write_text("d.csv", DETECTOR_HEAD "8,2,1" MODULE_TAIL)));
    (void)io_write_text("e-cells.csv", CELLS "7,1,1,0.5\n");
    ck_assert_fails(etx_event_read_trackml(&with_cells, io_path("e"), detector),
        ETX_ERR_FORMAT, "e-cells.csv: cells need modules");
}

/* The number of an event is in the name of its file of hits; -1: it is not. */
IO_TEST(test_io_event_numbers)
{
    static const struct {
        const char *name;
        int64_t number;
    } names[] = {{"event000000042", 42}, {"event0", 0}, {"event-7", -1},
        {"event", -1}, {"event9x", -1}, {"Event9", -1}};

    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        scoped_event *event = NULL;
        char hits[64];

        (void)snprintf(hits, sizeof hits, "%s-hits.csv", names[k].name);
        (void)io_write_text(hits, TWO_HITS);
        ck_assert_ok(
            etx_event_read_trackml(&event, io_path(names[k].name), NULL));
        ck_assert_int_eq(event->number, names[k].number);
    }
}

/* A module that the detector lacks, and missing files. */
IO_TEST(test_io_event_missing)
{
    scoped_detector *detector = NULL;
    etx_event *event = NULL;

    ck_assert_fails(etx_event_read_trackml(&event, io_path("e"), NULL),
        ETX_ERR_IO, "e-hits.csv.gz");
    (void)io_write_text("e-hits.csv", TWO_HITS);
    (void)io_write_text("e-truth.csv", "");
    ck_assert_ok(etx_event_read_trackml(&event, io_path("e"), NULL));
    ck_assert_ptr_null(etx_event_particle_ids(event));
    etx_event_free(event);
    event = NULL;
    ck_assert_fails(
        etx_event_read_trackml_files(&event, io_path("e-hits.csv"), NULL,
            io_path("no-truth"), io_path("no-particles"), NULL),
        ETX_ERR_IO, "no-particles: cannot open: No such file");
    ck_assert_ok(etx_detector_read(
        &detector, io_write_text("d.csv", DETECTOR_HEAD "8,2,2" MODULE_TAIL)));
    (void)io_write_text("e-cells.csv", CELLS "7,1,1,1\n");
    ck_assert_refused(etx_event_read_trackml(&event, io_path("e"), detector),
        "e-cells.csv: hit row 0 (id 7): the detector has no module");
    ck_assert_ptr_null(event);
}

IO_TEST(test_io_event_arguments)
{
    etx_event *event = NULL;
    const float scales[3] = {1.0f, NAN, 1.0f};

    ck_assert_refused(
        etx_event_read_trackml_files(&event, "x", NULL, "x", NULL, NULL),
        "particles is NULL");
    ck_assert_refused(
        etx_event_read_trackml_files(&event, "x", NULL, NULL, "x", NULL),
        "truth is NULL");
    ck_assert_refused(
        etx_event_read_trackml_files(&event, "x", "x", NULL, NULL, NULL),
        "detector is NULL");
    ck_assert_refused(etx_event_read_features(&event, "x", scales), "scales");
    ck_assert_ptr_null(event);
}

/* r, phi and z of each hit, times their scales. */
IO_TEST(test_io_event_features)
{
    const float scales[3] = {100.0f, 1.0f, 1000.0f};
    scoped_event *event = NULL;
    etx_event *none = NULL;
    const float *x;

    ck_assert_ok(etx_event_read_features(&event,
        io_write_text("f.csv", "1.5,0,-0.25\n2,1.5707963,0.5\n"), scales));
    ck_assert_int_eq(etx_event_n_hits(event), 2);
    x = etx_event_positions(event);
    ck_assert(x[0] == 150.0f && x[1] == 0.0f && x[2] == -250.0f);
    ck_assert(x[3] < 1e-3f && x[4] == 200.0f && x[5] == 500.0f);
    ck_assert_fails(etx_event_read_features(&none,
                        io_write_text("f.csv", "1,0,2\n1,0,3e38\n"), scales),
        ETX_ERR_FORMAT, "f.csv:2:1: 1, 0, 3");
    ck_assert_ptr_null(none);
}

IO_TEST(test_io_event_real_event)
{
    const char *name = "test_io_event_real_event";
    const char *folder = etx_test_reference(name, "trackml_event");
    char path[1100];
    scoped_detector *detector = NULL;
    scoped_event *event = NULL;
    int64_t n_noise = 0;
    int64_t n_seen = 0;
    double n_cells = 0.0;

    if (folder == NULL)
        return;
    (void)snprintf(path, sizeof path, "%s/detectors.csv.gz", folder);
    ck_assert_ok(etx_detector_read(&detector, path));
    ck_assert_int_eq(etx_detector_n_modules(detector), 18728);
    (void)snprintf(path, sizeof path, "%s/event000000001", folder);
    ck_assert_ok(etx_event_read_trackml(&event, path, detector));
    ck_assert_int_eq(etx_event_n_hits(event), 5527);
    ck_assert_int_eq(event->hit_id[0], 6);
    for (int64_t i = 0; i < event->n_hits; i++) {
        n_noise += event->particle_id[i] == 0;
        n_cells += (double)event->cell_features[9 * i];
    }
    ck_assert_int_eq(n_noise, 829);
    ck_assert(n_cells == 18564.0);
    ck_assert_int_eq(etx_event_n_particles(event), 548);
    for (int64_t p = 0; p < event->n_particles; p++)
        n_seen += event->particles[p].n_hits > 0;
    ck_assert_int_eq(n_seen, 468);
}
