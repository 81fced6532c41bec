/* stage/truth_check.c -- whether true tracks bend in a field that exists, and
 * come from their vertices.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/select.h"
#include "stage/event_check.h"
#include "stage/helix/field.h"

#include <inttypes.h>
#include <math.h>

#define MIN_ARCS     20   /* true tracks that measure a field */
#define MIN_ARC_HITS 4    /* of such a track */
#define MIN_ARC_PT   0.3  /* GeV */
#define MAX_FIELD    10.0 /* T, of any detector */
#define MAX_SPREAD   0.3  /* T, half a quartile range */
#define MAX_BEND     1e-3 /* of straight tracks, as adapt has it */
#define FIELD_FACTOR 2.0  /* between that field and the model's */
#define UNIT_GAIN    3.0  /* nearer to vertices that are in another unit */

/* ----------------------------------------------------------------- field -- */

/* Hits of a particle: the nearest to its vertex, the farthest, and the one
 * whose distance is nearest to their mean. */
struct arc {
    int32_t n_hits, first, middle, last;
    double near, far, miss;
};

static double distance_from(const float *a, const float *b)
{
    const double x = (double)a[0] - (double)b[0];
    const double y = (double)a[1] - (double)b[1];
    const double z = (double)a[2] - (double)b[2];

    return sqrt(x * x + y * y + z * z);
}

static void measure_arcs(struct arc *arc, const struct etx_event *event)
{
    for (int64_t round = 0; round < 2; round++)
        for (int64_t i = 0; i < event->n_hits; i++) {
            const int32_t row = event->particle_row[i];

            if (row < 0)
                continue;
            struct arc *const a = &arc[row];
            const double distance = distance_from(
                event->position + 3 * i, event->particles[row].vertex);
            const double miss = fabs(distance - 0.5 * (a->near + a->far));

            if (round == 1) {
                if (a->miss < 0.0 || miss < a->miss) {
                    a->middle = (int32_t)i;
                    a->miss = miss;
                }
                continue;
            }
            if (a->n_hits == 0 || distance < a->near) {
                a->first = (int32_t)i;
                a->near = distance;
            }
            if (a->n_hits == 0 || distance > a->far) {
                a->last = (int32_t)i;
                a->far = distance;
            }
            a->miss = -1.0;
            a->n_hits++;
        }
}

/* The field along z that bends a particle so, T; not finite, or 0: not known.
 */
static double field_of(const struct arc *arc, const struct etx_event *event,
    const etx_particle *particle, double min_pt)
{
    const double pt =
        hypot((double)particle->momentum[0], (double)particle->momentum[1]);

    if (arc->n_hits < MIN_ARC_HITS || pt < min_pt)
        return 0.0;
    return etx_bending_field(
        etx_curvature_through(event->position + 3 * (int64_t)arc->first,
            event->position + 3 * (int64_t)arc->middle,
            event->position + 3 * (int64_t)arc->last),
        particle);
}

/* The middle is near to the line through the other two, for their distance. */
static int is_straight(const struct arc *arc, const struct etx_event *event)
{
    const float *const first = event->position + 3 * (int64_t)arc->first;
    const float *const middle = event->position + 3 * (int64_t)arc->middle;
    const float *const last = event->position + 3 * (int64_t)arc->last;
    double along[3], off[3];

    for (int32_t k = 0; k < 3; k++) {
        along[k] = (double)last[k] - (double)first[k];
        off[k] = (double)middle[k] - (double)first[k];
    }
    const double x = along[1] * off[2] - along[2] * off[1];
    const double y = along[2] * off[0] - along[0] * off[2];
    const double z = along[0] * off[1] - along[1] * off[0];
    const double square =
        along[0] * along[0] + along[1] * along[1] + along[2] * along[2];

    return x * x + y * y + z * z < MAX_BEND * MAX_BEND * square * square;
}

