/* io/event_csv.c -- events from TrackML's CSV files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/event_csv.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/finite.h"
#include "base/heap.h"
#include "base/text.h"
#include "data/cell_features.h"
#include "data/event.h"
#include "data/id_index.h"
#include "io/csv.h"
#include "io/file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HIT_ID, HIT_X, HIT_Y, HIT_Z, HIT_VOLUME, HIT_LAYER, HIT_MODULE };

static const struct etx_csv_wanted hit_columns[] = {
    [HIT_ID] = {"hit_id", ETX_CSV_INT64},
    [HIT_X] = {"x", ETX_CSV_FLOAT},
    [HIT_Y] = {"y", ETX_CSV_FLOAT},
    [HIT_Z] = {"z", ETX_CSV_FLOAT},
    [HIT_VOLUME] = {"volume_id", ETX_CSV_INT32 | ETX_CSV_OPTIONAL},
    [HIT_LAYER] = {"layer_id", ETX_CSV_INT32 | ETX_CSV_OPTIONAL},
    [HIT_MODULE] = {"module_id", ETX_CSV_INT32 | ETX_CSV_OPTIONAL},
};

enum { CELL_HIT, CELL_CHANNEL0, CELL_CHANNEL1, CELL_VALUE };

static const struct etx_csv_wanted cell_columns[] = {
    [CELL_HIT] = {"hit_id", ETX_CSV_INT64},
    [CELL_CHANNEL0] = {"ch0", ETX_CSV_INT32},
    [CELL_CHANNEL1] = {"ch1", ETX_CSV_INT32},
    [CELL_VALUE] = {"value", ETX_CSV_FLOAT},
};

enum { TRUTH_HIT, TRUTH_PARTICLE, TRUTH_WEIGHT };

static const struct etx_csv_wanted truth_columns[] = {
    [TRUTH_HIT] = {"hit_id", ETX_CSV_INT64},
    [TRUTH_PARTICLE] = {"particle_id", ETX_CSV_INT64},
    [TRUTH_WEIGHT] = {"weight", ETX_CSV_FLOAT | ETX_CSV_OPTIONAL},
};

enum {
    PARTICLE_ID,
    PARTICLE_VERTEX, /* three columns */
    PARTICLE_MOMENTUM = PARTICLE_VERTEX + 3,
    PARTICLE_CHARGE = PARTICLE_MOMENTUM + 3,
    PARTICLE_HITS
};

static const struct etx_csv_wanted particle_columns[] = {
    [PARTICLE_ID] = {"particle_id", ETX_CSV_INT64},
    [PARTICLE_VERTEX] = {"vx", ETX_CSV_FLOAT},
    [PARTICLE_VERTEX + 1] = {"vy", ETX_CSV_FLOAT},
    [PARTICLE_VERTEX + 2] = {"vz", ETX_CSV_FLOAT},
    [PARTICLE_MOMENTUM] = {"px", ETX_CSV_FLOAT},
    [PARTICLE_MOMENTUM + 1] = {"py", ETX_CSV_FLOAT},
    [PARTICLE_MOMENTUM + 2] = {"pz", ETX_CSV_FLOAT},
    [PARTICLE_CHARGE] = {"q", ETX_CSV_FLOAT},
    [PARTICLE_HITS] = {"nhits", ETX_CSV_INT32 | ETX_CSV_OPTIONAL},
};

#define MAX_CHARGE 1000000 /* whole in a float */

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof(array)[0]))

/* Index an id column: ids are positive and unique. */
static etx_status index_ids(
    struct etx_id_index *out, const struct etx_csv *csv, int32_t column)
{
    const int64_t *ids = csv->int64_values[column];
    int64_t first = -1;
    etx_status status = ETX_OK;

    for (int64_t row = 0; row < csv->n_rows; row++)
        if (ids[row] <= 0)
            return etx_csv_fail(csv, row, column, "is not positive");
    ETX_CHECK(etx_id_index_build(out, csv->n_rows, ids));
    ETX_CHECK(etx_id_index_duplicate(&first, out, ids));
    if (first >= 0)
        return etx_csv_fail(
            csv, etx_id_index_find(out, ids[first]), column, "occurs twice");
done:
    return status;
}

