/* examples/etx-train.c -- train one stage of a pipeline.
 *
 * Reads events in TrackML form, runs the schedule of a config
 * (docs/training.md), writes a log of JSON lines, checkpoints next to the
 * model, and the model.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/train.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program.h"
#include "training.h"

static const char summary[] =
    "Train the embedding, the filter or the graph network of a model file.";

#define BAR_WIDTH       30
#define SECONDS_PER_BAR 0.5

struct options {
    struct training_options common;
    const char *device;
    int64_t n_threads;
};

static void read_options(struct options *o, int argc, char **argv)
{
    const struct program_option table[] = {
        TRAINING_OPTIONS(&o->common),
        PROGRAM_THREADS_OPTION(&o->n_threads),
        PROGRAM_DEVICE_OPTION(&o->device),
    };

    o->common.checkpoint_seconds = 60.0;
    program_parse(
        argc, argv, summary, table, (int32_t)(sizeof table / sizeof *table));
    training_check_options(&o->common);
}

/* ----------------------------------------------------------- progress -- */

/* Progress: after the bar on a terminal, else on a line of its own. */
static void print_state(FILE *file, const etx_training_report *report,
    const struct training_means *means, double seconds_per_step)
{
    const double left =
        seconds_per_step * (double)(report->n_steps - report->step);

    fprintf(file, "%lld/%lld loss %.4f, %.0f ms per step, %.1f min left",
        (long long)report->step, (long long)report->n_steps,
        means->loss / (double)means->n, 1e3 * seconds_per_step, left / 60.0);
}

static void print_bar(const etx_training_report *report)
{
    const int done =
        (int)((double)report->step / (double)report->n_steps * BAR_WIDTH);

    fprintf(stderr, "\r[");
    for (int k = 0; k < BAR_WIDTH; k++)
        fputc(k < done ? '#' : ' ', stderr);
    fprintf(stderr, "] ");
}

/* ------------------------------------------------------------ training -- */

/* State of a run. */
struct run {
    struct options options;
    etx_context *context;
    etx_detector *detector;
    etx_model *start;
    etx_trainer *trainer;
    struct training_events events;
    FILE *log;
    char *checkpoint; /* path */
    etx_training_report report;
    int is_terminal;
};

static int validate(struct run *run)
{
    etx_training_report report = {.struct_size = sizeof report};
    int64_t n_hits = 0;

    if (run->options.common.validation.count == 0)
        return 0;
    if (etx_trainer_validate(run->trainer, &report) != ETX_OK)
        return program_failed("validation");
    for (int64_t k = run->events.list[0]->count; k < run->events.count; k++)
        n_hits += etx_event_n_hits(run->events.event[k]);
    if (run->is_terminal)
        fputs("\r\033[K", stderr);
    training_print_validation(&report, (double)n_hits);
    training_log_validation(run->log, &report);
    return 0;
}

static int save_checkpoint(struct run *run)
{
    if (etx_trainer_save_checkpoint(run->trainer, run->checkpoint) != ETX_OK)
        return program_failed("checkpoint");
    return 0;
}

static void show(struct run *run, double *shown, struct training_means *means,
    double seconds_per_step)
{
    const double period =
        run->is_terminal ? SECONDS_PER_BAR : TRAINING_SECONDS_PER_LINE;

    if (program_now() - *shown < period || means->n == 0)
        return;
    *shown = program_now();
    if (run->is_terminal) {
        print_bar(&run->report);
        print_state(stderr, &run->report, means, seconds_per_step);
    } else {
        print_state(stdout, &run->report, means, seconds_per_step);
        putchar('\n');
        fflush(stdout);
    }
}

/* The loss jumped, and the trainer went back to an earlier step. */
static void note_rollback(struct run *run)
{
    if (run->is_terminal)
        fputs("\r\033[K", stderr);
    printf("loss %.5g: back to step %lld, the %d. time\n", run->report.loss,
        (long long)run->report.step, (int)run->report.n_rollbacks);
    fflush(stdout);
    training_log_rollback(run->log, &run->report);
}

/* Steps until the end of the schedule or the time limit, a signal, or
 * validations without an improvement. */
static int train(struct run *run)
{
    const double begin = program_now();
    double shown = begin;
    double saved = begin;
    int64_t n_done = 0;
    struct training_means means = {0, 0.0, 0.0, 0.0};
    const int64_t n_steps = etx_trainer_n_steps(run->trainer);
    const int64_t every =
        training_validation_period(&run->options.common, n_steps);
    int result = 0;

    while (result == 0 && training_signal == 0 &&
           !etx_trainer_is_finished(run->trainer)) {
        etx_training_report *report = &run->report;

        if (etx_trainer_step(run->trainer, report) != ETX_OK)
            return program_failed("training");
        n_done++;
        if (report->is_rollback) {
            note_rollback(run);
        } else {
            if (report->is_skipped)
                training_log_skipped(run->log, report);
            training_means_add(&means, report);
            show(run, &shown, &means, (program_now() - begin) / (double)n_done);
            if (report->step % (n_steps / TRAINING_LOG_LINES + 1) == 0) {
                training_log_step(run->log, report, &means);
                means = (struct training_means){0, 0.0, 0.0, 0.0};
            }
            if (report->step % every == 0 && report->step < n_steps)
                result = validate(run);
        }
        if (result == 0 &&
            program_now() - saved > run->options.common.checkpoint_seconds) {
            result = save_checkpoint(run);
            saved = program_now();
        }
        if (run->options.common.time_limit > 0.0 &&
            program_now() - begin > run->options.common.time_limit)
            break;
    }
    if (result == 0)
        training_print_early_end(run->trainer);
    return result;
}

