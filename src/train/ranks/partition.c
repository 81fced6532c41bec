/* train/ranks/partition.c -- one part of the graph of a step or of a
 * validation.
 *
 * Every part draws the same wedge and knows all of its edges' targets, so the
 * norm of the loss is that of the whole graph. An edge between parts weighs
 * nothing where it only begins: its loss counts once, and linearity does the
 * rest (arch/halo.c).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "arch/halo.h"
#include "base/check.h"
#include "base/status.h"
#include "stage/stage.h"
#include "train/hash.h"

#include <string.h>

#define FLOATS_OF_DOUBLE ((int64_t)(sizeof(double) / sizeof(float)))
#define FLOATS_OF_HASH   ((int64_t)(sizeof(uint64_t) / sizeof(float)))

etx_status etx_trainer_share(
    struct etx_trainer *trainer, const struct etx_train_parts *parts)
{
    if (parts->n_parts > 0 && trainer->config.stage == ETX_TRAIN_EMBEDDING)
        return etx_fail(ETX_ERR_ARGUMENT,
            "parts of a graph: the stage embedding has no graph");
    if (parts->n_parts > 0 && trainer->team.n_ranks > 1)
        return etx_fail(ETX_ERR_ARGUMENT,
            "parts of a graph: the trainer is one of a team of %d",
            (int)trainer->team.n_ranks);
    if (parts->n_parts > 0 && trainer->config.sampling.chunk_edges > 0)
        return etx_fail(ETX_ERR_ARGUMENT,
            "parts of a graph: sampling.chunk_edges is %d and must be 0",
            (int)trainer->config.sampling.chunk_edges);
    if (parts->n_parts > 0 && trainer->config.loss.pt_weight > 0.0f)
        return etx_fail(ETX_ERR_ARGUMENT,
            "parts of a graph: loss.pt_weight is %g and must be 0",
            (double)trainer->config.loss.pt_weight);
    if (parts->n_parts > 0) {
        const etx_status status = etx_halo_check(trainer->stage->network);

        if (status != ETX_OK)
            return status;
    }
    trainer->parts = *parts;
    return ETX_OK;
}

void etx_train_leave_parts(struct etx_trainer *trainer, etx_status status)
{
    const etx_part_exchange *exchange = &trainer->parts.exchange;

    if (status != ETX_OK && trainer->parts.n_parts > 0 &&
        exchange->leave != NULL)
        exchange->leave(exchange->user, status);
}

/* A part and what its network reads, which is where the context computes;
 * arrays in scratch. Its addresses are in use: not to be copied. */
struct shared {
    int32_t *owner; /* [whole nodes], in scratch */
    struct etx_graph_part *part;
    struct etx_graph *copy; /* of the part's graph on a device, owned; NULL */
    struct etx_graph graph; /* of the part, with the halo */
    struct etx_halo halo;
    struct etx_network_input input;
    int64_t n_edges;
};

/* received [sum of n of all parts] = what every part has of mine [n]; n
 * [n_parts]. */
static etx_status gather(float *received, const struct etx_trainer *trainer,
    const int64_t *n, const float *mine)
{
    const struct etx_train_parts *parts = &trainer->parts;
    const int64_t own = n[parts->part];
    struct etx_arena *arena = etx_train_host(trainer)->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    int64_t *n_sent;
    float *sent;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(
        &n_sent, arena, parts->n_parts, sizeof *n_sent, "values to send"));
    ETX_CHECK(etx_arena_alloc(
        &sent, arena, own * parts->n_parts, sizeof *sent, "values to send"));
    for (int32_t q = 0; q < parts->n_parts; q++) {
        n_sent[q] = own;
        memcpy(sent + q * own, mine, (size_t)own * sizeof *sent);
    }
    ETX_CHECK(
        parts->exchange.swap(parts->exchange.user, received, n, sent, n_sent));
done:
    etx_arena_reset(arena, mark);
    return status;
}

/* What must be the same for all parts before they exchange rows. */
static uint64_t hash_owners(
    const struct shared *shared, const struct etx_graph *whole)
{
    const size_t n_nodes = (size_t)whole->n_nodes;
    const size_t n_edges = (size_t)whole->n_edges;
    uint64_t hash = etx_hash_bytes(
        ETX_HASH_START, shared->owner, n_nodes * sizeof *shared->owner);

    hash = etx_hash_bytes(hash, whole->src, n_edges * sizeof *whole->src);
    return etx_hash_bytes(hash, whole->dst, n_edges * sizeof *whole->dst);
}

/* Angles decide which hits a wedge has and where it is cut, and another C
 * library may round them otherwise: then sizes of what is exchanged differ. */
