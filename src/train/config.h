/* train/config.h -- what to train and how, read strictly from JSON.
 *
 * docs/training.md documents every key. Unknown keys, wrong types and values
 * out of bounds are ETX_ERR_FORMAT naming section, key, value and bound.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_CONFIG_H
#define ETX_TRAIN_CONFIG_H

#include <jansson.h>

#include "base/status.h"

enum etx_train_stage {
    ETX_TRAIN_EMBEDDING,
    ETX_TRAIN_FILTER,
    ETX_TRAIN_GNN,
    ETX_N_TRAIN_STAGES
};

/* How the learning rate falls after the warm-up. */
enum etx_decay { ETX_DECAY_CONSTANT, ETX_DECAY_COSINE, ETX_DECAY_STEP };

/* What an edge between hits of one particle that are not neighbours on its
 * path counts as. */
enum etx_same_particle {
    ETX_SAME_PARTICLE_IGNORE,
    ETX_SAME_PARTICLE_TRUE,
    ETX_SAME_PARTICLE_FALSE
};

struct etx_train_schedule {
    int32_t n_steps;
    int32_t n_warmup_steps;
    float learning_rate;     /* the highest */
    float min_learning_rate; /* never below, after the warm-up */
    int32_t decay;           /* enum etx_decay */
    int32_t decay_every;     /* steps, of ETX_DECAY_STEP */
    float decay_factor;      /* of ETX_DECAY_STEP */
};

struct etx_train_optimiser {
    float beta1, beta2, eps, weight_decay;
    float gradient_clip; /* largest norm of the gradient, 0 = any */
    int32_t amsgrad;
};

struct etx_train_truth {
    float min_pt;          /* GeV: signal is above */
    float low_pt_weight;   /* of true pairs that are not signal */
    int32_t same_particle; /* enum etx_same_particle */
};

struct etx_train_sampling {
    int32_t n_hits;  /* of a wedge, 0 = whole events */
    float eta_window; /* least share of the hits in the window of z / r */
    int32_t n_edges; /* of a step (GNN: of a wedge), 0 = any */
    float false_per_true;  /* filter: sampled false edges, 0 = all */
    int32_t n_queries;     /* embedding: hits whose surroundings are searched */
    float search_radius;   /* embedding: how far */
    int32_t n_neighbours;  /* embedding: their nearest false pairs */
    int32_t n_other;       /* embedding: other false pairs within reach */
    int32_t n_random;      /* embedding: pairs of any two hits */
    int32_t cache_mib;     /* graphs of events kept at most */
};

struct etx_train_loss {
    float positive_weight;
    int32_t hinge; /* enum etx_hinge */
    float margin;
};

struct etx_train_augmentation {
    int32_t rotate_phi, reflect_z, reflect_y;
};

struct etx_train_config {
    int32_t stage; /* enum etx_train_stage */
    int32_t seed;
    struct etx_train_schedule schedule;
    struct etx_train_optimiser optimiser;
    struct etx_train_truth truth;
    struct etx_train_sampling sampling;
    struct etx_train_loss loss;
    struct etx_train_augmentation augmentation;
    float target_efficiency; /* 0: threshold stays as the model says */
    json_t *json;            /* the whole; released by _clear */
};

/* "embedding", "filter", "gnn": the keys of etx.config. */
const char *etx_train_stage_name(int32_t stage);

/* Read text into config; on error config is untouched. */
etx_status etx_train_config_read(
    struct etx_train_config *config, const char *text);
void etx_train_config_clear(struct etx_train_config *config);

/* The learning rate of step (1 for the first). */
float etx_train_learning_rate(
    const struct etx_train_schedule *schedule, int64_t step);

#endif
