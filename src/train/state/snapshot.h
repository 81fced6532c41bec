/* train/state/snapshot.h -- roll back to an earlier state when the loss jumps.
 *
 * A loss far above the running mean means that a step went wrong; what the
 * optimiser learns from it can ruin a long training. The remedy is that of
 * large language models (Chowdhery et al., arXiv:2204.02311, section 5.1):
 * return to an earlier state and continue with other data.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_STATE_SNAPSHOT_H
#define ETX_TRAIN_STATE_SNAPSHOT_H

#include "train/state/loss_scale.h"
#include "train/state/model_state.h"

/* The running mean of the loss. */
struct etx_train_mean {
    double loss;
    int64_t n; /* steps in it */
};

/* The state of a training besides its arrays. */
struct etx_train_progress {
    int64_t step; /* steps made */
    struct etx_train_mean mean;
    struct etx_train_loss_scale loss_scale;
};

/* Arrays are NULL unless the config enables snapshots. */
struct etx_train_snapshot {
    struct etx_train_progress progress; /* step -1: no snapshot yet */
    float *parameter;                   /* [n_values] */
    struct etx_moments moments;
    int64_t n_rollbacks; /* so far */
};

etx_status etx_snapshot_open(struct etx_train_snapshot *snapshot,
    const struct etx_train_state *state,
    const struct etx_train_stability *options);
void etx_snapshot_close(struct etx_train_snapshot *snapshot);

/* Copy the state to the snapshot when one is due. */
etx_status etx_snapshot_update(struct etx_train_snapshot *snapshot,
    const struct etx_train_progress *progress,
    const struct etx_train_state *state,
    const struct etx_train_stability *options);

/* Whether this loss or gradient of a step is a spike; else the loss enters the
 * mean. */
int32_t etx_train_is_spike(struct etx_train_mean *mean,
    const struct etx_train_stability *options, double loss,
    double gradient_norm);

/* Return to the snapshot after a step with this loss; ETX_ERR_LIMIT after
 * max_rollbacks of these. */
etx_status etx_snapshot_roll_back(struct etx_train_progress *progress,
    const struct etx_train_state *state, struct etx_train_snapshot *snapshot,
    const struct etx_train_stability *options, double loss);

#endif
