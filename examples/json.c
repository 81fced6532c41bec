/* examples/json.c -- the JSON that programs write: flat objects.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <inttypes.h>
#include <math.h>

struct json json_begin(FILE *file)
{
    fputc('{', file);
    return (struct json){.file = file, .separator = ", "};
}

struct json json_begin_lines(FILE *file)
{
    fputc('{', file);
    return (struct json){.file = file, .separator = ",\n "};
}

static void begin_member(struct json *object, const char *key)
{
    fprintf(object->file,
        "%s\"%s\": ", object->n_members++ == 0 ? "" : object->separator, key);
}

void json_text(struct json *object, const char *key, const char *text)
{
    begin_member(object, key);
    fprintf(object->file, "\"%s\"", text);
}

void json_integer(struct json *object, const char *key, int64_t value)
{
    begin_member(object, key);
    fprintf(object->file, "%" PRId64, value);
}

void json_flag(struct json *object, const char *key, int value)
{
    begin_member(object, key);
    fputs(value ? "true" : "false", object->file);
}

void json_number(struct json *object, const char *key, double value)
{
    begin_member(object, key);
    if (isfinite(value))
        fprintf(object->file, "%.9g", value);
    else
        fputs("null", object->file);
}

void json_measured(struct json *object, const char *key, double value)
{
    if (isfinite(value))
        json_number(object, key, value);
}

void json_end(struct json *object)
{
    fputc('}', object->file);
}
