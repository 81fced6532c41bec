/* exatrkx/exatrkx.h -- find the tracks of a collider event.
 *
 * The pipeline (Exa.TrkX; Ju et al., Eur. Phys. J. C 81, 876 (2021),
 * arXiv:2103.06995): a network embeds the hits in a learned space, hits closer
 * than a radius are joined by edges, a filter network removes most false edges,
 * a graph neural network scores the others, and connected hits become tracks.
 *
 * Rules for all functions
 *   Errors     A call that can fail returns an etx_status: ETX_OK or a negative
 *              value. After an error the outputs are as they were, and
 *              etx_last_error() says what, which, value and bound. Not repeated
 *              below are ETX_ERR_ARGUMENT for a required pointer that is NULL,
 *              a number that is not finite or out of its stated bounds and
 *              objects of different hits, ETX_ERR_LIMIT for a count of 2^31 or
 *              more and ETX_ERR_MEMORY for a failed allocation.
 *   Ownership  The caller frees what a call wrote to `out` with the
 *              etx_..._free of its type, which accepts NULL. Getters return
 *              borrowed pointers, valid until the object is changed or freed;
 *              given NULL they return 0 or NULL.
 *   Threads    An etx_model and an etx_detector are immutable and may be shared
 *              by threads. A context runs one call at a time. Any other object
 *              is used by one thread at a time; several threads may read it
 *              while none changes it.
 *   Shapes     Arrays are row-major and contiguous, [rows, columns]. Positions
 *              are in mm, momenta in GeV, angles in rad.
 *   Structs    Structs that may grow start with struct_size. Fill options with
 *              etx_..._init(&options, sizeof options), then change fields; set
 *              the struct_size of a report to its sizeof.
 *   Arguments  Outputs first, then the object, inputs, options; the count of an
 *              input array before it, of one that is written after it.
 *   Strings    End with 0. Text is UTF-8 but for what it quotes of a file or
 *              path; a path goes to the operating system as it is.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EXATRKX_H
#define ETX_EXATRKX_H

#include <stddef.h>
#include <stdint.h>

#include <exatrkx/version.h>

#if defined(__GNUC__)
/* Exported by the shared library. */
#define ETX_API __attribute__((visibility("default")))
/* The compiler warns where the caller ignores the returned status. */
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

#define ETX_OK              0    /* success */
#define ETX_ERR_ARGUMENT    (-1) /* invalid argument */
#define ETX_ERR_MEMORY      (-2) /* an allocation failed */
#define ETX_ERR_IO          (-3) /* a call of the operating system failed */
#define ETX_ERR_FORMAT      (-4) /* invalid content of a file */
#define ETX_ERR_UNSUPPORTED (-5) /* valid, but not supported by this build */
#define ETX_ERR_DEVICE      (-6) /* the device or its driver failed */
#define ETX_ERR_LIMIT       (-7) /* above a stated bound */
#define ETX_ERR_CANCELLED   (-8) /* stopped by the caller's cancel callback */
#define ETX_ERR_RANK        (-9) /* another rank failed (dist.h) */

/* "MAJOR.MINOR.PATCH" of the loaded library. Static storage. */
ETX_API const char *etx_version(void);

/* "ETX_OK", "ETX_ERR_IO", ...; "unknown" for other values. Static storage. */
ETX_API const char *etx_status_name(etx_status status);

/* Message of the last failed call on this thread, valid until the next call
 * that fails there. Read it only after a failure: as with errno, a call that
 * succeeds does not clear it. Never NULL. */
ETX_API const char *etx_last_error(void);

/* Set this thread's message; the first 511 bytes of text are kept. For
 * callbacks and libraries on top of this one, and to carry a message from one
 * thread to another. */
ETX_API void etx_set_last_error(const char *text);

/* For the calls of this thread that have no context, as those that read and
 * write files, learn and evaluate: cancel(user) is polled every few
 * milliseconds, on this thread and by the rules of etx_context_options.cancel;
 * non-zero ends the call with ETX_ERR_CANCELLED. Calls with a context may poll
 * it, too; calls that it makes do not. NULL (the default): never polled. */
ETX_API void etx_set_cancel(int32_t (*cancel)(void *user), void *user);

/* 1 when the callback of this thread ends its call, which is that of the
 * context while a trainer or a part of a graph is computed: for functions of
 * the caller that wait in it, as an exchange between ranks. */
ETX_API int32_t etx_is_cancelled(void);

/* Replace malloc and free in this process for later allocations of the library;
 * zlib keeps its own. Call it from one thread, before any other function of the
 * library. allocate returns memory aligned for any type, or NULL. NULL for both
 * functions restores malloc and free. ETX_ERR_ARGUMENT when only one is NULL.
 */
