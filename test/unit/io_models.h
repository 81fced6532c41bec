/* io_models.h -- small models to write to files and read again.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_UNIT_IO_MODELS_H
#define ETX_TEST_UNIT_IO_MODELS_H

#include "io_support.h"

/* Texts of etx.config: an embedding with a label; all stages. */
extern const char io_model_small[];
extern const char io_model_all[];

/* The model of a text, with random parameters; the same ones every time. */
etx_model *io_model_make(const char *text);

/* The same as the bytes of a file, which is left as "made" in the test's
 * folder; freed with free. */
char *io_model_bytes(const char *text, size_t *size);

#endif
