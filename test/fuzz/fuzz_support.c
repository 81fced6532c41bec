/* fuzz_support.c -- what the fuzz targets share.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memfd_create */

#include "fuzz_support.h"

#include "base/heap.h"
#include "base/random.h"
#include "io/model_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_SLOTS  4
#define N_LAYERS 10

static int descriptors[N_SLOTS] = {-1, -1, -1, -1};

void fuzz_require(int32_t holds, const char *what)
{
    if (holds)
        return;
    (void)fprintf(stderr, "%s (%s)\n", what, etx_last_error());
    abort();
}

const char *fuzz_file(int32_t slot, const void *data, size_t size)
{
    static char paths[N_SLOTS][64];

    if (descriptors[slot] < 0)
        descriptors[slot] = memfd_create("exatrkx-fuzz", 0);
    fuzz_require(descriptors[slot] >= 0, "no file in memory");
    fuzz_require(ftruncate(descriptors[slot], 0) == 0, "cannot truncate");
    fuzz_require(pwrite(descriptors[slot], data, size, 0) == (ssize_t)size,
        "cannot write");
    (void)snprintf(
        paths[slot], sizeof paths[slot], "/proc/self/fd/%d", descriptors[slot]);
    return paths[slot];
}

const char *fuzz_path(const char *name)
{
    static char path[128];
    const char *const folder =
        access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

    (void)snprintf(path, sizeof path, "%s/exatrkx-fuzz-%ld-%s", folder,
        (long)getpid(), name);
    return path;
}

void fuzz_check(int32_t status, int64_t bytes_before)
{
    if (status != ETX_OK)
        fuzz_require(etx_last_error()[0] != '\0', "an error without a message");
    fuzz_require(etx_heap_in_use() == bytes_before, "memory is left");
}

/* ------------------------------------------------------ bytes as numbers -- */

uint32_t fuzz_byte(struct fuzz_input *input)
{
    if (input->size == 0)
        return 0;
    input->size--;
    return *input->data++;
}

uint32_t fuzz_word(struct fuzz_input *input)
{
    uint32_t word = 0;

    for (int32_t i = 0; i < 4; i++)
        word = word << 8 | fuzz_byte(input);
    return word;
}

int64_t fuzz_count(struct fuzz_input *input)
{
    static const int64_t extreme[] = {-1, INT64_MIN, INT64_MAX, INT32_MAX,
        (int64_t)INT32_MAX + 1, (int64_t)1 << 32, (int64_t)1 << 40, INT32_MIN};
    const uint32_t byte = fuzz_byte(input);

    return byte >= 248 ? extreme[byte - 248] : (int64_t)(byte % 40);
}

int32_t fuzz_int(struct fuzz_input *input)
{
    static const int32_t extreme[] = {
        -1, INT32_MIN, INT32_MAX, 1000, -5, 256, 65536, 77};
    const uint32_t byte = fuzz_byte(input);

    return byte >= 248 ? extreme[byte - 248] : (int32_t)(byte % 8);
}

float fuzz_float(struct fuzz_input *input)
{
    static const float usual[] = {0.0f, 1.0f, -1.0f, 0.5f, 1e-3f, 100.0f, 1e30f,
        3.4e38f, -3.4e38f, 1e-45f, NAN, INFINITY, -INFINITY, -0.0f, 1e-20f,
        2.0f};
    const uint32_t byte = fuzz_byte(input);
    float value;

    if (byte < 240)
        return usual[byte % 16];
    const uint32_t word = fuzz_word(input);
    memcpy(&value, &word, sizeof value);
    return value;
}

float fuzz_finite(struct fuzz_input *input)
{
    const float value = fuzz_float(input);

    return isfinite(value) ? value : 1.0f;
}

/* --------------------------------------------------------------- objects -- */

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
    struct etx_network *const network[] = {model->embedding.network,
        model->filter.network, model->cascade.network, model->gnn.network};
    for (uint64_t n = 0; n < 4; n++)
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