ETX_API ETX_MUST_CHECK etx_status etx_set_allocator(
    void *(*allocate)(size_t size, void *user),
    void (*release)(void *memory, void *user), void *user);

/* ------------------------------------------------------------ context -- */

/* Device, threads, scratch memory and caches for calls. One per worker thread
 * of the host program. */
typedef struct etx_context etx_context;

#define ETX_DEVICE_CPU  0 /* the processor */
#define ETX_DEVICE_CUDA 1 /* an NVIDIA GPU */

/* Highest instruction set that the CPU backend may use; what the processor
 * lacks is ETX_ERR_UNSUPPORTED. */
#define ETX_CPU_BEST   0 /* the highest that the processor has */
#define ETX_CPU_REF    1 /* the plain C reference operators */
#define ETX_CPU_AVX2   2 /* x86-64: AVX2 and FMA */
#define ETX_CPU_AVX512 3 /* x86-64: AVX-512 F, DQ, BW and VL */
#define ETX_CPU_NEON   4 /* aarch64 */

/* Arithmetic precision of the networks at inference. */
#define ETX_PRECISION_BEST    0 /* float16 on a device, float32 on the CPU */
#define ETX_PRECISION_FLOAT32 1 /* float32 operands, storage and sums */
/* float16 operands and storage, float32 sums; on a device only */
#define ETX_PRECISION_FLOAT16 2
/* operands of products in bfloat16, storage and sums in float32; on a CPU with
 * AVX512_BF16, or with ETX_CPU_REF, only */
#define ETX_PRECISION_BFLOAT16 3
/* operands of products rounded to TF32 (11 bits, the range of float32), storage
 * and sums in float32; on a device only */
#define ETX_PRECISION_TF32 4
/* operands of products in int16, inputs of 13 bits, with a scale for each row
 * of inputs and each output; storage float32, sums exact; with AVX2,
 * AVX512_VNNI or ETX_CPU_REF only */
#define ETX_PRECISION_INT16 5

/* Bound on the edges of a graph without memory_limit: more edges than this per
 * point and more than ETX_MAX_FREE_EDGES are ETX_ERR_LIMIT. */
#define ETX_MAX_EDGES_PER_POINT 1000
/* Graphs with fewer edges than this are always allowed: 2^24. */
#define ETX_MAX_FREE_EDGES 16777216

/* Context options. */
typedef struct etx_context_options {
    uint32_t struct_size;    /* set by etx_context_options_init */
    int32_t device;          /* ETX_DEVICE_; default CPU */
    int32_t device_index;    /* which GPU; default 0; not read on the CPU */
    int32_t n_threads;       /* 1..256, default 1: the calling thread alone */
    int32_t cpu_level;       /* ETX_CPU_; default ETX_CPU_BEST */
    int32_t cancel_interval; /* milliseconds between polls of cancel at least;
                              * 0 (default): polled at every occasion */
    int64_t memory_limit;    /* bytes of scratch memory, and of the edges of a
                              * graph at 32 bytes each; 0 (default): no limit but
                              * ETX_MAX_EDGES_PER_POINT. On a device the limit
                              * holds for its memory and, once more, for the
                              * host's. Not counted: the CPU's caches of folded
                              * weights, at most four times the parameters of
                              * the last 16 networks */
    void *stream;            /* NULL (default), or the caller's CUDA stream, of
                              * device_index (else ETX_ERR_ARGUMENT), which
                              * outlives the context and is not capturing;
                              * ETX_ERR_UNSUPPORTED on the CPU */
    /* Polled on the calling thread, under the default floating-point
     * environment, between stages, between operators and, on the CPU, inside
     * them, while other threads work, too. Non-zero ends the call with
     * ETX_ERR_CANCELLED. It must return: no C++ exception, no longjmp, and no
     * call with the same context. NULL: never polled. */
    int32_t (*cancel)(void *user);
    void *cancel_user;   /* argument of cancel */
    int32_t precision;   /* ETX_PRECISION_; default ETX_PRECISION_BEST.
                          * Training is float32 in any case, and but for
                          * BFLOAT16, INT16 and TF32 the embedding, hence the
                          * graph. BFLOAT16 and INT16 are ETX_ERR_UNSUPPORTED
                          * where the CPU lacks them, FLOAT16 and TF32 on every
                          * CPU. In float16 values beyond 65504 become infinite;
                          * scores that are not finite end the call with
                          * ETX_ERR_ARGUMENT */
    int32_t keep_graphs; /* 1: graphs that calls with this context create or
                          * score keep a copy on the device, for
                          * etx_graph_src_device and later calls. 2: graphs that
                          * they create are there alone; calls that need arrays
                          * on the host refuse them. 0 (default) is the only
                          * value on the CPU */
} etx_context_options;

