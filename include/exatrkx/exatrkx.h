/* exatrkx/exatrkx.h -- find the tracks of a collider event.
 *
 * Hits in, tracks out: embed the hits with a neural network, join neighbours
 * within a radius, prune the edges with a filter network, score them with a
 * graph neural network and label connected hits as tracks (the Exa.TrkX
 * pipeline: Ju et al., Eur. Phys. J. C 81, 876 (2021), arXiv:2103.06995).
 *
 * Rules that hold everywhere
 *   Errors     A fallible call returns an etx_status: ETX_OK or a negative
 *              value. On error the outputs are untouched and
 *              etx_last_error() says what, which, value and bound.
 *   Ownership  etx_..._free releases an object that a call wrote to its out,
 *              and takes NULL. Getters return borrowed views that
 *              live until the object is changed or freed.
 *   Threads    An etx_model and an etx_detector are immutable and shared
 *              freely. A context runs one call at a time. Every other object
 *              is used by one thread at a time; several may read one that
 *              nobody changes.
 *   Shapes     Arrays are row-major and contiguous. Positions are in mm.
 *   Options    Structs start with struct_size; fill them with
 *              etx_..._init(&options, sizeof options), then change fields.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EXATRKX_H
#define ETX_EXATRKX_H

#include <stddef.h>
#include <stdint.h>

#include <exatrkx/version.h>

#if defined(__GNUC__)
/* What the shared library exports. */
#define ETX_API __attribute__((visibility("default")))
/* A status that must be looked at. */
#define ETX_MUST_CHECK __attribute__((warn_unused_result))
#else
#define ETX_API
#define ETX_MUST_CHECK
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------- status -- */

/* Zero or one of the negative ETX_ERR_ values. */
typedef int32_t etx_status;

#define ETX_OK              0    /* it worked */
#define ETX_ERR_ARGUMENT    (-1) /* the caller's argument is wrong */
#define ETX_ERR_MEMORY      (-2) /* an allocation failed */
#define ETX_ERR_IO          (-3) /* the operating system refused */
#define ETX_ERR_FORMAT      (-4) /* the content of a file is wrong */
#define ETX_ERR_UNSUPPORTED (-5) /* right, but not in this build */
#define ETX_ERR_DEVICE      (-6) /* the device or its driver failed */
#define ETX_ERR_LIMIT       (-7) /* larger than a stated bound */
#define ETX_ERR_CANCELLED   (-8) /* the caller's cancel callback said so */

/* "MAJOR.MINOR.PATCH" of the library that runs. Static storage. */
ETX_API const char *etx_version(void);

/* "ETX_OK", "ETX_ERR_IO", ...; "unknown" for other values. Static storage. */
ETX_API const char *etx_status_name(etx_status status);

/* What the last failed call on this thread found wrong. Valid until the next
 * failing call on this thread; look only after a failure. Never NULL. */
ETX_API const char *etx_last_error(void);

/* Replace this thread's message by text, of which 511 bytes are kept: carries
 * the message of another thread, and is how a library built on this one says
 * why it failed. */
ETX_API void etx_set_last_error(const char *text);

/* Replace malloc and free for the library's own later allocations (jansson
 * and zlib keep theirs). Call it before any other function of the library,
 * from one thread. allocate must
 * return memory aligned for any type, or NULL; NULL for both restores malloc
 * and free. ETX_ERR_ARGUMENT when only one of the two is NULL. */
ETX_API ETX_MUST_CHECK etx_status etx_set_allocator(
    void *(*allocate)(size_t size, void *user),
    void (*release)(void *memory, void *user), void *user);

/* ------------------------------------------------------------ context -- */

/* Where and how work runs: device, threads, scratch memory. One per worker
 * thread of the host. */
typedef struct etx_context etx_context;

#define ETX_DEVICE_CPU  0 /* the processor */
#define ETX_DEVICE_CUDA 1 /* an NVIDIA GPU */

/* Highest instruction set that the CPU backend may use. */
#define ETX_CPU_BEST   0 /* what the processor has */
#define ETX_CPU_REF    1 /* the plain C reference operators */
#define ETX_CPU_AVX2   2 /* AVX2 and FMA */
#define ETX_CPU_AVX512 3 /* AVX-512 F, DQ, BW and VL */

/* What networks that score edges are computed with, when tracks are found. */
#define ETX_PRECISION_BEST    0 /* float16 on a device, float32 on the CPU */
#define ETX_PRECISION_FLOAT32 1 /* operands, storage and sums float32 */
/* a device's: sums float32, the rest float16 */
#define ETX_PRECISION_FLOAT16 2

