/* examples/training.c -- what the training programs share: events, config, log
 * and checkpoint files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "training.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json.h"
#include "program.h"

volatile sig_atomic_t training_signal;

static void note_signal(int number)
{
    training_signal = number;
}

void training_catch_signals(void)
{
    signal(SIGINT, note_signal);
    signal(SIGTERM, note_signal);
}

void training_check_options(const struct training_options *options)
{
    if (options->config == NULL || options->out == NULL ||
        options->data.count == 0)
        exit(program_usage("--config, --data and --out are needed"));
}

int64_t training_validation_period(
    const struct training_options *options, int64_t n_steps)
{
    return options->validate_every > 0 ? options->validate_every
                                       : n_steps / 10 + 1;
}

/* ---------------------------------------------------------------- events -- */

#define MAX_READERS 64

const char *training_events_name(
    const struct training_events *events, int64_t k)
{
    const int64_t first = events->list[0]->count;

    return k < first ? events->list[0]->item[k]
                     : events->list[1]->item[k - first];
}

static int64_t next_event(struct training_events *events)
{
    int64_t k;

    pthread_mutex_lock(&events->lock);
    k = events->message != NULL ? events->count : events->next++;
    pthread_mutex_unlock(&events->lock);
    return k;
}

static void note_failure(struct training_events *events, const char *name)
{
    const char *why = etx_last_error();
    const size_t size = strlen(name) + strlen(why) + 3;

    pthread_mutex_lock(&events->lock);
    if (events->message == NULL) {
        events->message = program_allocate((int64_t)size, 1);
        snprintf(events->message, size, "%s: %s", name, why);
    }
    pthread_mutex_unlock(&events->lock);
}

static void *read_some(void *argument)
{
    struct training_events *events = argument;

    for (int64_t k = next_event(events); k < events->count;
         k = next_event(events)) {
        const char *name = training_events_name(events, k);

        if (etx_event_read_trackml(&events->event[k], name, events->detector) !=
            ETX_OK)
            note_failure(events, name);
    }
    return NULL;
}

int training_events_read(struct training_events *events, int64_t n_threads)
{
    pthread_t thread[MAX_READERS];
    int64_t n = 0;

    events->count = events->list[0]->count + events->list[1]->count;
    events->event = program_allocate(events->count, sizeof *events->event);
    pthread_mutex_init(&events->lock, NULL);
    while (n < n_threads - 1 && n < MAX_READERS &&
           pthread_create(&thread[n], NULL, read_some, events) == 0)
        n++;
    read_some(events);
    while (n > 0)
        pthread_join(thread[--n], NULL);
    pthread_mutex_destroy(&events->lock);
    return events->message != NULL ? program_error("%s", events->message) : 0;
}

void training_events_free(struct training_events *events)
{
    for (int64_t k = 0; k < events->count; k++)
        etx_event_free(events->event[k]);
    free(events->event);
    free(events->message);
}

#define MAX_CONFIG_BYTES (1 << 16)

/* -------------------------------------------------------------- config -- */

/* The bytes of a file with a zero after them; NULL when it cannot be read or
 * is too large. errno is 0 for the latter. */
