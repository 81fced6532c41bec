/* examples/etx-seeds.c -- triplets of hits to start a track finder from.
 *
 * Runs the pipeline of a model up to its graph network, joins the edges to
 * triplets and keeps the ones of high score. With truth it says how many of
 * them are of one particle and how many particles have one.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <exatrkx/eval.h>
#include <exatrkx/graph.h>

#include "program.h"
#include "table.h"

#define MIN_HITS 5 /* of a particle that should have a seed */
#define MAX_ETA  4.0

static const char summary[] =
    "Find seeds: triplets of hits with a score above the cut. A seed is pure\n"
    "when its hits are one particle's; efficiency is the share of charged\n"
    "particles with |eta| < 4, 5 hits and the wanted pT that have a pure seed.";

struct options {
    const char *model, *out, *detector, *device;
    struct program_list events;
    int64_t n_threads, max_triplets;
    double cut, purity, min_pt;
};

struct seed {
    float score;
    int32_t is_pure;
};

/* Of all events. */
struct seeds {
    int64_t n, capacity;
    struct seed *seed;
    int64_t n_particles, particle_capacity;
    float *best; /* [n_particles] highest score of a pure seed, or -1 */
};

/* What the stages of one event leave. */
struct work {
    etx_context *context;
    etx_model *model;
    etx_detector *detector;
    etx_event *event;
    etx_graph *graph, *triplets;
};

static void read_options(struct options *o, int argc, char **argv)
{
    const struct program_option table[] = {
        PROGRAM_MODEL_OPTION(&o->model),
        {"event", "PREFIX", "event in TrackML form, or a folder; repeatable",
            .list = &o->events},
        {"cut", "C", "lower bound on the score of a seed (default 0.5)",
            .number = &o->cut, .low = 0.0, .high = 1.0},
        {"purity", "P", "use the lowest cut above C with this purity",
            .number = &o->purity, .low = 0.0, .high = 1.0},
        {"min-pt", "GEV", "lower bound on pT of particles (default 0.5)",
            .number = &o->min_pt, .low = 0.0, .high = 1e6},
        {"max-triplets", "N", "bound on triplets per event (default 50000000)",
            .integer = &o->max_triplets, .low = 0, .high = 2147483647.0},
        {"out", "FILE",
            "hit_id_1,hit_id_2,hit_id_3,score of the seeds of one event",
            .text = &o->out},
        PROGRAM_DETECTOR_OPTION(&o->detector),
        PROGRAM_THREADS_OPTION(&o->n_threads),
        PROGRAM_DEVICE_OPTION(&o->device),
    };

    program_parse(
        argc, argv, summary, table, (int32_t)(sizeof table / sizeof *table));
    if (o->events.count == 0)
        exit(program_usage("--event is missing (see --help)"));
}

/* Capacity for one more of count elements of `size` bytes. */
static void *grow(void *array, int64_t count, int64_t *capacity, size_t size)
{
    void *larger = NULL;

    if (count < *capacity)
        return array;
    *capacity = 2 * *capacity + 1024;
    larger = program_allocate(*capacity, size);
    if (count > 0)
        memcpy(larger, array, (size_t)count * size);
    free(array);
    return larger;
}

static etx_status run_stages(struct work *w, const struct options *o)
{
    etx_graph *kept = NULL;
    etx_status status =
        etx_graph_build(&w->graph, w->context, w->model, w->event);

    if (status == ETX_OK && etx_model_has_stage(w->model, ETX_STAGE_FILTER)) {
        status =
            etx_graph_filter(&kept, w->graph, w->context, w->model, w->event);
        if (status == ETX_OK) {
            etx_graph_free(w->graph);
            w->graph = kept;
        }
    }
    if (status == ETX_OK)
        status = etx_graph_score(w->graph, w->context, w->model, w->event);
    if (status == ETX_OK)
        status = etx_graph_to_triplets(
            &w->triplets, w->graph, w->context, o->max_triplets);
    if (status == ETX_OK)
        status = etx_graph_score_triplets(
            w->triplets, w->graph, w->context, w->model, w->event);
    return status;
}

static void free_event(struct work *w)
{
    etx_graph_free(w->triplets);
    etx_graph_free(w->graph);
    etx_event_free(w->event);
    w->triplets = w->graph = NULL;
    w->event = NULL;
}