/* Defaults for all fields; struct_size is sizeof *options. ETX_ERR_ARGUMENT
 * when it is below the size of the struct's first release, or above 4096. */
ETX_API ETX_MUST_CHECK etx_status etx_context_options_init(
    etx_context_options *options, size_t struct_size);

/* options may be NULL: one CPU thread. ETX_ERR_UNSUPPORTED for a device that
 * this build does not support, ETX_ERR_DEVICE for one that the machine lacks.
 */
ETX_API ETX_MUST_CHECK etx_status etx_context_create(
    etx_context **out, const etx_context_options *options);
/* Free it; no call may be using it. NULL is allowed. */
ETX_API void etx_context_free(etx_context *context);

/* Stages, in the order of the pipeline. */
#define ETX_STAGE_FEATURES   0 /* node features of all networks */
#define ETX_STAGE_EMBEDDING  1 /* hits to points of the learned space */
#define ETX_STAGE_GRAPH      2 /* points to candidate edges */
#define ETX_STAGE_FILTER     3 /* remove most false edges */
#define ETX_STAGE_GNN        4 /* score the remaining edges */
#define ETX_STAGE_LABEL      5 /* scored edges to tracks */
#define ETX_STAGE_COMPLETION 6 /* add missing hits to tracks */
#define ETX_STAGE_FIRST_PASS 7 /* long tracks, before the networks */
#define ETX_N_STAGES         8 /* number of stages */

/* Time, operations and memory of one stage. */
typedef struct etx_stage_timing {
    uint32_t struct_size; /* sizeof(etx_stage_timing), set by the caller */
    int32_t reserved;     /* 0 */
    double seconds;       /* wall time */
    double gflop;         /* 1e9 multiplications and additions in networks */
    int64_t peak_bytes;   /* highest memory use during the stage: of the library
                           * in this process, other contexts included; on a
                           * device that of this context there */
    int64_t n_edges;      /* edges that the stage returned, 0 if it has none */
} etx_stage_timing;

/* Timing of one stage (ETX_STAGE_) in this context since the last call that
 * begins with hits (etx_embed, etx_graph_build, etx_graph_build_module_map,
 * etx_find_long_tracks, etx_find_tracks, etx_find_tracks_begin,
 * etx_find_tracks_batch): seconds and gflop are sums over its runs, peak_bytes
 * is the largest, n_edges that of the last run, in a batch the sum over its
 * events; zeros when it did not run. The caller sets out->struct_size. */
ETX_API ETX_MUST_CHECK etx_status etx_context_timing(
    etx_stage_timing *out, const etx_context *context, int32_t stage);

/* "features", "embedding", ...; "unknown" outside 0..ETX_N_STAGES-1. */
ETX_API const char *etx_stage_name(int32_t stage);

/* -------------------------------------------------------------- model -- */

/* A trained pipeline, or some of its stages: a safetensors file with weights
 * and the metadata etx.config (docs/model_format.md). Immutable, may be shared
 * by threads; free it when no call uses it. */
typedef struct etx_model etx_model;

/* Read a model file. ETX_ERR_IO when it cannot be read, ETX_ERR_FORMAT when its
 * content is not a valid model, ETX_ERR_LIMIT above 4 GiB, for a network of
 * more than 2^26 parameters and for a parameter beyond +-1e6. */
ETX_API ETX_MUST_CHECK etx_status etx_model_load(
    etx_model **out, const char *path);
/* The same from data [size], the bytes of a model file, which are copied. */
ETX_API ETX_MUST_CHECK etx_status etx_model_load_memory(
    etx_model **out, const void *data, size_t size);
/* Write a model file atomically: to a temporary file in the same folder, which
 * is synchronised and renamed. ETX_ERR_IO; ETX_ERR_LIMIT for what could not be
 * read. */
ETX_API ETX_MUST_CHECK etx_status etx_model_save(
    const etx_model *model, const char *path);
/* The model's etx.config as JSON text; owned by the model. "" for NULL. */
ETX_API const char *etx_model_describe(const etx_model *model);
/* 1 when the model has stage, which is ETX_STAGE_EMBEDDING, ETX_STAGE_GRAPH (a
 * module map), ETX_STAGE_FILTER, ETX_STAGE_GNN, ETX_STAGE_COMPLETION or
 * ETX_STAGE_FIRST_PASS; else 0. */
ETX_API int32_t etx_model_has_stage(const etx_model *model, int32_t stage);
/* Free it; NULL is allowed. */
ETX_API void etx_model_free(etx_model *model);

/* ----------------------------------------------------------- detector -- */

/* Geometry of the modules: rotations, thickness and pitches, as in TrackML's
 * detectors.csv. Immutable, may be shared by threads. */
typedef struct etx_detector etx_detector;

