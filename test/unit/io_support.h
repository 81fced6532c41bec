/* io_support.h -- files to read and write in tests.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_UNIT_IO_SUPPORT_H
#define ETX_TEST_UNIT_IO_SUPPORT_H

#include "support.h"

/* A test (case.h) with a folder of its own, which must contain no temporary
 * file when the test ends and is then removed. */
#define IO_TEST(...)                                                           \
    ETX_TEST_WITH(io_make_folder, io_remove_folder, __VA_ARGS__)

void io_make_folder(void);
void io_remove_folder(void);

/* NAME in the test's folder; valid until the 32nd call after. */
const char *io_path(const char *name);
/* Bytes or text to NAME in the folder; returns its path. */
const char *io_write(const char *name, const void *data, size_t size);
const char *io_write_text(const char *name, const char *text);
/* All bytes of the file, NUL-terminated; freed with free. */
char *io_read(const char *path, size_t *size);
/* A gzip file of data, one member; freed with free. */
char *io_gzip(size_t *out_size, const void *data, size_t size);
/* Whether the test's folder contains name. */
int32_t io_exists(const char *name);

/* The status, and a piece of etx_last_error() (NULL: any). what names
 * the case when it is something else. */
void io_expect(const char *what, etx_status status, etx_status expected,
    const char *piece);
/* The same of a row of a table: ETX_OK where piece is NULL, else FORMAT. */
void io_expect_row(const char *what, etx_status status, const char *piece);

#endif
