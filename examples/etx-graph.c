/* examples/etx-graph.c -- one stage of the pipeline and its result as CSV.
 *
 * For people who debug or compare a model: points of the embedding, edges of
 * the graph, of the filter or of the graph neural network, labels.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <exatrkx/graph.h>

#include "program.h"
#include "table.h"

static const char summary[] =
    "Run one stage and write its result as CSV: embedding (points), graph,\n"
    "filter and gnn (src,dst,score; rows of the event), label and\n"
    "completion (hit,label).\n"
    "Without --edges a stage runs on the result of the previous stages.";

struct options {
    const char *stage, *model, *hits, *cells, *features, *edges, *points;
    const char *out, *detector, *device, *scales, *orientation;
    struct program_list events;
    int64_t n_threads, k;
    double radius, cut;
};

/* What the stages work on. */
struct work {
    etx_context *context;
    etx_model *model;
    etx_event *event;
    etx_graph *graph;
};

static void read_options(struct options *o, int argc, char **argv)
{
    const struct program_option table[] = {
        {"stage", "NAME", "embedding, graph, filter, gnn, label or completion",
            .text = &o->stage},
        {"model", "FILE",
            "model file, or the name of a shipped one (default: default; with "
            "--stage label and --edges: none)",
            .text = &o->model},
        {"event", "PREFIX", "event in TrackML form", .list = &o->events},
        {"hits", "FILE", "hits file instead of --event", .text = &o->hits},
        {"cells", "FILE", "its cells file", .text = &o->cells},
        {"features", "FILE",
            "scaled node features: CSV without header, one node per row",
            .text = &o->features},
        {"scales", "R,PHI,Z",
            "mm, rad, mm per unit of --features (default 1000,3.14159265,1000)",
            .text = &o->scales},
        {"edges", "FILE", "edges to filter, score or label: src,dst[,score]",
            .text = &o->edges},
        {"points", "FILE", "points to join without a model: CSV without header",
            .text = &o->points},
        {"radius", "R", "join points within R (with --points)",
            .number = &o->radius, .low = 1e-30, .high = 1e30},
        {"k", "K", "at most the K nearest (with --points)", .integer = &o->k,
            .low = 0, .high = 1e6},
        {"orientation", "NAME",
            "direction of edges with --points: index (default) or both",
            .text = &o->orientation},
        {"cut", "C", "label: use edges with a score above C", .number = &o->cut,
            .low = 0.0, .high = 1.0},
        {"out", "FILE", "output file", .text = &o->out},
        PROGRAM_DETECTOR_OPTION(&o->detector),
        PROGRAM_THREADS_OPTION(&o->n_threads),
        PROGRAM_DEVICE_OPTION(&o->device),
    };

    program_parse(
        argc, argv, summary, table, (int32_t)(sizeof table / sizeof *table));
    if (o->stage == NULL || o->out == NULL)
        exit(program_usage("--stage and --out are needed (see --help)"));
}

#define LABEL      4
#define COMPLETION 5

/* The requested stage, in the order of the pipeline. */
static int stage_number(const char *name)
{
    static const char *const names[] = {
        "embedding", "graph", "filter", "gnn", "label", "completion"};

    for (int k = 0; k <= COMPLETION; k++)
        if (strcmp(name, names[k]) == 0)
            return k;
    return -1;
}

