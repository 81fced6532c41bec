/* train/state/snapshot.c -- roll back to an earlier state when the loss jumps.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/state/snapshot.h"

#include "base/check.h"
#include "base/heap.h"

#include <math.h>
#include <string.h>

static int is_on(const struct etx_train_stability *options)
{
    return options->spike_factor > 0.0f;
}

etx_status etx_snapshot_open(struct etx_train_snapshot *snapshot,
    const struct etx_train_state *state,
    const struct etx_train_stability *options)
{
    const char *what = "moments to go back to";
    const int64_t n = state->network->n_values;
    etx_status status = ETX_OK;

    if (!is_on(options))
        return ETX_OK;
    ETX_NEW(snapshot->parameter, n, "parameters to go back to");
    ETX_CHECK(etx_alloc(&snapshot->moments.m, n, sizeof(float), what));
    ETX_CHECK(etx_alloc(&snapshot->moments.v, n, sizeof(float), what));
    if (state->moments.v_max != NULL)
        ETX_CHECK(etx_alloc(&snapshot->moments.v_max, n, sizeof(float), what));
done:
    return status;
}

void etx_snapshot_close(struct etx_train_snapshot *snapshot)
{
    etx_free(snapshot->parameter);
    etx_free(snapshot->moments.m);
    etx_free(snapshot->moments.v);
    etx_free(snapshot->moments.v_max);
}

static void copy_arrays(float *parameter, const struct etx_moments *to,
    const float *from_parameter, const struct etx_moments *from, int64_t n)
{
    const size_t bytes = (size_t)n * sizeof(float);

    memcpy(parameter, from_parameter, bytes);
    memcpy(to->m, from->m, bytes);
    memcpy(to->v, from->v, bytes);
    if (to->v_max != NULL)
        memcpy(to->v_max, from->v_max, bytes);
}

etx_status etx_snapshot_update(struct etx_train_snapshot *snapshot,
    const struct etx_train_progress *progress,
    const struct etx_train_state *state,
    const struct etx_train_stability *options)
{
    etx_status status = ETX_OK;

    if (!is_on(options) || progress->step == snapshot->progress.step ||
        progress->step % options->snapshot_every != 0)
        return ETX_OK;
    ETX_CHECK(etx_train_state_to_host(state));
    snapshot->progress = *progress;
    copy_arrays(snapshot->parameter, &snapshot->moments, state->network->value,
        &state->moments, state->network->n_values);
done:
    return status;
}

/* Over the first spike_window losses their mean, then a running one. */
static void add_loss(struct etx_train_mean *mean, double loss, int32_t window)
{
    mean->n += mean->n < window;
    mean->loss += (loss - mean->loss) / (double)mean->n;
}

int32_t etx_train_is_spike(struct etx_train_mean *mean,
    const struct etx_train_stability *options, double loss,
    double gradient_norm)
{
    if (!is_on(options))
        return 0;
    if (!isfinite(loss) || !isfinite(gradient_norm))
        return 1;
    if (mean->n == options->spike_window &&
        loss > (double)options->spike_factor * mean->loss)
        return 1;
    add_loss(mean, loss, options->spike_window);
    return 0;
}

etx_status etx_snapshot_roll_back(struct etx_train_progress *progress,
    const struct etx_train_state *state, struct etx_train_snapshot *snapshot,
    const struct etx_train_stability *options, double loss)
{
    if (snapshot->n_rollbacks >= options->max_rollbacks)
        return etx_fail(ETX_ERR_LIMIT,
            "step %lld: loss %.6g jumps above the mean %.6g of late, and "
            "most_rollbacks %d are used up; a smaller learning_rate may help",
            (long long)progress->step + 1, loss, progress->mean.loss,
            (int)options->max_rollbacks);
    snapshot->n_rollbacks++;
    *progress = snapshot->progress;
    copy_arrays(state->network->value, &state->moments, snapshot->parameter,
        &snapshot->moments, state->network->n_values);
    return etx_train_state_to_device(state);
}
