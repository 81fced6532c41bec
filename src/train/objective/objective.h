/* train/objective/objective.h -- what a stage minimises.
 *
 * The training step (training_step.c) calls these for every graph of a batch
 * that this rank computes: sample for all of them first, as what the losses
 * are divided by is a sum over the batch, then add_gradient. A validation
 * (validation/validate.c) calls validate.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_OBJECTIVE_OBJECTIVE_H
#define ETX_TRAIN_OBJECTIVE_OBJECTIVE_H

#include "train/ranks/batch.h"
#include "train/trainer.h"

struct etx_train_result;
struct etx_validation; /* validation/event_metrics.h */

struct etx_objective {
    size_t sample_size; /* bytes of a sample, which is zeros at first */

    /* Draw graph k of the batch: a sector and its pairs or edges. Fills
     * batch->sums[k]; arrays of the sample are in scratch. */
    etx_status (*sample)(void *sample, struct etx_trainer *trainer,
        struct etx_batch *batch, int32_t k);

    /* Forward, loss and backward: adds to batch->loss[k] and to gradient
     * [n_values], where the context computes. */
    etx_status (*add_gradient)(float *gradient, const void *sample,
        struct etx_trainer *trainer, struct etx_batch *batch, int32_t k);

    /* Free what a sample has outside of scratch; NULL: nothing. */
    void (*clear)(void *sample);

    /* Fill what result has of the objective; the model gets its cut. */
    etx_status (*validate)(struct etx_train_result *result,
        const struct etx_validation *validation);
};

#define ETX_OBJECTIVE(constant, name, objective, scores_edges)                 \
    extern const struct etx_objective etx_##objective##_objective;
ETX_TRAIN_STAGES(ETX_OBJECTIVE)

/* By stage; a test looks at each. */
extern const struct etx_objective *const etx_objectives[ETX_N_TRAIN_STAGES];

#endif