static etx_status agree(struct shared *shared,
    const struct etx_trainer *trainer, const struct etx_graph *whole)
{
    const int32_t n_parts = trainer->parts.n_parts;
    struct etx_arena *arena = etx_train_host(trainer)->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const uint64_t hash = hash_owners(shared, whole);
    const size_t bytes = sizeof hash;
    float mine[FLOATS_OF_HASH];
    float *all;
    int64_t *n;
    etx_status status;

    memcpy(mine, &hash, bytes);
    ETX_CHECK(etx_arena_alloc(&n, arena, n_parts, sizeof *n, "hashes"));
    ETX_CHECK(etx_arena_alloc(&all, arena, n_parts, bytes, "hashes"));
    for (int32_t q = 0; q < n_parts; q++)
        n[q] = FLOATS_OF_HASH;
    ETX_CHECK(gather(all, trainer, n, mine));
    for (int32_t q = 1; q < n_parts && status == ETX_OK; q++)
        if (memcmp(all + FLOATS_OF_HASH * q, all, bytes) != 0)
            status = etx_fail(ETX_ERR_FORMAT,
                "parts of a graph: part %d has other edges or owners than part "
                "0; parts need the same files, C library and kind of processor",
                (int)q);
done:
    etx_arena_reset(arena, mark);
    return status;
}

/* The nodes' features and positions; whole's are on the host. */
static etx_status bring_nodes(struct shared *shared,
    const struct etx_trainer *trainer, const struct etx_network_input *whole)
{
    etx_status status;
    struct etx_context *context = trainer->context;
    struct etx_arena *host = etx_train_host(trainer)->arena;
    const int32_t n_features = trainer->stage->network->n_node_features;
    const int64_t n_nodes = shared->part->graph->n_nodes;
    const float *rows;

    shared->input.n_nodes = n_nodes;
    ETX_CHECK(etx_part_arena_rows(
        &rows, host, shared->part, whole->node_features, n_features));
    ETX_CHECK(etx_stage_to_device(&shared->input.node_features, context, rows,
        n_nodes * n_features, "node features"));
    ETX_CHECK(
        etx_part_arena_rows(&rows, host, shared->part, whole->position, 3));
    ETX_CHECK(etx_stage_to_device(&shared->input.position, context, rows,
        3 * n_nodes, "positions of hits"));
done:
    return status;
}

static void close_part(struct shared *shared)
{
    etx_graph_free(shared->copy);
    etx_part_release(shared->part);
}

static etx_status open_part(struct shared *shared,
    const struct etx_trainer *trainer, const struct etx_network_input *whole)
{
    etx_status status;
    const struct etx_train_parts *parts = &trainer->parts;
    struct etx_arena *arena = etx_train_host(trainer)->arena;
    const struct etx_graph *graph;

    ETX_CHECK(etx_arena_alloc(&shared->owner, arena, whole->n_nodes,
        sizeof *shared->owner, "owners of nodes"));
    ETX_CHECK(etx_partition_nodes(shared->owner, whole->graph, whole->position,
        parts->n_parts, parts->order));
    ETX_CHECK(agree(shared, trainer, whole->graph));
    ETX_CHECK(etx_part_make(&shared->part, whole->graph, shared->owner,
        parts->n_parts, parts->part));
    shared->halo = (struct etx_halo){.part = shared->part,
        .exchange = &parts->exchange,
        .whole_nodes = whole->graph->n_nodes,
        .whole_edges = whole->graph->n_edges};
    ETX_CHECK(etx_stage_graph_to_device(
        &graph, &shared->copy, trainer->context, shared->part->graph));
    shared->graph = *graph;
    shared->graph.halo = &shared->halo;
    shared->n_edges = shared->graph.n_edges;
    shared->input.graph = &shared->graph;
    ETX_CHECK(bring_nodes(shared, trainer, whole));
done:
    return status;
}

/* Targets and weights [n_edges] of the part's edges. */
static void take_targets(float *target, float *weight,
    const struct shared *shared, const struct etx_train_pass *pass)
{
    for (int64_t e = 0; e < shared->n_edges; e++) {
        const int32_t edge = shared->part->edge[e];

        target[e] = pass->target[edge];
        weight[e] =
            etx_part_owns_edge(shared->part, e) ? pass->weight[edge] : 0.0f;
    }
}

/* [n_edges] each: of logits and their gradient, where the context computes; of
 * targets and weights, on the host. */
