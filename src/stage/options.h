/* stage/options.h -- the fields of the options structs of the interface.
 *
 * A field stands in the public header, with its comment, and in the table of
 * its struct in options.c: default and bounds. From there it is initialised,
 * checked, copied, read from model files and written to them, and so come the
 * dataclasses of Python.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_OPTIONS_H
#define ETX_STAGE_OPTIONS_H

#include "base/options.h"

#include <exatrkx/eval.h>
#include <exatrkx/fit.h>
#include <exatrkx/graph.h>
#include <exatrkx/train.h>

/* X(name, text, last): the struct etx_<name>_options, its name in messages, and
 * its last field at its first release. */
#define ETX_OPTIONS_TYPES(X)                                                   \
    X(context, "context options", keep_graphs)                                 \
    X(graph, "graph options", max_edges)                                       \
    X(label, "etx_label_options", max_polar_change)                            \
    X(completion, "etx_completion_options", passes)                            \
    X(first_pass, "etx_first_pass_options", min_event_hits)                    \
    X(module_map, "etx_module_map_options", margin)                            \
    X(fit, "etx_fit_options", map_z)                                           \
    X(resolve, "etx_resolve_options", min_hits)                                \
    X(evaluation, "etx_evaluation_options", charged_only)

#define ETX_OPTIONS_TYPE(name, text, last)                                     \
    extern const struct etx_options_type etx_##name##_options_type;
ETX_OPTIONS_TYPES(ETX_OPTIONS_TYPE)

#endif
