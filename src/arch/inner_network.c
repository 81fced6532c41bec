/* arch/inner_network.c -- an interaction network that works inside another.
 *
 * It is configured as a network of its own, whose table of parameters is then
 * appended to that of the outer: one flat array of values serves both.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/inner_network.h"

#include "base/check.h"
#include "base/heap.h"

#include <stdio.h>

/* Append the parameters of the inner network. */
static etx_status declare(
    struct etx_inner_network *inner, struct etx_network *outer, const char *key)
{
    etx_status status = ETX_OK;

    inner->offset = outer->n_values;
    for (int32_t p = 0; p < inner->network.n_parameters; p++) {
        struct etx_parameter parameter = inner->network.parameter[p];
        int64_t offset = 0;

        (void)snprintf(parameter.name, sizeof parameter.name, "%.8s.%.54s", key,
            inner->network.parameter[p].name);
        ETX_CHECK(etx_network_declare(outer, &offset, &parameter));
    }
done:
    return status;
}

etx_status etx_inner_network_configure(struct etx_inner_network *inner,
    struct etx_network *outer, const char *key, int32_t n_node_features,
    const json_t *options)
{
    etx_status status = ETX_OK;

    inner->network = (struct etx_network){
        .arch = etx_arch_find("interaction_network"),
        .n_node_features = n_node_features,
    };
    ETX_CHECK(inner->network.arch->configure(&inner->network, options));
    ETX_CHECK(declare(inner, outer, key));
done:
    return status;
}

void etx_inner_network_release(struct etx_inner_network *inner)
{
    if (inner->network.arch == NULL)
        return;
    inner->network.arch->release(&inner->network);
    etx_free(inner->network.parameter);
}

struct etx_network etx_inner_network_view(
    const struct etx_inner_network *inner, const struct etx_network *outer)
{
    struct etx_network view = inner->network;

    view.value = outer->value + inner->offset;
    return view;
}
