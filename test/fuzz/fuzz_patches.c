/* fuzz_patches.c -- valid files with some bytes replaced: a model with
 * completion and first pass, a checkpoint, a cached graph. The checksum is
 * mended, so that what it protects is reached. The first byte says which file;
 * then follow patches: offset (2 bytes), number of bytes (1), bytes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memmem */
#include "fuzz_support.h"

#include "base/heap.h"
#include "train/graphs/graph_file.h"

#include <exatrkx/train.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define N_FILES      3
#define LENGTH_BYTES 8
#define N_NODES      12

static const char config[] =
    "{\"stage\":\"embedding\",\"seed\":3,\"model\":{\"arch\":\"mlp\","
    "\"options\":{\"hidden\":[2],\"n_out\":2},\"node_features\":[{\"name\":"
    "\"r\",\"scale\":1000}],\"graph\":{\"radius\":0.4}},\"schedule\":{"
    "\"steps\":20,\"warmup_steps\":1},\"sampling\":{\"queries\":10,"
    "\"random_pairs\":20},\"stability\":{\"spike_factor\":2,"
    "\"snapshot_every\":1},\"validation\":{\"keep_best\":true,\"patience\":3}}";

static struct file {
    uint8_t *data;
    size_t size;
} files[N_FILES];

static etx_context *context;
static etx_trainer *trainer;
static etx_event *events[2];
static etx_tracks *tracks;
static const struct etx_graph_key key = {.hash = 7, .n_nodes = N_NODES};

static struct file read_file(const char *path)
{
    FILE *stream = fopen(path, "rb");
    struct file file = {.data = calloc(1 << 16, 1)};

    fuzz_require(stream != NULL && file.data != NULL, "no file");
    file.size = fread(file.data, 1, 1 << 16, stream);
    (void)fclose(stream);
    (void)unlink(path);
    return file;
}

static void make_model(void)
{
    etx_model *start = fuzz_model(fuzz_model_config);
    etx_event *event = fuzz_event(100, 5);
    const etx_event *const list[] = {event};
    etx_model *completed = NULL;
    etx_model *model = NULL;

    fuzz_require(etx_model_learn_completion(&completed, start, 1, list, NULL) ==
                         ETX_OK &&
                     etx_model_learn_first_pass(
                         &model, completed, 1, list, NULL) == ETX_OK &&
                     etx_model_save(model, fuzz_path("model")) == ETX_OK,
        "no model with completion");
    files[0] = read_file(fuzz_path("model"));
    etx_model_free(model);
    etx_model_free(completed);
    etx_model_free(start);
    etx_event_free(event);
}

static void make_checkpoint(void)
{
    etx_training_report report = {.struct_size = sizeof report};

    fuzz_require(
        etx_trainer_create(&trainer, context, config, NULL) == ETX_OK &&
            etx_trainer_add_event(trainer, events[0], 0) == ETX_OK &&
            etx_trainer_add_event(trainer, events[1], 1) == ETX_OK &&
            etx_trainer_step(&report, trainer) == ETX_OK &&
            etx_trainer_validate(&report, trainer) == ETX_OK &&
            etx_trainer_save_checkpoint(trainer, fuzz_path("checkpoint")) ==
                ETX_OK,
        "no checkpoint");
    files[1] = read_file(fuzz_path("checkpoint"));
}

static void make_graph(void)
{
    static const int32_t src[] = {0, 1, 2, 3, 9}, dst[] = {1, 2, 3, 4, 11};
    static const float score[] = {0.5f, 0.1f, 0.9f, 1.0f, 0.0f};
    etx_graph *graph = NULL;

    fuzz_require(
        etx_graph_from_edges(&graph, N_NODES, 5, src, dst, score, NULL) ==
                ETX_OK &&
            etx_graph_file_write(fuzz_path("graph"), graph, &key) == ETX_OK,
        "no cached graph");
    files[2] = read_file(fuzz_path("graph"));
    etx_graph_free(graph);
}

int LLVMFuzzerInitialize(int *n_arguments, char ***arguments)
{
    int32_t label[60];

    (void)n_arguments;
    (void)arguments;
    for (int32_t i = 0; i < 60; i++)
        label[i] = i % 10 > 5 ? -1 : i / 10;
    context = fuzz_context(1, ETX_CPU_BEST);
    for (int32_t k = 0; k < 2; k++)
        events[k] = fuzz_event(6, (uint64_t)k);
    fuzz_require(
        etx_tracks_from_labels(&tracks, 60, label) == ETX_OK, "no tracks");
    make_model();
    make_checkpoint();
    make_graph();
    return 0;
}

