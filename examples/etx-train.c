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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "program.h"
#include "training.h"

static const char summary[] =
    "Train the embedding, the filter or the graph network of a model file.";

#define BAR_WIDTH        30
#define SECONDS_PER_BAR  0.5
#define SECONDS_PER_LINE 30.0
#define LOG_LINES        1000

struct options {
    const char *config, *out, *start, *log, *detector, *device, *cache;
    struct program_list data, validation;
    int64_t n_threads, validate_every;
    double time_limit, checkpoint_seconds;
    int32_t resume;
};

static void read_options(struct options *o, int argc, char **argv)
{
    const struct program_option table[] = {
        {"config", "FILE", "training configuration, JSON", .text = &o->config},
        {"data", "DIR", "training events: a folder or a prefix; repeatable",
            .list = &o->data},
        {"validation", "DIR",
            "validation events: a folder or a prefix; repeatable",
            .list = &o->validation},
        {"out", "FILE",
            "model file to write; checkpoints go to FILE.checkpoint",
            .text = &o->out},
        {"start", "FILE",
            "model file with the other stages, or to continue this one",
            .text = &o->start},
        {"resume", NULL, "resume from FILE.checkpoint", .flag = &o->resume},
        {"threads", "N", "threads, 0 = all cores (default)",
            .integer = &o->n_threads, .low = 0, .high = 256},
        {"device", "NAME", "cpu (default), cuda or cuda:N", .text = &o->device},
        {"detector", "FILE", "detectors.csv (default: the TrackML detector)",
            .text = &o->detector},
        {"log", "FILE",
            "append losses and validations, one JSON object per line",
            .text = &o->log},
        {"cache", "DIR", "existing folder for cached graphs of events",
            .text = &o->cache},
        {"validate-every", "N",
            "steps between validations; 0 = n_steps / 10 (default)",
            .integer = &o->validate_every, .low = 0, .high = 1e9},
        {"checkpoint-seconds", "S", "seconds between checkpoints (default 60)",
            .number = &o->checkpoint_seconds, .low = 0, .high = 1e9},
        {"time-limit", "S", "stop after S seconds; writes checkpoint and model",
            .number = &o->time_limit, .low = 0, .high = 1e9},
    };

    o->checkpoint_seconds = 60.0;
    program_parse(
        argc, argv, summary, table, (int32_t)(sizeof table / sizeof *table));
    if (o->config == NULL || o->out == NULL || o->data.count == 0)
        exit(program_usage("--config, --data and --out are needed"));
}

/* ----------------------------------------------------------- progress -- */

static volatile sig_atomic_t stop_signal;

static void note_signal(int number)
{
    stop_signal = number;
}