/* Most true tracks are: near to z their hits measure no field. */
static int are_straight(const struct arc *arc, const struct etx_event *event)
{
    int64_t n = 0;
    int64_t n_straight = 0;

    for (int64_t k = 0; k < event->n_particles; k++) {
        if (arc[k].n_hits < MIN_ARC_HITS)
            continue;
        n++;
        n_straight += is_straight(&arc[k], event);
    }
    return 2 * n_straight > n;
}

/* Fields that true tracks need, T: the quartiles and the median of them. */
struct fields {
    double low, median, high;
};

/* Number k, from 0, in ascending order of the n values that keys stand for. */
static double value_at(uint64_t *key, int64_t n, const float *value, int64_t k)
{
    uint64_t largest = 0;

    etx_select(key, n, k + 1);
    for (int64_t j = 0; j <= k; j++)
        largest = key[j] > largest ? key[j] : largest;
    return (double)value[(uint32_t)largest];
}

/* *is_known = 1: *out is set; 0: too few tracks tell. */
static etx_status measure_fields(int *is_known, struct fields *out,
    const struct etx_event *event, const struct arc *arc)
{
    uint64_t *key = NULL;
    float *field = NULL;
    int64_t n = 0;
    etx_status status;

    ETX_NEW(key, event->n_particles, "order of fields");
    ETX_NEW(field, event->n_particles, "fields of particles");
    /* Soft ones lose energy: they count where others are few. */
    for (double min_pt = MIN_ARC_PT; n < MIN_ARCS && min_pt >= 0.0;
         min_pt -= MIN_ARC_PT) {
        n = 0;
        for (int64_t k = 0; k < event->n_particles; k++) {
            ETX_POLL(k);
            field[n] =
                (float)field_of(&arc[k], event, &event->particles[k], min_pt);
            if (isfinite(field[n]) && field[n] != 0.0f) {
                key[n] = etx_ordered_key(field[n], (int32_t)n);
                n++;
            }
        }
    }
    *is_known = n >= MIN_ARCS;
    if (*is_known) {
        out->low = value_at(key, n, field, n / 4);
        out->median = value_at(key, n, field, n / 2);
        out->high = value_at(key, n, field, n - 1 - n / 4);
    }
done:
    etx_free(key);
    etx_free(field);
    return status;
}

/* T, for a text. */
static int64_t in_millitesla(double field)
{
    return llround(1e3 * field);
}

/* Whether true tracks bend alike, and as in the field that the model has
 * learned, T, or, where it has learned none, as in one that exists. */
static etx_status check_field(struct etx_check_report *report,
    const struct etx_event *event, const struct arc *arc, double learned)
{
    const int has_learned = fabs(learned) >= ETX_COMPLETION_MIN_FIELD;
    struct fields needed = {0.0, 0.0, 0.0};
    int is_known = 0;
    etx_status status;

    ETX_CHECK(measure_fields(&is_known, &needed, event, arc));
    if (!is_known)
        goto done;
    const int is_wide = 0.5 * (needed.high - needed.low) >
                        fmax(MAX_SPREAD, 0.5 * fabs(needed.median));

    if (is_wide && are_straight(arc, event)) {
        if (has_learned)
            etx_check_say(report,
                "true tracks are straight, the model has learned in %" PRId64
                " mT: another field",
                in_millitesla(learned));
    } else if (is_wide)
        etx_check_say(report,
            "true tracks bend as in %" PRId64 " to %" PRId64 " mT along z: "
            "truth of other hits, vertices not in mm, or no solenoid",
            in_millitesla(needed.low), in_millitesla(needed.high));
    else if (!has_learned) {
        if (fabs(needed.median) > MAX_FIELD)
            etx_check_say(report,
                "true tracks bend as in %" PRId64 " mT: momenta are wanted in "
                "GeV, lengths in mm",
                in_millitesla(needed.median));
    } else if (needed.median / learned < 1.0 / FIELD_FACTOR ||
               needed.median / learned > FIELD_FACTOR)
        etx_check_say(report,
            "true tracks bend as in %" PRId64 " mT, the model has learned in "
            "%" PRId64 " mT: another field, or units that are not GeV and mm",
            in_millitesla(needed.median), in_millitesla(learned));
done:
    return status;
}

