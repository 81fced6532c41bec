/* train/state/stability.c -- go back when the loss jumps.
 *
 * A loss far above the mean of late means that a step went wrong; what the
 * optimiser learns from it can ruin a long training. The remedy is that of
 * large language models (Chowdhery et al., arXiv:2204.02311, section 5.1): go
 * back to an earlier state and go on with other data.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "base/check.h"
#include "base/heap.h"

#include <math.h>
#include <string.h>

static int is_on(const struct etx_trainer *trainer)
{
    return trainer->config.stability.spike_factor > 0.0f;
}

etx_status etx_train_snapshot_open(struct etx_trainer *trainer)
{
    struct etx_train_snapshot *snapshot = &trainer->snapshot;
    const int64_t n = trainer->stage->network->n_values;
    etx_status status = ETX_OK;

    if (!is_on(trainer))
        return ETX_OK;
    ETX_CHECK(etx_alloc(&snapshot->parameter, n, sizeof *snapshot->parameter,
        "parameters to go back to"));
    ETX_CHECK(etx_alloc(
        &snapshot->m, n, sizeof *snapshot->m, "moments to go back to"));
    ETX_CHECK(etx_alloc(
        &snapshot->v, n, sizeof *snapshot->v, "moments to go back to"));
    if (trainer->v_max != NULL)
        ETX_CHECK(etx_alloc(&snapshot->v_max, n, sizeof *snapshot->v_max,
            "moments to go back to"));
done:
    return status;
}

void etx_train_snapshot_close(struct etx_trainer *trainer)
{
    etx_free(trainer->snapshot.parameter);
    etx_free(trainer->snapshot.m);
    etx_free(trainer->snapshot.v);
    etx_free(trainer->snapshot.v_max);
}

etx_status etx_train_snapshot_take(struct etx_trainer *trainer)
{
    struct etx_train_snapshot *snapshot = &trainer->snapshot;
    const struct etx_network *network = trainer->stage->network;
    const size_t bytes = (size_t)network->n_values * sizeof(float);
    etx_status status = ETX_OK;

    if (!is_on(trainer) || trainer->step == snapshot->step ||
        trainer->step % trainer->config.stability.snapshot_every != 0)
        return ETX_OK;
    ETX_CHECK(etx_train_state_get(trainer));
    snapshot->step = trainer->step;
    snapshot->mean = trainer->mean;
    snapshot->loss_scale = trainer->loss_scale;
    memcpy(snapshot->parameter, network->value, bytes);
    memcpy(snapshot->m, trainer->m, bytes);
    memcpy(snapshot->v, trainer->v, bytes);
    if (trainer->v_max != NULL)
        memcpy(snapshot->v_max, trainer->v_max, bytes);
done:
    return status;
}

/* Over the first spike_window losses their mean, then a running one. */
static void add_loss(struct etx_train_mean *mean, double loss, int32_t window)
{
    mean->n += mean->n < window;
    mean->loss += (loss - mean->loss) / (double)mean->n;
}

int32_t etx_train_is_spike(
    struct etx_trainer *trainer, double loss, double gradient_norm)
{
    const struct etx_train_stability *options = &trainer->config.stability;
    struct etx_train_mean *mean = &trainer->mean;

    if (!is_on(trainer))
        return 0;
    if (!isfinite(loss) || !isfinite(gradient_norm))
        return 1;
    if (mean->n == options->spike_window &&
        loss > (double)options->spike_factor * mean->loss)
        return 1;
    add_loss(mean, loss, options->spike_window);
    return 0;
}

etx_status etx_train_roll_back(struct etx_trainer *trainer, double loss)
{
    const struct etx_train_snapshot *snapshot = &trainer->snapshot;
    struct etx_network *network = trainer->stage->network;
    const size_t bytes = (size_t)network->n_values * sizeof(float);
    const int32_t max = trainer->config.stability.max_rollbacks;

    if (trainer->n_rollbacks >= max)
        return etx_fail(ETX_ERR_LIMIT,
            "step %lld: loss %.6g jumps above the mean %.6g of late, and "
            "most_rollbacks %d are used up; a smaller learning_rate may help",
            (long long)trainer->step + 1, loss, trainer->mean.loss, (int)max);
    trainer->n_rollbacks++;
    trainer->step = snapshot->step;
    trainer->mean = snapshot->mean;
    trainer->loss_scale = snapshot->loss_scale;
    memcpy(network->value, snapshot->parameter, bytes);
    memcpy(trainer->m, snapshot->m, bytes);
    memcpy(trainer->v, snapshot->v, bytes);
    if (trainer->v_max != NULL)
        memcpy(trainer->v_max, snapshot->v_max, bytes);
    return etx_train_state_put(trainer);
}