/* The row of a cell's id in another file. */
static etx_status find_row(int64_t *out, const struct etx_id_index *index,
    const struct etx_csv *csv, int64_t row, int32_t column, const char *other)
{
    const int64_t id = csv->int64_values[column][row];
    char fault[256];

    *out = etx_id_index_find(index, id);
    if (*out >= 0)
        return ETX_OK;
    (void)snprintf(fault, sizeof fault, "is not in %s", other);
    return etx_csv_fail(csv, row, column, fault);
}

/* ---------------------------------------------------------------- hits -- */

/* The number of a file .../eventNUMBER-hits.csv, -1 of another name. */
static int64_t number_of(const char *path)
{
    static const char event[] = "event";
    static const char hits[] = "-hits.csv";
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    const char *after;
    int64_t number = 0;

    if (strncmp(name, event, sizeof event - 1) != 0)
        return -1;
    name += sizeof event - 1;
    after = etx_parse_int64(&number, name, name + strlen(name));
    if (after == NULL || number < 0 ||
        strncmp(after, hits, sizeof hits - 1) != 0)
        return -1;
    return number;
}

/* The modules of hits: three columns, or none. */
static etx_status set_modules(etx_event *event, const struct etx_csv *hits)
{
    int32_t n_missing = 0;
    int32_t missing = HIT_VOLUME;

    for (int32_t k = HIT_MODULE; k >= HIT_VOLUME; k--)
        if (hits->cell[k] < 0) {
            n_missing++;
            missing = k;
        }
    if (n_missing == 3)
        return ETX_OK;
    if (n_missing > 0)
        return etx_fail(ETX_ERR_FORMAT,
            "%s:1:1: there is no column %s in the first line", hits->path,
            hits->wanted[missing].name);
    return etx_event_replace_modules(event, hits->int32_values[HIT_VOLUME],
        hits->int32_values[HIT_LAYER], hits->int32_values[HIT_MODULE]);
}

static etx_status make_event(etx_event **out, const struct etx_csv *hits)
{
    etx_event *event = NULL;
    float *positions = NULL;
    etx_status status = ETX_OK;

    for (int32_t k = 0; k < 3; k++) {
        const int64_t bad = etx_find_beyond(
            hits->float_values[HIT_X + k], hits->n_rows, ETX_MAX_HIT_VALUE);
        if (bad >= 0)
            return etx_csv_fail(hits, bad, HIT_X + k, "is not in +-1e9 mm");
    }
    ETX_CHECK(etx_alloc(
        &positions, hits->n_rows, 3 * sizeof *positions, "hit positions"));
    for (int64_t i = 0; i < hits->n_rows; i++)
        for (int32_t k = 0; k < 3; k++)
            positions[3 * i + k] = hits->float_values[HIT_X + k][i];
    ETX_CHECK(etx_event_make(
        &event, hits->n_rows, hits->int64_values[HIT_ID], positions));
    ETX_CHECK(set_modules(event, hits));
    *out = event;
    event = NULL;
done:
    etx_event_free(event);
    etx_free(positions);
    return status;
}

static etx_status read_hits(
    etx_event **out, struct etx_id_index *index, const char *path)
{
    struct etx_csv csv = {0};
    etx_status status = ETX_OK;

    ETX_CHECK(etx_csv_read(&csv, path, hit_columns, COUNT(hit_columns)));
    ETX_CHECK(index_ids(index, &csv, HIT_ID));
    ETX_CHECK(make_event(out, &csv));
done:
    etx_csv_release(&csv);
    return status;
}

/* --------------------------------------------------------------- cells -- */