static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = file == NULL ? NULL : program_allocate(MAX_CONFIG_BYTES, 1);
    size_t size = 0;

    if (file == NULL)
        return NULL;
    errno = 0;
    size = fread(text, 1, MAX_CONFIG_BYTES, file);
    if (ferror(file) || size == MAX_CONFIG_BYTES) {
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

char *training_read_config(const char *path)
{
    char *text = read_text(path);

    if (text == NULL)
        (void)program_error("%s: %s", path,
            errno != 0 ? strerror(errno) : "64 KiB or more, no config");
    return text;
}

/* -------------------------------------------------------------- output -- */

int training_check_output(const char *path)
{
    char *folder = program_copy_text(path);
    char *slash = strrchr(folder, '/');
    struct stat file;
    int result = 0;

    if (slash != NULL)
        slash[slash == folder] = '\0';
    if (stat(path, &file) == 0 && S_ISDIR(file.st_mode))
        result = program_error("%s: is a folder", path);
    else if (access(slash != NULL ? folder : ".", W_OK) != 0)
        result = program_error("%s: %s", path, strerror(errno));
    free(folder);
    return result;
}

/* --------------------------------------------------------------- start -- */

void training_print_start(const etx_trainer *trainer, const char *start)
{
    if (etx_trainer_is_new(trainer))
        puts("a new network, as the config has a \"model\"");
    else
        printf("the network of %s, trained on\n", start);
    fflush(stdout);
}

/* ----------------------------------------------------------------- log -- */

void training_means_add(
    struct training_means *means, const etx_training_report *report)
{
    if (report->is_skipped)
        return;
    means->n++;
    means->loss += report->loss;
    means->gradient_norm += report->gradient_norm;
    means->n_edges += report->n_edges;
}

/* A line of the log begins, named by a flag if it is no step. */
static struct json begin_line(
    FILE *log, const char *flag, const etx_training_report *report)
{
    struct json line = json_begin(log);

    if (flag != NULL)
        json_flag(&line, flag, 1);
    json_integer(&line, "step", report->step);
    json_number(&line, "seconds", report->seconds);
    return line;
}

static void end_line(struct json *line)
{
    json_end(line);
    fputc('\n', line->file);
    fflush(line->file);
}

void training_log_step(FILE *log, const etx_training_report *report,
    const struct training_means *means)
{
    const double n = (double)means->n;

    if (log == NULL || means->n == 0)
        return;
    struct json line = begin_line(log, NULL, report);
    json_measured(&line, "loss", means->loss / n);
    json_measured(&line, "learning_rate", report->learning_rate);
    json_measured(&line, "gradient_norm", means->gradient_norm / n);
    json_measured(&line, "weight_norm", report->weight_norm);
    json_measured(&line, "n_edges", means->n_edges / n);
    json_measured(&line, "loss_scale", report->loss_scale);
    if (report->n_skipped > 0)
        json_integer(&line, "n_skipped", report->n_skipped);
    end_line(&line);
}

void training_log_validation(FILE *log, const etx_training_report *report)
{
    if (log == NULL)
        return;
    struct json line = begin_line(log, "validation", report);
    json_measured(&line, "loss", report->loss);
    json_measured(&line, "efficiency", report->efficiency);
    json_measured(&line, "purity", report->purity);
    json_measured(&line, "auc", report->auc);
    json_measured(&line, "threshold", report->threshold);
    json_measured(&line, "n_edges", report->n_edges);
    json_measured(&line, "pt_error", report->pt_error);
    json_measured(&line, "pt_spread", report->pt_spread);
    if (report->is_best)
        json_flag(&line, "best", 1);
    end_line(&line);
}

void training_log_rollback(FILE *log, const etx_training_report *report)
{
    if (log == NULL)
        return;
    struct json line = begin_line(log, "rollback", report);
    json_measured(&line, "loss", report->loss);
    json_integer(&line, "n_rollbacks", report->n_rollbacks);
    end_line(&line);
}

void training_log_skipped(FILE *log, const etx_training_report *report)
{
    if (log == NULL)
        return;
    struct json line = begin_line(log, "skipped", report);
    json_measured(&line, "loss", report->loss);
    json_measured(&line, "loss_scale", report->loss_scale);
    json_integer(&line, "n_skipped", report->n_skipped);
    end_line(&line);
}

int training_log_open(FILE **log, const char *path)
{
    *log = path == NULL ? NULL : fopen(path, "a");
    return path != NULL && *log == NULL
               ? program_error("%s: cannot be written", path)
               : 0;
}

int training_log_close(FILE *log, const char *path)
{
    int failed = 0;

    if (log == NULL)
        return 0;
    /* Lines are flushed one by one, so that a failure may be long ago. */
    failed = ferror(log) != 0;
    failed |= fclose(log) != 0;
    return failed ? program_error("%s: cannot be written", path) : 0;
}

/* ------------------------------------------------------------- messages -- */

/* ", name value", unless it was not measured. */
static void print_number(const char *name, double value)
{
    if (isfinite(value))
        printf(", %s %.5f", name, value);
}

void training_print_validation(const etx_training_report *report, double n_hits)
{
    printf("step %lld: threshold %.5g", (long long)report->step,
        report->threshold);
    if (isnan(report->n_edges)) {
        printf(", not measured: above %d edges per hit",
            ETX_VALIDATION_EDGES_PER_HIT);
    } else {
        printf(", efficiency %.5f, purity %.4f", report->efficiency,
            report->purity);
        print_number("auc", report->auc);
        print_number("loss", report->loss);
        print_number("pT error", report->pt_error);
        printf(", %.3f edges per hit", report->n_edges / n_hits);
    }
    printf(
        ", %.0f s%s\n", report->seconds, report->is_best ? ", the best" : "");
    fflush(stdout);
}

void training_print_early_end(const etx_trainer *trainer)
{
    const int64_t step = etx_trainer_steps_done(trainer);

    if (!etx_trainer_is_finished(trainer) ||
        step >= etx_trainer_n_steps(trainer))
        return;
    printf("no better validation: ended at step %lld\n", (long long)step);
    fflush(stdout);
}

/* ----------------------------------------------------------- leftovers -- */

/* Whether name is "BASE.PID-....tmp" of a process that no longer runs. */
static int is_leftover(const char *name, const char *base)
{
    const size_t n = strlen(base);
    const size_t size = strlen(name);
    char *end;
    long process;

    if (size < n + 5 || strncmp(name, base, n) != 0 || name[n] != '.' ||
        strcmp(name + size - 4, ".tmp") != 0)
        return 0;
    process = strtol(name + n + 1, &end, 10);
    return process > 0 && *end == '-' && kill((pid_t)process, 0) != 0 &&
           errno == ESRCH;
}

static void remove_file(const char *folder, const char *name)
{
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *path = program_allocate((int64_t)size, 1);

    snprintf(path, size, "%s/%s", folder, name);
    unlink(path);
    free(path);
}

void training_remove_leftovers(const char *checkpoint)
{
    const char *slash = strrchr(checkpoint, '/');
    const char *base = slash == NULL ? checkpoint : slash + 1;
    const size_t length = (size_t)(base - checkpoint);
    char *folder = program_allocate((int64_t)length + 2, 1);
    DIR *open;

    memcpy(folder, length > 0 ? checkpoint : ".", length > 0 ? length : 1);
    open = opendir(folder);
    for (struct dirent *entry = open == NULL ? NULL : readdir(open);
         entry != NULL; entry = readdir(open))
        if (is_leftover(entry->d_name, base))
            remove_file(folder, entry->d_name);
    if (open != NULL)
        closedir(open);
    free(folder);
}

/* -------------------------------------------------------------- earlier -- */

static int copy_bytes(FILE *to, FILE *from)
{
    static const size_t size = 1 << 16;
    char *buffer = program_allocate((int64_t)size, 1);
    size_t n = 1;

    while (n > 0) {
        n = fread(buffer, 1, size, from);
        if (fwrite(buffer, 1, n, to) != n)
            break;
    }
    free(buffer);
    return n == 0 && !ferror(from) ? 0 : -1;
}

/* 0, or -1 with no file at `to`. */
static int copy_file(const char *from, const char *to)
{
    FILE *in = fopen(from, "rb");
    FILE *out = in == NULL ? NULL : fopen(to, "wb");
    int failed = out == NULL || copy_bytes(out, in) != 0;

    if (in != NULL)
        fclose(in);
    if (out != NULL)
        failed |= fclose(out) != 0;
    if (failed)
        unlink(to);
    return failed ? -1 : 0;
}

void training_keep_earlier(const char *checkpoint, const char *earlier)
{
    if (access(checkpoint, F_OK) != 0)
        return;
    unlink(earlier);
    if (link(checkpoint, earlier) != 0 && copy_file(checkpoint, earlier) != 0)
        (void)program_error("%s: cannot be kept as %s: %s", checkpoint, earlier,
            strerror(errno));
}
