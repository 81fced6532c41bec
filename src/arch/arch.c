/* arch/arch.c -- find, create and initialise networks.
 *
 * A network's parameters are one flat array; architectures declare them in
 * order and store offsets. Initial values are drawn per parameter from a random
 * stream with its index, so that adding a parameter changes no other.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/arch.h"

#include "arch/options.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/random.h"
#include "base/status.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* 256 MiB of float32: twenty times the largest published network, and a bound
 * for what a hostile file can make a host allocate. */
#define MAX_VALUES ((int64_t)1 << 26)

#define INIT_STREAM 1

/* Architectures in a message. */
#define MAX_NAMES 32

const struct etx_arch *etx_arch_find(const char *name)
{
    for (int64_t a = 0; etx_archs[a] != NULL; a++) {
        if (strcmp(etx_archs[a]->name, name) == 0)
            return etx_archs[a];
    }
    return NULL;
}

static etx_status fail_unknown(const char *name)
{
    const char *names[MAX_NAMES + 1] = {NULL};
    char known[256];

    for (int32_t a = 0; a < MAX_NAMES && etx_archs[a] != NULL; a++)
        names[a] = etx_archs[a]->name;
    etx_options_list(known, sizeof known, names);
    return etx_fail(ETX_ERR_FORMAT, "unknown network '%s', expected one of: %s",
        name, known);
}

/* Checks common to all architectures. */
static etx_status check_inputs(const struct etx_network *network)
{
    const struct etx_edge_feature_list *list = &network->edge_features;

    if (network->n_node_features < 0) {
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: %d node features, expected 0 or more", network->arch->name,
            (int)network->n_node_features);
    }
    if (list->n_features < 0 || list->n_features > ETX_N_EDGE_FEATURES) {
        return etx_fail(ETX_ERR_FORMAT,
            "%s: %d edge features, expected 0 to %d", network->arch->name,
            (int)list->n_features, (int)ETX_N_EDGE_FEATURES);
    }
    if (network->arch->kind == ETX_NETWORK_POINT && list->n_features > 0) {
        return etx_fail(ETX_ERR_FORMAT,
            "%s: %d edge features given, but it is a network of points",
            network->arch->name, (int)list->n_features);
    }
    return ETX_OK;
}

uint64_t etx_frozen_id(void)
{
    /* A counter: an address may be used again by a later network. */
    static _Atomic uint64_t n_frozen;

    return 1 + atomic_fetch_add(&n_frozen, 1);
}

void etx_network_freeze(struct etx_network *network)
{
    if (network != NULL && network->frozen_id == 0)
        network->frozen_id = etx_frozen_id();
}

etx_status etx_network_create(struct etx_network **out, const char *arch,
    int32_t n_node_features, const struct etx_edge_feature_list *edge_features,
    const struct etx_json *options)
{
    struct etx_network *network = NULL;
    etx_status status = ETX_OK;

    ETX_NEW(network, 1, "network");
    network->arch = etx_arch_find(arch);
    if (network->arch == NULL) {
        status = fail_unknown(arch);
        goto done;
    }
    network->n_node_features = n_node_features;
    if (edge_features != NULL)
        network->edge_features = *edge_features;
    ETX_CHECK(check_inputs(network));
    if (etx_network_needs(network, ETX_EDGE_LOG_HOUGH_VOTES))
        network->needs_whole = "votes are counted among all edges";
    ETX_CHECK(network->arch->configure(network, options));
    ETX_CHECK(etx_alloc(&network->value, network->n_values, sizeof(float),
        "network parameters"));
    *out = network;
    network = NULL;
done:
    etx_network_free(network);
    return status;
}

void etx_network_release(struct etx_network *network)
{
    if (network->state != NULL && network->arch->release != NULL)
        network->arch->release(network);
    etx_free(network->state);
    for (int32_t k = 0; k < network->n_blocks; k++)
        etx_free(network->blocks[k]);
    etx_free(network->parameter);
    etx_free(network->value);
}

void etx_network_free(struct etx_network *network)
{
    if (network == NULL)
        return;
    etx_network_release(network);
    etx_free(network);
}

static void init_parameter(float *value, const struct etx_parameter *parameter,
    uint64_t seed, int32_t index)
{
    const int64_t n = (int64_t)parameter->n_rows * parameter->n_cols;
    const float bound = 1.0f / sqrtf((float)parameter->fan_in);
    struct etx_random random;

    etx_random_init(&random, seed, INIT_STREAM, (uint32_t)index);
    for (int64_t v = 0; v < n; v++) {
        switch ((enum etx_init)parameter->init) {
        case ETX_INIT_UNIFORM:
            value[v] = (2.0f * etx_random_uniform(&random) - 1.0f) * bound;
            break;
        case ETX_INIT_ONE:
            value[v] = 1.0f;
            break;
        case ETX_INIT_ZERO:
            value[v] = 0.0f;
            break;
        }
    }
}

void etx_network_init(struct etx_network *network, uint64_t seed)
{
    for (int32_t p = 0; p < network->n_parameters; p++) {
        const struct etx_parameter *parameter = &network->parameter[p];

        init_parameter(network->value + parameter->offset, parameter, seed, p);
    }
}

/* Capacity for one more parameter: the next power of two. */
static etx_status grow_parameters(struct etx_network *network)
{
    const int64_t n = network->n_parameters;

    if ((n & (n - 1)) != 0)
        return ETX_OK;
    return etx_resize(&network->parameter, n, n == 0 ? 1 : 2 * n,
        sizeof *network->parameter, "network parameter table");
}

etx_status etx_network_declare(struct etx_network *network, int64_t *offset,
    const struct etx_parameter *parameter)
{
    etx_status status = ETX_OK;
    const int64_t n = (int64_t)parameter->n_rows * parameter->n_cols;

    assert(parameter->n_rows > 0 && parameter->n_cols > 0);
    assert(parameter->fan_in > 0);
    if (n > MAX_VALUES - network->n_values) {
        return etx_fail(ETX_ERR_LIMIT,
            "%s: %s [%d, %d] takes the network beyond %" PRId64
            " parameter values",
            network->arch->name, parameter->name, (int)parameter->n_rows,
            (int)parameter->n_cols, MAX_VALUES);
    }
    ETX_CHECK(grow_parameters(network));
    network->parameter[network->n_parameters] = *parameter;
    network->parameter[network->n_parameters].offset = network->n_values;
    network->n_parameters++;
    *offset = network->n_values;
    network->n_values += n;
done:
    return status;
}