/* The three hits of triplet t. */
static void find_hits(int32_t hits[3], const struct work *w, int64_t t)
{
    const int32_t *src = etx_graph_src(w->graph);
    const int32_t *dst = etx_graph_dst(w->graph);
    const int32_t inner = etx_graph_src(w->triplets)[t];
    const int32_t outer = etx_graph_dst(w->triplets)[t];

    hits[0] = src[inner];
    hits[1] = dst[inner];
    hits[2] = dst[outer];
}

static int is_wanted(
    const etx_particle *particle, int64_t n_hits, double min_pt)
{
    const double pt =
        hypot((double)particle->momentum[0], (double)particle->momentum[1]);

    return particle->charge != 0 && n_hits >= MIN_HITS && pt > min_pt &&
           fabs(asinh((double)particle->momentum[2] / pt)) < MAX_ETA;
}

/* Append the wanted particles with the best of their pure seeds. */
static void add_particles(struct seeds *seeds, const etx_event *event,
    const float *best, double min_pt)
{
    const int64_t *ids = etx_event_particle_ids(event);
    const etx_particle *particle = etx_event_particles(event);
    const int64_t n = etx_event_n_particles(event);
    int64_t *n_hits = program_allocate(n + 1, sizeof *n_hits);

    for (int64_t i = 0; i < etx_event_n_hits(event); i++) {
        const int64_t p = program_find_particle(event, ids[i]);

        if (p >= 0)
            n_hits[p]++;
    }
    for (int64_t p = 0; p < n; p++) {
        if (!is_wanted(&particle[p], n_hits[p], min_pt))
            continue;
        seeds->best = grow(seeds->best, seeds->n_particles,
            &seeds->particle_capacity, sizeof *seeds->best);
        seeds->best[seeds->n_particles++] = best[p];
    }
    free(n_hits);
}

/* Append the seeds of an event with truth. */
static void add_seeds(
    struct seeds *seeds, const struct work *w, const struct options *o)
{
    const int64_t *ids = etx_event_particle_ids(w->event);
    const float *score = etx_graph_scores(w->triplets);
    const int64_t n = etx_event_n_particles(w->event);
    float *best = program_allocate(n + 1, sizeof *best);

    for (int64_t p = 0; p < n; p++)
        best[p] = -1.0f;
    for (int64_t t = 0; t < etx_graph_n_edges(w->triplets); t++) {
        struct seed seed = {score[t], 0};
        int32_t hits[3];

        if (!((double)score[t] > o->cut))
            continue;
        find_hits(hits, w, t);
        seed.is_pure = ids[hits[0]] != 0 && ids[hits[0]] == ids[hits[1]] &&
                       ids[hits[1]] == ids[hits[2]];
        const int64_t p =
            seed.is_pure ? program_find_particle(w->event, ids[hits[0]]) : -1;
        if (p >= 0 && score[t] > best[p])
            best[p] = score[t];
        seeds->seed =
            grow(seeds->seed, seeds->n, &seeds->capacity, sizeof seed);
        seeds->seed[seeds->n++] = seed;
    }
    add_particles(seeds, w->event, best, o->min_pt);
    free(best);
}

static int write_seeds(const struct work *w, const struct options *o)
{
    const int64_t *ids = etx_event_hit_ids(w->event);
    const float *score = etx_graph_scores(w->triplets);
    FILE *file = table_open(o->out);

    if (file != NULL)
        fprintf(file, "hit_id_1,hit_id_2,hit_id_3,score\n");
    for (int64_t t = 0; file != NULL && t < etx_graph_n_edges(w->triplets);
         t++) {
        int32_t hits[3];

        if (!((double)score[t] > o->cut))
            continue;
        find_hits(hits, w, t);
        fprintf(file, "%lld,%lld,%lld,%.9g\n", (long long)ids[hits[0]],
            (long long)ids[hits[1]], (long long)ids[hits[2]], (double)score[t]);
    }
    return table_close(file, o->out);
}

static int compare(const void *left, const void *right)
{
    const struct seed *a = left;
    const struct seed *b = right;

    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return b->is_pure - a->is_pure;
}

