/* io/csv.c -- tables of numbers in CSV files.
 *
 * One pass looks for bytes that no such file holds, one counts the lines, one
 * reads the numbers straight into the columns. Only when a line does not fit
 * is it looked at again, to say why.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/csv.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/text.h"
#include "io/csv_text.h"
#include "io/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define POLL_BYTES (1 << 16) /* of text, between two polls of cancel */

/* Where the numbers of one cell of a line go: row i at values + i * stride. */
struct field {
    int32_t kind; /* enum etx_csv_kind */
    size_t stride;
    char *values;
};

/* A text and how its lines are read. */
struct reader {
    const char *path;
    const char *at, *end; /* what is left of the text */
    int64_t line;         /* of at, from one */
    int32_t n_fields;
    struct field field[ETX_CSV_MAX_CELLS];
};

/* ------------------------------------------------------------ messages -- */

/* Write the cell [begin, end) to quoted, cut short and printable. */
static void quote(char *quoted, size_t size, const char *begin, const char *end)
{
    size_t length = 0;

    while (begin < end && length + 8 < size) {
        const unsigned char byte = (unsigned char)*begin++;
        if (byte >= 0x20 && byte < 0x7f)
            quoted[length++] = (char)byte;
        else
            length += (size_t)snprintf(
                quoted + length, size - length, "\\x%02x", byte);
    }
    if (begin < end)
        length += (size_t)snprintf(quoted + length, size - length, "...");
    quoted[length] = '\0';
}

static const char *const kind_texts[] = {
    [ETX_CSV_IGNORED] = "text",
    [ETX_CSV_INT32] = "an integer of 32 bits",
    [ETX_CSV_INT64] = "an integer of 64 bits",
    [ETX_CSV_FLOAT] = "a number",
};

static etx_status fail_cell(const struct reader *reader, int32_t cell,
    const char *begin, const char *end)
{
    char quoted[64];

    quote(quoted, sizeof quoted, begin, end);
    return etx_fail(ETX_ERR_FORMAT,
        "%s:%" PRId64 ":%d: found \"%s\", expected %s", reader->path,
        reader->line, cell + 1, quoted, kind_texts[reader->field[cell].kind]);
}

static const char *cell_end(const char *begin, const char *end)
{
    const char *comma = memchr(begin, ',', (size_t)(end - begin));

    return comma == NULL ? end : comma;
}

/* ------------------------------------------------------ lines and cells -- */

/* The next line [*begin, *end) without its end-of-line. */
static etx_status next_line(
    const char **begin, const char **end, struct reader *reader)
{
    const size_t left = (size_t)(reader->end - reader->at);
    const char *feed = memchr(reader->at, '\n', left);

    *begin = reader->at;
    *end = feed == NULL ? reader->end : feed;
    reader->at = feed == NULL ? reader->end : feed + 1;
    if (*end > *begin && (*end)[-1] == '\r')
        (*end)--;
    if (*end - *begin > ETX_CSV_MAX_LINE)
        return etx_fail(ETX_ERR_FORMAT,
            "%s:%" PRId64 ": the line has more than %d bytes", reader->path,
            reader->line, ETX_CSV_MAX_LINE);
    return ETX_OK;
}

/* Read the cell at `at` into row of the field; what follows it, or NULL. */
static const char *parse_cell(
    const struct field *field, int64_t row, const char *at, const char *end)
{
    const size_t offset = (size_t)row * field->stride;
    int64_t wide = 0;
    int32_t narrow = 0;
    float real = 0.0f;

    if (field->kind == ETX_CSV_IGNORED)
        return cell_end(at, end);
    if (field->kind == ETX_CSV_FLOAT) {
        at = etx_parse_float(&real, at, end);
        memcpy(field->values + offset, &real, sizeof real);
        return at;
    }
    at = etx_parse_int64(&wide, at, end);
    if (field->kind == ETX_CSV_INT64) {
        memcpy(field->values + offset, &wide, sizeof wide);
        return at;
    }
    if (wide < INT32_MIN || wide > INT32_MAX)
        return NULL;
    narrow = (int32_t)wide;
    memcpy(field->values + offset, &narrow, sizeof narrow);
    return at;
}