/* How a context is to be. */
typedef struct etx_context_options {
    uint32_t struct_size; /* set by etx_context_options_init */
    int32_t device;       /* ETX_DEVICE_; default CPU */
    int32_t device_index; /* which GPU; default 0 */
    int32_t n_threads;    /* 1..256, default 1: no thread is made */
    int32_t cpu_level;    /* ETX_CPU_; default ETX_CPU_BEST */
    int32_t reserved;     /* zero */
    int64_t memory_limit; /* bytes of scratch, and of the edges of a graph at
                           * 32 bytes each; 0 = no limit (default). A context
                           * on a device has this much there, and as much on
                           * the host for what runs there. Beside it a context
                           * on the CPU keeps four times the parameters of the
                           * last 16 networks that it ran, until it is freed */
    void *stream;         /* the caller's CUDA stream, or NULL */
    /* Asked between stages, between operators and, on the CPU, often inside a
     * neighbour search, on the thread of the call and under the default
     * floating-point environment; a non-zero answer ends the call with
     * ETX_ERR_CANCELLED. NULL: never asked. It must return. */
    int32_t (*cancel)(void *user);
    void *cancel_user; /* passed to cancel */
    int32_t precision; /* ETX_PRECISION_; default ETX_PRECISION_BEST. Points of
                        * an embedding, hence graphs, and training are float32
                        * in any case. Values beyond 65504 in a network are
                        * infinite in float16, which ends the call with
                        * ETX_ERR_ARGUMENT as scores that are no numbers do */
    int32_t keep_graphs; /* 1: graphs that this context makes or scores keep a
                          * copy on the device, for etx_graph_src_dev and the
                          * like and for later calls with this context.
                          * Default 0, the only value on the CPU */
} etx_context_options;

/* Set every field of an options struct of struct_size bytes to its default.
 * ETX_ERR_ARGUMENT for NULL, for a size below that of the first version of the
 * struct, or above 4096. */
ETX_API ETX_MUST_CHECK etx_status etx_context_options_init(
    etx_context_options *options, size_t struct_size);

/* options may be NULL: one CPU thread. ETX_ERR_UNSUPPORTED for a device that
 * this build lacks, ETX_ERR_DEVICE for one that this machine lacks. */
ETX_API ETX_MUST_CHECK etx_status etx_context_create(
    etx_context **out, const etx_context_options *options);
/* Release it; NULL is fine. No call may be using it. */
ETX_API void etx_context_free(etx_context *context);

/* Stages, in the order of the pipeline. */
#define ETX_STAGE_FEATURES   0 /* node features of every network */
#define ETX_STAGE_EMBEDDING  1 /* hits to points */
#define ETX_STAGE_GRAPH      2 /* points to candidate edges */
#define ETX_STAGE_FILTER     3 /* most of the false edges go */
#define ETX_STAGE_GNN        4 /* scores of the edges that are left */
#define ETX_STAGE_LABEL      5 /* edges to tracks */
#define ETX_STAGE_COMPLETION 6 /* tracks get the hits that they lack */
#define ETX_N_STAGES         7 /* how many there are */

/* What one stage took. */
typedef struct etx_stage_timing {
    uint32_t struct_size; /* sizeof(etx_stage_timing), set by the caller */
    int32_t reserved;     /* 0 */
    double seconds;       /* wall time spent in the stage */
    double gflop;         /* 1e9 multiply and add operations of its networks */
    int64_t peak_bytes;   /* most memory that the library held in the process
                           * during the stage, other contexts included; on a
                           * device the memory there of this context alone */
    int64_t n_edges;      /* edges that left the stage, 0 where it has none */
} etx_stage_timing;

/* What a stage took in this context since the last etx_embed, etx_graph_build
 * or etx_find_tracks began; stage is ETX_STAGE_. A stage that ran several times
 * adds up; one that did not run is all zero. The caller sets
 * out->struct_size. */
ETX_API ETX_MUST_CHECK etx_status etx_context_timing(
    etx_stage_timing *out, const etx_context *context, int32_t stage);

/* "features", "embedding", ...; "unknown" outside 0..ETX_N_STAGES-1. */
ETX_API const char *etx_stage_name(int32_t stage);

/* -------------------------------------------------------------- model -- */

/* A trained pipeline, or any of its stages: weights and etx.config of a
 * safetensors file (docs/model_format.md). Immutable after load; shared by
 * threads; freed when no call uses it any more. */
typedef struct etx_model etx_model;

