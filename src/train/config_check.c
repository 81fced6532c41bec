/* train/config_check.c -- what a training config requires of its model.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/config_check.h"

#include "base/check.h"

#include <stdbool.h>
#include <string.h>

int32_t etx_train_moves_hits(const struct etx_train_config *config)
{
    const struct etx_train_augmentation *augmentation = &config->augmentation;

    return augmentation->rotate_phi || augmentation->reflect_z ||
           augmentation->reflect_y || augmentation->reflect_x;
}

static etx_status check_first_pass(
    const struct etx_train_config *config, const struct etx_json *model_config)
{
    if (config->augmentation.first_pass > 0.0f &&
        etx_json_get(model_config, "first_pass") == NULL)
        return etx_fail(ETX_ERR_FORMAT,
            "training config: augmentation.first_pass %g without a start model "
            "that has a first pass: see etx_model_learn_first_pass",
            (double)config->augmentation.first_pass);
    return ETX_OK;
}

/* Features that name a direction do not move along with the hits; the extents
 * of a cluster are lengths on its module, which are the same in a mirror. */
static etx_status check_augmentation(
    const struct etx_train_config *config, const struct etx_model_stage *stage)
{
    static const char *const fixed[] = {"leta", "lphi", "geta", "gphi"};
    const struct etx_feature_list *list = &stage->node_features;

    if (!etx_train_moves_hits(config))
        return ETX_OK;
    for (int32_t k = 0; k < list->n_features; k++) {
        const int32_t id = list->feature[k].id;
        bool is_fixed = etx_hit_feature_is_of_cluster(id);

        for (size_t f = 0; f < sizeof fixed / sizeof fixed[0]; f++)
            is_fixed = is_fixed || id == etx_hit_feature_find(fixed[f]);
        if (is_fixed)
            return etx_fail(ETX_ERR_FORMAT,
                "training config: augmentation does not move node feature "
                "\"%s\": switch rotate_phi, reflect_z, reflect_y and reflect_x "
                "off",
                etx_hit_feature_name(id));
    }
    return ETX_OK;
}

/* Chunks leave the gradient as it is where the edges of a pass do not know of
 * each other: not with messages between them, nor with a batch norm. */
static etx_status check_chunks(
    const struct etx_train_config *config, const struct etx_json *model_config)
{
    const struct etx_json *filter = etx_json_get(model_config, "filter");
    const char *arch = etx_json_text(etx_json_get(filter, "arch"));
    const char *norm =
        etx_json_text(etx_json_get(etx_json_get(filter, "options"), "norm"));

    if (config->sampling.chunk_edges == 0)
        return ETX_OK;
    if (arch != NULL && strcmp(arch, "edge_filter") != 0)
        return etx_fail(ETX_ERR_FORMAT,
            "training config: sampling.chunk_edges %d with a filter of arch "
            "\"%s\": only an edge_filter scores edges independently",
            (int)config->sampling.chunk_edges, arch);
    if (norm != NULL && strcmp(norm, "batch") == 0)
        return etx_fail(ETX_ERR_FORMAT,
            "training config: sampling.chunk_edges %d with a filter of norm "
            "\"batch\": edges of one pass are not independent",
            (int)config->sampling.chunk_edges);
    return ETX_OK;
}

/* A filter is trained on a subset of the edges, for which the
 * votes in the Hough space would be lower than for the whole graph. */
static etx_status check_votes(
    const struct etx_train_config *config, const struct etx_model_stage *stage)
{
    const struct etx_network *network = stage->network;

    if (config->stage != ETX_TRAIN_GNN &&
        etx_network_needs(network, ETX_EDGE_LOG_HOUGH_VOTES))
        return etx_fail(ETX_ERR_FORMAT,
            "training config: a filter cannot be trained with the edge "
            "feature \"log_hough_votes\": it sees a choice of the edges, of "
            "which votes would be too few");
    return ETX_OK;
}