/* -------------------------------------------------------------- vertices -- */

/* What vertices may have to be multiplied by. */
static const struct {
    double factor;
    const char *text;
} units[] = {
    {1.0, NULL},
    {10.0, "10 times"},
    {1e3, "1000 times"},
    {0.1, "a tenth"},
    {1e-3, "a thousandth"},
};

#define N_UNITS ((int32_t)(sizeof units / sizeof *units))

/* Of a chord of a circle. */
static double arc_length(double chord, double curvature)
{
    const double sine = fmin(1.0, 0.5 * fabs(curvature) * chord);

    return sine > 0.0 ? chord * asin(sine) / sine : chord;
}

/* How far a track passes from its vertex along z, where the vertex is taken
 * factor times, mm; negative or not finite: not known. */
static double beam_miss(const struct arc *arc, const struct etx_event *event,
    const etx_particle *particle, double factor)
{
    if (arc->n_hits < MIN_ARC_HITS ||
        hypot((double)particle->momentum[0], (double)particle->momentum[1]) <
            MIN_ARC_PT)
        return -1.0;
    const float *const first = event->position + 3 * (int64_t)arc->first;
    const float *const middle = event->position + 3 * (int64_t)arc->middle;
    const float *const last = event->position + 3 * (int64_t)arc->last;
    const float *const vertex = particle->vertex;
    const double curvature = etx_curvature_through(first, middle, last);
    const double before =
        arc_length(hypot((double)first[0] - factor * (double)vertex[0],
                       (double)first[1] - factor * (double)vertex[1]),
            curvature);
    const double between = arc_length(hypot((double)last[0] - (double)first[0],
                                          (double)last[1] - (double)first[1]),
        curvature);
    const double slope = ((double)last[2] - (double)first[2]) / between;

    return fabs((double)first[2] - slope * before - factor * (double)vertex[2]);
}

/* Whether true tracks come from their vertices, but for a unit. */
static etx_status check_vertices(struct etx_check_report *report,
    const struct etx_event *event, const struct arc *arc)
{
    double median[N_UNITS];
    uint64_t *key = NULL;
    float *miss = NULL;
    etx_status status;

    ETX_NEW(key, event->n_particles, "order of vertices");
    ETX_NEW(miss, event->n_particles, "distances from vertices");
    for (int32_t unit = 0; unit < N_UNITS; unit++) {
        int64_t n = 0;

        for (int64_t k = 0; k < event->n_particles; k++) {
            ETX_POLL(k);
            miss[n] = (float)beam_miss(
                &arc[k], event, &event->particles[k], units[unit].factor);
            if (isfinite(miss[n]) && miss[n] >= 0.0f) {
                key[n] = etx_ordered_key(miss[n], (int32_t)n);
                n++;
            }
        }
        if (n < MIN_ARCS)
            goto done;
        median[unit] = value_at(key, n, miss, n / 2);
    }
    for (int32_t unit = 1; unit < N_UNITS; unit++)
        if (median[unit] * UNIT_GAIN < median[0]) {
            etx_check_say(report,
                "true tracks come from %s as far as their vertices: lengths "
                "are "
                "wanted in mm",
                units[unit].text);
            break;
        }
done:
    etx_free(key);
    etx_free(miss);
    return status;
}

etx_status etx_check_truth(struct etx_check_report *report,
    const struct etx_event *event, double learned)
{
    struct arc *arc = NULL;
    etx_status status;

    ETX_NEW(arc, event->n_particles, "arcs of particles");
    measure_arcs(arc, event);
    ETX_CHECK(check_field(report, event, arc, learned));
    ETX_CHECK(check_vertices(report, event, arc));
done:
    etx_free(arc);
    return status;
}