static etx_status take_edges(float *out[4], const struct shared *shared,
    const struct etx_trainer *trainer)
{
    etx_status status = ETX_OK;
    struct etx_arena *const arena[] = {
        trainer->context->stream->arena, etx_train_host(trainer)->arena};

    for (int32_t k = 0; k < 4; k++)
        ETX_CHECK(etx_arena_alloc(&out[k], arena[k / 2], shared->n_edges,
            sizeof(float), "logits and targets"));
done:
    return status;
}

etx_status etx_train_part_step(struct etx_trainer *trainer,
    const struct etx_train_pass *pass, double *loss)
{
    struct etx_context *context = trainer->context;
    const struct etx_train_marks marks = etx_train_mark(trainer);
    const struct etx_network *network = &trainer->there.network;
    struct shared shared = {.part = NULL};
    struct etx_tape tape = etx_train_tape(trainer);
    double own = 0.0;
    float *edge[4];
    etx_status status;

    ETX_CHECK(open_part(&shared, trainer, pass->input));
    ETX_CHECK(take_edges(edge, &shared, trainer));
    take_targets(edge[2], edge[3], &shared, pass);
    context->stream->is_half =
        trainer->config.arithmetic.products == ETX_PRODUCTS_FP16;
    ETX_CHECK(network->arch->forward(
        network, context, &shared.input, &tape, edge[0]));
    ETX_CHECK(etx_edge_loss(&own, edge[1], context, &trainer->config.loss,
        pass->norm, shared.n_edges, edge[0], edge[2], edge[3]));
    ETX_CHECK(network->arch->backward(
        network, context, &shared.input, &tape, edge[1], pass->gradient));
    *loss += own;
done:
    context->stream->is_half = 0;
    close_part(&shared);
    etx_train_reset(trainer, marks);
    return status;
}

/* ---------------------------------------------------- between the parts -- */

/* Each part adds one slice of the values of all, in the order of the parts. */
static etx_status add_slices(float *sum, const struct etx_trainer *trainer,
    const int64_t *n_slice, const float *values)
{
    const struct etx_train_parts *parts = &trainer->parts;
    const int64_t own = n_slice[parts->part];
    struct etx_arena *arena = etx_train_host(trainer)->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    int64_t *n_received;
    float *received;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(
        &n_received, arena, parts->n_parts, sizeof *n_received, "slices"));
    ETX_CHECK(etx_arena_alloc(
        &received, arena, own * parts->n_parts, sizeof *received, "slices"));
    for (int32_t q = 0; q < parts->n_parts; q++)
        n_received[q] = own;
    ETX_CHECK(parts->exchange.swap(
        parts->exchange.user, received, n_received, values, n_slice));
    memset(sum, 0, (size_t)own * sizeof *sum);
    for (int32_t q = 0; q < parts->n_parts; q++)
        for (int64_t v = 0; v < own; v++)
            sum[v] += received[q * own + v];
done:
    etx_arena_reset(arena, mark);
    return status;
}

/* values [n] = their sum over the parts: slices are added, then gathered. */
static etx_status sum_values(
    float *values, struct etx_trainer *trainer, int64_t n)
{
    const int64_t n_parts = trainer->parts.n_parts;
    struct etx_arena *arena = etx_train_host(trainer)->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    int64_t *n_slice;
    float *sum;
    etx_status status;

    ETX_CHECK(
        etx_arena_alloc(&n_slice, arena, n_parts, sizeof *n_slice, "slices"));
    for (int64_t q = 0; q < n_parts; q++)
        n_slice[q] = n * (q + 1) / n_parts - n * q / n_parts;
    ETX_CHECK(etx_arena_alloc(&sum, arena, n_slice[trainer->parts.part],
        sizeof *sum, "sum of slices"));
    ETX_CHECK(add_slices(sum, trainer, n_slice, values));
    ETX_CHECK(gather(values, trainer, n_slice, sum));
done:
    etx_arena_reset(arena, mark);
    return status;
}

/* values [n] = their sums over the parts, in the order of the parts. */
static etx_status sum_doubles(
    double *values, const struct etx_trainer *trainer, int64_t n)
{
    const int32_t n_parts = trainer->parts.n_parts;
    struct etx_arena *arena = etx_train_host(trainer)->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    int64_t *n_floats;
    float *mine;
    float *all;
    etx_status status;

    ETX_CHECK(
        etx_arena_alloc(&n_floats, arena, n_parts, sizeof *n_floats, "losses"));
    ETX_CHECK(etx_arena_alloc(&mine, arena, n, sizeof(double), "losses"));
    ETX_CHECK(etx_arena_alloc(
        &all, arena, n * n_parts, sizeof(double), "losses of the parts"));
    memcpy(mine, values, (size_t)n * sizeof(double));
    for (int32_t q = 0; q < n_parts; q++)
        n_floats[q] = n * FLOATS_OF_DOUBLE;
    ETX_CHECK(gather(all, trainer, n_floats, mine));
    for (int64_t k = 0; k < n; k++) {
        values[k] = 0.0;
        for (int32_t q = 0; q < n_parts; q++) {
            double term;

            memcpy(&term, all + (q * n + k) * FLOATS_OF_DOUBLE, sizeof term);
            values[k] += term;
        }
    }
done:
    etx_arena_reset(arena, mark);
    return status;
}