/* A trainer builds its graphs itself, without columns of a caller. */
static etx_status check_own_features(const struct etx_model_stage *stage)
{
    const struct etx_edge_feature_list *list = &stage->network->edge_features;

    for (int32_t k = 0; k < list->n_features; k++)
        if (list->feature[k] >= ETX_EDGE_OWN_0)
            return etx_fail(ETX_ERR_FORMAT,
                "training config: the graphs of a training do not have the "
                "edge feature \"own_%d\"",
                (int)(list->feature[k] - ETX_EDGE_OWN_0));
    return ETX_OK;
}

/* A switch that the network does not read would be ignored. */
static etx_status check_memory(
    const struct etx_train_config *config, const struct etx_model_stage *stage)
{
    const struct etx_train_memory *memory = &config->memory;
    const struct etx_arch *arch = stage->network->arch;
    const int32_t is_on =
        memory->checkpointing || memory->precision != ETX_MEMORY_FLOAT32;

    if (is_on && !arch->saves_memory)
        return etx_fail(ETX_ERR_FORMAT,
            "training config: memory.checkpointing and memory.precision are "
            "of networks that keep latents of edges, \"%s\" does not",
            arch->name);
    return ETX_OK;
}

/* A momentum loss needs a momentum head. */
static etx_status check_pt(
    const struct etx_train_config *config, const struct etx_model_stage *stage)
{
    if (config->loss.pt_weight > 0.0f && !stage->network->has_pt_head)
        return etx_fail(ETX_ERR_FORMAT,
            "training config: loss.pt_weight %g with a network without "
            "momentum head: an interaction_network with the option "
            "\"pt_layers\" has one",
            (double)config->loss.pt_weight);
    return ETX_OK;
}

/* Points of an embedding are float32 in any case (docs/cuda.md). */
static etx_status check_products(
    const struct etx_train_config *config, const struct etx_backend *backend)
{
    if (config->arithmetic.products == ETX_PRODUCTS_FLOAT32)
        return ETX_OK;
    if (!backend->has_float16)
        return etx_fail(ETX_ERR_UNSUPPORTED,
            "training config: arithmetic.products \"fp16\" is of trainings on "
            "a device");
    if (!etx_train_scores_edges(config))
        return etx_fail(ETX_ERR_FORMAT,
            "training config: arithmetic.products \"fp16\" is of networks "
            "that score edges, not of the stage embedding");
    return ETX_OK;
}

/* With a module map an embedding has no effect. */
static etx_status check_module_map(
    const struct etx_train_config *config, const struct etx_json *model_config)
{
    if (!etx_train_scores_edges(config) &&
        etx_json_get(model_config, "module_map") != NULL)
        return etx_fail(ETX_ERR_FORMAT,
            "training config: stage embedding, but the edges of the start "
            "model come from its module map");
    return ETX_OK;
}

static etx_status check_device(
    const struct etx_model_stage *stage, const struct etx_backend *backend)
{
    const struct etx_arch *arch = stage->network->arch;

    if (arch->is_host_only && !backend->runs_host_networks)
        return etx_fail(ETX_ERR_UNSUPPORTED,
            "%s: this network runs on the CPU only", arch->name);
    return ETX_OK;
}

etx_status etx_train_config_check(const struct etx_train_config *config,
    const struct etx_json *model_config, const struct etx_model_stage *stage,
    const struct etx_backend *backend)
{
    etx_status status;

    ETX_CHECK(check_device(stage, backend));
    ETX_CHECK(check_products(config, backend));
    ETX_CHECK(check_module_map(config, model_config));
    ETX_CHECK(check_first_pass(config, model_config));
    ETX_CHECK(check_augmentation(config, stage));
    ETX_CHECK(check_chunks(config, model_config));
    ETX_CHECK(check_votes(config, stage));
    ETX_CHECK(check_own_features(stage));
    ETX_CHECK(check_memory(config, stage));
    ETX_CHECK(check_pt(config, stage));
done:
    return status;
}
