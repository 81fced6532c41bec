/* fuzz_support.h -- what the fuzz targets share: bytes as a file, bytes as
 * numbers, small models and events.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_FUZZ_FUZZ_SUPPORT_H
#define ETX_TEST_FUZZ_FUZZ_SUPPORT_H

#include <exatrkx/exatrkx.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *n_arguments, char ***arguments);

/* A file with these bytes; the path is valid and the content stays until the
 * next call with the same slot, 0 .. 3. */
const char *fuzz_file(int32_t slot, const void *data, size_t size);

/* The same for a text, CSV or compressed, which costs no system call: the
 * library finds it under this name and nobody else does. */
const char *fuzz_text(int32_t slot, const void *data, size_t size);

/* A path of this process to write to; valid until the next call. */
const char *fuzz_path(const char *name);

/* Ends the run when a failed call left no message or memory, where a call
 * that succeeded left an output or memory is checked by its caller. */
void fuzz_check(int32_t status, int64_t bytes_before);

/* Ends the run, and says so, unless this holds. */
void fuzz_require(int32_t holds, const char *what);

/* ------------------------------------------------------ bytes as numbers -- */

/* What is left of an input; zeros after its end. */
struct fuzz_input {
    const uint8_t *data;
    size_t size;
};

uint32_t fuzz_byte(struct fuzz_input *input);
uint32_t fuzz_word(struct fuzz_input *input);
/* Mostly small: 0 .. 39; else an extreme of 32 or 64 bits. */
int64_t fuzz_count(struct fuzz_input *input);
int32_t fuzz_int(struct fuzz_input *input);
/* Of any bits, or a usual or an extreme value; the second one finite. */
float fuzz_float(struct fuzz_input *input);
float fuzz_finite(struct fuzz_input *input);

/* --------------------------------------------------------------- objects -- */

/* A model of an etx.config, with random weights. Ends the run if it cannot. */
etx_model *fuzz_model(const char *config);
/* All stages, small: embedding, filter, a graph network and a label. */
extern const char fuzz_model_config[];

/* Straight tracks of ten hits each, with truth and modules. */
etx_event *fuzz_event(int64_t n_particles, uint64_t seed);

/* One or more threads, an instruction set (ETX_CPU_), 64 MiB at most. */
etx_context *fuzz_context(int32_t n_threads, int32_t cpu_level);

/* A context of one or two threads that later inputs get, too: to make one costs
 * more than most inputs. Called before an input allocates anything. */
etx_context *fuzz_kept_context(int32_t n_threads);

/* fuzz_check, where the kept contexts may hold more than before: then they are
 * freed, and must leave nothing. */
void fuzz_check_kept(int32_t status);

#endif
