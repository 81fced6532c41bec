/* train/training_model.h -- the model that a trainer works on.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_TRAINING_MODEL_H
#define ETX_TRAIN_TRAINING_MODEL_H

#include "stage/model.h"
#include "train/config.h"

/* The stage of enum etx_train_stage, and its network, which may be NULL. */
struct etx_model_stage *etx_train_find_stage(
    struct etx_model *model, int32_t stage);
const struct etx_network *etx_train_find_network(
    const struct etx_model *model, int32_t stage);

/* The model to train and its etx.config: weights of the start, NULL for none,
 * where it has them, initial values where the training config describes the
 * stage. */
etx_status etx_train_model_open(struct etx_model **model,
    struct etx_json **model_config, const struct etx_train_config *config,
    const struct etx_model *start);

/* Copy the parameters of a stage where both models have it. */
void etx_train_copy_stage(
    struct etx_model *to, const struct etx_model *from, int32_t stage);

/* Copy completion, first pass and module map, where both models have them. */
etx_status etx_train_copy_tables(
    struct etx_model *to, const struct etx_model *from);

/* *hash continued over the parameters of a network, which may be NULL. */
uint64_t etx_train_hash_network(
    uint64_t hash, const struct etx_network *network);
/* The same over the arrays of a learned table, which may be NULL. */
uint64_t etx_train_hash_table(uint64_t hash, const void *table);

#endif
