/* train/schedule.c -- the learning rate of every step.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/schedule.h"

#include <math.h>

/* After a warm-up of n_warmup steps. */
static double decayed(const struct etx_train_schedule *schedule, int64_t step,
    int64_t n_warmup, int64_t steps_per_epoch)
{
    const double pi = 3.14159265358979323846;
    const double highest = (double)schedule->learning_rate;
    const double lowest = fmin(highest, (double)schedule->min_learning_rate);
    const int64_t after = step - 1 - n_warmup;
    const int64_t n_after = schedule->n_steps - n_warmup;
    const int64_t every = schedule->decay_epochs > 0
                              ? schedule->decay_epochs * steps_per_epoch
                              : schedule->decay_every;

    switch ((enum etx_decay)schedule->decay) {
    case ETX_DECAY_CONSTANT:
        break;
    case ETX_DECAY_COSINE:
        return lowest + (highest - lowest) * 0.5 *
                            (1.0 + cos(pi * (double)after / (double)n_after));
    case ETX_DECAY_STEP:
        return fmax(lowest, highest * pow((double)schedule->decay_factor,
                                          (double)(after / every)));
    }
    return highest;
}

float etx_train_learning_rate(const struct etx_train_schedule *schedule,
    int64_t step, int64_t steps_per_epoch)
{
    const int64_t n_epochs = schedule->n_warmup_epochs;
    const int64_t n_warmup =
        n_epochs > 0 ? n_epochs * steps_per_epoch : schedule->n_warmup_steps;
    const double highest = (double)schedule->learning_rate;

    if (step > n_warmup)
        return (float)decayed(schedule, step, n_warmup, steps_per_epoch);
    if (n_epochs > 0)
        return (float)(highest * (double)((step - 1) / steps_per_epoch + 1) /
                       (double)n_epochs);
    return (float)(highest * (double)step / (double)n_warmup);
}