/* The lowest cut with the requested purity; 1 when there is none. */
static double find_cut(struct seeds *seeds, double purity)
{
    double cut = 1.0;
    int64_t n_pure = 0;

    qsort(seeds->seed, (size_t)seeds->n, sizeof *seeds->seed, compare);
    for (int64_t s = 0; s < seeds->n; s++) {
        const int is_last = s + 1 == seeds->n ||
                            seeds->seed[s + 1].score < seeds->seed[s].score;

        n_pure += seeds->seed[s].is_pure;
        if (is_last && (double)n_pure >= purity * (double)(s + 1))
            cut = nextafterf(seeds->seed[s].score, 0.0f);
    }
    return cut;
}

/* out: of the seeds, or NULL. */
static int report(
    const struct seeds *seeds, double cut, int64_t n_events, const char *out)
{
    /* Next to seeds on the standard output lines would be some of them. */
    FILE *said =
        out != NULL && program_is_standard_output(out) ? stderr : stdout;
    etx_evaluation_counts counts = {.struct_size = sizeof counts,
        .n_events = n_events,
        .n_particles_reconstructable = seeds->n_particles};
    etx_evaluation rates = {.struct_size = sizeof rates};

    for (int64_t s = 0; s < seeds->n; s++) {
        if (!((double)seeds->seed[s].score > cut))
            continue;
        counts.n_tracks++;
        counts.n_tracks_matched += seeds->seed[s].is_pure;
    }
    for (int64_t p = 0; p < seeds->n_particles; p++)
        counts.n_reconstructable_matched += (double)seeds->best[p] > cut;
    if (etx_evaluation_rates(&rates, &counts) != ETX_OK)
        return program_failed(NULL);
    fprintf(said, "events      %lld\ncut         %.6g\nseeds       %lld\n",
        (long long)n_events, cut, (long long)counts.n_tracks);
    fprintf(said, "purity      %.5f (%.5f .. %.5f)\n", rates.purity.value,
        rates.purity.low, rates.purity.high);
    fprintf(said, "particles   %lld\nefficiency  %.4f (%.4f .. %.4f)\n",
        (long long)seeds->n_particles, rates.technical_efficiency.value,
        rates.technical_efficiency.low, rates.technical_efficiency.high);
    return 0;
}

static int run_event(struct seeds *seeds, struct work *w,
    const struct options *o, const char *path)
{
    int result = 0;

    if (etx_event_read_trackml(&w->event, path, w->detector) != ETX_OK ||
        run_stages(w, o) != ETX_OK)
        return program_failed(path);
    program_check_event(path, w->event, w->detector, w->model);
    if (o->out != NULL)
        result = write_seeds(w, o);
    if (etx_event_particle_ids(w->event) != NULL)
        add_seeds(seeds, w, o);
    return result;
}

static int run(struct seeds *seeds, struct work *w, struct options *o)
{
    int64_t n_with_truth = 0;
    int result = program_expand_events(&o->events);

    if (result == 0 && o->out != NULL && o->events.count > 1)
        result = program_usage("--out goes with one event");
    if (result == 0 && o->out != NULL && o->purity >= 0.0)
        result = program_usage(
            "--out writes seeds above --cut: take the one that --purity finds");
    if (result == 0)
        result = program_check_output(o->out);
    if (result == 0)
        result = program_model(&w->model, o->model);
    if (result == 0)
        result = program_detector(&w->detector, o->detector);
    for (int64_t k = 0; result == 0 && k < o->events.count; k++) {
        result = run_event(seeds, w, o, o->events.item[k]);
        n_with_truth +=
            w->event != NULL && etx_event_particle_ids(w->event) != NULL;
        free_event(w);
    }
    if (result != 0 || n_with_truth == 0)
        return result;
    return report(seeds, o->purity >= 0.0 ? find_cut(seeds, o->purity) : o->cut,
        n_with_truth, o->out);
}

int main(int argc, char **argv)
{
    struct options o = {
        .cut = 0.5, .purity = -1.0, .min_pt = 0.5, .max_triplets = 50000000};
    struct seeds seeds = {.n = 0};
    struct work w = {NULL};
    int result = 0;

    read_options(&o, argc, argv);
    result = program_context(&w.context, o.device, &o.n_threads);
    if (result == 0)
        result = run(&seeds, &w, &o);
    free(seeds.seed);
    free(seeds.best);
    free_event(&w);
    etx_detector_free(w.detector);
    etx_model_free(w.model);
    etx_context_free(w.context);
    program_list_free(&o.events);
    return result;
}
