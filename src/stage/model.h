/* stage/model.h -- a trained pipeline in memory.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_MODEL_H
#define ETX_STAGE_MODEL_H

#include "arch/arch.h"
#include "stage/first_pass/first_pass_table.h"
#include "stage/graph_construction/module_map.h"
#include "stage/helix/layer_table.h"

/* One network of the pipeline and the node features it reads. network is
 * NULL when the model has no such stage. */
struct etx_model_stage {
    struct etx_network *network;
    struct etx_feature_list node_features;
};

/* The public etx_model: immutable once loaded. */
struct etx_model {
    struct etx_model_stage embedding;
    float radius;           /* of the graph, in the learned space */
    int32_t max_neighbours; /* 0: all */
    float graph_max_edges;  /* per hit, by a smaller radius; 0: no bound */
    int32_t orientation;    /* ETX_ORIENT_ */
    int32_t has_module_map; /* edges come from it, not a radius */
    struct etx_module_map *module_map; /* NULL until loaded or learned */
    struct etx_model_stage filter;
    float filter_cut;       /* an edge passes when its score is above */
    float filter_max_edges; /* per hit, by highest score; 0: no bound */
    struct etx_model_stage gnn;
    etx_label_options label;
    int32_t has_completion; /* tracks are completed after their labels */
    etx_completion_options completion_options;
    struct etx_completion *completion; /* NULL until loaded or learned */
    int32_t has_first_pass; /* long tracks are found before the networks */
    etx_first_pass_options first_pass_options;
    struct etx_first_pass *first_pass; /* NULL until loaded or learned */
    char *config; /* etx.config, JSON text, from etx_alloc */
};

#endif
