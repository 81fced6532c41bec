/* examples/table.c -- tables of numbers as CSV, plain or gzip.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* realpath */
#include "table.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
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
    char *cursor = line;

    for (;;) {
        char *end = NULL;
        const double value = strtod(cursor, &end);

        if (end == cursor)
            return -1;
        if (*used == *capacity) {
            double *grown = NULL;

            *capacity = 2 * *capacity + 1024;
            grown =
                realloc(table->value, (size_t)*capacity * sizeof *table->value);
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
        cursor = end + 1;
    }
}

static int64_t count_cells(const char *line)
{
    int64_t n_cells = 1;

    for (const char *c = line; !is_line_end(c); c++)
        n_cells += *c == ',' && !is_line_end(c + 1);
    return n_cells;
}

static int read_lines(
    struct table *table, gzFile file, const char *path, int has_header)
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
        if (n_values < 0 && number == 1 && used == 0 && has_header) {
            table->n_columns = count_cells(line);
            continue;
        }
        if (n_values < 0) {
            result = program_error("%s: line %lld is not numbers with commas",
                path, (long long)number);
            break;
        }
        if (table->n_rows > 0 && n_values != table->n_columns) {
            result = program_error("%s: line %lld has %lld numbers and not "
                                   "%lld",
                path, (long long)number, (long long)n_values,
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

int table_read(struct table *table, const char *path, int has_header)
{
    gzFile file = gzopen(path, "rb");
    int result = 0;

    if (file == NULL)
        return program_error("%s: %s", path, strerror(errno));
    result = read_lines(table, file, path, has_header);
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

/* ------------------------------------------------------------- writing -- */

/* The file that is written in place of path: a temporary one in the same folder
 * as the file that path names (links are followed), or path itself when that is
 * not a regular file. The caller frees it. */
static char *writing_path(const char *path)
{
    struct stat info;
    const int exists = stat(path, &info) == 0;
    char *file = exists ? realpath(path, NULL) : program_copy_text(path);
    const char *target = file != NULL ? file : path;
    const size_t size = strlen(target) + 32;
    char *out = program_allocate((int64_t)size, 1);

    if (exists && !S_ISREG(info.st_mode))
        snprintf(out, size, "%s", path);
    else
        snprintf(out, size, "%s.%ld.tmp", target, (long)getpid());
    free(file);
    return out;
}

FILE *table_open(const char *path)
{
    char *temporary = writing_path(path);
    FILE *file = fopen(temporary, "w");

    if (file == NULL)
        program_error("%s: %s", path, strerror(errno));
    /* A file that may not grow is an error like others, and no signal. */
    (void)signal(SIGXFSZ, SIG_IGN);
    free(temporary);
    return file;
}

/* Rename the temporary file to path. Returns 0, or errno. */
static int rename_to(const char *temporary, const char *path)
{
    char *file = realpath(path, NULL);
    const int error =
        rename(temporary, file != NULL ? file : path) == 0 ? 0 : errno;

    free(file);
    return error;
}

/* Flush and close. Returns 0, or errno. */
static int finish(FILE *file)
{
    int error = 0;

    if (fflush(file) != 0)
        error = errno;
    else if (ferror(file))
        error = EIO;
    if (fclose(file) != 0 && error == 0)
        error = errno;
    return error;
}

int table_close(FILE *file, const char *path)
{
    char *temporary;
    int is_temporary;
    int error;

    if (file == NULL)
        return PROGRAM_FAILED;
    temporary = writing_path(path);
    is_temporary = strcmp(temporary, path) != 0;
    error = finish(file);
    if (error == 0 && is_temporary)
        error = rename_to(temporary, path);
    if (error != 0 && is_temporary)
        (void)unlink(temporary);
    free(temporary);
    return error == 0 ? 0
                      : program_error(
                            "%s: cannot be written: %s", path, strerror(error));
}