static int read_event(struct work *w, const struct options *o)
{
    float scales[3] = {1000.0f, 3.14159265f, 1000.0f};
    etx_detector *detector = NULL;
    etx_status status = ETX_OK;
    int result = 0;

    if (o->scales != NULL &&
        sscanf(o->scales, "%f,%f,%f", &scales[0], &scales[1], &scales[2]) != 3)
        return program_usage("--scales %s: not three numbers", o->scales);
    if (o->features != NULL) {
        status = etx_event_read_features(&w->event, o->features, scales);
        return status == ETX_OK ? 0 : program_failed(NULL);
    }
    if (o->events.count != 1 && o->hits == NULL)
        return program_usage("give one --event, --hits or --features");
    result = program_detector(&detector, o->detector);
    if (result != 0)
        return result;
    if (o->hits != NULL)
        status = etx_event_read_trackml_files(
            &w->event, o->hits, o->cells, NULL, NULL, detector);
    else
        status = etx_event_read_trackml(&w->event, o->events.item[0], detector);
    if (status == ETX_OK)
        program_check_event(o->hits != NULL ? o->hits : o->events.item[0],
            w->event, detector, NULL);
    else
        result = program_failed(NULL);
    etx_detector_free(detector);
    return result;
}

/* A row of the event, or -1 for a number that is none. */
static int32_t row_number(double value, int64_t n_nodes)
{
    if (!(value >= 0.0 && value < (double)n_nodes))
        return -1;
    return (double)(int32_t)value == value ? (int32_t)value : -1;
}

/* The caller's edges: columns src, dst and perhaps score. */
static int read_edges(struct work *w, const char *path)
{
    struct table table = {0};
    const int64_t n_nodes = etx_event_n_hits(w->event);
    int result = table_read(&table, path, 1);

    if (result != 0)
        return result;
    if (table.n_columns != 2 && table.n_columns != 3) {
        result = program_error("%s: %lld columns, not src,dst[,score]", path,
            (long long)table.n_columns);
    } else {
        int32_t *src = program_allocate(table.n_rows, sizeof *src);
        int32_t *dst = program_allocate(table.n_rows, sizeof *dst);
        float *score = table.n_columns == 3
                           ? program_allocate(table.n_rows, sizeof *score)
                           : NULL;

        for (int64_t e = 0; e < table.n_rows; e++) {
            const double *row = table.value + e * table.n_columns;

            src[e] = row_number(row[0], n_nodes);
            dst[e] = row_number(row[1], n_nodes);
            if (src[e] < 0 || dst[e] < 0)
                result = program_error(
                    "%s: edge %lld runs from %.17g to %.17g, not between rows "
                    "0..%lld",
                    path, (long long)e, row[0], row[1], (long long)n_nodes - 1);
            if (result != 0)
                break;
            if (score != NULL)
                score[e] = (float)row[2];
        }
        if (result == 0 && etx_graph_from_edges(&w->graph, n_nodes,
                               table.n_rows, src, dst, score, NULL) != ETX_OK)
            result = program_failed(path);
        free(score);
        free(dst);
        free(src);
    }
    table_free(&table);
    return result;
}

/* Join given points: no model, no event. */
static int join_points(struct work *w, const struct options *o)
{
    struct table table = {0};
    etx_graph_options graph;
    float *points = NULL;
    etx_status status = ETX_OK;
    int result = table_read(&table, o->points, 0);

    if (result != 0)
        return result;
    points = program_allocate(table.n_rows * table.n_columns, sizeof *points);
    for (int64_t k = 0; k < table.n_rows * table.n_columns; k++)
        points[k] = (float)table.value[k];
    status = etx_graph_options_init(&graph, sizeof graph);
    if (o->radius > 0.0)
        graph.radius = (float)o->radius;
    graph.max_neighbours = (int32_t)o->k;
    if (o->orientation != NULL && strcmp(o->orientation, "both") == 0)
        graph.orientation = ETX_ORIENT_BOTH;
    if (status == ETX_OK && o->radius > 0.0)
        status = etx_graph_build_radius(&w->graph, w->context, table.n_rows,
            table.n_columns, points, NULL, &graph);
    else if (status == ETX_OK)
        status = etx_graph_build_knn(&w->graph, w->context, table.n_rows,
            table.n_columns, points, NULL, &graph);
    if (status != ETX_OK)
        result = program_failed(o->points);
    free(points);
    table_free(&table);
    return result;
}