/* The line [begin, end) did not fit: find its first fault. */
static etx_status fail_line(const struct reader *reader, const char *begin,
    const char *end, int32_t cell, const char *at)
{
    int32_t n_cells = 1;

    for (const char *byte = begin; byte < end; byte++)
        n_cells += *byte == ',';
    if (begin == end)
        return etx_fail(ETX_ERR_FORMAT,
            "%s:%" PRId64 ":1: the line is empty, expected %d cells",
            reader->path, reader->line, reader->n_fields);
    if (n_cells != reader->n_fields)
        return etx_fail(ETX_ERR_FORMAT,
            "%s:%" PRId64 ":%d: the line has %d cells, expected %d",
            reader->path, reader->line,
            n_cells < reader->n_fields ? n_cells : reader->n_fields + 1,
            n_cells, reader->n_fields);
    return fail_cell(reader, cell, at, cell_end(at, end));
}

static etx_status parse_line(const struct reader *reader, int64_t row,
    const char *begin, const char *end)
{
    const char *at = begin;

    for (int32_t cell = 0; cell < reader->n_fields; cell++) {
        const struct field *field = &reader->field[cell];
        const char *after = parse_cell(field, row, at, end);
        const int is_last = cell + 1 == reader->n_fields;

        if (after == NULL || (after == end) != is_last ||
            (!is_last && *after != ','))
            return fail_line(reader, begin, end, cell, at);
        at = after + 1;
    }
    return ETX_OK;
}

static etx_status parse_lines(int64_t *n_rows, struct reader *reader)
{
    const char *polled = reader->at;
    int64_t row = 0;
    etx_status status = ETX_OK;

    for (; reader->at < reader->end; row++, reader->line++) {
        const char *begin = NULL;
        const char *end = NULL;

        if (reader->at - polled >= POLL_BYTES) {
            ETX_CHECK(etx_cancel_poll());
            polled = reader->at;
        }
        ETX_CHECK(next_line(&begin, &end, reader));
        ETX_CHECK(parse_line(reader, row, begin, end));
    }
    *n_rows = row;
done:
    return status;
}

/* Rows to allocate: one for each line that is left, but in proportion to the
 * file. A cell that is read needs two bytes, one that is ignored needs one;
 * of shorter lines, the one that exceeds max is not the first at fault. */
static etx_status row_capacity(int64_t *out, const struct reader *reader)
{
    const int64_t left = reader->end - reader->at;
    const char *at = reader->at;
    int64_t n_lines = 1;
    int64_t n_bytes = reader->n_fields;
    etx_status status = ETX_OK;

    for (int32_t cell = 0; cell < reader->n_fields; cell++)
        n_bytes += reader->field[cell].kind != ETX_CSV_IGNORED;
    const int64_t max = (left + 1) / n_bytes;

    for (; n_lines <= max; n_lines++) {
        ETX_POLL(n_lines);
        at = memchr(at, '\n', (size_t)(reader->end - at));
        if (at == NULL)
            break;
        at++;
    }
    *out = n_lines;
done:
    return status;
}

/* End the text before its blank last lines. */
static etx_status drop_blank_lines(struct reader *reader)
{
    const char *const begin = reader->at;
    etx_status status = ETX_OK;

    for (int64_t k = 0;; k++) {
        const char *const end = reader->end;
        const char *at = end;

        ETX_POLL(k);
        at -= at > begin && at[-1] == '\n';
        at -= at < end && at > begin && at[-1] == '\r';
        if (at == end || at == begin || at[-1] != '\n')
            break;
        reader->end = at;
    }
done:
    return status;
}

static etx_status open_text(struct reader *reader, struct etx_bytes *text,
    const char *path, const char *expected)
{
    etx_status status = ETX_OK;

    reader->path = path;
    reader->line = 1;
    ETX_CHECK(etx_file_read_text(text, path, ETX_TEXT_MAX_BYTES));
    reader->at = text->data;
    reader->end = text->data + text->size;
    if (text->size >= 3 && memcmp(text->data, "\xef\xbb\xbf", 3) == 0)
        reader->at += 3;
    if (reader->at == reader->end)
        return etx_fail(ETX_ERR_FORMAT,
            "%s:1:1: the file is empty, expected %s", path, expected);
    ETX_CHECK(etx_csv_check_text(path, reader->at, reader->end));
    ETX_CHECK(drop_blank_lines(reader));
done:
    return status;
}

/* --------------------------------------------------- tables with names -- */

