/* fuzz_objects.c -- small models, events and contexts of the fuzz targets.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_support.h"

#include "base/heap.h"
#include "base/random.h"
#include "io/model_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_LAYERS 10

#define NODES                                                                  \
    "\"node_features\":[{\"name\":\"r\",\"scale\":1000},"                      \
    "{\"name\":\"z\",\"scale\":1000}]"
#define EDGES "\"edge_features\":[{\"name\":\"dphi\",\"scale\":1}]"

const char fuzz_model_config[] =
    "{\"schema\":1,\"embedding\":{\"arch\":\"mlp\",\"options\":{\"hidden\":[4],"
    "\"n_out\":3}," NODES ",\"graph\":{\"radius\":0.4}},"
    "\"filter\":{\"arch\":\"edge_filter\",\"options\":{\"hidden\":[4]}," NODES
    "," EDGES ",\"cut\":0.01},\"gnn\":{\"arch\":\"interaction_network\","
    "\"options\":{\"hidden\":4,\"n_iterations\":1}," NODES "," EDGES "},"
    "\"label\":{\"method\":\"walkthrough\",\"cut\":0.3}}";

etx_model *fuzz_model(const char *config)
{
    struct etx_json *json = NULL;
    etx_model *model = NULL;

    fuzz_require(
        etx_json_parse(&json, "config", config, strlen(config), 16) == ETX_OK &&
            etx_model_from_config(&model, json) == ETX_OK,
        "no model");
    etx_json_free(json);
    struct etx_network *const network[] = {
        model->embedding.network, model->filter.network, model->gnn.network};
    for (uint64_t n = 0; n < 3; n++)
        if (network[n] != NULL)
            etx_network_init(network[n], n);
    etx_model_freeze(model);
    return model;
}

etx_event *fuzz_event(int64_t n_particles, uint64_t seed)
{
    const int64_t n = n_particles * N_LAYERS;
    float *x = calloc((size_t)(3 * n + 1), sizeof *x);
    int32_t *layer = calloc((size_t)n + 1, sizeof *layer);
    int64_t *id = calloc((size_t)n + 1, sizeof *id);
    etx_particle *particle = calloc((size_t)n_particles + 1, sizeof *particle);
    struct etx_random random;
    etx_event *event = NULL;

    fuzz_require(x != NULL && layer != NULL && id != NULL && particle != NULL,
        "no memory");
    etx_random_init(&random, seed, 0, 0);
    for (int64_t p = 0; p < n_particles; p++) {
        const float phi = 6.28f * etx_random_uniform(&random);
        const float slope = etx_random_normal(&random);

        particle[p] = (etx_particle){.id = p + 1,
            .momentum = {cosf(phi), sinf(phi), slope},
            .charge = 1,
            .n_hits = N_LAYERS};
        for (int64_t l = 0; l < N_LAYERS; l++) {
            const int64_t i = p * N_LAYERS + l;
            const float r = 50.0f * (float)(l + 1);

            x[3 * i] = r * cosf(phi);
            x[3 * i + 1] = r * sinf(phi);
            x[3 * i + 2] = r * slope;
            layer[i] = (int32_t)l;
            id[i] = p + 1;
        }
    }
    fuzz_require(
        etx_event_create(&event, n, NULL, x) == ETX_OK &&
            etx_event_set_modules(event, layer, layer, layer) == ETX_OK &&
            etx_event_set_truth(event, id, NULL, n_particles, particle) ==
                ETX_OK,
        "no event");
    free(x);
    free(layer);
    free(id);
    free(particle);
    return event;
}

etx_context *fuzz_context(int32_t n_threads, int32_t cpu_level)
{
    etx_context_options options;
    etx_context *context = NULL;

    fuzz_require(etx_context_options_init(&options, sizeof options) == ETX_OK,
        "no options");
    options.n_threads = n_threads;
    options.cpu_level = cpu_level;
    options.memory_limit = (int64_t)64 << 20;
    fuzz_require(
        etx_context_create(&context, &options) == ETX_OK, "no context");
    return context;
}

#define N_KEPT 2

static etx_context *kept[N_KEPT];
static int64_t bytes_without_kept; /* in use */
static int64_t bytes_with_kept;

etx_context *fuzz_kept_context(int32_t n_threads)
{
    etx_context **context = &kept[n_threads - 1];

    if (kept[0] == NULL && kept[1] == NULL)
        bytes_without_kept = etx_heap_in_use();
    if (*context == NULL)
        *context = fuzz_context(n_threads, ETX_CPU_BEST);
    bytes_with_kept = etx_heap_in_use();
    return *context;
}

void fuzz_check_kept(int32_t status)
{
    if (etx_heap_in_use() == bytes_with_kept) {
        fuzz_check(status, bytes_with_kept);
        return;
    }
    for (int32_t k = 0; k < N_KEPT; k++) {
        etx_context_free(kept[k]);
        kept[k] = NULL;
    }
    fuzz_check(status, bytes_without_kept);
}
