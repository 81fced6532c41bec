/* examples/studies/sectors.c -- what independent sectors lose.
 *
 * The naive partition of an event: every part scores its own graph alone
 * and edges between parts are gone. For each number of parts it prints, added
 * up over the events, a Markdown table: how nodes are partitioned, parts,
 * fraction of edges cut, fraction of edges between hits of one particle cut,
 * efficiency for reconstructable particles of pT above 0.5 GeV and for all
 * selected ones, purity, fake rate and TrackML score. Parts that exchange their
 * halo lose nothing: their line is that of 1 part. make build/studies/sectors
 *   build/studies/sectors MODEL DETECTORS EVENT...
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/eval.h>

#include "../../test/dist/parts_input.h"

#define MIN_PT 0.5

struct totals {
    int64_t n_edges, n_cut;
    int64_t n_true, n_true_cut;
    etx_evaluation_counts counts;
};

static const struct {
    const char *name;
    int32_t order, n_parts;
} rows[] = {{"whole", ETX_PARTITION_PHI, 1}, {"phi", ETX_PARTITION_PHI, 2},
    {"phi", ETX_PARTITION_PHI, 4}, {"phi", ETX_PARTITION_PHI, 8},
    {"kd", ETX_PARTITION_KD, 2}, {"kd", ETX_PARTITION_KD, 4},
    {"kd", ETX_PARTITION_KD, 8}};

#define N_ROWS ((int)(sizeof rows / sizeof rows[0]))

static void count_edges(
    struct totals *totals, const struct input *input, const int32_t *owners)
{
    const int64_t *particle = etx_event_particle_ids(input->event);

    for (int64_t e = 0; e < input->n_edges; e++) {
        const int32_t src = etx_graph_src(input->graph)[e];
        const int32_t dst = etx_graph_dst(input->graph)[e];
        const int is_cut = owners[src] != owners[dst];
        const int is_true =
            particle[src] != 0 && particle[src] == particle[dst];

        totals->n_edges++;
        totals->n_cut += is_cut;
        totals->n_true += is_true;
        totals->n_true_cut += is_cut && is_true;
    }
}

static void add_tracks(struct totals *totals, etx_graph *graph,
    const struct input *input, etx_context *context, const etx_model *model)
{
    etx_label_options label;
    etx_evaluation_options options;
    etx_tracks *tracks = NULL;

    DO(etx_label_options_init(&label, sizeof label));
    DO(etx_model_label_options(&label, model));
    DO(etx_evaluation_options_init(&options, sizeof options));
    options.min_pt = MIN_PT;
    DO(etx_graph_score(graph, context, model, input->event));
    DO(etx_graph_tracks(&tracks, graph, context, input->event, &label));
    DO(etx_evaluate(&totals->counts, input->event, tracks, &options));
    etx_tracks_free(tracks);
}

static void add_event(struct totals *totals, int row, const struct input *input,
    etx_context *context, const etx_model *model)
{
    int32_t *owners = alloc(input->n_nodes, sizeof *owners);
    etx_graph *graph;

    DO(etx_graph_partition(owners, input->graph, input->event,
        rows[row].n_parts, rows[row].order));
    count_edges(totals, input, owners);
    graph = copy_graph(input, owners);
    add_tracks(totals, graph, input, context, model);
    etx_graph_free(graph);
    free(owners);
}

static void print_row(int row, const struct totals *totals)
{
    etx_evaluation rates = {.struct_size = sizeof rates};

    DO(etx_evaluation_rates(&rates, &totals->counts));
    printf(
        "| %s | %d | %.1f %% | %.1f %% | %.4f | %.4f | %.4f | %.4f | %.4f |\n",
        rows[row].name, (int)rows[row].n_parts,
        100.0 * (double)totals->n_cut / (double)totals->n_edges,
        100.0 * (double)totals->n_true_cut / (double)totals->n_true,
        rates.technical_efficiency.value, rates.physics_efficiency.value,
        rates.purity.value, rates.fake_rate.value, rates.trackml_score);
}

int main(int argc, char **argv)
{
    struct totals totals[N_ROWS] = {{0}};
    etx_context *context = make_context();
    etx_model *model = NULL;
    etx_detector *detector = NULL;

    for (int row = 0; row < N_ROWS; row++)
        totals[row].counts.struct_size = sizeof totals[row].counts;
    if (argc < 4) {
        fprintf(stderr, "usage: %s MODEL DETECTORS EVENT...\n", argv[0]);
        return 2;
    }
    DO(etx_model_load(&model, argv[1]));
    DO(etx_detector_read(&detector, argv[2]));
    for (int k = 3; k < argc; k++) {
        struct input input = read_input(argv[k], context, model, detector);

        for (int row = 0; row < N_ROWS; row++)
            add_event(&totals[row], row, &input, context, model);
        free_input(&input);
    }
    puts("| cut | parts | edges lost | edges of one particle lost | technical "
         "efficiency | physics efficiency | purity | fake rate | TrackML score "
         "|\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (int row = 0; row < N_ROWS; row++)
        print_row(row, &totals[row]);
    etx_detector_free(detector);
    etx_model_free(model);
    etx_context_free(context);
    return 0;
}
