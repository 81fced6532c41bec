/* bench/ratios.c -- times of operators and stages in units of a probe.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "ratios.h"

#include "probe.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_REPEATS 100
#define MIN_REPEATS 10
#define ENOUGH      1.0 /* seconds for one case */
#define EVENT       "examples/data/event000000002"
#define DETECTOR    "examples/data/detectors.csv.gz"
#define MODEL       "examples/models/default.safetensors"

/* The ratios of one case. */
struct ratios {
    double ratio[MAX_REPEATS];
    double spent;
    int n;
};

static double seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void must(etx_status status)
{
    if (status == ETX_OK)
        return;
    fprintf(stderr, "checkop-bench: %s\n", etx_last_error());
    exit(1);
}

static double run_probe(enum probe probe)
{
    const double begin = seconds();

    probe_run(probe);
    return seconds() - begin;
}

static bool wants_more(const struct ratios *ratios)
{
    return ratios->n < MIN_REPEATS ||
           (ratios->spent < ENOUGH && ratios->n < MAX_REPEATS);
}

static void add(struct ratios *ratios, double time, double unit)
{
    ratios->ratio[ratios->n++] = time / unit;
    ratios->spent += time + unit;
}

static int ascending(const void *a, const void *b)
{
    const double one = *(const double *)a;
    const double two = *(const double *)b;

    return (one > two) - (one < two);
}

static void print_ratios(struct ratios *ratios, const char *name,
    const char *label, enum probe probe)
{
    const int n = ratios->n;

    qsort(ratios->ratio, (size_t)n, sizeof *ratios->ratio, ascending);
    printf("%s\t%s\t%s\t%.3f\t%.3f\t%.3f\n", name, label, probe_name(probe),
        ratios->ratio[n / 2], ratios->ratio[n / 10],
        ratios->ratio[n - 1 - n / 10]);
    (void)fflush(stdout);
}

void ratios_open(void)
{
    probe_open();
    printf("case\tsizes\tprobe\tmedian\tp10\tp90\n");
}

void ratios_close(void)
{
    probe_close();
}

/* ------------------------------------------------------------- operators -- */

/* What limits an operator; multiply-adds where nothing is said. */
static enum probe probe_of(const char *op)
{
    static const struct {
        const char *op;
        enum probe probe;
    } of[] = {{"activation", PROBE_STREAM},
        {"activation_backward", PROBE_STREAM}, {"add", PROBE_STREAM},
        {"adamw", PROBE_STREAM}, {"bce_loss", PROBE_STREAM},
        {"edge_select", PROBE_STREAM}, {"gather", PROBE_STREAM},
        {"row_dot", PROBE_STREAM}, {"segment_reduce", PROBE_STREAM},
        {"segment_reduce_backward", PROBE_STREAM},
        {"connected_components", PROBE_LINES}, {"hinge_loss", PROBE_LINES},
        {"line_graph", PROBE_LINES}, {"mutual_best", PROBE_LINES}};

    for (size_t k = 0; k < sizeof of / sizeof *of; k++)
        if (strcmp(of[k].op, op) == 0)
            return of[k].probe;
    return PROBE_FMA;
}

void ratios_of_operator(struct checkop_case *self)
{
    const enum probe probe = probe_of(self->op);
    const struct etx_op_table *ops = &check.implementation[0].ops;
    struct ratios ratios = {.n = 0};

    for (int32_t i = 1; i < check.n_implementations; i++)
        if (checkop_is_own(i, self))
            ops = &check.implementation[i].ops;
    must(checkop_run(ops, &check.stream[0], self));
    while (wants_more(&ratios)) {
        const double unit = run_probe(probe);
        const double begin = seconds();

        must(checkop_run(ops, &check.stream[0], self));
        add(&ratios, seconds() - begin, unit);
    }
    print_ratios(&ratios, self->op, self->label, probe);
}

/* ----------------------------------------------------------------- event -- */

static void time_reading(const etx_detector *detector)
{
    struct ratios ratios = {.n = 0};

    while (wants_more(&ratios)) {
        const double unit = run_probe(PROBE_FMA);
        const double begin = seconds();
        etx_event *event = NULL;

        must(etx_event_read_trackml(&event, EVENT, detector));
        add(&ratios, seconds() - begin, unit);
        etx_event_free(event);
    }
    print_ratios(&ratios, "read", EVENT, PROBE_FMA);
}

static void time_long_tracks(
    etx_context *context, const etx_model *model, const etx_event *event)
{
    struct ratios ratios = {.n = 0};

    while (wants_more(&ratios)) {
        const double unit = run_probe(PROBE_FMA);
        const double begin = seconds();
        etx_tracks *tracks = NULL;

        must(etx_find_long_tracks(&tracks, context, model, event, NULL));
        add(&ratios, seconds() - begin, unit);
        etx_tracks_free(tracks);
    }
    print_ratios(
        &ratios, etx_stage_name(ETX_STAGE_FIRST_PASS), EVENT, PROBE_FMA);
}

static void time_stages(
    etx_context *context, const etx_model *model, const etx_event *event)
{
    struct ratios ratios[ETX_N_STAGES];

    memset(ratios, 0, sizeof ratios);
    for (int k = 0; k < 2 * MIN_REPEATS; k++) {
        const double unit = run_probe(PROBE_FMA);
        etx_tracks *tracks = NULL;

        must(etx_find_tracks(&tracks, context, model, event));
        for (int32_t s = 0; s < ETX_N_STAGES; s++) {
            etx_stage_timing timing = {.struct_size = sizeof timing};

            must(etx_context_timing(&timing, context, s));
            add(&ratios[s], timing.seconds, unit);
        }
        etx_tracks_free(tracks);
    }
    for (int32_t s = 0; s < ETX_N_STAGES; s++)
        if (s != ETX_STAGE_FIRST_PASS)
            print_ratios(&ratios[s], etx_stage_name(s), EVENT, PROBE_FMA);
}

void ratios_of_event(void)
{
    etx_context *context = NULL;
    etx_model *model = NULL;
    etx_detector *detector = NULL;
    etx_event *event = NULL;

    must(etx_context_create(&context, NULL));
    must(etx_model_load(&model, MODEL));
    must(etx_detector_read(&detector, DETECTOR));
    must(etx_event_read_trackml(&event, EVENT, detector));
    time_reading(detector);
    time_stages(context, model, event);
    time_long_tracks(context, model, event);
    etx_event_free(event);
    etx_detector_free(detector);
    etx_model_free(model);
    etx_context_free(context);
}