static int write_points(const struct work *w, const char *path)
{
    int64_t n_dim = 0;
    const int64_t n_hits = etx_event_n_hits(w->event);
    float *points = NULL;
    FILE *file = NULL;

    if (etx_embed(&n_dim, NULL, 0, w->context, w->model, w->event) != ETX_OK)
        return program_failed(NULL);
    points = program_allocate(n_hits * n_dim, sizeof *points);
    if (etx_embed(&n_dim, points, n_hits * n_dim, w->context, w->model,
            w->event) != ETX_OK) {
        free(points);
        return program_failed(NULL);
    }
    file = table_open(path);
    for (int64_t i = 0; file != NULL && i < n_hits; i++)
        for (int64_t k = 0; k < n_dim; k++)
            fprintf(file, "%.9g%c", (double)points[i * n_dim + k],
                k + 1 < n_dim ? ',' : '\n');
    free(points);
    return table_close(file, path);
}

static int write_edges(const etx_graph *graph, const char *path)
{
    const int32_t *src = etx_graph_src(graph);
    const int32_t *dst = etx_graph_dst(graph);
    const float *score = etx_graph_scores(graph);
    FILE *file = table_open(path);

    if (file != NULL)
        fprintf(file, score != NULL ? "src,dst,score\n" : "src,dst\n");
    for (int64_t e = 0; file != NULL && e < etx_graph_n_edges(graph); e++) {
        fprintf(file, "%d,%d", (int)src[e], (int)dst[e]);
        if (score != NULL)
            fprintf(file, ",%.9g", (double)score[e]);
        fputc('\n', file);
    }
    return table_close(file, path);
}

/* Replace labels [n_nodes] by the labels of the completed tracks. */
static etx_status complete_labels(
    int32_t *labels, const struct work *w, int64_t n_nodes)
{
    etx_tracks *found = NULL;
    etx_tracks *completed = NULL;
    etx_status status = etx_tracks_from_labels(&found, n_nodes, labels);

    if (status == ETX_OK)
        status = etx_complete_tracks(
            &completed, found, w->context, w->model, w->event, NULL);
    for (int64_t i = 0; status == ETX_OK && i < n_nodes; i++)
        labels[i] = -1;
    for (int64_t t = 0; t < etx_tracks_count(completed); t++)
        for (int64_t k = etx_tracks_offsets(completed)[t];
             k < etx_tracks_offsets(completed)[t + 1]; k++)
            labels[etx_tracks_hits(completed)[k]] = (int32_t)t;
    etx_tracks_free(completed);
    etx_tracks_free(found);
    return status;
}

static int write_labels(
    const struct work *w, const struct options *o, int stage)
{
    etx_label_options label;
    const int64_t n_nodes = etx_graph_n_nodes(w->graph);
    int32_t *labels = program_allocate(n_nodes, sizeof *labels);
    FILE *file = NULL;
    etx_status status = etx_label_options_init(&label, sizeof label);

    if (status == ETX_OK && w->model != NULL)
        status = etx_model_label_options(&label, w->model);
    if (o->cut >= 0.0)
        label.cut = (float)o->cut;
    if (status == ETX_OK)
        status =
            etx_graph_label(labels, w->graph, w->context, w->event, &label);
    if (status == ETX_OK && stage == COMPLETION)
        status = complete_labels(labels, w, n_nodes);
    if (status != ETX_OK) {
        free(labels);
        return program_failed(NULL);
    }
    file = table_open(o->out);
    if (file != NULL)
        fprintf(file, "hit,label\n");
    for (int64_t i = 0; file != NULL && i < n_nodes; i++)
        fprintf(file, "%lld,%d\n", (long long)i, (int)labels[i]);
    free(labels);
    return table_close(file, o->out);
}

