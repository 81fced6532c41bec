/* support.h -- what the unit tests share.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_SUPPORT_H
#define ETX_TEST_SUPPORT_H

#include <exatrkx/exatrkx.h>
#include <exatrkx/graph.h>
#include <exatrkx/train.h>

#include <stddef.h>
#include <string.h>

#include "case.h"

/* Macros, so that Check reports the line of the caller. */

/* call returns this status; the message shows the last error if not. */
#define ck_assert_status(call, expected)                                       \
    do {                                                                       \
        const etx_status actual_ = (call);                                     \
        const etx_status expected_ = (expected);                               \
        ck_assert_msg(actual_ == expected_, "%s is %s and not %s (%s)", #call, \
            etx_status_name(actual_), etx_status_name(expected_),              \
            etx_last_error());                                                 \
    } while (0)

#define ck_assert_ok(call) ck_assert_status(call, ETX_OK)

/* call returns ETX_ERR_ARGUMENT and the last error holds this text. */
#define ck_assert_refused(call, text)                                          \
    ck_assert_fails(call, ETX_ERR_ARGUMENT, text)

/* The last error holds this text. */
#define ck_assert_error(text)                                                  \
    ck_assert_msg(strstr(etx_last_error(), text) != NULL,                      \
        "the last error is \"%s\" and lacks \"%s\"", etx_last_error(), text)

/* call returns this status and the last error holds this text. */
#define ck_assert_fails(call, expected, text)                                  \
    do {                                                                       \
        ck_assert_status(call, expected);                                      \
        ck_assert_error(text);                                                 \
    } while (0)

/* Locals that are freed at the end of their block: `scoped_graph *graph =
 * NULL;` and, of malloc, `scoped int32_t *ids = malloc(...);`. */
#define SCOPED(free_it) __attribute__((cleanup(free_it)))
#define scoped          SCOPED(etx_test_free_memory)
#define scoped_context  SCOPED(etx_test_free_context) etx_context
#define scoped_detector SCOPED(etx_test_free_detector) etx_detector
#define scoped_event    SCOPED(etx_test_free_event) etx_event
#define scoped_graph    SCOPED(etx_test_free_graph) etx_graph
#define scoped_part     SCOPED(etx_test_free_graph_part) etx_graph_part
#define scoped_model    SCOPED(etx_test_free_model) etx_model
#define scoped_tracks   SCOPED(etx_test_free_tracks) etx_tracks
#define scoped_trainer  SCOPED(etx_test_free_trainer) etx_trainer
#define scoped_arena    SCOPED(etx_test_free_arena) struct etx_arena
#define scoped_json     SCOPED(etx_test_free_json) struct etx_json
#define scoped_network  SCOPED(etx_test_free_network) struct etx_network
#define scoped_tensor_file                                                     \
    SCOPED(etx_test_free_tensor_file) struct etx_tensor_file

struct etx_arena;
struct etx_json;
struct etx_network;
struct etx_tensor_file;

void etx_test_free_memory(void *pointer);
void etx_test_free_context(etx_context **context);
void etx_test_free_detector(etx_detector **detector);
void etx_test_free_event(etx_event **event);
void etx_test_free_graph(etx_graph **graph);
void etx_test_free_graph_part(etx_graph_part **part);
void etx_test_free_model(etx_model **model);
void etx_test_free_tracks(etx_tracks **tracks);
void etx_test_free_trainer(etx_trainer **trainer);
void etx_test_free_arena(struct etx_arena **arena);
void etx_test_free_json(struct etx_json **json);
void etx_test_free_network(struct etx_network **network);
void etx_test_free_tensor_file(struct etx_tensor_file **file);

/* Zeroed memory of count elements, at least one; ends the test without it.
 * Freed with free. */
void *etx_test_alloc(int64_t count, size_t size);

/* A context with defaults; one with a number of threads, a bound on scratch
 * memory (0: none) and a function that may cancel (or NULL). */
etx_context *etx_test_context(void);
/* With an instruction set, ETX_CPU_. */
etx_context *etx_test_context_level(int32_t n_threads, int32_t level);
/* Of the reference, with products in bfloat16. */
etx_context *etx_test_context_bfloat16(void);

/* Of calls that are refused before they exchange rows: to swap any fails. */
etx_part_exchange etx_test_no_exchange(void);
etx_context *etx_test_context_with(int32_t n_threads, int64_t memory_limit,
    int32_t (*cancel)(void *user), void *user);

etx_event *etx_test_event(int64_t n_hits, const float *positions);

/* Cancels at the first poll. */
int32_t etx_test_cancel(void *user);

/* A field of an options struct, the value that is refused, and what is said:
 *     static const struct etx_test_change rows[] = {
 *         {CHANGE(etx_label_options, min_hits, 0), ETX_ERR_ARGUMENT, "0"}, */
struct etx_test_change {
    size_t offset, size;
    const void *value;
    etx_status status;
    const char *error;
};
#define CHANGE(type, field, ...)                                               \
    offsetof(type, field), sizeof(((type *)0)->field),                         \
        &(const __typeof__(((type *)0)->field))                                \
    {                                                                          \
        __VA_ARGS__                                                            \
    }
void etx_test_set(void *options, const struct etx_test_change *change);

/* JSON with ' in place of "; on up to sixteen threads valid until the fourth
 * call after of each. */
const char *etx_test_json(const char *text);

/* Say that a test did not run, and why. */
void etx_test_skip(const char *name, const char *reason);

/* Path of a file or folder of the reference data (ETX_REFERENCE_DATA, default
 * ../shared/data), or NULL after etx_test_skip(name, ...) where it is not.
 * Valid until the next call. */
const char *etx_test_reference(const char *name, const char *path);

/* Path of a file that ships in examples/data. Valid until the next call. */
const char *etx_test_example(const char *path);

/* The default model and an event of examples/data; the caller frees both. */
void etx_test_open_example(
    etx_model **model, etx_event **event, const char *name);
/* The same with every third hit of noise and every third particle alone: for an
 * emulated device, which takes seconds for a whole event. */
void etx_test_open_part(etx_model **model, etx_event **event, const char *name);

/* The same hits in the same tracks; the same edges in the same order. */
void etx_test_same_tracks(const etx_tracks *a, const etx_tracks *b);
void etx_test_same_graph(const etx_graph *a, const etx_graph *b);

/* A new folder of its own; etx_test_remove deletes it with its files. */
void etx_test_folder(char path[256]);
void etx_test_remove(const char *path);

/* The model as it is written to a file and read again; the caller frees it. */
etx_model *etx_test_saved(const etx_model *model);

/* Run check(argument) in the locale de_DE.UTF-8, which writes a decimal comma
 * (compiled by localedef where it is not installed), and go back to C; or
 * etx_test_skip(name, ...) where neither can be had. */
void etx_test_in_comma_locale(
    const char *name, void (*check)(void *argument), void *argument);

/* Make the allocation with this number (from 0) and only that one fail; -1:
 * none. Counts from here. Undo with etx_test_allocator_restore. */
void etx_test_allocator_fail(int64_t number);
void etx_test_allocator_restore(void);

/* Call make with each of its allocations failing once: every time it must
 * return ETX_ERR_MEMORY and leave nothing allocated. In the end it succeeds;
 * returns how many allocations it made. */
int64_t etx_test_out_of_memory(
    etx_status (*make)(void *argument), void *argument);
/* Run on a thread with a stack of 64 kB. */
void etx_test_on_small_stack(void (*function)(void *argument), void *argument);

#endif