/* Read a model file. ETX_ERR_IO when it cannot be read, ETX_ERR_FORMAT when it
 * is not a model, with what is wrong in it. */
ETX_API ETX_MUST_CHECK etx_status etx_model_load(
    etx_model **out, const char *path);
/* data [size] bytes of a model file; not kept after the call. */
ETX_API ETX_MUST_CHECK etx_status etx_model_load_memory(
    etx_model **out, const void *data, size_t size);
/* Written to a temporary file beside path, synchronised and renamed. */
ETX_API ETX_MUST_CHECK etx_status etx_model_save(
    const etx_model *model, const char *path);
/* The model's etx.config as JSON text; owned by the model. */
ETX_API const char *etx_model_describe(const etx_model *model);
/* 1 when the model has ETX_STAGE_EMBEDDING, ETX_STAGE_FILTER, ETX_STAGE_GNN or
 * ETX_STAGE_COMPLETION, 0 when not, for any other stage and for NULL. */
ETX_API int32_t etx_model_has_stage(const etx_model *model, int32_t stage);
/* Release it; NULL is fine. */
ETX_API void etx_model_free(etx_model *model);

/* ----------------------------------------------------------- detector -- */

/* Module geometry of a detector: rotations, thickness and pitches, as in
 * TrackML's detectors.csv. Immutable; shared by threads. */
typedef struct etx_detector etx_detector;

/* Read a detectors.csv[.gz]. */
ETX_API ETX_MUST_CHECK etx_status etx_detector_read(
    etx_detector **out, const char *path);
/* Modules of the detector. */
ETX_API int64_t etx_detector_n_modules(const etx_detector *detector);
/* Release it; NULL is fine. */
ETX_API void etx_detector_free(etx_detector *detector);

/* -------------------------------------------------------------- event -- */

/* The hits of one collision, with optional cell features and truth. */
typedef struct etx_event etx_event;

/* hit_ids [n_hits], or NULL for 1..n_hits; unique and positive.
 * positions [n_hits, 3] x, y, z in mm; finite. Both are copied. */
ETX_API ETX_MUST_CHECK etx_status etx_event_create(etx_event **out,
    int64_t n_hits, const int64_t *hit_ids, const float *positions);

/* Read PREFIX-hits.csv[.gz]; with a detector also PREFIX-cells.csv[.gz]
 * where it exists; PREFIX-truth and PREFIX-particles where both exist.
 * detector may be NULL: no cell features. */
ETX_API ETX_MUST_CHECK etx_status etx_event_read_trackml(
    etx_event **out, const char *prefix, const etx_detector *detector);

/* Single files instead of a prefix; cells, truth and particles may be NULL
 * (truth and particles go together). */
ETX_API ETX_MUST_CHECK etx_status etx_event_read_trackml_files(etx_event **out,
    const char *hits, const char *cells, const char *truth,
    const char *particles, const etx_detector *detector);

/* A headerless file of n_features numbers a row: the node features, already
 * scaled, of an event whose first three features are r, phi and z. Positions
 * are r, phi, z times scales[3]: mm, rad, mm per unit. */
ETX_API ETX_MUST_CHECK etx_status etx_event_read_features(
    etx_event **out, const char *path, const float *scales);

/* features [n_hits, n_features], finite, scaled as the model wants them;
 * copied. They take the place of the features computed from the hits. */
ETX_API ETX_MUST_CHECK etx_status etx_event_set_features(
    etx_event *event, int64_t n_features, const float *features);

/* volume, layer, module [n_hits] as in TrackML's hits.csv; copied. */
ETX_API ETX_MUST_CHECK etx_status etx_event_set_modules(etx_event *event,
    const int32_t *volume_ids, const int32_t *layer_ids,
    const int32_t *module_ids);

/* Charge deposits: hit [n_cells] is the row of the hit, channel0, channel1
 * [n_cells], value [n_cells]. Modules must be set. The nine cell features are
 * computed here with the detector's pitches and rotations. */
ETX_API ETX_MUST_CHECK etx_status etx_event_set_cells(etx_event *event,
    int64_t n_cells, const int32_t *hit, const int32_t *channel0,
    const int32_t *channel1, const float *value, const etx_detector *detector);

/* The nine cell features [n_hits, 9] of a host that has them already, in the
 * order of etx_event_cell_features; finite; copied. */
ETX_API ETX_MUST_CHECK etx_status etx_event_set_cell_features(
    etx_event *event, const float *cell_features);

