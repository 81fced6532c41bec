/* support.c -- what the unit tests share.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "arch/arch.h"
#include "base/heap.h"
#include "base/poison.h"
#include "data/event.h"
#include "io/safetensors.h"
#include "memory/arena.h"

#include <dirent.h>
#include <locale.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PATH_SIZE 1024
#define JSON_SIZE 8192
#define N_JSON    64 /* four for each of sixteen threads */
#define MAX_STACK ((size_t)1 << 25)

#if defined(ETX_HAS_ASAN)
#define SMALL_STACK (1024 * 1024) /* the sanitizer's own frames are large */

/* Allocations beyond all memory are refused and not the end. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}
#else
#define SMALL_STACK (64 * 1024)
#endif

static struct {
    int64_t n_calls;
    int64_t failing; /* -1 = none */
} allocator;

void etx_test_free_memory(void *pointer)
{
    free(*(void **)pointer);
}

#define FREE(name, type)                                                       \
    void etx_test_free_##name(type **object)                                   \
    {                                                                          \
        etx_##name##_free(*object);                                            \
    }

FREE(context, etx_context)
FREE(detector, etx_detector)
FREE(event, etx_event)
FREE(graph, etx_graph)
FREE(graph_part, etx_graph_part)
FREE(model, etx_model)
FREE(tracks, etx_tracks)
FREE(trainer, etx_trainer)
FREE(arena, struct etx_arena)
FREE(json, struct etx_json)
FREE(network, struct etx_network)
FREE(tensor_file, struct etx_tensor_file)

void *etx_test_alloc(int64_t count, size_t size)
{
    void *memory = calloc(count > 0 ? (size_t)count : 1, size);

    ck_assert_ptr_nonnull(memory);
    return memory;
}

etx_context *etx_test_context(void)
{
    return etx_test_context_with(1, 0, NULL, NULL);
}

etx_context *etx_test_context_with(int32_t n_threads, int64_t memory_limit,
    int32_t (*cancel)(void *user), void *user)
{
    etx_context *context = NULL;
    etx_context_options options;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.n_threads = n_threads;
    options.memory_limit = memory_limit;
    options.cancel = cancel;
    options.cancel_user = user;
    ck_assert_ok(etx_context_create(&context, &options));
    return context;
}

etx_context *etx_test_context_level(int32_t n_threads, int32_t level)
{
    etx_context_options options;
    etx_context *context = NULL;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.n_threads = n_threads;
    options.cpu_level = level;
    ck_assert_ok(etx_context_create(&context, &options));
    return context;
}

etx_context *etx_test_context_bfloat16(void)
{
    etx_context *context = NULL;
    etx_context_options options;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.cpu_level = ETX_CPU_REF;
    options.precision = ETX_PRECISION_BFLOAT16;
    ck_assert_ok(etx_context_create(&context, &options));
    return context;
}

static etx_status swap_nothing(void *user, float *received,
    const int64_t *n_received, const float *sent, const int64_t *n_sent)
{
    (void)user;
    (void)received;
    (void)n_received;
    (void)sent;
    (void)n_sent;
    ck_abort_msg("rows were exchanged");
    return ETX_ERR_IO;
}

etx_part_exchange etx_test_no_exchange(void)
{
    return (etx_part_exchange){
        .struct_size = sizeof(etx_part_exchange), .swap = swap_nothing};
}

etx_event *etx_test_event(int64_t n_hits, const float *positions)
{
    etx_event *event = NULL;

    ck_assert_ok(etx_event_create(&event, n_hits, NULL, positions));
    return event;
}

int32_t etx_test_cancel(void *user)
{
    (void)user;
    return 1;
}

void etx_test_set(void *options, const struct etx_test_change *change)
{
    memcpy((char *)options + change->offset, change->value, change->size);
}

const char *etx_test_json(const char *text)
{
    static char buffers[N_JSON][JSON_SIZE];
    static atomic_uint next;
    char *const out = buffers[atomic_fetch_add(&next, 1) % N_JSON];

    ck_assert_uint_lt(strlen(text), JSON_SIZE);
    strcpy(out, text);
    for (char *quote = out; (quote = strchr(quote, '\'')) != NULL;)
        *quote = '"';
    return out;
}

