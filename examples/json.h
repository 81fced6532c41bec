/* examples/json.h -- the JSON that programs write: flat objects.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EXAMPLES_JSON_H
#define ETX_EXAMPLES_JSON_H

#include <stdint.h>
#include <stdio.h>

/* An object that is being written. Keys and texts are written as they are:
 * names without quotes and control characters. */
struct json {
    FILE *file;
    const char *separator; /* of members */
    int n_members;
};

struct json json_begin(FILE *file);
/* The same with a line for each member. */
struct json json_begin_lines(FILE *file);
void json_text(struct json *object, const char *key, const char *text);
void json_integer(struct json *object, const char *key, int64_t value);
void json_flag(struct json *object, const char *key, int value);
/* null where it is not finite. */
void json_number(struct json *object, const char *key, double value);
/* Not there where it is not finite. */
void json_measured(struct json *object, const char *key, double value);
void json_end(struct json *object);

#endif