static double now(void)
{
    struct timespec time = {0, 0};

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Progress: behind the bar on a terminal, else on a line of its own. */
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

/* ", name value", unless it was not measured. */
static void print_number(const char *name, double value)
{
    if (isfinite(value))
        printf(", %s %.5f", name, value);
}

static void print_validation(const etx_training_report *report, int64_t n_hits)
{
    if (training_print_unmeasured(report))
        return;
    printf("step %lld: threshold %.5g, efficiency %.5f, purity %.4f",
        (long long)report->step, report->threshold, report->efficiency,
        report->purity);
    print_number("auc", report->auc);
    print_number("loss", report->loss);
    print_number("pT error", report->pt_error);
    printf(", %.3f edges per hit, %.0f s%s\n", report->n_edges / (double)n_hits,
        report->seconds, report->is_best ? ", the best" : "");
    fflush(stdout);
}

static int validate(struct run *run)
{
    etx_training_report report = {.struct_size = sizeof report};
    int64_t n_hits = 0;

    if (run->options.validation.count == 0)
        return 0;
    if (etx_trainer_validate(run->trainer, &report) != ETX_OK)
        return program_failed("validation");
    for (int64_t k = run->events.list[0]->count; k < run->events.count; k++)
        n_hits += etx_event_n_hits(run->events.event[k]);
    if (run->is_terminal)
        fputs("\r\033[K", stderr);
    print_validation(&report, n_hits);
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
    const double period = run->is_terminal ? SECONDS_PER_BAR : SECONDS_PER_LINE;

    if (now() - *shown < period || means->n == 0)
        return;
    *shown = now();
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
    const double begin = now();
    double shown = begin;
    double saved = begin;
    int64_t n_done = 0;
    struct training_means means = {0, 0.0, 0.0, 0.0};
    const int64_t n_steps = etx_trainer_n_steps(run->trainer);
    const int64_t every = run->options.validate_every > 0
                              ? run->options.validate_every
                              : n_steps / 10 + 1;
    int result = 0;

    while (result == 0 && stop_signal == 0 &&
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
            show(run, &shown, &means, (now() - begin) / (double)n_done);
            if (report->step % (n_steps / LOG_LINES + 1) == 0) {
                training_log_step(run->log, report, &means);
                means = (struct training_means){0, 0.0, 0.0, 0.0};
            }
            if (report->step % every == 0 && report->step < n_steps)
                result = validate(run);
        }
        if (result == 0 && now() - saved > run->options.checkpoint_seconds) {
            result = save_checkpoint(run);
            saved = now();
        }
        if (run->options.time_limit > 0.0 &&
            now() - begin > run->options.time_limit)
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
    if (result == 0 && etx_model_save(model, run->options.out) != ETX_OK)
        result = program_failed(NULL);
    etx_model_free(model);
    return result;
}

/* A trainer of the config, before its events are read. */
static int make_trainer(struct run *run)
{
    char *config = training_read_config(run->options.config);
    int result = 0;

    if (config == NULL)
        return PROGRAM_FAILED;
    if (etx_trainer_create(&run->trainer, run->context, config, run->start) !=
        ETX_OK)
        result = program_failed(run->options.config);
    if (result == 0)
        training_print_start(config, run->options.start);
    free(config);
    if (result == 0 && run->options.cache != NULL &&
        etx_trainer_set_cache(run->trainer, run->options.cache) != ETX_OK)
        result = program_failed("--cache");
    return result;
}

/* What can be written and read, before it takes long. */
static int check_files(struct run *run)
{
    const struct options *o = &run->options;
    int result = training_check_output(o->out);

    if (result == 0 && o->log != NULL) {
        run->log = fopen(o->log, "a");
        if (run->log == NULL)
            result = program_error("%s: cannot be written", o->log);
    }
    if (result == 0 && o->resume && access(run->checkpoint, R_OK) != 0)
        result =
            program_error("--resume: %s: %s", run->checkpoint, strerror(errno));
    return result;
}

static int read_events(struct run *run)
{
    const double begin = now();
    int result = training_events_read(&run->events, run->options.n_threads);

    if (result == 0)
        printf("read %lld events in %.1f s\n", (long long)run->events.count,
            now() - begin);
    for (int64_t k = 0; k < run->events.count && result == 0; k++)
        if (etx_trainer_add_event(run->trainer, run->events.event[k],
                k >= run->events.list[0]->count) != ETX_OK)
            result = program_failed(training_events_name(&run->events, k));
    if (result == 0 && run->options.resume &&
        etx_trainer_load_checkpoint(run->trainer, run->checkpoint) != ETX_OK)
        result = program_failed("--resume");
    return result;
}

static int open_run(struct run *run)
{
    struct options *o = &run->options;
    const size_t size = strlen(o->out) + sizeof ".checkpoint";
    int result;

    run->is_terminal = isatty(STDERR_FILENO);
    run->checkpoint = program_allocate((int64_t)size, 1);
    snprintf(run->checkpoint, size, "%s.checkpoint", o->out);
    training_remove_leftovers(run->checkpoint);
    if (program_expand_events(&o->data) != 0 ||
        program_expand_events(&o->validation) != 0)
        return PROGRAM_FAILED;
    result = check_files(run);
    if (result == 0)
        result = program_context(&run->context, o->device, &o->n_threads);
    if (result == 0)
        result = program_detector(&run->detector, o->detector);
    if (result == 0 && o->start != NULL)
        result = program_model(&run->start, o->start);
    if (result == 0)
        result = make_trainer(run);
    run->events.list[0] = &o->data;
    run->events.list[1] = &o->validation;
    run->events.detector = run->detector;
    return result != 0 ? result : read_events(run);
}

/* Free everything. Returns result, or PROGRAM_FAILED when the log failed. */
static int close_run(struct run *run, int result)
{
    const int log_result = training_log_close(run->log, run->options.log);

    etx_trainer_free(run->trainer);
    training_events_free(&run->events);
    etx_model_free(run->start);
    etx_detector_free(run->detector);
    etx_context_free(run->context);
    program_list_free(&run->options.data);
    program_list_free(&run->options.validation);
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
        signal(SIGINT, note_signal);
        signal(SIGTERM, note_signal);
        result = train(&run);
    }
    if (result == 0)
        result = finish(&run);
    /* A signal after the last step stopped nothing. */
    if (result == 0 && stop_signal != 0 &&
        !etx_trainer_is_finished(run.trainer))
        result = program_error("stopped at step %lld; go on with --resume",
            (long long)run.report.step);
    return close_run(&run, result);
}