void etx_test_skip(const char *name, const char *reason)
{
    printf("SKIPPED %s: %s\n", name, reason);
    fflush(stdout);
}

const char *etx_test_reference(const char *name, const char *path)
{
    static char full[PATH_SIZE];
    char reason[PATH_SIZE + 32];
    const char *root = getenv("ETX_REFERENCE_DATA");

    if (root == NULL || root[0] == '\0')
        root = "../shared/data";
    snprintf(full, sizeof full, "%s/%s", root, path);
    if (access(full, R_OK) == 0)
        return full;
    snprintf(reason, sizeof reason, "no reference data in %s", root);
    etx_test_skip(name, reason);
    return NULL;
}

const char *etx_test_example(const char *path)
{
    static _Thread_local char full[PATH_SIZE];

    snprintf(full, sizeof full, "examples/data/%s", path);
    return full;
}

void etx_test_open_example(
    etx_model **model, etx_event **event, const char *name)
{
    scoped_detector *detector = NULL;

    ck_assert_ok(etx_model_load(model, "examples/models/default.safetensors"));
    ck_assert_ok(
        etx_detector_read(&detector, etx_test_example("detectors.csv.gz")));
    ck_assert_ok(
        etx_event_read_trackml(event, etx_test_example(name), detector));
}

void etx_test_open_part(etx_model **model, etx_event **event, const char *name)
{
    scoped_event *whole = NULL;
    scoped int32_t *row = NULL;
    int64_t n = 0;

    etx_test_open_example(model, &whole, name);
    row = etx_test_alloc(whole->n_hits, sizeof *row);
    for (int64_t i = 0; i < whole->n_hits; i++) {
        const int64_t particle = whole->particle_row[i];

        row[n] = (int32_t)i;
        n += (particle < 0 ? i : particle) % 3 == 0;
    }
    ck_assert_ok(etx_event_select_with_truth(event, whole, row, n));
}

void etx_test_same_tracks(const etx_tracks *a, const etx_tracks *b)
{
    const int64_t n = etx_tracks_count(a);

    ck_assert_int_eq(n, etx_tracks_count(b));
    ck_assert_mem_eq(etx_tracks_offsets(a), etx_tracks_offsets(b),
        (size_t)(n + 1) * sizeof(int64_t));
    ck_assert_mem_eq(etx_tracks_hits(a), etx_tracks_hits(b),
        (size_t)etx_tracks_offsets(a)[n] * sizeof(int32_t));
}

void etx_test_same_graph(const etx_graph *a, const etx_graph *b)
{
    const int64_t n_nodes = etx_graph_n_nodes(a);
    const size_t bytes = (size_t)etx_graph_n_edges(a) * sizeof(int32_t);

    ck_assert_int_eq(n_nodes, etx_graph_n_nodes(b));
    ck_assert_int_eq(etx_graph_n_edges(a), etx_graph_n_edges(b));
    ck_assert_mem_eq(etx_graph_src(a), etx_graph_src(b), bytes);
    ck_assert_mem_eq(etx_graph_dst(a), etx_graph_dst(b), bytes);
    ck_assert_mem_eq(etx_graph_offsets(a), etx_graph_offsets(b),
        (size_t)(n_nodes + 1) * sizeof(int64_t));
}

void etx_test_folder(char path[256])
{
    const char *root = getenv("TMPDIR");

    snprintf(path, 256, "%s/exatrkx-test-XXXXXX",
        root != NULL && strlen(root) < 200 ? root : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(path));
}

void etx_test_remove(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;

    if (folder == NULL)
        return;
    while ((entry = readdir(folder)) != NULL) {
        char file[PATH_SIZE];

        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        (void)unlink(file); /* of "." and ".." it fails */
    }
    closedir(folder);
    (void)rmdir(path);
}