/* Read a detectors.csv[.gz]. ETX_ERR_IO, ETX_ERR_FORMAT. */
ETX_API ETX_MUST_CHECK etx_status etx_detector_read(
    etx_detector **out, const char *path);
/* Number of modules. */
ETX_API int64_t etx_detector_n_modules(const etx_detector *detector);
/* Free it; NULL is allowed. */
ETX_API void etx_detector_free(etx_detector *detector);

/* -------------------------------------------------------------- event -- */

/* The hits of one collision, with optional cell features and truth. A
 * coordinate or a feature beyond +-1e9 is ETX_ERR_LIMIT, a coordinate in a file
 * ETX_ERR_FORMAT. */
typedef struct etx_event etx_event;

/* positions [n_hits, 3]: x, y, z in mm, finite. hit_ids [n_hits]: unique and
 * positive, or NULL for 1..n_hits. Both are copied. ETX_ERR_LIMIT above 2^31 -
 * 1 hits. */
ETX_API ETX_MUST_CHECK etx_status etx_event_create(etx_event **out,
    int64_t n_hits, const int64_t *hit_ids, const float *positions);

/* The same with positions in memory of the device of context, which is not on
 * the CPU (ETX_ERR_ARGUMENT, as for other memory). The call reads them in the
 * order of stream (a cudaStream_t), on which they are written, and waits;
 * stream NULL: the legacy default stream of that device, or the stream of the
 * context. They are copied to the host. They also stay the caller's, are read
 * in place by calls with any context on that device, and must be there
 * unchanged until the event is freed. */
ETX_API ETX_MUST_CHECK etx_status etx_event_create_device(etx_event **out,
    etx_context *context, int64_t n_hits, const int64_t *hit_ids,
    const float *positions, void *stream);

/* Read PREFIX-hits.csv[.gz] and, where they exist, PREFIX-cells (for cell
 * features; only with a detector, which may be NULL), and PREFIX-truth with
 * PREFIX-particles. ETX_ERR_IO, ETX_ERR_FORMAT, ETX_ERR_LIMIT for a file of
 * more than 512 MiB of text, ETX_ERR_ARGUMENT for a hit with cells in a module
 * that the detector lacks. */
ETX_API ETX_MUST_CHECK etx_status etx_event_read_trackml(
    etx_event **out, const char *prefix, const etx_detector *detector);

/* The same from files by name. cells (which needs detector) may be NULL, and so
 * may truth and particles, both or neither. */
ETX_API ETX_MUST_CHECK etx_status etx_event_read_trackml_files(etx_event **out,
    const char *hits, const char *cells, const char *truth,
    const char *particles, const etx_detector *detector);

/* Read scaled node features from a CSV file without header, one hit per row.
 * The first three are r, phi and z; positions are these times scales [3], in
 * mm, rad and mm per unit. ETX_ERR_IO, ETX_ERR_FORMAT, ETX_ERR_LIMIT for more
 * than 512 MiB of text. */
ETX_API ETX_MUST_CHECK etx_status etx_event_read_features(
    etx_event **out, const char *path, const float *scales);

/* Node features [n_hits, n_features], finite, scaled as the model expects;
 * copied. Networks read these instead of features computed from the hits. At
 * least one; ETX_ERR_LIMIT for more than 32 features. */
ETX_API ETX_MUST_CHECK etx_status etx_event_set_features(
    etx_event *event, int64_t n_features, const float *features);

/* The same with features in memory of the device of context: see
 * etx_event_create_device. They must be there until the event is freed or gets
 * other features. */
ETX_API ETX_MUST_CHECK etx_status etx_event_set_features_device(
    etx_event *event, etx_context *context, int64_t n_features,
    const float *features, void *stream);

/* Volume, layer and module [n_hits] of every hit, as in TrackML's hits.csv;
 * copied. */
ETX_API ETX_MUST_CHECK etx_status etx_event_set_modules(etx_event *event,
    const int32_t *volume_ids, const int32_t *layer_ids,
    const int32_t *module_ids);

/* Compute the nine cell features from charge deposits: hit [n_cells] is the row
 * of the hit, channel0 and channel1 [n_cells] are the channels, value [n_cells]
 * is the charge. A cell that is there again with the same hit, channels and
 * value counts once. Needs etx_event_set_modules before. */
ETX_API ETX_MUST_CHECK etx_status etx_event_set_cells(etx_event *event,
    int64_t n_cells, const int32_t *hit, const int32_t *channel0,
    const int32_t *channel1, const float *value, const etx_detector *detector);

/* Cell features [n_hits, 9] that the caller computed, in the order of
 * etx_event_cell_features; finite; copied. */
ETX_API ETX_MUST_CHECK etx_status etx_event_set_cell_features(
    etx_event *event, const float *cell_features);

