/* fuzz_support.c -- what the fuzz targets share.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memfd_create */

#include "fuzz_support.h"

#include "base/heap.h"
#include "io/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_SLOTS 4

/* Freed memory is used again soon and stays in the cache: an input frees
 * little, so what it uses after that is still found. Allocations keep no stack.
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=1:thread_local_quarantine_size_kb=64:"
           "malloc_context_size=0";
}

/* In place of libFuzzer's own where run.sh says so: these remember the numbers
 * that are compared, to put them into inputs, for a third of the time. */
#define FORGET(name, type)                                                     \
    void __wrap___sanitizer_cov_trace_##name(type a, type b)                   \
        __attribute__((no_sanitize("address", "coverage")));                   \
    void __wrap___sanitizer_cov_trace_##name(type a, type b)                   \
    {                                                                          \
        (void)a, (void)b;                                                      \
    }
FORGET(cmp1, uint8_t)
FORGET(cmp2, uint16_t)
FORGET(cmp4, uint32_t)
FORGET(cmp8, uint64_t)
FORGET(const_cmp1, uint8_t)
FORGET(const_cmp2, uint16_t)
FORGET(const_cmp4, uint32_t)
FORGET(const_cmp8, uint64_t)

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

/* ----------------------------------------------------------------- texts -- */

static struct etx_bytes texts[N_SLOTS];
static const char *const names[N_SLOTS] = {
    "text 0", "text 1", "text 2", "text 3"};

const char *fuzz_text(int32_t slot, const void *data, size_t size)
{
    free(texts[slot].data);
    texts[slot] = (struct etx_bytes){malloc(size + 1), size};
    fuzz_require(texts[slot].data != NULL, "no memory for a text");
    if (size > 0)
        memcpy(texts[slot].data, data, size);
    return names[slot];
}

/* The linker gives the library this function in place of its own. */
etx_status __real_etx_file_read_text(
    struct etx_bytes *out, const char *path, size_t max_bytes);
etx_status __wrap_etx_file_read_text(
    struct etx_bytes *out, const char *path, size_t max_bytes);
etx_status __wrap_etx_file_read_text(
    struct etx_bytes *out, const char *path, size_t max_bytes)
{
    int32_t slot = 0;

    while (slot < N_SLOTS && path != names[slot])
        slot++;
    if (slot == N_SLOTS)
        return __real_etx_file_read_text(out, path, max_bytes);
    const struct etx_bytes text = texts[slot];
    if (etx_is_gzip(text.data, text.size))
        return etx_gunzip(out, path, text.data, text.size, max_bytes);
    const etx_status status =
        etx_alloc(&out->data, (int64_t)text.size + 1, 1, "the bytes of a text");
    if (status == ETX_OK) {
        memcpy(out->data, text.data, text.size);
        out->data[text.size] = '\0';
        out->size = text.size;
    }
    return status;
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
