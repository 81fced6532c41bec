/* stage/event_check.c -- what of an event does not fit its detector or model.
 *
 * All of it is legal input that costs tracks. The bounds are wide: neither
 * noise nor misalignment nor smearing reaches them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/event_check.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"
#include "data/crowds.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MIN_HITS     20   /* fewer tell nothing about units */
#define MIN_REACH    20.0 /* mm, of the hits of any detector */
#define UNIT_FACTOR  5.0  /* between the reach of hits and modules */
#define MAX_SHARE    0.01 /* of the hits, that are elsewhere */
#define MARGIN       10.0 /* mm from a module: points of two strips */
#define MAX_ABOVE    1.0  /* mm above the plane of a module, */
#define ABOVE_SHARE  0.1  /* of that part of the hits: no alignment does */
#define MIN_PAIRS    20   /* of hits of a module, that tell of cells */
#define MISFIT_SHARE 0.1  /* of these: cells of other hits */
#define MAX_TEXT     4096 /* bytes: more than all that is said */

void etx_check_say(struct etx_check_report *report, const char *format, ...)
{
    const int64_t left = report->size - report->used;
    char line[256];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    const int n = snprintf(report->text + report->used, (size_t)left, "%s%s",
        report->used > 0 ? "; " : "", line);

    report->used += n < left ? n : left - 1;
}

static int is_many(int64_t n, int64_t n_hits)
{
    return (double)n > MAX_SHARE * (double)n_hits;
}

/* ----------------------------------------------------------------- units -- */

static double reach_of(const float *point)
{
    return fmax(fabs((double)point[0]),
        fmax(fabs((double)point[1]), fabs((double)point[2])));
}

/* 1: lengths are in another unit than mm, which is said. */
static int check_unit(struct etx_check_report *report,
    const struct etx_event *event, const struct etx_detector *detector)
{
    double hits = 0.0;
    double modules = 0.0;

    for (int64_t i = 0; i < event->n_hits; i++)
        hits = fmax(hits, reach_of(event->position + 3 * i));
    for (int64_t k = 0; detector != NULL && k < detector->n_modules; k++)
        modules = fmax(modules, reach_of(detector->modules[k].center));
    if (event->n_hits < MIN_HITS)
        return 0;
    if (modules > 0.0 &&
        (hits * UNIT_FACTOR < modules || hits > modules * UNIT_FACTOR)) {
        etx_check_say(report,
            "hits reach to %" PRId64 " mm, modules to %" PRId64
            ": lengths are wanted in mm",
            (int64_t)llround(hits), (int64_t)llround(modules));
        return 1;
    }
    if (hits < MIN_REACH)
        etx_check_say(report,
            "no hit is %d mm from the origin: lengths are wanted in mm",
            (int)MIN_REACH);
    return hits < MIN_REACH;
}

/* -------------------------------------------------------------- repeated -- */

/* Hits where another one is. */
static etx_status check_repeated(
    struct etx_check_report *report, const struct etx_event *event)
{
    int64_t *key = NULL;
    int32_t *order = NULL;
    int64_t n_repeated = 0;
    int64_t repeated = 0;
    etx_status status;

    ETX_NEW(key, event->n_hits, "keys of hits");
    ETX_NEW(order, event->n_hits, "order of hits");
    for (int64_t i = 0; i < event->n_hits; i++) {
        const float *const at = event->position + 3 * i;

        key[i] = etx_sort_key(at[0]) * (INT64_C(1) << 32) + etx_sort_key(at[1]);
    }
    ETX_CHECK(etx_sort_order(order, key, event->n_hits));
    for (int64_t k = 1; k < event->n_hits; k++) {
        const int64_t i = order[k];
        const int64_t before = order[k - 1];

        if (key[i] == key[before] &&
            event->position[3 * i + 2] == event->position[3 * before + 2])
            repeated = n_repeated++ == 0 || i < repeated ? i : repeated;
    }
    if (event->n_hits >= MIN_HITS && is_many(n_repeated, event->n_hits))
        etx_check_say(report,
            "%" PRId64 " of %" PRId64 " hits are where another one is, the "
            "first of hit_id %" PRId64,
            n_repeated, event->n_hits, event->hit_id[repeated]);
done:
    etx_free(key);
    etx_free(order);
    return status;
}

/* --------------------------------------------------------------- modules -- */

/* How far a hit is from its module, mm: from its plane, and from its edge. */
struct miss {
    double above, outside;
};

static struct miss miss_of(
    const struct etx_detector_module *module, const float *position)
{
    double square = 0.0;
    double normal = 0.0;

    for (int32_t k = 0; k < 3; k++) {
        const double along = (double)position[k] - (double)module->center[k];

        square += along * along;
        normal += along * (double)module->rotation[3 * k + 2];
    }
    const double plane = sqrt(fmax(0.0, square - normal * normal));

    return (struct miss){.above = fabs(normal) - (double)module->half_thickness,
        .outside = module->half_diagonal > 0.0f
                       ? plane - (double)module->half_diagonal
                       : 0.0};
}

/* A module with far more hits than others of its layer: count [n_modules]. */
static void check_crowds(struct etx_check_report *report,
    const struct etx_detector *detector, const int32_t *count)
{
    const struct etx_detector_module *const module = detector->modules;

    for (int64_t begin = 0, end; begin < detector->n_modules; begin = end) {
        int64_t n_hits = 0;
        int64_t n_hit = 0;
        int64_t most = begin;

        for (end = begin; end < detector->n_modules &&
                          module[end].volume_id == module[begin].volume_id &&
                          module[end].layer_id == module[begin].layer_id;
             end++) {
            n_hits += count[end];
            n_hit += count[end] > 0;
            most = count[end] > count[most] ? end : most;
        }
        if (etx_is_crowd(count[most], n_hits, n_hit))
            etx_check_say(report,
                "%d hits are on module (%d, %d, %d), more than %d times the "
                "mean of others of its layer",
                count[most], module[most].volume_id, module[most].layer_id,
                module[most].module_id, ETX_CROWD_FACTOR);
    }
}

