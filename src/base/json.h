/* base/json.h -- JSON values, from untrusted text and to text.
 *
 * All memory comes from etx_alloc, so that a lack of it is ETX_ERR_MEMORY and
 * nothing else; numbers are read whatever the host's locale and floating-point
 * environment.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_JSON_H
#define ETX_BASE_JSON_H

#include <stddef.h>

#include "base/status.h"

/* Values in a text: a value of two bytes needs about a hundred in memory. */
#define ETX_JSON_MAX_VALUES 262144

enum etx_json_kind {
    ETX_JSON_NULL,
    ETX_JSON_FALSE,
    ETX_JSON_TRUE,
    ETX_JSON_INTEGER,
    ETX_JSON_REAL,
    ETX_JSON_TEXT,
    ETX_JSON_LIST,
    ETX_JSON_OBJECT
};

/* Significant digits that give every double back. */
#define ETX_JSON_DIGITS 17

/* A value. Entries of a list and members of an object are linked in the order
 * of the text: first, next, ..., NULL. */
struct etx_json {
    int32_t kind;  /* enum etx_json_kind */
    int32_t n;     /* entries or members */
    size_t length; /* of the text, without its NUL */
    union {
        int64_t integer;
        double real;
        const char *text;       /* UTF-8, no NUL inside */
        struct etx_json *first; /* of a list or an object */
    } as;
    struct etx_json *last; /* of a list or an object */
    struct etx_json *next;
    const char *key; /* of a member of an object */
    struct etx_json_memory *memory;
};

/* Parse text [size]: one value, keys unique, nested at most
 * max_depth deep, at most ETX_JSON_MAX_VALUES values. Anything else is
 * ETX_ERR_FORMAT; what names the text in messages. */
etx_status etx_json_parse(struct etx_json **out, const char *what,
    const char *text, size_t size, int32_t max_depth);
etx_status etx_json_create_object(struct etx_json **out);
etx_status etx_json_copy(struct etx_json **out, const struct etx_json *value);
/* root: from one of the three above, with all that was set in it; NULL is
 * fine. */
void etx_json_free(struct etx_json *root);

/* NULL and values of another kind yield NULL or 0. */
int32_t etx_json_is(const struct etx_json *value, enum etx_json_kind kind);
int32_t etx_json_is_number(const struct etx_json *value);
struct etx_json *etx_json_get(const struct etx_json *object, const char *key);
const struct etx_json *etx_json_first(const struct etx_json *value);
size_t etx_json_size(const struct etx_json *value);
const char *etx_json_text(const struct etx_json *value);
int64_t etx_json_integer(const struct etx_json *value);
double etx_json_number(const struct etx_json *value);

/* Set a member; one of the same key is replaced where it stands. Texts are
 * copied. A number that is not finite is set as null. */
etx_status etx_json_set_text(
    struct etx_json *object, const char *key, const char *text);
etx_status etx_json_set_integer(
    struct etx_json *object, const char *key, int64_t value);
etx_status etx_json_set_number(
    struct etx_json *object, const char *key, double value);
etx_status etx_json_set_integers(
    struct etx_json *object, const char *key, const int64_t *value, int64_t n);
etx_status etx_json_set_object(
    struct etx_json **out, struct etx_json *object, const char *key);
/* The object that is there; created when there is none, or something else. */
etx_status etx_json_open_object(
    struct etx_json **out, struct etx_json *object, const char *key);
etx_status etx_json_set_copy(
    struct etx_json *object, const char *key, const struct etx_json *value);
void etx_json_remove(struct etx_json *object, const char *key);

/* The members of an object in ascending order of keys: [n], for etx_free. */
etx_status etx_json_sort_members(
    const struct etx_json ***out, const struct etx_json *object);

/* Text without spaces, for etx_free; reals with n_digits significant digits,
 * members sorted by key when is_sorted is not 0. */
etx_status etx_json_write(char **out, const struct etx_json *value,
    int32_t n_digits, int32_t is_sorted);

/* {key: text, ...} of n pairs: the metadata of a file. */
etx_status etx_json_create_texts(
    struct etx_json **out, const char *const (*pair)[2], int32_t n);

/* For the parser: a new entry of a list, or a new member with key [key_length]
 * of an object. */
etx_status etx_json_append(struct etx_json **out, struct etx_json *parent,
    const char *key, size_t key_length);
etx_status etx_json_alloc(void *out, struct etx_json_memory *memory, size_t n);

#endif
