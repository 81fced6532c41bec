/* api/part.c -- graphs partitioned over processes or threads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "api/arguments.h"
#include "arch/halo.h"
#include "base/check.h"
#include "base/status.h"
#include "data/graph_mirror.h"
#include "stage/stage.h"
#include "train/hash.h"
#include "train/ranks/partition.h"
#include "train/training_model.h"

#include <string.h>

etx_status etx_graph_partition(int32_t *owners, const etx_graph *graph,
    const etx_event *event, int32_t n_parts, int32_t order)
{
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(
        &host, __func__, ETX_GIVEN(graph), ETX_GIVEN(event), ETX_END));
    ETX_CHECK(etx_graph_check_on_host(graph));
    ETX_CHECK(
        etx_check_array(__func__, ETX_ARRAY(owners, graph->n_nodes, int32_t)));
    ETX_CHECK(etx_check_hits(__func__, graph->n_nodes, event));
    ETX_CHECK(etx_check_part(__func__, n_parts, 0, order));
    ETX_CHECK(
        etx_partition_nodes(owners, graph, event->position, n_parts, order));
done:
    return etx_call_end(&host, status);
}

static etx_status check_owners(const char *function, const int32_t *owners,
    int64_t n_nodes, int32_t n_parts)
{
    etx_status status = ETX_OK;

    ETX_CHECK(etx_check_array(function, ETX_ARRAY(owners, n_nodes, int32_t)));
    for (int64_t i = 0; i < n_nodes; i++)
        if (owners[i] < 0 || owners[i] >= n_parts)
            return etx_fail(ETX_ERR_ARGUMENT,
                "%s: owner %d of node %" PRId64 " is not in 0..%d", function,
                (int)owners[i], i, (int)n_parts - 1);
done:
    return status;
}

etx_status etx_graph_part_create(etx_graph_part **out, const etx_graph *graph,
    const int32_t *owners, int32_t n_parts, int32_t part)
{
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(
        &host, __func__, ETX_GIVEN(out), ETX_GIVEN(graph), ETX_END));
    ETX_CHECK(etx_check_part(__func__, n_parts, part, ETX_PARTITION_PHI));
    ETX_CHECK(check_owners(__func__, owners, graph->n_nodes, n_parts));
    ETX_CHECK(etx_graph_check_on_host(graph));
    ETX_CHECK(etx_part_create(out, graph, owners, n_parts, part));
done:
    return etx_call_end(&host, status);
}

ETX_GETTER(const etx_graph *, etx_graph_part_graph, etx_graph_part, graph, NULL)
ETX_GETTER(const int32_t *, etx_graph_part_nodes, etx_graph_part, node, NULL)
ETX_GETTER(const int32_t *, etx_graph_part_edges, etx_graph_part, edge, NULL)
ETX_GETTER(int64_t, etx_graph_part_n_own_edges, etx_graph_part, n_own_edges, 0)
ETX_GETTER(const int64_t *, etx_graph_part_sent, etx_graph_part, n_sent, NULL)
ETX_GETTER(
    const int64_t *, etx_graph_part_received, etx_graph_part, n_received, NULL)

static etx_status check_network(const char *function, const etx_model *model)
{
    if (model->gnn.network == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: the model has no graph neural network", function);
    return etx_halo_check(model->gnn.network);
}

/* The parts are of one graph and event, and scored by one model. */
static etx_status agree(const etx_graph_part *part, etx_context *context,
    const etx_model *model, const etx_event *event,
    const etx_part_exchange *exchange)
{
    const struct etx_train_partition partition = {.n_parts = part->n_parts,
        .part = part->part,
        .exchange = *exchange,
        .arena = etx_host_of(context)->stream->arena};
    const int64_t sizes[] = {
        part->whole_nodes, part->whole_edges, event->n_hits};
    struct etx_common common[ETX_N_COMMON + 1];
    uint64_t hash =
        etx_hash_bytes(ETX_HASH_START, model->config, strlen(model->config));

    if (part->n_parts == 1)
        return ETX_OK;
    hash = etx_train_hash_network(hash, model->gnn.network);
    etx_common_begin(common, context, hash, "the model");
    hash = etx_hash_bytes(ETX_HASH_START, sizes, sizeof sizes);
    hash = etx_hash_bytes(hash, event->position,
        (size_t)(3 * event->n_hits) * sizeof *event->position);
    common[ETX_N_COMMON] =
        (struct etx_common){hash, "the event or the size of the graph"};
    return etx_partition_agree(&partition, common, ETX_N_COMMON + 1);
}

static etx_status score(float *scores, const etx_graph_part *part,
    etx_context *context, const etx_model *model, const etx_event *event,
    const etx_part_exchange *exchange)
{
    const struct etx_cancel cancel = etx_cancel_enter(context);
    etx_status status;

    ETX_CHECK(agree(part, context, model, event, exchange));
    ETX_CHECK(
        etx_stage_score_part(scores, part, context, model, event, exchange));
done:
    (void)etx_cancel_replace(cancel);
    return status;
}

etx_status etx_graph_part_score(float *scores, const etx_graph_part *part,
    etx_context *context, const etx_model *model, const etx_event *event,
    const etx_part_exchange *exchange)
{
    etx_part_exchange used = {.leave = NULL};
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_END));
    ETX_CHECK(etx_read_exchange(&used, __func__, exchange));
    ETX_CHECK(etx_check_given(__func__, ETX_GIVEN(part), ETX_GIVEN(context),
        ETX_GIVEN(model), ETX_GIVEN(event), ETX_END));
    ETX_CHECK(etx_check_array(
        __func__, ETX_ARRAY(scores, part->graph->n_edges, float)));
    ETX_CHECK(etx_check_hits(__func__, part->whole_nodes, event));
    ETX_CHECK(check_network(__func__, model));
    ETX_CHECK(score(scores, part, context, model, event, &used));
done:
    if (status != ETX_OK && used.leave != NULL)
        used.leave(used.user, status);
    return etx_call_end(&host, status);
}

void etx_graph_part_free(etx_graph_part *part)
{
    etx_part_free(part);
}