/* The CRC-32 of the data, where the header has one. */
static void mend_checksum(uint8_t *data, size_t size)
{
    static const char name[] = "etx.checksum\":\"";
    uint64_t length = 0;
    char text[9];

    for (int32_t i = LENGTH_BYTES - 1; i >= 0; i--)
        length = length << 8 | data[i];
    if (length > size - LENGTH_BYTES)
        return;
    uint8_t *header = data + LENGTH_BYTES;
    uint8_t *at = memmem(header, length, name, strlen(name));
    if (at == NULL || (size_t)(header + length - at) < strlen(name) + 8)
        return;
    (void)snprintf(text, sizeof text, "%08lx",
        crc32(0, header + length, (unsigned)(size - LENGTH_BYTES - length)));
    memcpy(at + strlen(name), text, 8);
}

static etx_status use_model(const uint8_t *data, size_t size)
{
    etx_model *model = NULL;
    etx_tracks *more = NULL;
    etx_tracks *found = NULL;
    etx_status status = etx_model_load_memory(&model, data, size);

    if (status == ETX_OK)
        status =
            etx_complete_tracks(&more, tracks, context, model, events[0], NULL);
    if (status == ETX_OK)
        status = etx_find_long_tracks(&found, context, model, events[0], NULL);
    if (status == ETX_OK)
        fuzz_require(
            etx_tracks_n_hits(more) == 60 && etx_tracks_n_hits(found) == 60,
            "other hits");
    etx_tracks_free(found);
    etx_tracks_free(more);
    etx_model_free(model);
    return status;
}

static etx_status use_checkpoint(const uint8_t *data, size_t size)
{
    const uint64_t hash = etx_trainer_hash(trainer);
    etx_training_report report = {.struct_size = sizeof report};
    etx_status status =
        etx_trainer_load_checkpoint(trainer, fuzz_file(0, data, size));

    if (status != ETX_OK) {
        fuzz_require(etx_trainer_hash(trainer) == hash,
            "a refused checkpoint changed the trainer");
        return status;
    }
    if (!etx_trainer_is_finished(trainer))
        status = etx_trainer_step(&report, trainer);
    if (status == ETX_OK)
        status = etx_trainer_validate(&report, trainer);
    fuzz_require(etx_trainer_load_checkpoint(trainer,
                     fuzz_file(0, files[1].data, files[1].size)) == ETX_OK,
        "the good checkpoint is refused");
    return status;
}

static etx_status use_graph(const uint8_t *data, size_t size)
{
    etx_graph *graph = NULL;
    const etx_status status =
        etx_graph_file_read(&graph, fuzz_file(0, data, size), &key);

    for (int64_t e = 0; e < etx_graph_n_edges(graph); e++)
        fuzz_require(etx_graph_src(graph)[e] >= 0 &&
                         etx_graph_src(graph)[e] < N_NODES &&
                         etx_graph_dst(graph)[e] >= 0 &&
                         etx_graph_dst(graph)[e] < N_NODES,
            "an edge out of range");
    etx_graph_free(graph);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    const uint32_t kind = fuzz_byte(&input) % N_FILES;
    const struct file *file = &files[kind];
    uint8_t *patched = malloc(file->size);
    int64_t before;
    etx_status status;

    fuzz_require(patched != NULL, "no memory");
    memcpy(patched, file->data, file->size);
    while (input.size > 3) {
        const size_t low = fuzz_byte(&input);
        size_t at = (low | (size_t)fuzz_byte(&input) << 8) % file->size;

        for (uint32_t n = fuzz_byte(&input) % 16; n > 0; n--)
            patched[at++ % file->size] = (uint8_t)fuzz_byte(&input);
    }
    mend_checksum(patched, file->size);
    before = etx_heap_in_use();
    if (kind == 0)
        status = use_model(patched, file->size);
    else if (kind == 1)
        status = use_checkpoint(patched, file->size);
    else
        status = use_graph(patched, file->size);
    free(patched);
    /* A trainer keeps what its steps need. */
    fuzz_check(status, kind == 1 ? etx_heap_in_use() : before);
    return 0;
}
