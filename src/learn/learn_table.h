/* learn/learn_table.h -- a model with a table that is learned from true tracks,
 * without gradients.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_LEARN_LEARN_TABLE_H
#define ETX_LEARN_LEARN_TABLE_H

#include "data/event.h"
#include "stage/model.h"

struct etx_learned_table {
    const char *name; /* in "training" of etx.config */
    /* Write the options to etx.config. */
    etx_status (*set_options)(struct etx_json *config, const void *options);
    /* Learn the table in place of model's. */
    etx_status (*learn)(struct etx_model *model,
        const struct etx_event *const *events, int64_t n_events,
        const void *options);
};

/* Options: etx_completion_options, etx_first_pass_options,
 * etx_module_map_options. */
extern const struct etx_learned_table etx_learned_completion;
extern const struct etx_learned_table etx_learned_first_pass;
extern const struct etx_learned_table etx_learned_module_map;

/* *out: model with these options and this table, learned from n_events
 * events. */
etx_status etx_learn_table(struct etx_model **out,
    const struct etx_learned_table *table, const struct etx_model *model,
    const struct etx_event *const *events, int64_t n_events,
    const void *options);

#endif
