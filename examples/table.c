/* examples/table.c -- tables of numbers as CSV, plain or gzip.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "program.h"

#define MAX_LINE_BYTES 65536

static int is_line_end(const char *text)
{
    return *text == '\0' || *text == '\n' || *text == '\r';
}

/* Values of one line appended to table; -1 for text that is no number. */
static int64_t read_line(
    struct table *table, char *line, int64_t *used, int64_t *capacity)
{
    int64_t n_values = 0;
    char *place = line;

    for (;;) {
        char *end = NULL;
        const double value = strtod(place, &end);

        if (end == place)
            return -1;
        if (*used == *capacity) {
            double *grown = NULL;

            *capacity = 2 * *capacity + 1024;
            grown = realloc(
                table->value, (size_t)*capacity * sizeof *table->value);
            if (grown == NULL)
                return -1;
            table->value = grown;
        }
        table->value[(*used)++] = value;
        n_values++;
        if (is_line_end(end) || (*end == ',' && is_line_end(end + 1)))
            return n_values;
        if (*end != ',')
            return -1;
        place = end + 1;
    }
}

static int read_lines(struct table *table, gzFile file, const char *path)
{
    char *line = program_allocate(MAX_LINE_BYTES, 1);
    int64_t used = 0;
    int64_t capacity = 0;
    int result = 0;

    for (int64_t number = 1; result == 0; number++) {
        int64_t n_values = 0;

        if (gzgets(file, line, MAX_LINE_BYTES) == NULL)
            break;
        if (strlen(line) + 1 == MAX_LINE_BYTES) {
            result = program_error("%s: line %lld is longer than %d bytes",
                path, (long long)number, MAX_LINE_BYTES - 2);
            break;
        }
        n_values = read_line(table, line, &used, &capacity);
        if (n_values < 0 && number == 1) {
            used = 0;
            continue;
        }
        if (n_values < 0) {
            result = program_error("%s: line %lld is not numbers with commas",
                path, (long long)number);
            break;
        }
        if (table->n_rows > 0 && n_values != table->n_columns) {
            result = program_error("%s: line %lld has %lld numbers and not "
                "%lld", path, (long long)number, (long long)n_values,
                (long long)table->n_columns);
            break;
        }
        table->n_columns = n_values;
        table->n_rows++;
    }
    if (result == 0 && !gzeof(file))
        result = program_error("%s: broken or cut off", path);
    free(line);
    return result;
}

int table_read(struct table *table, const char *path)
{
    gzFile file = gzopen(path, "rb");
    int result = 0;

    if (file == NULL)
        return program_error("%s: %s", path, strerror(errno));
    result = read_lines(table, file, path);
    if (gzclose_r(file) != Z_OK && result == 0)
        result = program_error("%s: broken or cut off", path);
    if (result != 0)
        table_free(table);
    return result;
}

void table_free(struct table *table)
{
    free(table->value);
    table->value = NULL;
    table->n_rows = 0;
    table->n_columns = 0;
}

FILE *table_open(const char *path)
{
    FILE *file = fopen(path, "w");

    if (file == NULL)
        program_error("%s: %s", path, strerror(errno));
    return file;
}

int table_close(FILE *file, const char *path)
{
    int failed = 0;

    if (file == NULL)
        return PROGRAM_FAILED;
    failed = ferror(file) != 0;
    failed |= fclose(file) != 0;
    return failed ? program_error("%s: cannot be written", path) : 0;
}