/* Positions [n_hits, 2, 3] of the two clusters of every hit: x, y, z in mm,
 * finite; copied. A strip space point has one on each side of its module; a hit
 * of one cluster has its position twice. */
ETX_API ETX_MUST_CHECK etx_status etx_event_set_cluster_positions(
    etx_event *event, const float *positions);

/* A generated particle. */
typedef struct etx_particle {
    int64_t id;        /* positive; 0 stands for noise */
    float vertex[3];   /* x, y, z of its production, mm */
    float momentum[3]; /* px, py, pz at its production, GeV */
    int32_t charge;    /* units of e */
    int32_t n_hits;    /* as the file says, 0 where it does not */
} etx_particle;

/* Truth of simulation. particle_ids [n_hits]: the particle of every hit, 0 =
 * noise. weights [n_hits] of the TrackML score, or NULL for 1 / n_hits each.
 * particles [n_particles]: every id in particle_ids but 0; the event keeps them
 * sorted by id. All are copied. */
ETX_API ETX_MUST_CHECK etx_status etx_event_set_truth(etx_event *event,
    const int64_t *particle_ids, const float *weights, int64_t n_particles,
    const etx_particle *particles);

/* Hits of several particles, such as clusters that merged: a further particle
 * each. Call it after etx_event_set_truth, which sets the first particle and
 * removes the others. hits [n_shared] are rows of hits that are not noise,
 * particle_ids [n_shared] particles of the event; no particle has a hit twice.
 * The event keeps them by hit, then particle id. Evaluation counts a shared hit
 * for each of its particles; training takes the first. Both are copied. */
ETX_API ETX_MUST_CHECK etx_status etx_event_set_shared_hits(etx_event *event,
    int64_t n_shared, const int32_t *hits, const int64_t *particle_ids);

/* What in an event does not fit, as one line of text [text_bytes], empty where
 * all does: lengths or momenta in another unit, repeated hits and cells, cells
 * or truth of other hits, vertices in another unit; with a detector hits that
 * are not on their modules, modules that it lacks, a module with a crowd of
 * hits; with a model layers that it does not know, true tracks that bend as in
 * another field, first pass and completion, which need modules. Both may be
 * NULL. Text that does not fit is cut; 1024 bytes hold most. Nothing of this
 * keeps etx_find_tracks from running, all of it costs tracks. */
ETX_API ETX_MUST_CHECK etx_status etx_event_check(char *text,
    int64_t text_bytes, const etx_event *event, const etx_detector *detector,
    const etx_model *model);

/* Number of hits. */
ETX_API int64_t etx_event_n_hits(const etx_event *event);
/* [n_hits]. */
ETX_API const int64_t *etx_event_hit_ids(const etx_event *event);
/* [n_hits, 3] x, y, z in mm. */
ETX_API const float *etx_event_positions(const etx_event *event);
/* [n_hits], 0 = noise; NULL without truth. */
ETX_API const int64_t *etx_event_particle_ids(const etx_event *event);
/* Number of particles, 0 without truth. */
ETX_API int64_t etx_event_n_particles(const etx_event *event);
/* [n_particles] sorted by id; NULL without truth. */
ETX_API const etx_particle *etx_event_particles(const etx_event *event);
/* Further particles of hits, 0 without. */
ETX_API int64_t etx_event_n_shared_hits(const etx_event *event);
/* [n_shared] rows of hits, ascending; NULL without. */
ETX_API const int32_t *etx_event_shared_hits(const etx_event *event);
/* [n_shared]; NULL without. */
ETX_API const int64_t *etx_event_shared_particle_ids(const etx_event *event);
/* [n_hits, 9] cell_count, cell_val, leta, lphi, lx, ly, lz, geta, gphi; NULL
 * without cells. */
ETX_API const float *etx_event_cell_features(const etx_event *event);
/* [n_hits, 2, 3] x, y, z in mm; NULL where they are not known. */
ETX_API const float *etx_event_cluster_positions(const etx_event *event);
/* [n_hits]; NULL without modules. */
ETX_API const int32_t *etx_event_volume_ids(const etx_event *event);
/* [n_hits]; NULL without modules. */
ETX_API const int32_t *etx_event_layer_ids(const etx_event *event);
/* [n_hits]; NULL without modules. */
ETX_API const int32_t *etx_event_module_ids(const etx_event *event);
/* [n_hits] in the TrackML score; NULL without truth. */
ETX_API const float *etx_event_weights(const etx_event *event);
/* Columns of etx_event_features, 0 without. */
ETX_API int64_t etx_event_n_features(const etx_event *event);
/* [n_hits, n_features] the caller's own; NULL without. */
ETX_API const float *etx_event_features(const etx_event *event);
/* Free it; NULL is allowed. */
ETX_API void etx_event_free(etx_event *event);

/* ------------------------------------------------------------- stages -- */