/* A generated particle. */
typedef struct etx_particle {
    int64_t id;        /* positive; 0 stands for noise */
    float vertex[3];   /* x, y, z of its production, mm */
    float momentum[3]; /* px, py, pz at its production, GeV */
    int32_t charge;    /* units of e */
    int32_t n_hits;    /* as the file says */
} etx_particle;

/* particle_ids [n_hits], 0 = noise; weights [n_hits] or NULL (all one over
 * n_hits); particles [n_particles] hold every id of particle_ids but 0. The
 * event keeps them sorted by id: rows of particles are those of
 * etx_event_particles. */
ETX_API ETX_MUST_CHECK etx_status etx_event_set_truth(etx_event *event,
    const int64_t *particle_ids, const float *weights, int64_t n_particles,
    const etx_particle *particles);

/* Hits of the event. */
ETX_API int64_t etx_event_n_hits(const etx_event *event);
ETX_API const int64_t *etx_event_hit_ids(const etx_event *event); /* [n_hits] */
ETX_API const float *etx_event_positions(
    const etx_event *event); /* [n_hits, 3] mm */
ETX_API const int64_t *etx_event_particle_ids(
    const etx_event *event); /* or NULL */
/* Particles of the truth, 0 without truth. */
ETX_API int64_t etx_event_n_particles(const etx_event *event);
/* [n_particles] sorted by id; NULL without truth. */
ETX_API const etx_particle *etx_event_particles(const etx_event *event);
/* cell_count, cell_val, leta, lphi, lx, ly, lz, geta, gphi: [n_hits, 9] */
ETX_API const float *etx_event_cell_features(
    const etx_event *event); /* or NULL */
/* Release it; NULL is fine. */
ETX_API void etx_event_free(etx_event *event);

/* ------------------------------------------------------------- stages -- */

typedef struct etx_graph etx_graph;   /* exatrkx/graph.h */
typedef struct etx_tracks etx_tracks; /* below */

/* Points of the learned space: *n_dim columns, points [n_hits, *n_dim]
 * written to memory of capacity floats. points may be NULL: only *n_dim is
 * set. ETX_ERR_ARGUMENT when the model has no embedding or features differ. */
ETX_API ETX_MUST_CHECK etx_status etx_embed(int64_t *n_dim, float *points,
    int64_t capacity, etx_context *context, const etx_model *model,
    const etx_event *event);

/* Embedding and radius graph, as the model says. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_build(etx_graph **out,
    etx_context *context, const etx_model *model, const etx_event *event);

/* A new graph of the edges that the model's cascade and filter let through:
 * those with scores above the cuts, and of more than filter.max_edges_per_hit
 * allows the highest. Their filter scores are kept; the input stays as it is.
 */
ETX_API ETX_MUST_CHECK etx_status etx_graph_filter(etx_graph **out,
    const etx_graph *graph, etx_context *context, const etx_model *model,
    const etx_event *event);

/* Score every edge with the model's graph neural network, in place. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_score(etx_graph *graph,
    etx_context *context, const etx_model *model, const etx_event *event);

#define ETX_LABEL_COMPONENTS  0 /* connected components of edges above a cut */
#define ETX_LABEL_MUTUAL_BEST 1 /* edges that are best at both their ends */
#define ETX_LABEL_WALKTHROUGH 2 /* longest scored paths, outward */
#define ETX_LABEL_BEST_FIRST  3 /* chains of hits, best edge first, smooth */

/* How a scored graph becomes tracks. */
typedef struct etx_label_options {
    uint32_t struct_size; /* set by etx_label_options_init */
    int32_t method;       /* ETX_LABEL_; default components */
    float cut;        /* an edge counts when its score is above; default 0.5 */
    int32_t min_hits; /* smaller tracks are dropped, at least 1; default 3 */
    /* Of ETX_LABEL_BEST_FIRST alone. Edges with a score above sure_cut join
     * chains by their score, then others by shape, then edges above strong_cut
     * by their score, and again others by shape: where one of the chains has
     * support_hits hits and the joint is smooth, which is when
     * (dc / max_curvature_change)^2 + (dp / max_polar_change)^2 is at most 1.
     * dc is the spread of the transverse curvatures around the joint, 1/m, dp
     * the sine of the change of polar angle; a limit of 0 is none. */
    float sure_cut;             /* default 0; below strong_cut: as that */
    float strong_cut;           /* default 0 */
    int32_t support_hits;       /* at least 1; default 3 */
    float max_curvature_change; /* 1/m, default 0 */
    float max_polar_change;     /* default 0 */
} etx_label_options;

/* Set every field of an options struct of struct_size bytes to its default.
 * ETX_ERR_ARGUMENT for NULL, for a size below that of the first version of the
 * struct, or above 4096. */
