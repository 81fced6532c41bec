/* examples/training_log.c -- what a training says: its log of JSON lines, and
 * lines on standard output.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "training_log.h"

#include <math.h>
#include <unistd.h>

#include "json.h"
#include "program.h"

#define SPIKE_FACTOR 3.0
#define SPIKE_WINDOW 50.0
#define BAR_WIDTH    30

/* --------------------------------------------------------------- steps -- */

void training_steps_open(struct training_steps *steps)
{
    *steps = (struct training_steps){.running_loss = (double)NAN};
}

void training_steps_add(
    struct training_steps *steps, const etx_training_report *report)
{
    const double loss = report->loss;

    steps->n_all++;
    if (report->is_skipped)
        return;
    steps->n++;
    steps->loss += loss;
    steps->n_edges += report->n_edges;
    steps->gradient_norm += report->gradient_norm;
    steps->highest_gradient_norm =
        fmax(steps->highest_gradient_norm, report->gradient_norm);
    steps->imbalance += report->imbalance;
    steps->imbalance_of_all += report->imbalance;
    steps->highest_imbalance =
        fmax(steps->highest_imbalance, report->imbalance);
    steps->loss_spread = fmax(steps->loss_spread, report->loss_spread);
    if (!isfinite(loss) || loss > SPIKE_FACTOR * steps->running_loss)
        steps->n_spikes++;
    else
        steps->running_loss =
            isnan(steps->running_loss)
                ? loss
                : steps->running_loss +
                      (loss - steps->running_loss) / SPIKE_WINDOW;
}

/* ----------------------------------------------------------------- log -- */

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

static void write_ranks(struct json *line, const struct training_steps *steps,
    const double shares[2])
{
    json_measured(line, "imbalance", steps->imbalance / (double)steps->n);
    json_measured(line, "highest_imbalance", steps->highest_imbalance);
    json_measured(line, "highest_loss_spread", steps->loss_spread);
    json_measured(line, "moving_share", shares[0]);
    json_measured(line, "waiting_share", shares[1]);
}

void training_log_steps(FILE *log, struct training_steps *steps,
    const etx_training_report *report, const double shares[2])
{
    const struct training_steps done = *steps;
    const double n = (double)done.n;

    if (log == NULL || done.n == 0)
        return;
    struct json line = begin_line(log, NULL, report);
    json_measured(&line, "loss", done.loss / n);
    json_measured(&line, "learning_rate", report->learning_rate);
    json_measured(&line, "gradient_norm", done.gradient_norm / n);
    json_measured(&line, "highest_gradient_norm", done.highest_gradient_norm);
    json_measured(&line, "weight_norm", report->weight_norm);
    json_measured(&line, "n_edges", done.n_edges / n);
    json_measured(&line, "loss_scale", report->loss_scale);
    if (report->n_skipped > 0)
        json_integer(&line, "n_skipped", report->n_skipped);
    if (shares != NULL)
        write_ranks(&line, &done, shares);
    json_integer(&line, "n_spikes", done.n_spikes);
    end_line(&line);
    training_steps_open(steps);
    steps->n_all = done.n_all;
    steps->imbalance_of_all = done.imbalance_of_all;
    steps->running_loss = done.running_loss;
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

void training_print_start(const etx_trainer *trainer, const char *start)
{
    if (etx_trainer_is_new(trainer))
        puts("a new network, as the config has a \"model\"");
    else
        printf("the network of %s, trained on\n", start);
    fflush(stdout);
}

static void clear_bar(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
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

void training_print_progress(double *shown, const etx_training_report *report,
    double loss, double seconds_per_step)
{
    const int is_terminal = isatty(STDERR_FILENO);
    const double period =
        is_terminal ? TRAINING_SECONDS_PER_BAR : TRAINING_SECONDS_PER_LINE;
    const double left =
        seconds_per_step * (double)(report->n_steps - report->step);

    if (program_now() - *shown < period)
        return;
    *shown = program_now();
    if (is_terminal)
        print_bar(report);
    fprintf(is_terminal ? stderr : stdout,
        "%lld/%lld loss %.4f, %.0f ms per step, %.1f min left%s",
        (long long)report->step, (long long)report->n_steps, loss,
        1e3 * seconds_per_step, left / 60.0, is_terminal ? "" : "\n");
    fflush(stdout);
}

void training_print_rollback(const etx_training_report *report)
{
    clear_bar();
    printf("loss %.5g: back to step %lld, the %d. time\n", report->loss,
        (long long)report->step, (int)report->n_rollbacks);
    fflush(stdout);
}

/* ", name value", unless it was not measured. */
static void print_number(const char *name, double value)
{
    if (isfinite(value))
        printf(", %s %.5f", name, value);
}

void training_print_validation(const etx_training_report *report, double n_hits)
{
    clear_bar();
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