typedef struct etx_graph etx_graph;   /* exatrkx/graph.h */
typedef struct etx_tracks etx_tracks; /* below */

/* Embed the hits: *n_dim is the dimension of the learned space, points
 * [n_hits, *n_dim] are written to memory of capacity floats (ETX_ERR_ARGUMENT
 * when there are more). points may be NULL: only *n_dim is set.
 * ETX_ERR_ARGUMENT, in this and the following stages, when the model lacks the
 * stage or the event features of the model. */
ETX_API ETX_MUST_CHECK etx_status etx_embed(int64_t *n_dim, float *points,
    int64_t capacity, etx_context *context, const etx_model *model,
    const etx_event *event);

/* The candidate edges: of the module map of the model where it has one, else of
 * its embedding and radius. ETX_ERR_LIMIT when the graph exceeds the model's or
 * the context's bound. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_build(etx_graph **out,
    etx_context *context, const etx_model *model, const etx_event *event);

/* A new graph of the edges whose filter scores are above the model's cut, at
 * most filter.max_edges_per_hit edges per hit, highest scores first. Its scores
 * are the filter's; graph is unchanged. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_filter(etx_graph **out,
    const etx_graph *graph, etx_context *context, const etx_model *model,
    const etx_event *event);

/* Score every edge with the model's graph neural network; the scores of graph
 * are replaced. A network with the edge feature score_logit reads those that
 * graph has: a second call gives other scores than the first. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_score(etx_graph *graph,
    etx_context *context, const etx_model *model, const etx_event *event);

#define ETX_LABEL_COMPONENTS  0 /* connected components of edges above a cut */
#define ETX_LABEL_MUTUAL_BEST 1 /* edges that are best at both their ends */
#define ETX_LABEL_WALKTHROUGH 2 /* longest scored paths outward */
#define ETX_LABEL_BEST_FIRST  3 /* smooth chains of hits, best edge first */

/* How tracks are built from a scored graph. */
typedef struct etx_label_options {
    uint32_t struct_size; /* set by etx_label_options_init */
    int32_t method;       /* ETX_LABEL_; default components */
    float cut;        /* edges with a score above it are used; in [0, 1] as the
                       * scores, default 0.5 */
    int32_t min_hits; /* smaller tracks are dropped; at least 1, default 3 */
    /* For ETX_LABEL_BEST_FIRST only. Chains of hits are joined in passes:
     * where sure_cut is above strong_cut, edges with a score above sure_cut by
     * score, then others where the link is smooth and one chain has
     * support_hits hits; edges above strong_cut by score; others that are
     * smooth and supported. A link is smooth when
     * (dc / max_curvature_change)^2 + (dp / max_polar_change)^2 <= 1, with dc
     * the spread of the transverse curvatures at the link in 1/m and dp the
     * sine of the change of polar angle; a limit of 0 is no limit. */
    float sure_cut;             /* in [0, 1], default 0; raised to strong_cut
                                 * if below */
    float strong_cut;           /* in [0, 1], default 0 */
    int32_t support_hits;       /* at least 1; default 3 */
    float max_curvature_change; /* 1/m, default 0 */
    float max_polar_change;     /* in [0, 1], default 0 */
} etx_label_options;

/* Defaults for all fields; struct_size is sizeof *options. ETX_ERR_ARGUMENT
 * when it is below the size of the struct's first release, or above 4096. */
ETX_API ETX_MUST_CHECK etx_status etx_label_options_init(
    etx_label_options *options, size_t struct_size);

/* The label options of the model. Call etx_label_options_init before: at most
 * out->struct_size bytes are written. ETX_ERR_UNSUPPORTED when the model sets
 * options beyond them. */
ETX_API ETX_MUST_CHECK etx_status etx_model_label_options(
    etx_label_options *out, const etx_model *model);

/* Group the hits of a scored graph into tracks, numbered by smallest hit. event
 * gives the positions for ETX_LABEL_WALKTHROUGH and ETX_LABEL_BEST_FIRST and
 * may be NULL for the other methods. options may be NULL: defaults.
 * ETX_ERR_ARGUMENT for edges without scores. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_tracks(etx_tracks **out,
    const etx_graph *graph, etx_context *context, const etx_event *event,
    const etx_label_options *options);

/* The same as labels [n_nodes]: the number of the track of each hit, -1 = none.
 */
ETX_API ETX_MUST_CHECK etx_status etx_graph_label(int32_t *labels,
    const etx_graph *graph, etx_context *context, const etx_event *event,
    const etx_label_options *options);

/* How certain completion has to be that a hit belongs to a track, and which new
 * tracks it finds. Distances are sums of squares of both residuals in units of
 * their 68 % quantiles. */
