/* examples/ranks_log.c -- the log of a training on several ranks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "ranks_log.h"

#include <math.h>

#define SPIKE_FACTOR 3.0
#define SPIKE_WINDOW 50.0

void ranks_log_open(struct ranks_log *log)
{
    *log = (struct ranks_log){.running_loss = (double)NAN};
}

void ranks_log_add(struct ranks_log *log, const etx_training_report *report)
{
    const double loss = report->loss;

    log->n++;
    log->n_all++;
    log->loss += loss;
    log->n_edges += report->n_edges;
    log->gradient_norm += report->gradient_norm;
    log->highest_gradient_norm =
        fmax(log->highest_gradient_norm, report->gradient_norm);
    log->imbalance += report->imbalance;
    log->imbalance_of_all += report->imbalance;
    log->highest_imbalance = fmax(log->highest_imbalance, report->imbalance);
    log->loss_spread = fmax(log->loss_spread, report->loss_spread);
    if (!isfinite(loss) || loss > SPIKE_FACTOR * log->running_loss)
        log->n_spikes++;
    else
        log->running_loss =
            isnan(log->running_loss)
                ? loss
                : log->running_loss + (loss - log->running_loss) / SPIKE_WINDOW;
}

static void write_number(FILE *file, const char *key, double value)
{
    if (isfinite(value))
        fprintf(file, ", \"%s\": %.9g", key, value);
}

void ranks_log_write(FILE *file, struct ranks_log *log,
    const etx_training_report *report, const double shares[2])
{
    const double n = (double)log->n;
    const double running_loss = log->running_loss;

    if (file == NULL || log->n == 0)
        return;
    fprintf(file, "{\"step\": %lld, \"seconds\": %.3f", (long long)report->step,
        report->seconds);
    write_number(file, "loss", log->loss / n);
    write_number(file, "learning_rate", report->learning_rate);
    write_number(file, "gradient_norm", log->gradient_norm / n);
    write_number(file, "highest_gradient_norm", log->highest_gradient_norm);
    write_number(file, "weight_norm", report->weight_norm);
    write_number(file, "n_edges", log->n_edges / n);
    write_number(file, "imbalance", log->imbalance / n);
    write_number(file, "highest_imbalance", log->highest_imbalance);
    write_number(file, "highest_loss_spread", log->loss_spread);
    write_number(file, "moving_share", shares[0]);
    write_number(file, "waiting_share", shares[1]);
    fprintf(file, ", \"n_spikes\": %lld}\n", (long long)log->n_spikes);
    fflush(file);
    const int64_t n_all = log->n_all;
    const double imbalance_of_all = log->imbalance_of_all;
    ranks_log_open(log);
    log->n_all = n_all;
    log->imbalance_of_all = imbalance_of_all;
    log->running_loss = running_loss;
}