ETX_API ETX_MUST_CHECK etx_status etx_label_options_init(
    etx_label_options *options, size_t struct_size);

/* The model's own label options. out->struct_size says how much is written:
 * call etx_label_options_init first. */
ETX_API ETX_MUST_CHECK etx_status etx_model_label_options(
    etx_label_options *out, const etx_model *model);

/* Group the hits of a scored graph into tracks. options may be NULL:
 * defaults. event gives positions for ETX_LABEL_WALKTHROUGH and
 * ETX_LABEL_BEST_FIRST and may be NULL for the other methods. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_tracks(etx_tracks **out,
    const etx_graph *graph, etx_context *context, const etx_event *event,
    const etx_label_options *options);

/* The same as labels [n_nodes]: dense by smallest hit, -1 = no track. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_label(int32_t *labels,
    const etx_graph *graph, etx_context *context, const etx_event *event,
    const etx_label_options *options);

/* How certain completion has to be that a hit belongs to a track. */
typedef struct etx_completion_options {
    uint32_t struct_size; /* set by etx_completion_options_init */
    float max_distance;   /* of a hit from the helix: the sum of squares of both
                           * residuals in units of their 68 % quantiles;
                           * default 25 */
    float max_join;       /* the same of the end of another track, which is then
                           * joined; default 25, 0 joins none */
    float max_random;     /* unrelated hits that are expected as near as the
                           * hit; default 0.2 */
} etx_completion_options;

/* Set every field of an options struct of struct_size bytes to its default;
 * errors as etx_label_options_init. */
ETX_API ETX_MUST_CHECK etx_status etx_completion_options_init(
    etx_completion_options *options, size_t struct_size);

/* The model's own options; see etx_model_label_options. */
ETX_API ETX_MUST_CHECK etx_status etx_model_completion_options(
    etx_completion_options *out, const etx_model *model);

/* Tracks with the hits that they lack. From both ends of a track the helix
 * through its last three layers predicts the hits on the layers that follow.
 * Hits of no track are added, and tracks that continue each other are joined,
 * the most certain first, with windows that the model learned. Tracks are
 * numbered by smallest hit; a hit of several tracks counts for the first. The
 * event must be that of tracks and have modules (etx_event_set_modules), and
 * the model must have ETX_STAGE_COMPLETION, else ETX_ERR_ARGUMENT. options
 * NULL: the model's. Runs on the CPU; the same bits for any number of threads.
 */
ETX_API ETX_MUST_CHECK etx_status etx_complete_tracks(etx_tracks **out,
    const etx_tracks *tracks, etx_context *context, const etx_model *model,
    const etx_event *event, const etx_completion_options *options);

/* The whole pipeline: every stage of the model, its labels and, where the event
 * has modules, its completion. */
ETX_API ETX_MUST_CHECK etx_status etx_find_tracks(etx_tracks **out,
    etx_context *context, const etx_model *model, const etx_event *event);

/* ------------------------------------------------------------- tracks -- */

/* Tracks found. */
ETX_API int64_t etx_tracks_count(const etx_tracks *tracks);
/* Hits of the event the tracks were made from. */
ETX_API int64_t etx_tracks_n_hits(const etx_tracks *tracks);
/* Track t holds hits[offsets[t]] .. hits[offsets[t + 1] - 1], rows of the
 * event: offsets [count + 1], hits [offsets[count]]. */
ETX_API const int64_t *etx_tracks_offsets(const etx_tracks *tracks);
/* Rows of the event, track by track: [offsets[count]]. */
ETX_API const int32_t *etx_tracks_hits(const etx_tracks *tracks);
/* From labels [n_hits], -1 = none. */
ETX_API ETX_MUST_CHECK etx_status etx_tracks_from_labels(
    etx_tracks **out, int64_t n_hits, const int32_t *labels);
/* TrackML submission form: hit_id,track_id; track_id 0 = none. A path ending
 * in .gz is compressed. */
ETX_API ETX_MUST_CHECK etx_status etx_tracks_write_csv(
    const etx_tracks *tracks, const etx_event *event, const char *path);
/* Hits of the file that the event lacks are ETX_ERR_FORMAT; hits of the event
 * that the file lacks have no track. */
ETX_API ETX_MUST_CHECK etx_status etx_tracks_read_csv(
    etx_tracks **out, const etx_event *event, const char *path);
/* Release it; NULL is fine. */
ETX_API void etx_tracks_free(etx_tracks *tracks);

#ifdef __cplusplus
}
#endif

#endif