/* The gradient, by way of the host. */
static etx_status sum_gradient(struct etx_trainer *trainer)
{
    const struct etx_memory *memory = trainer->context->stream->memory;
    const int64_t n = trainer->stage->network->n_values;
    const struct etx_train_marks marks = etx_train_mark(trainer);
    float *here;
    etx_status status;

    ETX_CHECK(
        etx_train_fetch(&here, trainer, trainer->gradient, n, "gradient"));
    ETX_CHECK(sum_values(here, trainer, n));
    if (memory != NULL)
        ETX_CHECK(etx_memory_to_device(
            memory, trainer->gradient, here, n, sizeof *here));
done:
    etx_train_reset(trainer, marks);
    return status;
}

etx_status etx_train_sum_parts(
    struct etx_trainer *trainer, double *loss, int64_t n_graphs)
{
    etx_status status = ETX_OK;

    if (trainer->parts.n_parts == 0)
        return ETX_OK;
    ETX_CHECK(sum_gradient(trainer));
    ETX_CHECK(sum_doubles(loss, trainer, n_graphs));
done:
    return status;
}

/* ---------------------------------------------------------- validation -- */

/* Edges that end at the nodes of every part: n [n_parts]. */
static void count_own(int64_t *n, const struct shared *shared,
    const struct etx_graph *whole, int32_t n_parts)
{
    memset(n, 0, (size_t)n_parts * sizeof *n);
    for (int64_t e = 0; e < whole->n_edges; e++)
        n[shared->owner[whole->dst[e]]]++;
}

/* logit [whole edges] from those of the parts, one after the other; n
 * [n_parts] is spoiled. */
static void place_logits(float *logit, const struct shared *shared,
    const struct etx_graph *whole, const float *by_part, int64_t *n,
    int32_t n_parts)
{
    int64_t sum = 0;

    for (int32_t q = 0; q < n_parts; q++) {
        const int64_t here = n[q];

        n[q] = sum;
        sum += here;
    }
    for (int64_t e = 0; e < whole->n_edges; e++)
        logit[e] = by_part[n[shared->owner[whole->dst[e]]]++];
}

static etx_status gather_logits(float *logit, struct etx_trainer *trainer,
    const struct shared *shared, const struct etx_graph *whole,
    const float *of_part)
{
    const int32_t n_parts = trainer->parts.n_parts;
    struct etx_arena *arena = etx_train_host(trainer)->arena;
    float *by_part;
    float *own;
    int64_t *n;
    int64_t n_own = 0;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&n, arena, n_parts, sizeof *n, "own edges"));
    ETX_CHECK(etx_arena_alloc(
        &by_part, arena, whole->n_edges, sizeof *by_part, "edge logits"));
    ETX_CHECK(etx_arena_alloc(
        &own, arena, shared->n_edges, sizeof *own, "edge logits"));
    for (int64_t e = 0; e < shared->n_edges; e++)
        if (etx_part_owns_edge(shared->part, e))
            own[n_own++] = of_part[e];
    count_own(n, shared, whole, n_parts);
    ETX_CHECK(gather(by_part, trainer, n, own));
    place_logits(logit, shared, whole, by_part, n, n_parts);
done:
    return status;
}

etx_status etx_train_part_logits(float *logit, struct etx_trainer *trainer,
    const struct etx_network_input *input)
{
    struct etx_context *context = trainer->context;
    const struct etx_train_marks marks = etx_train_mark(trainer);
    const struct etx_network *network = &trainer->there.network;
    struct shared shared = {.part = NULL};
    float *of_part;
    etx_status status;

    ETX_CHECK(open_part(&shared, trainer, input));
    ETX_CHECK(etx_arena_alloc(&of_part, context->stream->arena, shared.n_edges,
        sizeof *of_part, "edge logits"));
    ETX_CHECK(
        network->arch->forward(network, context, &shared.input, NULL, of_part));
    ETX_CHECK(etx_train_fetch(
        &of_part, trainer, of_part, shared.n_edges, "edge logits"));
    ETX_CHECK(gather_logits(logit, trainer, &shared, input->graph, of_part));
done:
    close_part(&shared);
    etx_train_reset(trainer, marks);
    return status;
}