typedef struct etx_completion_options {
    uint32_t struct_size; /* set by etx_completion_options_init */
    float max_distance;   /* of a hit from the helix; default 64 */
    float max_join;       /* of the end of another track from the helix, to join
                           * both; default 25, 0 joins none */
    float max_random;     /* expected number of unrelated hits at least as near
                           * as the hit; default 0.3 */
    int32_t min_layers;   /* of a new track, at most 20; default 5, 0: no new
                           * tracks */
    float min_pt;         /* GeV, about, of a new track; at least 0.01, default
                           * 0.3 */
    int32_t passes;       /* how often etx_find_tracks runs the networks and
                           * labels, again on the hits that completion leaves;
                           * 1 to 8, default 1 */
} etx_completion_options;

/* Set every field of an options struct of struct_size bytes to its default;
 * errors as etx_label_options_init. */
ETX_API ETX_MUST_CHECK etx_status etx_completion_options_init(
    etx_completion_options *options, size_t struct_size);

/* The model's own options. Call etx_completion_options_init before, as it says
 * how many bytes are written; errors as of that. */
ETX_API ETX_MUST_CHECK etx_status etx_model_completion_options(
    etx_completion_options *out, const etx_model *model);

/* Add missing hits to tracks. From both ends of a track the helix through the
 * hits on its last three layers predicts the hits on the layers that follow.
 * Hits of no track are added, and tracks that continue each other are joined,
 * the most certain first; the windows are learned from true tracks
 * (etx_model_learn_completion). Then tracks get hits that they lack between
 * theirs, and up to two more on each of their layers, of other modules. Then
 * new tracks are sought among the hits that are left: helices that lead
 * anywhere, as of displaced particles, from three hits on layers that follow
 * each other. Method: as the winners of the TrackML challenge (Amrouche et al.,
 * arXiv:1904.06778, arXiv:2105.01160). *out: tracks numbered by smallest hit,
 * owned by the caller; a hit of several tracks counts for the first.
 * ETX_ERR_ARGUMENT when the model has no ETX_STAGE_COMPLETION, or event has no
 * modules (etx_event_set_modules) or other hits than tracks. options NULL: the
 * model's. Runs on the CPU; the same bits for any number of threads. */
ETX_API ETX_MUST_CHECK etx_status etx_complete_tracks(etx_tracks **out,
    const etx_tracks *tracks, etx_context *context, const etx_model *model,
    const etx_event *event, const etx_completion_options *options);

/* Which long tracks are found before the networks. Distances as in
 * etx_completion_options. */
typedef struct etx_first_pass_options {
    uint32_t struct_size; /* set by etx_first_pass_options_init */
    int32_t min_layers;   /* of a track, 3 to 20; default 7 */
    float min_pt;         /* GeV, about; at least 0.01, default 0.18 */
    float max_distance;   /* of a hit from the helix; default 20 */
    float max_random;     /* expected number of unrelated hits at least as near
                           * as the hit; default 0.1 */
    int32_t min_event_hits; /* etx_find_tracks has no first pass in events of
                             * fewer hits; default 0 */
} etx_first_pass_options;

/* Set every field of an options struct of struct_size bytes to its default;
 * errors as etx_label_options_init. */
ETX_API ETX_MUST_CHECK etx_status etx_first_pass_options_init(
    etx_first_pass_options *options, size_t struct_size);

/* The model's own options, after etx_first_pass_options_init: see
 * etx_model_completion_options. */
ETX_API ETX_MUST_CHECK etx_status etx_model_first_pass_options(
    etx_first_pass_options *out, const etx_model *model);

/* Long tracks from the beam line, without a network: seeds of three hits grow
 * outward along helices, all compete by hits and distance, and the hits of the
 * best are removed; the windows are learned from true tracks
 * (etx_model_learn_first_pass). Method: as Mikado (Amrouche et al.,
 * arXiv:2105.01160). *out: tracks numbered by smallest hit, owned by the
 * caller. ETX_ERR_ARGUMENT when the model has no ETX_STAGE_FIRST_PASS, or event
 * has no modules (etx_event_set_modules). options NULL: the model's. Runs on
 * the CPU; the same bits for any number of threads. */
ETX_API ETX_MUST_CHECK etx_status etx_find_long_tracks(etx_tracks **out,
    etx_context *context, const etx_model *model, const etx_event *event,
    const etx_first_pass_options *options);

/* The whole pipeline: every stage of the model, then tracks with the model's
 * label options and, when the event has modules, its completion. With a first
 * pass, and modules, the networks see the hits that it leaves. */
ETX_API ETX_MUST_CHECK etx_status etx_find_tracks(etx_tracks **out,
    etx_context *context, const etx_model *model, const etx_event *event);

/* Both halves of etx_find_tracks, for a host that runs the networks between
 * them, stage by stage. First what comes before these: labels [n_hits] gets the
 * tracks of the first pass, 0 .. *n_tracks - 1, and -1 for the hits that are
 * left to the networks, all where there is no first pass. */
