/* train/config.h -- the training config, read strictly from JSON.
 *
 * docs/training_config.md documents every key. Unknown keys, wrong types and
 * values out of bounds are ETX_ERR_FORMAT naming section, key, value and bound.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_CONFIG_H
#define ETX_TRAIN_CONFIG_H

#include "base/json.h"

#include "base/status.h"

/* What can be trained: X(constant, name, objective, scores_edges) is
 * ETX_TRAIN_<constant>; name is its key in etx.config and its field of
 * struct etx_model; etx_<objective>_objective is what it minimises
 * (objective/objective.h). One that scores edges sees the graphs of the stages
 * before it. */
#define ETX_TRAIN_STAGES(X)                                                    \
    X(EMBEDDING, embedding, embedding, 0)                                      \
    X(FILTER, filter, edge, 1)                                                 \
    X(GNN, gnn, edge, 1)

#define ETX_TRAIN_STAGE_ID(constant, name, objective, scores_edges)            \
    ETX_TRAIN_##constant,
enum etx_train_stage {
    ETX_TRAIN_STAGES(ETX_TRAIN_STAGE_ID) ETX_N_TRAIN_STAGES
};

/* How the learning rate falls after the warm-up. */
enum etx_decay { ETX_DECAY_CONSTANT, ETX_DECAY_COSINE, ETX_DECAY_STEP };

/* How the learning rate scales with the graphs per step. */
enum etx_rate_scale { ETX_SCALE_NONE, ETX_SCALE_LINEAR, ETX_SCALE_SQRT };

/* The label of an edge between hits of one particle that are not neighbours on
 * its path. */
enum etx_same_particle {
    ETX_SAME_PARTICLE_IGNORE,
    ETX_SAME_PARTICLE_TRUE,
    ETX_SAME_PARTICLE_FALSE
};

/* Which pairs of a particle's chain of hits are true. */
enum etx_pair_rule {
    ETX_PAIRS_HIT,        /* neighbours on the chain */
    ETX_PAIRS_MODULE,     /* of the first hits on each module */
    ETX_PAIRS_MODULE_ALL, /* all hits of neighbouring modules */
    ETX_PAIRS_LAYER,      /* all hits of neighbouring layers */
    ETX_PAIRS_ANY         /* all hits of the particle */
};

/* How the losses of edges become one number. */
enum etx_reduction {
    ETX_REDUCTION_WEIGHTED_MEAN, /* sum(w l) / sum(w) */
    ETX_REDUCTION_MEAN,          /* sum(w l) / n */
    ETX_REDUCTION_EQUAL,         /* mean of the true ones + of the false ones */
    ETX_REDUCTION_BALANCED       /* mean, true ones times n_false / n_true */
};

/* What the loss of several graphs is averaged over. */
enum etx_average { ETX_AVERAGE_PAIRS, ETX_AVERAGE_GRAPHS };

/* The order of training events. */
enum etx_order {
    ETX_ORDER_DRAWN,  /* every hit of all events has the same chance */
    ETX_ORDER_EPOCHS, /* every event once an epoch, shuffled */
    ETX_ORDER_BUCKETS /* the same; graphs of a step have similar sizes */
};

/* Hits whose neighbourhoods are searched. */
enum etx_query { ETX_QUERY_ALL, ETX_QUERY_NO_NOISE, ETX_QUERY_SIGNAL };

/* The metric that compares validations. */
enum etx_criterion {
    ETX_CRITERION_LOSS,
    ETX_CRITERION_AUC,
    ETX_CRITERION_EFFICIENCY,
    ETX_CRITERION_PURITY
};

/* Storage of the latents between forward and backward. */
enum etx_memory_precision {
    ETX_MEMORY_FLOAT32,
    ETX_MEMORY_BF16,
    ETX_MEMORY_FP16
};

struct etx_train_schedule {
    int32_t n_steps;
    int32_t n_warmup_steps;
    int32_t n_warmup_epochs; /* > 0: instead of the steps */
    float learning_rate;     /* the highest */
    float min_learning_rate; /* never below, after the warm-up */
    int32_t decay;           /* enum etx_decay */
    int32_t decay_every;     /* steps, of ETX_DECAY_STEP */
    int32_t decay_epochs;    /* > 0: instead of the steps */
    float decay_factor;      /* of ETX_DECAY_STEP */
    int32_t scale;           /* enum etx_rate_scale, applied to learning_rate */
};

struct etx_train_optimiser {
    float beta1, beta2, eps, weight_decay;
    float gradient_clip; /* bound on the norm of the whole gradient, 0 = none */
    int32_t amsgrad;
};