static etx_status read_cells(etx_event *event,
    const struct etx_event_paths *paths, const struct etx_id_index *hits,
    const etx_detector *detector)
{
    struct etx_csv csv = {0};
    int32_t *hit = NULL;
    etx_status status = ETX_OK;

    if (event->n_hits > 0 && event->volume_id == NULL)
        return etx_fail(ETX_ERR_FORMAT,
            "%s: cells need modules, and there is no column volume_id in %s",
            paths->cells, paths->hits);
    ETX_CHECK(
        etx_csv_read(&csv, paths->cells, cell_columns, COUNT(cell_columns)));
    ETX_NEW(hit, csv.n_rows, "hits of cells");
    for (int64_t row = 0; row < csv.n_rows; row++) {
        int64_t found = -1;
        ETX_POLL(row);
        ETX_CHECK(find_row(&found, hits, &csv, row, CELL_HIT, paths->hits));
        hit[row] = (int32_t)found;
    }

    const struct etx_cells cells = {.n_cells = csv.n_rows,
        .hit = hit,
        .channel0 = csv.int32_values[CELL_CHANNEL0],
        .channel1 = csv.int32_values[CELL_CHANNEL1],
        .value = csv.float_values[CELL_VALUE]};
    status = etx_event_replace_cells(event, &cells, detector);
    if (status == ETX_ERR_ARGUMENT)
        status = etx_fail(status, "%s: %s", paths->cells, etx_last_error());
done:
    etx_free(hit);
    etx_csv_release(&csv);
    return status;
}

/* --------------------------------------------------------------- truth -- */

/* The charge of a row, which tables of floats have as -1.0. */
static etx_status read_charge(
    int32_t *charge, const struct etx_csv *csv, int64_t row)
{
    const float q = csv->float_values[PARTICLE_CHARGE][row];

    if (q != truncf(q) || fabsf(q) > (float)MAX_CHARGE)
        return etx_csv_fail(
            csv, row, PARTICLE_CHARGE, "is no whole number of charges");
    *charge = (int32_t)q;
    return ETX_OK;
}

static etx_status read_particles(etx_particle **out, int64_t *n_particles,
    struct etx_id_index *index, const char *path)
{
    struct etx_csv csv = {0};
    etx_particle *particles = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(
        etx_csv_read(&csv, path, particle_columns, COUNT(particle_columns)));
    ETX_CHECK(index_ids(index, &csv, PARTICLE_ID));
    ETX_NEW(particles, csv.n_rows, "particles");
    for (int64_t row = 0; row < csv.n_rows; row++) {
        etx_particle *particle = &particles[row];

        ETX_POLL(row);
        particle->id = csv.int64_values[PARTICLE_ID][row];
        ETX_CHECK(read_charge(&particle->charge, &csv, row));
        if (csv.int32_values[PARTICLE_HITS] != NULL)
            particle->n_hits = csv.int32_values[PARTICLE_HITS][row];
        if (particle->n_hits < 0) {
            status = etx_csv_fail(&csv, row, PARTICLE_HITS, "is negative");
            goto done;
        }
        for (int32_t k = 0; k < 3; k++) {
            particle->vertex[k] = csv.float_values[PARTICLE_VERTEX + k][row];
            particle->momentum[k] =
                csv.float_values[PARTICLE_MOMENTUM + k][row];
        }
    }
    *out = particles;
    *n_particles = csv.n_rows;
    particles = NULL;
done:
    etx_free(particles);
    etx_csv_release(&csv);
    return status;
}

/* What truth says of every hit, in the order of the hits. */
struct truth {
    int64_t *particle_id; /* [n_hits] -1 before the hit's first row was seen */
    float *weight;        /* [n_hits] of all rows of the hit */
    int has_weights;      /* 0: hits weigh the same */
    int64_t n_particles;
    etx_particle *particles; /* [n_particles] */
    int64_t n_shared;        /* later rows of hits */
    int64_t *shared_row;     /* [n_shared] in the file */
    int64_t *shared_key;     /* [n_shared] one number for hit and particle */
    int32_t *shared_hit;     /* [n_shared] */
    int64_t *shared_id;      /* [n_shared] */
};

static etx_status allocate_truth(
    struct truth *truth, int64_t n_hits, int64_t n_rows)
{
    etx_status status;

