/* scenarios.h -- one call of every public function that can fail, with what it
 * needs and the bits that it gives.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_FAULTS_SCENARIOS_H
#define ETX_TEST_FAULTS_SCENARIOS_H

#include <exatrkx/eval.h>
#include <exatrkx/train.h>

#include "fit_events.h"
#include "train_bench.h"

/* What a call works on, made again for every call; the first block are outputs,
 * which a call that fails leaves as they are. */
struct faults_world {
    struct {
        etx_context *context;
        etx_model *model;
        etx_detector *detector;
        etx_event *event;
        etx_graph *graph;
        etx_graph_part *part;
        etx_tracks *tracks;
        etx_trainer *trainer;
        etx_evaluation_counts counts;
        uint64_t hash; /* of numbers that the call wrote */
    } out;
    etx_graph *graph, *triplets;
    etx_tracks *tracks;
    etx_event *event; /* one that may be changed */
    etx_graph_part *part;
    int32_t option;           /* of the scenario */
    struct train_bench bench; /* of the trainer, and its context */
    struct fit_sample *fit;   /* of tracks to be fitted */
    int32_t *owners;          /* [n_nodes] */
    float *values;            /* [n_edges] */
};

struct faults_scenario {
    const char *name;
    void (*set_up)(struct faults_world *world); /* or NULL */
    etx_status (*call)(struct faults_world *world);
    int32_t n_threads;
    int32_t option;     /* stage, method or file, as the call reads it */
    int32_t has_files;  /* it reads or writes files */
    const char *target; /* name of the file that it writes, or NULL */
};

extern const struct faults_scenario faults_scenarios[];
extern const int faults_n_scenarios;

/* What all calls share; before the first. */
void faults_open(void);
void faults_close(void);

#define FAULTS_N_PARTICLES 8
#define FAULTS_MAX_HITS    (11 * FAULTS_N_PARTICLES)
#define FAULTS_N_EVENTS    3 /* the last one to validate on */
#define FAULTS_N_MODELS    9
#define FAULTS_N_FITTED    65 /* more than two blocks of tracks */
#define FAULTS_PARTS       4  /* added to a stage: on parts of a graph */
#define FAULTS_HASH_START  UINT64_C(0xcbf29ce484222325)

extern struct faults_shared {
    etx_model *model[FAULTS_N_MODELS];
    etx_model *completion, *first_pass, *module_map; /* that learned */
    etx_detector *detector;
    etx_event *event[FAULTS_N_EVENTS];
    void *file; /* of completion */
    size_t file_size;
} faults_shared;

/* Of a trainer of the filter on model[6]. */
extern const char faults_trainer_config[];

/* The model of the scenario's option; -1: with completion, -2: with a first
 * pass, too, -3: with a module map. */
const etx_model *faults_model(const struct faults_world *world);

/* Set-ups of scenarios: an event of its own (with modules); the candidate graph
 * of the first event (with scores, triplets, as one part); tracks (as a file);
 * a trainer of the stage that the option names, with a cache of graphs from 4
 * on (after two steps, one whose validation finds its graph there, with a
 * checkpoint). */
void faults_make_event(struct faults_world *world);
void faults_make_event_with_modules(struct faults_world *world);
void faults_make_event_with_truth(struct faults_world *world);
void faults_make_graph(struct faults_world *world);
void faults_make_scored(struct faults_world *world);
void faults_make_triplets(struct faults_world *world);
void faults_make_part(struct faults_world *world);
void faults_make_tracks(struct faults_world *world);
void faults_write_tracks(struct faults_world *world);
void faults_make_trainer(struct faults_world *world);
void faults_make_stepped(struct faults_world *world);
void faults_make_cached(struct faults_world *world);
void faults_make_checkpoint(struct faults_world *world);
/* An event with tracks to be fitted, and their detector. */
void faults_make_fitted(struct faults_world *world);
/* A context and a trainer without events of the stage that option names, after
 * the embedding. */
void faults_make_rank(struct train_bench *bench, int32_t option);

/* The path of a file in the folder of the test. */
const char *faults_path(const char *name);

void faults_set_up(
    struct faults_world *world, const struct faults_scenario *scenario);
/* Hash of all that the call gave. */
uint64_t faults_bits(
    struct faults_world *world, const struct faults_scenario *scenario);
void faults_tear_down(struct faults_world *world);

/* FNV-1a over more bytes. */
uint64_t faults_hash(uint64_t hash, const void *data, size_t size);
uint64_t faults_hash_file(const char *path);
uint64_t faults_hash_tracks(uint64_t hash, const etx_tracks *tracks);

#endif