etx_model *etx_test_saved(const etx_model *model)
{
    char folder[256];
    char path[300];
    etx_model *saved = NULL;

    etx_test_folder(folder);
    snprintf(path, sizeof path, "%s/model", folder);
    ck_assert_ok(etx_model_save(model, path));
    ck_assert_ok(etx_model_load(&saved, path));
    etx_test_remove(folder);
    return saved;
}

/* Compile the locale into folder and find it there. */
static int compile_locale(const char *folder)
{
    char command[2 * PATH_SIZE];

    snprintf(command, sizeof command,
        "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    return system(command) == 0 && setenv("LOCPATH", folder, 1) == 0 &&
           setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
}

void etx_test_in_comma_locale(
    const char *name, void (*check)(void *argument), void *argument)
{
    char folder[256];
    char locale_folder[300];
    char half[16];

    etx_test_folder(folder);
    if (setlocale(LC_ALL, "de_DE.UTF-8") != NULL || compile_locale(folder)) {
        snprintf(half, sizeof half, "%.1f", 0.5);
        ck_assert_str_eq(half, "0,5");
        check(argument);
        ck_assert_ptr_nonnull(setlocale(LC_ALL, "C"));
    } else {
        etx_test_skip(name, "no locale de_DE.UTF-8 and no localedef");
    }
    snprintf(locale_folder, sizeof locale_folder, "%s/de_DE.UTF-8/LC_MESSAGES",
        folder);
    etx_test_remove(locale_folder);
    snprintf(locale_folder, sizeof locale_folder, "%s/de_DE.UTF-8", folder);
    etx_test_remove(locale_folder);
    etx_test_remove(folder);
}

static void *allocate(size_t size, void *user)
{
    (void)user;
    return allocator.n_calls++ == allocator.failing ? NULL : malloc(size);
}

static void release(void *memory, void *user)
{
    (void)user;
    free(memory);
}

void etx_test_allocator_fail(int64_t number)
{
    allocator.n_calls = 0;
    allocator.failing = number;
    ck_assert_ok(etx_set_allocator(allocate, release, NULL));
}

void etx_test_allocator_restore(void)
{
    ck_assert_ok(etx_set_allocator(NULL, NULL, NULL));
}

int64_t etx_test_out_of_memory(
    etx_status (*make)(void *argument), void *argument)
{
    for (int64_t number = 0;; number++) {
        const int64_t before = etx_heap_in_use();

        etx_test_allocator_fail(number);
        const etx_status status = make(argument);
        const int64_t n_calls = allocator.n_calls;
        etx_test_allocator_restore();

        if (status == ETX_OK && n_calls <= number)
            return number;
        ck_assert_status(status, ETX_ERR_MEMORY);
        ck_assert_int_eq(etx_heap_in_use(), before);
    }
}

struct call {
    void (*function)(void *argument);
    void *argument;
};

static void *call_main(void *argument)
{
    const struct call *call = argument;

    call->function(call->argument);
    return NULL;
}

static void *do_nothing(void *argument)
{
    return argument;
}

/* Stack that a thread must have before it runs anything: thread-local memory
 * of the libraries in the process is cut from it, and that of cuBLASLt is
 * large. 0 where a small stack is enough. */
static size_t stack_used(pthread_attr_t *attributes)
{
    size_t size = SMALL_STACK;
    pthread_t thread;

    for (;; size += SMALL_STACK) {
        ck_assert_uint_lt(size, MAX_STACK);
        ck_assert_int_eq(pthread_attr_setstacksize(attributes, size), 0);
        if (pthread_create(&thread, attributes, do_nothing, NULL) == 0)
            break;
    }
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    return size == SMALL_STACK ? 0 : size;
}

void etx_test_on_small_stack(void (*function)(void *argument), void *argument)
{
    struct call call = {function, argument};
    pthread_attr_t attributes;
    pthread_t thread;
    size_t size;

    ck_assert_int_eq(pthread_attr_init(&attributes), 0);
    size = SMALL_STACK + stack_used(&attributes);
    ck_assert_int_eq(pthread_attr_setstacksize(&attributes, size), 0);
    ck_assert_int_eq(pthread_create(&thread, &attributes, call_main, &call), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
}