    ETX_NEW(truth->particle_id, n_hits, "particles of hits");
    ETX_NEW(truth->weight, n_hits, "hit weights");
    ETX_NEW(truth->shared_row, n_rows, "rows of shared hits");
    ETX_NEW(truth->shared_key, n_rows, "keys of shared hits");
    ETX_NEW(truth->shared_hit, n_rows, "shared hits");
    ETX_NEW(truth->shared_id, n_rows, "particles of shared hits");
    for (int64_t i = 0; i < n_hits; i++)
        truth->particle_id[i] = -1;
done:
    return status;
}

static void release_truth(const struct truth *truth)
{
    etx_free(truth->particles);
    etx_free(truth->particle_id);
    etx_free(truth->weight);
    etx_free(truth->shared_row);
    etx_free(truth->shared_key);
    etx_free(truth->shared_hit);
    etx_free(truth->shared_id);
}

static etx_status fail_twice(const struct etx_csv *csv, int64_t row)
{
    return etx_csv_fail(csv, row, TRUTH_HIT, "occurs twice with one particle");
}

/* A later row of a hit: particle is the row of id in the file of particles. */
static etx_status add_shared(struct truth *truth, const struct etx_csv *csv,
    int64_t row, int64_t hit, int64_t id, int64_t particle)
{
    if (id == 0 || truth->particle_id[hit] == 0)
        return etx_csv_fail(csv, row, TRUTH_HIT, "occurs twice, once as noise");
    if (id == truth->particle_id[hit])
        return fail_twice(csv, row);
    truth->shared_row[truth->n_shared] = row;
    truth->shared_key[truth->n_shared] = hit * truth->n_particles + particle;
    truth->shared_hit[truth->n_shared] = (int32_t)hit;
    truth->shared_id[truth->n_shared] = id;
    truth->n_shared++;
    return ETX_OK;
}

/* No later row of a hit may be that of another again. */
static etx_status check_shared(
    const struct truth *truth, const struct etx_csv *csv)
{
    struct etx_id_index index = {0};
    int64_t first = -1;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_id_index_build(&index, truth->n_shared, truth->shared_key));
    ETX_CHECK(etx_id_index_duplicate(&first, &index, truth->shared_key));
    if (first >= 0) {
        const int64_t last =
            etx_id_index_find(&index, truth->shared_key[first]);
        status = fail_twice(csv, truth->shared_row[last]);
    }
done:
    etx_id_index_release(&index);
    return status;
}

static etx_status scatter_truth(struct truth *truth, const struct etx_csv *csv,
    const struct etx_event_paths *paths, const struct etx_id_index *hits,
    const struct etx_id_index *particles)
{
    etx_status status = ETX_OK;

    for (int64_t row = 0; row < csv->n_rows; row++) {
        const int64_t id = csv->int64_values[TRUTH_PARTICLE][row];
        const float weight =
            truth->has_weights ? csv->float_values[TRUTH_WEIGHT][row] : 0.0f;
        int64_t hit = -1;
        int64_t particle = -1;

        ETX_POLL(row);
        ETX_CHECK(find_row(&hit, hits, csv, row, TRUTH_HIT, paths->hits));
        if (id < 0)
            return etx_csv_fail(
                csv, row, TRUTH_PARTICLE, "is negative; noise is 0");
        if (id != 0)
            ETX_CHECK(find_row(&particle, particles, csv, row, TRUTH_PARTICLE,
                paths->particles));
        if (weight < 0.0f)
            return etx_csv_fail(csv, row, TRUTH_WEIGHT, "is negative");
        truth->weight[hit] += weight;
        if (!isfinite(truth->weight[hit]))
            return etx_csv_fail(
                csv, row, TRUTH_WEIGHT, "makes that of the hit infinite");
        if (truth->particle_id[hit] < 0) {
            truth->particle_id[hit] = id;
            continue;
        }
        ETX_CHECK(add_shared(truth, csv, row, hit, id, particle));
    }
    ETX_CHECK(check_shared(truth, csv));
done:
    return status;
}

static etx_status check_all_hits(const struct truth *truth,
    const etx_event *event, const struct etx_event_paths *paths)
{
    for (int64_t i = 0; i < event->n_hits; i++)
        if (truth->particle_id[i] < 0)
            return etx_fail(ETX_ERR_FORMAT,
                "%s: there is no row for hit_id %" PRId64 " of %s",
                paths->truth, event->hit_id[i], paths->hits);
    return ETX_OK;
}

