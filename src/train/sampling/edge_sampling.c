/* train/sampling/edge_sampling.c -- the edges of a wedge that take part in a
 * step.
 *
 * A filter scores edges one by one, so that leaving some out changes nothing
 * for the others: most false edges of a dense event teach it little. Hard
 * ones are those that the filter as it is now scores at hard_cut or above.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/sampling/edge_sampling.h"

#include "base/check.h"

#include <math.h>

/* What an edge is to the choice. */
enum group { GROUP_TRUE, GROUP_EASY, GROUP_HARD, GROUP_MASKED, N_GROUPS };

void etx_step_edge_label(float *target, float *weight,
    const struct etx_trainer *trainer, const struct etx_truth *truth,
    const struct etx_graph *graph, int64_t edge)
{
    if (trainer->config.stage != ETX_TRAIN_CASCADE) {
        etx_truth_label(target, weight, truth, graph->src[edge],
            graph->dst[edge], &trainer->config);
        return;
    }
    *target = graph->score[edge];
    if (trainer->config.loss.teacher == ETX_TEACHER_DECISION)
        *target = *target > trainer->model->filter_cut ? 1.0f : 0.0f;
    *weight = 1.0f;
}

/* A cascade learns from edges that the filter keeps as from true ones. */
static int is_true(const struct etx_trainer *trainer, float target)
{
    return trainer->config.stage == ETX_TRAIN_CASCADE &&
                   trainer->config.loss.teacher == ETX_TEACHER_SCORE
               ? target > trainer->model->filter_cut
               : target > 0.0f;
}

static etx_status label_edges(struct etx_step_edges *edges,
    struct etx_trainer *trainer, const struct etx_truth *truth,
    const struct etx_graph *graph)
{
    struct etx_arena *arena = etx_train_host(trainer)->arena;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&edges->target, arena, edges->n,
        sizeof *edges->target, "edge targets"));
    ETX_CHECK(etx_arena_alloc(&edges->weight, arena, edges->n,
        sizeof *edges->weight, "edge weights"));
    for (int64_t e = 0; e < edges->n; e++)
        etx_step_edge_label(edges->target + e, edges->weight + e, trainer,
            truth, graph, edges->id[e]);
done:
    return status;
}

/* Logits of all edges by the network as it is. */
static etx_status score_edges(float *logit, struct etx_trainer *trainer,
    const struct etx_sample *sample, const struct etx_graph *graph,
    const struct etx_step_edges *edges)
{
    struct etx_context *context = trainer->context;
    const struct etx_train_marks marks = etx_train_mark(trainer);
    const struct etx_network *network = &trainer->there.network;
    struct etx_network_input input;
    struct etx_graph *part = NULL;
    struct etx_graph *copy = NULL;
    float *there;
    etx_status status;

    ETX_CHECK(etx_sample_graph(&part, sample, graph, edges->n, edges->id));
    ETX_CHECK(etx_train_input(&input, &copy, trainer, sample, part));
    ETX_CHECK(etx_arena_alloc(&there, context->stream->arena, edges->n,
        sizeof *there, "edge logits"));
    ETX_CHECK(network->arch->forward(network, context, &input, NULL, there));
    ETX_CHECK(etx_memory_to_host(
        context->stream->memory, logit, there, edges->n, sizeof *logit));
done:
    etx_graph_free(copy);
    etx_graph_free(part);
    etx_train_reset(trainer, marks);
    return status;
}