/* The wanted column of this name, -1 for none. */
static int32_t find_wanted(
    const struct etx_csv *csv, const char *begin, const char *end)
{
    const size_t length = (size_t)(end - begin);

    for (int32_t k = 0; k < csv->n_wanted; k++) {
        const char *name = csv->wanted[k].name;
        if (strlen(name) == length && memcmp(name, begin, length) == 0)
            return k;
    }
    return -1;
}

/* Which column the cells below this one of the first line belong to. */
static etx_status name_cell(struct etx_csv *csv, struct reader *reader,
    const char *begin, const char *end)
{
    const int32_t cell = reader->n_fields;
    const int32_t column = find_wanted(csv, begin, end);

    if (cell == ETX_CSV_MAX_CELLS)
        return etx_fail(ETX_ERR_FORMAT, "%s:1: more than %d columns", csv->path,
            ETX_CSV_MAX_CELLS);
    reader->n_fields++;
    reader->field[cell] = (struct field){ETX_CSV_IGNORED, 0, NULL};
    if (column < 0)
        return ETX_OK;
    if (csv->cell[column] >= 0)
        return etx_fail(ETX_ERR_FORMAT,
            "%s:1:%d: a second column %s, the first is %d", csv->path, cell + 1,
            csv->wanted[column].name, csv->cell[column] + 1);
    csv->cell[column] = cell;
    reader->field[cell].kind = csv->wanted[column].kind & ~ETX_CSV_OPTIONAL;
    return ETX_OK;
}

static etx_status read_names(struct etx_csv *csv, struct reader *reader)
{
    const char *begin = NULL;
    const char *end = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(next_line(&begin, &end, reader));
    reader->line++;
    for (;;) {
        const char *after = cell_end(begin, end);
        ETX_CHECK(name_cell(csv, reader, begin, after));
        if (after == end)
            break;
        begin = after + 1;
    }
    for (int32_t k = 0; k < csv->n_wanted; k++)
        if (csv->cell[k] < 0 && (csv->wanted[k].kind & ETX_CSV_OPTIONAL) == 0)
            return etx_fail(ETX_ERR_FORMAT,
                "%s:1:1: there is no column %s in the first line", csv->path,
                csv->wanted[k].name);
done:
    return status;
}

static etx_status allocate_columns(
    struct etx_csv *csv, struct reader *reader, int64_t capacity)
{
    etx_status status = ETX_OK;

    for (int32_t k = 0; k < csv->n_wanted; k++) {
        const char *name = csv->wanted[k].name;

        if (csv->cell[k] < 0)
            continue;
        struct field *field = &reader->field[csv->cell[k]];

        field->stride =
            field->kind == ETX_CSV_INT64 ? sizeof(int64_t) : sizeof(float);
        ETX_CHECK(etx_alloc(&field->values, capacity, field->stride, name));
        if (field->kind == ETX_CSV_INT64)
            csv->int64_values[k] = (int64_t *)(void *)field->values;
        else if (field->kind == ETX_CSV_INT32)
            csv->int32_values[k] = (int32_t *)(void *)field->values;
        else
            csv->float_values[k] = (float *)(void *)field->values;
    }
done:
    return status;
}

etx_status etx_csv_read(struct etx_csv *out, const char *path,
    const struct etx_csv_wanted *wanted, int32_t n_wanted)
{
    struct etx_csv csv = {.path = path, .wanted = wanted};
    struct etx_bytes text = {NULL, 0};
    struct reader *reader = NULL;
    int64_t capacity = 0;
    etx_status status = ETX_OK;

    csv.n_wanted = n_wanted;
    for (int32_t k = 0; k < n_wanted; k++)
        csv.cell[k] = -1;
    ETX_NEW(reader, 1, "a CSV reader");
    ETX_CHECK(open_text(reader, &text, path, "a line with column names"));
    ETX_CHECK(read_names(&csv, reader));
    ETX_CHECK(row_capacity(&capacity, reader));
    ETX_CHECK(allocate_columns(&csv, reader, capacity));
    ETX_CHECK(parse_lines(&csv.n_rows, reader));
    *out = csv;
    memset(&csv, 0, sizeof csv);
done:
    etx_csv_release(&csv);
    etx_bytes_release(&text);
    etx_free(reader);
    return status;
}