/* Validate, so that the thresholds belong to the last step, and write the
 * model. */
static int finish(struct run *run)
{
    etx_model *model = NULL;
    int result = save_checkpoint(run);

    if (result == 0)
        result = validate(run);
    if (result == 0 && etx_trainer_model(&model, run->trainer) != ETX_OK)
        result = program_failed(NULL);
    if (result == 0 && etx_model_save(model, run->options.common.out) != ETX_OK)
        result = program_failed(NULL);
    etx_model_free(model);
    return result;
}

/* A trainer of the config, before its events are read. */
static int make_trainer(struct run *run)
{
    char *config = training_read_config(run->options.common.config);
    int result = 0;

    if (config == NULL)
        return PROGRAM_FAILED;
    if (etx_trainer_create(&run->trainer, run->context, config, run->start) !=
        ETX_OK)
        result = program_failed(run->options.common.config);
    if (result == 0)
        training_print_start(run->trainer, run->options.common.start);
    free(config);
    if (result == 0 && run->options.common.cache != NULL &&
        etx_trainer_set_cache(run->trainer, run->options.common.cache) !=
            ETX_OK)
        result = program_failed("--cache");
    return result;
}

/* What can be written and read, before it takes long. */
static int check_files(struct run *run)
{
    const struct training_options *o = &run->options.common;
    int result = training_check_output(o->out);

    if (result == 0)
        result = training_log_open(&run->log, o->log);
    if (result == 0 && o->resume && access(run->checkpoint, R_OK) != 0)
        result =
            program_error("--resume: %s: %s", run->checkpoint, strerror(errno));
    return result;
}

static int read_events(struct run *run)
{
    const double begin = program_now();
    int result = training_events_read(&run->events, run->options.n_threads);

    if (result == 0)
        printf("read %lld events in %.1f s\n", (long long)run->events.count,
            program_now() - begin);
    for (int64_t k = 0; k < run->events.count && result == 0; k++)
        if (etx_trainer_add_event(run->trainer, run->events.event[k],
                k >= run->events.list[0]->count) != ETX_OK)
            result = program_failed(training_events_name(&run->events, k));
    if (result == 0 && run->options.common.resume &&
        etx_trainer_load_checkpoint(run->trainer, run->checkpoint) != ETX_OK)
        result = program_failed("--resume");
    return result;
}

static int open_run(struct run *run)
{
    struct options *o = &run->options;
    const size_t size = strlen(o->common.out) + sizeof ".checkpoint";
    int result;

    run->is_terminal = isatty(STDERR_FILENO);
    run->checkpoint = program_allocate((int64_t)size, 1);
    snprintf(run->checkpoint, size, "%s.checkpoint", o->common.out);
    training_remove_leftovers(run->checkpoint);
    if (program_expand_events(&o->common.data) != 0 ||
        program_expand_events(&o->common.validation) != 0)
        return PROGRAM_FAILED;
    result = check_files(run);
    if (result == 0)
        result = program_context(&run->context, o->device, &o->n_threads);
    if (result == 0)
        result = program_detector(&run->detector, o->common.detector);
    if (result == 0 && o->common.start != NULL)
        result = program_model(&run->start, o->common.start);
    if (result == 0)
        result = make_trainer(run);
    run->events.list[0] = &o->common.data;
    run->events.list[1] = &o->common.validation;
    run->events.detector = run->detector;
    return result != 0 ? result : read_events(run);
}

/* Free everything. Returns result, or PROGRAM_FAILED when the log failed. */
static int close_run(struct run *run, int result)
{
    const int log_result =
        training_log_close(run->log, run->options.common.log);

    etx_trainer_free(run->trainer);
    training_events_free(&run->events);
    etx_model_free(run->start);
    etx_detector_free(run->detector);
    etx_context_free(run->context);
    program_list_free(&run->options.common.data);
    program_list_free(&run->options.common.validation);
    free(run->checkpoint);
    return result != 0 ? result : log_result;
}

int main(int argc, char **argv)
{
    struct run run = {.report = {.struct_size = sizeof run.report}};
    int result;

    read_options(&run.options, argc, argv);
    result = open_run(&run);
    if (result == 0) {
        training_catch_signals();
        result = train(&run);
    }
    if (result == 0)
        result = finish(&run);
    /* A signal after the last step stopped nothing. */
    if (result == 0 && training_signal != 0 &&
        !etx_trainer_is_finished(run.trainer))
        result = program_error("stopped at step %lld; go on with --resume",
            (long long)run.report.step);
    return close_run(&run, result);
}