ETX_API ETX_MUST_CHECK etx_status etx_find_tracks_begin(int32_t *labels,
    int64_t *n_tracks, etx_context *context, const etx_model *model,
    const etx_event *event);
/* Then what comes after them: labels [n_hits], -1 .. n_hits - 1, have the
 * networks' tracks, too, numbered from n_tracks on; tracks of the first pass
 * may have been dropped (-1). *out is bit by bit that of etx_find_tracks where
 * none was and the networks saw an event of the hits left, in their order. Both
 * halves run on the CPU, but for the networks of further passes
 * (etx_completion_options). */
ETX_API ETX_MUST_CHECK etx_status etx_find_tracks_end(etx_tracks **out,
    const int32_t *labels, int64_t n_tracks, etx_context *context,
    const etx_model *model, const etx_event *event);

/* etx_find_tracks of n_events events: out [n_events] as that gives them, bit by
 * bit, each owned by the caller; unchanged on failure. On the CPU the threads
 * of the context run one event each, for the throughput of small events: with n
 * threads that takes n times the memory of one event, each thread having its
 * share of memory_limit. On a device small events run together. Timings of the
 * context are sums over the events. cancel of the context is polled on the
 * calling thread. An error is that of the first event that has one. */
ETX_API ETX_MUST_CHECK etx_status etx_find_tracks_batch(etx_tracks **out,
    etx_context *context, const etx_model *model, int64_t n_events,
    const etx_event *const *events);

/* ------------------------------------------------------------- tracks -- */

/* Number of tracks. */
ETX_API int64_t etx_tracks_count(const etx_tracks *tracks);
/* Number of hits of the event. */
ETX_API int64_t etx_tracks_n_hits(const etx_tracks *tracks);
/* [count + 1]: track t has the hits hits[offsets[t]] .. hits[offsets[t + 1] -
 * 1], with hits from etx_tracks_hits. */
ETX_API const int64_t *etx_tracks_offsets(const etx_tracks *tracks);
/* [offsets[count]] rows of the event, track after track. */
ETX_API const int32_t *etx_tracks_hits(const etx_tracks *tracks);
/* [count] track_id of each track in the file that it was read from; tracks that
 * were selected or resolved from those keep theirs. NULL: of no file, and
 * etx_tracks_write_csv numbers them 1, 2, ... */
ETX_API const int64_t *etx_tracks_ids(const etx_tracks *tracks);
/* Replace them by ids [count], copied, not negative and each once; NULL removes
 * them. */
ETX_API ETX_MUST_CHECK etx_status etx_tracks_set_ids(
    etx_tracks *tracks, const int64_t *ids);
/* Tracks from labels [n_hits]: hits with the same label, 0 or more, are a
 * track, -1 = none. Tracks are numbered by smallest hit, not by label. */
ETX_API ETX_MUST_CHECK etx_status etx_tracks_from_labels(
    etx_tracks **out, int64_t n_hits, const int32_t *labels);
/* Tracks from lists of hits, which may share hits: track t has the rows
 * hits[offsets[t]] .. hits[offsets[t + 1] - 1] of an event of n_hits; offsets
 * [n_tracks + 1], copied. ETX_ERR_ARGUMENT when offsets do not start at 0 or
 * fall, a row is not in 0 .. n_hits - 1 or occurs twice in one track. */
ETX_API ETX_MUST_CHECK etx_status etx_tracks_from_lists(etx_tracks **out,
    int64_t n_hits, int64_t n_tracks, const int64_t *offsets,
    const int32_t *hits);
/* Write CSV in TrackML's submission format: hit_id,track_id with track_id 0 =
 * none (-1 where a track has the id 0); compressed when path ends in .gz. A hit
 * of several tracks has a row for each, which the challenge does not allow.
 * ETX_ERR_IO. */
ETX_API ETX_MUST_CHECK etx_status etx_tracks_write_csv(
    const etx_tracks *tracks, const etx_event *event, const char *path);
/* Read such a file. A hit that the event lacks, or that occurs twice in one
 * track or next to a row without a track, is ETX_ERR_FORMAT; hits that the file
 * lacks have no track. In a file with -1 for none, 0 is a track. Of a file with
 * a column event_id, rows with the number of an event read from
 * eventNUMBER-hits.csv are read; several events where it has no number, and no
 * row of its number, are ETX_ERR_FORMAT. */
ETX_API ETX_MUST_CHECK etx_status etx_tracks_read_csv(
    etx_tracks **out, const etx_event *event, const char *path);
/* Free it; NULL is allowed. */
ETX_API void etx_tracks_free(etx_tracks *tracks);

#ifdef __cplusplus
}
#endif

#endif