void etx_csv_release(struct etx_csv *csv)
{
    for (int32_t k = 0; k < csv->n_wanted; k++) {
        etx_free(csv->int32_values[k]);
        etx_free(csv->int64_values[k]);
        etx_free(csv->float_values[k]);
    }
    etx_free(csv->file_row);
    memset(csv, 0, sizeof *csv);
}

/* Move row `from` of all columns to row `to`. */
static void move_row(struct etx_csv *csv, int64_t to, int64_t from)
{
    for (int32_t k = 0; k < csv->n_wanted; k++) {
        if (csv->int32_values[k] != NULL)
            csv->int32_values[k][to] = csv->int32_values[k][from];
        if (csv->int64_values[k] != NULL)
            csv->int64_values[k][to] = csv->int64_values[k][from];
        if (csv->float_values[k] != NULL)
            csv->float_values[k][to] = csv->float_values[k][from];
    }
    csv->file_row[to] = from;
}

etx_status etx_csv_keep(struct etx_csv *csv, int32_t column, int64_t value)
{
    int64_t n = 0;
    etx_status status;

    ETX_NEW(csv->file_row, csv->n_rows, "rows of a file");
    for (int64_t row = 0; row < csv->n_rows; row++) {
        ETX_POLL(row);
        if (csv->int64_values[column][row] == value)
            move_row(csv, n++, row);
    }
    csv->n_rows = n;
done:
    return status;
}

etx_status etx_csv_fail(
    const struct etx_csv *csv, int64_t row, int32_t column, const char *fault)
{
    char value[32];

    if (csv->int64_values[column] != NULL)
        (void)etx_format_int64(value, csv->int64_values[column][row]);
    else if (csv->int32_values[column] != NULL)
        (void)etx_format_int64(value, csv->int32_values[column][row]);
    else
        (void)etx_format_float(value, csv->float_values[column][row]);
    return etx_fail(ETX_ERR_FORMAT, "%.300s:%" PRId64 ":%d: %s %s %s",
        csv->path, (csv->file_row == NULL ? row : csv->file_row[row]) + 2,
        csv->cell[column] + 1, csv->wanted[column].name, value, fault);
}

/* ------------------------------------------------ tables without names -- */

/* The number of cells of the first line, which is read again as numbers. */
static etx_status count_cells(int64_t *out, struct reader *reader)
{
    const char *start = reader->at;
    const char *begin = NULL;
    const char *end = NULL;
    etx_status status = ETX_OK;
    int64_t n_cells = 1;

    ETX_CHECK(next_line(&begin, &end, reader));
    reader->at = start;
    for (const char *byte = begin; byte < end; byte++)
        n_cells += *byte == ',';
    if (n_cells > ETX_CSV_MAX_CELLS)
        return etx_fail(ETX_ERR_FORMAT, "%s:1: %" PRId64 " columns, at most %d",
            reader->path, n_cells, ETX_CSV_MAX_CELLS);
    *out = n_cells;
done:
    return status;
}

etx_status etx_csv_read_matrix(
    float **out, int64_t *n_rows, int64_t *n_columns, const char *path)
{
    struct etx_bytes text = {NULL, 0};
    struct reader *reader = NULL;
    float *values = NULL;
    int64_t n_cells = 0;
    int64_t n_lines = 0;
    int64_t capacity = 0;
    etx_status status = ETX_OK;

    ETX_NEW(reader, 1, "a CSV reader");
    ETX_CHECK(open_text(reader, &text, path, "lines of numbers"));
    ETX_CHECK(count_cells(&n_cells, reader));
    reader->n_fields = (int32_t)n_cells;
    for (int64_t k = 0; k < n_cells; k++)
        reader->field[k] = (struct field){
            ETX_CSV_FLOAT, (size_t)n_cells * sizeof *values, NULL};
    ETX_CHECK(row_capacity(&capacity, reader));
    ETX_CHECK(etx_alloc(&values, capacity, (size_t)n_cells * sizeof *values,
        "a table of numbers"));
    for (int64_t k = 0; k < n_cells; k++)
        reader->field[k].values = (char *)(values + k);
    ETX_CHECK(parse_lines(&n_lines, reader));
    *out = values;
    *n_rows = n_lines;
    *n_columns = n_cells;
    values = NULL;
done:
    etx_free(values);
    etx_bytes_release(&text);
    etx_free(reader);
    return status;
}
