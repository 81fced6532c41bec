/* examples/table.h -- tables of numbers as CSV.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EXAMPLES_TABLE_H
#define ETX_EXAMPLES_TABLE_H

#include <stdint.h>
#include <stdio.h>

struct table {
    int64_t n_rows, n_columns;
    double *value; /* [n_rows, n_columns] */
};

/* Numbers separated by commas, plain or gzip; an empty last cell is left out.
 * Every row has as many numbers. With has_header a first line that does not
 * begin with a number is passed over; a table of that line alone has no rows
 * and as many columns as it names. Returns 0, or prints why and returns 1. */
int table_read(struct table *table, const char *path, int has_header);
void table_free(struct table *table);

/* Open path for writing, NULL after a message; close and tell whether all
 * was written: 0, or 1 after a message. file NULL: 1. A file lies under a
 * temporary name next to path until it is complete; what is no file (a device,
 * a pipe) is written to directly. */
FILE *table_open(const char *path);
int table_close(FILE *file, const char *path);

#endif