/* The graph that a stage works on and leaves, up to and with `last`. */
static int run_graph_stages(struct work *w, const struct options *o, int last)
{
    etx_graph *kept = NULL;
    const int given = o->edges != NULL;

    if (given) {
        const int result = read_edges(w, o->edges);

        if (result != 0)
            return result;
    } else if (etx_graph_build(&w->graph, w->context, w->model, w->event) !=
               ETX_OK) {
        return program_failed(NULL);
    }
    if (last == 2 || (last > 2 && !given &&
                         etx_model_has_stage(w->model, ETX_STAGE_FILTER))) {
        if (etx_graph_filter(&kept, w->graph, w->context, w->model, w->event) !=
            ETX_OK)
            return program_failed(NULL);
        etx_graph_free(w->graph);
        w->graph = kept;
    }
    if ((last == 3 || (last > 3 && !given &&
                          etx_model_has_stage(w->model, ETX_STAGE_GNN))) &&
        etx_graph_score(w->graph, w->context, w->model, w->event) != ETX_OK)
        return program_failed(NULL);
    return 0;
}

/* Refuse options that do not apply to the stage. */
static int check_options(const struct options *o, int stage)
{
    const int is_join = o->points != NULL;
    const int n_events =
        (o->events.count > 0) + (o->hits != NULL) + (o->features != NULL);
    const struct {
        int is_wrong;
        const char *text;
    } rules[] = {
        {is_join && (stage != 1 || (o->radius <= 0.0 && o->k == 0)),
            "--points goes with --stage graph and --radius or --k"},
        {is_join && (n_events > 0 || o->model != NULL || o->edges != NULL ||
                        o->detector != NULL),
            "--points goes without a model, an event and edges"},
        {!is_join && (o->radius > 0.0 || o->k > 0 || o->orientation != NULL),
            "--radius, --k and --orientation go with --points"},
        {n_events > 1, "give one --event, --hits or --features"},
        {o->cells != NULL && o->hits == NULL, "--cells goes with --hits"},
        {o->scales != NULL && o->features == NULL,
            "--scales goes with --features"},
        {o->detector != NULL && o->features != NULL,
            "--detector goes with --event or --hits"},
        {o->edges != NULL && stage < 2,
            "--edges goes with --stage filter, gnn, label or completion"},
        {o->cut >= 0.0 && stage < LABEL,
            "--cut goes with --stage label or completion"},
    };

    if (stage < 0)
        return program_usage("--stage %s: not embedding, graph, filter, gnn, "
                             "label or completion",
            o->stage);
    if (o->orientation != NULL && strcmp(o->orientation, "both") != 0 &&
        strcmp(o->orientation, "index") != 0)
        return program_usage(
            "--orientation %s: not index or both", o->orientation);
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        if (rules[k].is_wrong)
            return program_usage("%s (see --help)", rules[k].text);
    return 0;
}

static int run(struct work *w, const struct options *o)
{
    const int stage = stage_number(o->stage);
    const int needs_model = !(stage == LABEL && o->edges != NULL);
    int result = check_options(o, stage);

    if (result != 0)
        return result;
    if (o->points != NULL) {
        result = join_points(w, o);
        return result != 0 ? result : write_edges(w->graph, o->out);
    }
    if (needs_model || o->model != NULL)
        result = program_model(&w->model, o->model);
    if (result == 0)
        result = read_event(w, o);
    if (result == 0 && stage == 0)
        return write_points(w, o->out);
    if (result == 0)
        result = run_graph_stages(w, o, stage);
    if (result == 0 && stage >= LABEL)
        return write_labels(w, o, stage);
    return result != 0 ? result : write_edges(w->graph, o->out);
}

int main(int argc, char **argv)
{
    struct options o = {.cut = -1.0};
    struct work w = {0};
    int result = 0;

    read_options(&o, argc, argv);
    result = program_check_output(o.out);
    if (result == 0)
        result = program_expand_events(&o.events);
    if (result == 0)
        result = program_context(&w.context, o.device, &o.n_threads);
    if (result == 0)
        result = run(&w, &o);
    etx_graph_free(w.graph);
    etx_event_free(w.event);
    etx_model_free(w.model);
    etx_context_free(w.context);
    program_list_free(&o.events);
    return result;
}
