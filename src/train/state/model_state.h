/* train/state/model_state.h -- parameters, moments and gradient of a training.
 *
 * On a device they stay there from step to step; the host's copies date
 * from the last etx_train_state_to_host, which checkpoints, validations and
 * snapshots call. On the CPU both are the same arrays.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_STATE_MODEL_STATE_H
#define ETX_TRAIN_STATE_MODEL_STATE_H

#include "arch/arch.h"

/* Moments of AdamW, [n_values] each. */
struct etx_moments {
    float *m, *v;
    float *v_max; /* of AMSGrad, or NULL */
};

struct etx_train_state {
    const struct etx_memory *memory; /* of the context; NULL = host */
    struct etx_network *network;     /* in training, parameters on the host */
    struct etx_moments moments;      /* on the host */
    /* The same where the context computes. */
    struct etx_network device_network;
    struct etx_moments device_moments;
    float *gradient;      /* [n_values] where the context computes */
    const float *decays;  /* [n_values] there: 1 with weight decay, or 0 */
    float *device_arrays; /* what these arrays lie in, owned */
};

/* For a network of the trainer's own; moments are zeros. */
etx_status etx_train_state_open(struct etx_train_state *state,
    struct etx_context *context, struct etx_network *network, int32_t amsgrad);
void etx_train_state_close(struct etx_train_state *state);

/* Parameters and moments; nothing to do on the CPU. */
etx_status etx_train_state_to_device(const struct etx_train_state *state);
etx_status etx_train_state_to_host(const struct etx_train_state *state);

#endif