static etx_status read_truth(etx_event *event,
    const struct etx_event_paths *paths, const struct etx_id_index *hits)
{
    struct etx_csv csv = {0};
    struct etx_id_index index = {0};
    struct truth truth = {0};
    etx_status status = ETX_OK;

    ETX_CHECK(read_particles(
        &truth.particles, &truth.n_particles, &index, paths->particles));
    ETX_CHECK(
        etx_csv_read(&csv, paths->truth, truth_columns, COUNT(truth_columns)));
    truth.has_weights = csv.float_values[TRUTH_WEIGHT] != NULL;
    ETX_CHECK(allocate_truth(&truth, event->n_hits, csv.n_rows));
    ETX_CHECK(scatter_truth(&truth, &csv, paths, hits, &index));
    ETX_CHECK(check_all_hits(&truth, event, paths));
    ETX_CHECK(etx_event_replace_truth(event, truth.particle_id,
        truth.has_weights ? truth.weight : NULL, truth.n_particles,
        truth.particles));
    if (truth.n_shared > 0)
        ETX_CHECK(etx_event_replace_shared(
            event, truth.n_shared, truth.shared_hit, truth.shared_id));
done:
    release_truth(&truth);
    etx_id_index_release(&index);
    etx_csv_release(&csv);
    return status;
}

/* --------------------------------------------------------------- event -- */

etx_status etx_event_csv_read(etx_event **out,
    const struct etx_event_paths *paths, const etx_detector *detector)
{
    etx_event *event = NULL;
    struct etx_id_index hits = {0};
    etx_status status = ETX_OK;

    ETX_CHECK(read_hits(&event, &hits, paths->hits));
    event->number = number_of(paths->hits);
    if (paths->cells != NULL)
        ETX_CHECK(read_cells(event, paths, &hits, detector));
    if (paths->truth != NULL)
        ETX_CHECK(read_truth(event, paths, &hits));
    *out = event;
    event = NULL;
done:
    etx_event_free(event);
    etx_id_index_release(&hits);
    return status;
}

/* *out is PREFIX-NAME.csv or PREFIX-NAME.csv.gz, the first that there is, or
 * NULL; released by the caller. */
static etx_status find_file(char **out, const char *prefix, const char *name)
{
    const size_t size = strlen(prefix) + strlen(name) + sizeof "-.csv.gz";
    char *path = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_alloc(&path, (int64_t)size, 1, "the name of a file"));
    (void)snprintf(path, size, "%s-%s.csv", prefix, name);
    if (!etx_file_exists(path))
        (void)snprintf(path, size, "%s-%s.csv.gz", prefix, name);
    if (etx_file_exists(path)) {
        *out = path;
        path = NULL;
    }
done:
    etx_free(path);
    return status;
}

etx_status etx_event_csv_read_prefix(
    etx_event **out, const char *prefix, const etx_detector *detector)
{
    char *hits = NULL;
    char *cells = NULL;
    char *truth = NULL;
    char *particles = NULL;
    struct etx_event_paths paths = {0};
    etx_status status = ETX_OK;

    ETX_CHECK(find_file(&hits, prefix, "hits"));
    ETX_CHECK(find_file(&truth, prefix, "truth"));
    ETX_CHECK(find_file(&particles, prefix, "particles"));
    if (detector != NULL)
        ETX_CHECK(find_file(&cells, prefix, "cells"));
    if (hits == NULL)
        ETX_FAIL(ETX_ERR_IO,
            "there is neither %s-hits.csv nor %s-hits.csv.gz (errno %d)",
            prefix, prefix, ENOENT);
    paths.hits = hits;
    paths.cells = cells;
    if (truth != NULL && particles != NULL) {
        paths.truth = truth;
        paths.particles = particles;
    }
    ETX_CHECK(etx_event_csv_read(out, &paths, detector));
done:
    etx_free(hits);
    etx_free(cells);
    etx_free(truth);
    etx_free(particles);
    return status;
}