/* The group of every edge [n], in scratch. */
static etx_status group_edges(uint8_t **out, struct etx_trainer *trainer,
    const struct etx_sample *sample, const struct etx_graph *graph,
    const struct etx_step_edges *edges)
{
    const struct etx_train_sampling *options = &trainer->config.sampling;
    struct etx_arena *arena = etx_train_host(trainer)->arena;
    const double cut = (double)options->hard_cut;
    const double hard_logit = log(cut) - log1p(-cut);
    float *logit = NULL;
    uint8_t *group;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&group, arena, edges->n, sizeof *group, "edges"));
    if (options->hard_share > 0.0f) {
        ETX_CHECK(etx_arena_alloc(
            &logit, arena, edges->n, sizeof *logit, "edge logits"));
        ETX_CHECK(score_edges(logit, trainer, sample, graph, edges));
    }
    for (int64_t e = 0; e < edges->n; e++) {
        const int is_hard = logit != NULL && (double)logit[e] >= hard_logit;

        group[e] = is_hard ? GROUP_HARD : GROUP_EASY;
        if (is_true(trainer, edges->target[e]))
            group[e] = GROUP_TRUE;
        if (!(edges->weight[e] > 0.0f))
            group[e] = GROUP_MASKED;
    }
    *out = group;
done:
    return status;
}

/* How many false edges to take of each group: hard ones up to their share,
 * and as many easy ones as that leaves. */
static void share_out(double *wanted, const double *n, double n_false,
    const struct etx_train_sampling *options)
{
    wanted[GROUP_HARD] =
        fmin(n[GROUP_HARD], n_false * (double)options->hard_share);
    wanted[GROUP_EASY] = fmin(n[GROUP_EASY], n_false - wanted[GROUP_HARD]);
}

/* The chance of an edge of each group to take part. */
static void find_chances(float *chance, const uint8_t *group, int64_t n_edges,
    const struct etx_train_sampling *options)
{
    double n[N_GROUPS] = {0.0};
    double wanted[N_GROUPS] = {0.0};
    double n_false;

    for (int64_t e = 0; e < n_edges; e++)
        n[group[e]] += 1.0;
    n_false = (double)options->false_per_true * fmax(n[GROUP_TRUE], 1.0);
    if (!(n_false > 0.0) || n_false > n[GROUP_EASY] + n[GROUP_HARD])
        n_false = n[GROUP_EASY] + n[GROUP_HARD];
    const double all = n[GROUP_TRUE] + n_false;
    const double scale = options->n_edges > 0 && all > (double)options->n_edges
                             ? (double)options->n_edges / all
                             : 1.0;
    share_out(wanted, n, n_false, options);
    chance[GROUP_TRUE] = (float)scale;
    chance[GROUP_MASKED] = 0.0f;
    for (int g = GROUP_EASY; g <= GROUP_HARD; g++)
        chance[g] = n[g] > 0.0 ? (float)(scale * wanted[g] / n[g]) : 0.0f;
}

/* Keep edges by chance; masked ones go. */
static void thin_edges(struct etx_step_edges *edges, const uint8_t *group,
    const struct etx_train_sampling *options, struct etx_random *random)
{
    float chance[N_GROUPS];
    int64_t n = 0;

    find_chances(chance, group, edges->n, options);
    for (int64_t e = 0; e < edges->n; e++) {
        if (group[e] == GROUP_MASKED ||
            (chance[group[e]] < 1.0f &&
                etx_random_uniform(random) >= chance[group[e]]))
            continue;
        edges->id[n] = edges->id[e];
        edges->target[n] = edges->target[e];
        edges->weight[n] = edges->weight[e];
        n++;
    }
    edges->n = n;
}

etx_status etx_step_edges_choose(struct etx_step_edges *out,
    struct etx_trainer *trainer, const struct etx_truth *truth,
    const struct etx_sample *sample, const struct etx_graph *graph,
    struct etx_random *random)
{
    struct etx_step_edges edges = {.n = 0};
    uint8_t *group;
    etx_status status;

    ETX_CHECK(etx_sample_edges(
        &edges.id, &edges.n, etx_train_host(trainer)->arena, sample, graph));
    ETX_CHECK(label_edges(&edges, trainer, truth, graph));
    if (trainer->config.stage != ETX_TRAIN_GNN) {
        ETX_CHECK(group_edges(&group, trainer, sample, graph, &edges));
        thin_edges(&edges, group, &trainer->config.sampling, random);
    }
    *out = edges;
done:
    return status;
}
