/* learn/learn_table.h -- a model with a table that is learned from true tracks,
 * without gradients.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_LEARN_LEARN_TABLE_H
#define ETX_LEARN_LEARN_TABLE_H

#include "data/event.h"
#include "stage/model.h"

struct etx_learned_table {
    const char *name; /* its section of etx.config, and of "training" in it */
    const char
        *outdated; /* the section that does not fit a new table, or NULL */
    const struct etx_options_type *options;
    int32_t keeps_options; /* in its section; the module map has no others */
    /* Learn the table in place of model's. */
    etx_status (*learn)(struct etx_model *model,
        const struct etx_event *const *events, int64_t n_events,
        const void *options);
};

/* The tables of n_events events with truth and modules: ETX_ERR_ARGUMENT for an
 * event without. Of completion: ETX_ERR_LIMIT for more than
 * ETX_COMPLETION_MAX_LAYERS layers. Of the first pass, for the layers of the
 * model's completion: ETX_ERR_ARGUMENT when no track comes from the beam line.
 * Of the module map: ETX_ERR_ARGUMENT when no track has two hits. */
etx_status etx_learn_completion(struct etx_model *model,
    const struct etx_event *const *events, int64_t n_events,
    const void *options);
etx_status etx_learn_first_pass(struct etx_model *model,
    const struct etx_event *const *events, int64_t n_events,
    const void *options);
etx_status etx_learn_module_map(struct etx_model *model,
    const struct etx_event *const *events, int64_t n_events,
    const void *options);

extern const struct etx_learned_table etx_learned_completion;
extern const struct etx_learned_table etx_learned_first_pass;
extern const struct etx_learned_table etx_learned_module_map;

/* *out: model with these options, of the table's type, and this table, learned
 * from n_events events. */
etx_status etx_learn_table(struct etx_model **out,
    const struct etx_learned_table *table, const struct etx_model *model,
    const struct etx_event *const *events, int64_t n_events,
    const void *options);

#endif
