/* io/csv.h -- tables of numbers in CSV files, plain or gzip.
 *
 * A first line names the columns; requested ones are found by name, others
 * are passed over. Cells are separated by commas and never quoted. Lines end
 * with LF or CR LF, the last one may end with the file; a byte order mark and
 * blank lines at the end are passed over. Anything else is ETX_ERR_FORMAT with
 * PATH:LINE, where one cell is wrong PATH:LINE:CELL (both from one, CELL the
 * index in its line), and the text found.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_CSV_H
#define ETX_IO_CSV_H

#include "base/status.h"

#define ETX_CSV_MAX_CELLS  1024      /* in a line of the file */
#define ETX_CSV_MAX_LINE   (1 << 20) /* bytes */
#define ETX_CSV_MAX_WANTED 32

enum etx_csv_kind {
    ETX_CSV_IGNORED,
    ETX_CSV_INT32,
    ETX_CSV_INT64,
    ETX_CSV_FLOAT,
    ETX_CSV_OPTIONAL = 8 /* added to a kind: the file may lack the column */
};

struct etx_csv_wanted {
    const char *name;
    int32_t kind; /* enum etx_csv_kind */
};

/* A file read. Column k is the k-th wanted; the one of the pointers that fits
 * its kind is set: [n_rows], unless the column is optional and not there. */
struct etx_csv {
    const char *path;                    /* borrowed */
    const struct etx_csv_wanted *wanted; /* [n_wanted], borrowed */
    int64_t n_rows;
    int32_t n_wanted;
    int32_t cell[ETX_CSV_MAX_WANTED]; /* index of the column in a line, or -1 */
    int64_t *file_row;                /* [n_rows] in the file; NULL: the same */
    int32_t *int32_values[ETX_CSV_MAX_WANTED];
    int64_t *int64_values[ETX_CSV_MAX_WANTED];
    float *float_values[ETX_CSV_MAX_WANTED];
};

/* path and wanted [n_wanted] must outlive out; at most ETX_CSV_MAX_WANTED. */
etx_status etx_csv_read(struct etx_csv *out, const char *path,
    const struct etx_csv_wanted *wanted, int32_t n_wanted);
void etx_csv_release(struct etx_csv *csv);

/* Keep the rows with this value of a column of 64-bit integers, and which rows
 * of the file they were. */
etx_status etx_csv_keep(struct etx_csv *csv, int32_t column, int64_t value);

/* ETX_ERR_FORMAT "PATH:LINE:CELL: NAME VALUE FAULT" for a cell whose number
 * is well-formed and wrong. */
etx_status etx_csv_fail(
    const struct etx_csv *csv, int64_t row, int32_t column, const char *fault);

/* A file without a first line of names: *out [*n_rows, *n_columns] from
 * etx_alloc. All lines have as many cells as the first; no line at all is
 * ETX_ERR_FORMAT. */
etx_status etx_csv_read_matrix(
    float **out, int64_t *n_rows, int64_t *n_columns, const char *path);

#endif