struct etx_train_truth {
    float min_pt;            /* GeV: signal is above */
    float low_pt_weight;     /* of true pairs that are not signal */
    int32_t same_particle;   /* enum etx_same_particle */
    int32_t pairs;           /* enum etx_pair_rule */
    float max_eta;           /* signal is below, 0 = any */
    int32_t min_hits;        /* of a signal particle in the event */
    int32_t drop_noise;      /* training does not see hits without particle */
    float background_min_pt; /* GeV: nor hits of softer particles */
    float displaced_radius;  /* mm: displaced particles start beyond it */
    float displaced_weight;  /* times the weight of their true pairs */
    float first_weight;      /* and of a particle's first pair */
};

struct etx_train_stability {
    float spike_factor;     /* of a loss to the mean; 0 = no snapshots */
    int32_t spike_window;   /* steps of the mean */
    int32_t snapshot_every; /* steps between states to go back to */
    int32_t max_rollbacks;
};

struct etx_train_sampling {
    int32_t n_hits;   /* per sector, 0 = whole events */
    float eta_window; /* min fraction of the hits in the interval of z / r */
    int32_t n_edges;  /* per step (GNN: per sector), 0 = any */
    float false_per_true; /* filter: sampled false edges, 0 = all */
    int32_t n_queries;   /* embedding: hits whose neighbourhoods are searched */
    float search_radius; /* embedding: of these neighbourhoods */
    int32_t n_neighbours; /* embedding: their nearest false pairs */
    int32_t n_other;      /* embedding: other false pairs within reach */
    int32_t n_random;     /* embedding: pairs of any two hits */
    int32_t cache_mib;    /* graphs of events kept at most */
    int32_t n_graphs;     /* of a step */
    int32_t order;        /* enum etx_order */
    float hard_share;     /* filter: fraction of false edges above hard_cut */
    float hard_cut;       /* filter: score of a hard false edge */
    int32_t chunk_edges;  /* filter: of one pass, 0 = all */
    int32_t queries_from; /* embedding: enum etx_query */
    int32_t random_from_queries; /* embedding: first hit of a random pair */
    int32_t n_pool;           /* embedding: "other" are of the n_pool nearest */
    int32_t count_true_twice; /* embedding: true pairs that are found, too */
};

/* The target of the momentum head: ln(pT / GeV) or GeV / pT. */
enum etx_pt_target { ETX_PT_LOG, ETX_PT_INVERSE };

struct etx_train_loss {
    float positive_weight;
    int32_t hinge; /* enum etx_hinge */
    float margin;
    int32_t reduction; /* enum etx_reduction */
    int32_t average;   /* enum etx_average */
    float focal_gamma; /* 0 = cross-entropy */
    float hit_weight;  /* weight of true edges: times this mean hit weight;
                        * 0 = not */
    float pt_weight;   /* gnn: of the loss of the momentum head, 0 = none */
    int32_t pt_target; /* gnn: enum etx_pt_target */
};

struct etx_train_augmentation {
    int32_t rotate_phi, reflect_z, reflect_y, reflect_x;
    float drop_hits;  /* of an event's hits at most this share is dropped */
    float drop_cells; /* share of events whose hits lose their cells */
    float jitter;     /* mm: modules are moved by at most this sigma */
    float first_pass; /* share of events that lose the hits it finds */
};

struct etx_train_validation {
    float target_efficiency; /* 0: the model's threshold stays */
    float radius;            /* embedding: measure at this one; 0 = found */
    int32_t criterion;       /* enum etx_criterion */
    int32_t keep_best;       /* the model is that of the best validation */
    int32_t patience;        /* validations without a better one; 0 = any */
    float min_delta;         /* an improvement is larger */
};

/* Memory of the latents between forward and backward. */
struct etx_train_memory {
    int32_t checkpointing; /* few are kept, the others recomputed */
    int32_t precision;     /* enum etx_memory_precision */
};

/* Precision of the matrix products of a step. */
enum etx_products { ETX_PRODUCTS_FLOAT32, ETX_PRODUCTS_FP16 };

struct etx_train_arithmetic {
    int32_t products; /* enum etx_products; fp16 is a device's */
};

/* See state/loss_scale.h. */
struct etx_train_loss_scaling {
    float initial;        /* a power of two; 0 = the loss as it is */
    int32_t double_every; /* steps without a gradient that is not finite */
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
    struct etx_train_validation validation;
    struct etx_train_stability stability;
    struct etx_train_memory memory;
    struct etx_train_arithmetic arithmetic;
    struct etx_train_loss_scaling loss_scaling;
    struct etx_json *json; /* the whole; released by _clear */
};

/* "embedding", "filter", "gnn": the keys of etx.config. */
const char *etx_train_stage_name(int32_t stage);

/* Whether the stage scores edges, as ETX_TRAIN_STAGES says. */
int32_t etx_train_scores_edges(const struct etx_train_config *config);

/* Read text into config; on error config is untouched. */
etx_status etx_train_config_read(
    struct etx_train_config *config, const char *text);
void etx_train_config_clear(struct etx_train_config *config);

#endif