/* Whether hits are where their modules are. */
static etx_status check_modules(struct etx_check_report *report,
    const struct etx_event *event, const struct etx_detector *detector)
{
    int32_t *count = NULL;
    int64_t n_unknown = 0;
    int64_t n_off = 0;
    int64_t n_above = 0;
    int64_t unknown = 0;
    int64_t off = 0;
    etx_status status;

    ETX_NEW(count, detector->n_modules, "hits of modules");
    for (int64_t i = 0; i < event->n_hits; i++) {
        const struct etx_detector_module *const module =
            etx_detector_find(detector, event->volume_id[i], event->layer_id[i],
                event->module_id[i]);

        ETX_POLL(i);
        if (module == NULL) {
            unknown = n_unknown++ == 0 ? i : unknown;
            continue;
        }
        count[module - detector->modules]++;
        const struct miss miss = miss_of(module, event->position + 3 * i);

        if (fmax(miss.above, miss.outside) > MARGIN)
            off = n_off++ == 0 ? i : off;
        n_above += miss.above > MAX_ABOVE;
    }
    if (is_many(n_unknown, event->n_hits))
        etx_check_say(report,
            "%" PRId64 " of %" PRId64 " hits are on modules that the detector "
            "lacks, the first on (%d, %d, %d)",
            n_unknown, event->n_hits, event->volume_id[unknown],
            event->layer_id[unknown], event->module_id[unknown]);
    if (is_many(n_off, event->n_hits))
        etx_check_say(report,
            "%" PRId64 " of %" PRId64 " hits are more than %d mm from their "
            "modules, the first of hit_id %" PRId64,
            n_off, event->n_hits, (int)MARGIN, event->hit_id[off]);
    else if ((double)n_above > ABOVE_SHARE * (double)event->n_hits)
        etx_check_say(report,
            "%" PRId64 " of %" PRId64 " hits are more than %d mm above or "
            "below their modules: they were moved, or modules are of another "
            "detector",
            n_above, event->n_hits, (int)MAX_ABOVE);
    check_crowds(report, detector, count);
done:
    etx_free(count);
    return status;
}

/* Whether cells are where their hits are. */
static void check_cells(
    struct etx_check_report *report, const struct etx_event *event)
{
    if (event->n_cell_pairs >= MIN_PAIRS &&
        (double)event->n_cell_misfits >
            MISFIT_SHARE * (double)event->n_cell_pairs)
        etx_check_say(report,
            "of %" PRId64 " pairs of hits of one module %" PRId64 " are not as "
            "far apart as their cells: cells or positions are of other hits",
            event->n_cell_pairs, event->n_cell_misfits);
}

/* ---------------------------------------------------------------- stages -- */

/* Whether the model knows the layers. */
static etx_status check_layers(struct etx_check_report *report,
    const struct etx_event *event, const struct etx_completion *completion)
{
    int32_t *layer = NULL;
    int64_t n_unknown = 0;
    int64_t unknown = 0;
    etx_status status;

    ETX_NEW(layer, event->n_hits, "layers of hits");
    etx_completion_layers(layer, completion, event);
    for (int64_t i = 0; i < event->n_hits; i++) {
        ETX_POLL(i);
        if (layer[i] < 0)
            unknown = n_unknown++ == 0 ? i : unknown;
    }
    if (is_many(n_unknown, event->n_hits))
        etx_check_say(report,
            "%" PRId64 " of %" PRId64 " hits are on layers that the model does "
            "not know, the first on volume %d, layer %d",
            n_unknown, event->n_hits, event->volume_id[unknown],
            event->layer_id[unknown]);
done:
    etx_free(layer);
    return status;
}

/* ----------------------------------------------------------------- event -- */

static etx_status check_all(struct etx_check_report *report,
    const struct etx_event *event, const struct etx_detector *detector,
    const struct etx_model *model)
{
    const struct etx_completion *const completion =
        model != NULL ? model->completion : NULL;
    etx_status status = ETX_OK;

    if (event->n_repeated_cells > 0)
        etx_check_say(report, "%" PRId64 " cells are repeated, and count once",
            event->n_repeated_cells);
    if (check_unit(report, event, detector))
        return ETX_OK;
    ETX_CHECK(check_repeated(report, event));
    check_cells(report, event);
    if (detector != NULL && event->layer_id != NULL)
        ETX_CHECK(check_modules(report, event, detector));
    if (completion != NULL && event->layer_id == NULL)
        etx_check_say(report,
            "%sthe tracks are not completed: the event has no modules",
            model->first_pass != NULL ? "there is no first pass, " : "");
    else if (completion != NULL)
        ETX_CHECK(check_layers(report, event, completion));
    if (event->particle_row != NULL)
        ETX_CHECK(etx_check_truth(report, event,
            completion != NULL ? (double)completion->field[0] : 0.0));
done:
    return status;
}

etx_status etx_stage_check_event(char *text, int64_t text_bytes,
    const struct etx_event *event, const struct etx_detector *detector,
    const struct etx_model *model)
{
    char found[MAX_TEXT] = "";
    struct etx_check_report report = {
        found, text_bytes < MAX_TEXT ? text_bytes : MAX_TEXT, 0};
    const etx_status status = check_all(&report, event, detector, model);

    if (status == ETX_OK)
        memcpy(text, found, (size_t)report.used + 1);
    return status;
}
