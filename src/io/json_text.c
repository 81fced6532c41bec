/* io/json_text.c -- JSON from untrusted text.
 *
 * jansson descends by recursion and spends memory on every value. A scan
 * before it bounds both, so that a file can neither overflow the stack of a
 * small thread nor cause large allocations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/json_text.h"

#include "base/heap.h"

#include <string.h>

/* After the string that starts at `at`, a quote. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\')
            at++;
    return at < end ? at + 1 : end;
}

static etx_status check_shape(
    const char *what, const char *text, const char *end, int32_t max_depth)
{
    int32_t depth = 0;
    int32_t n_values = 1;

    for (const char *at = text; at < end;) {
        if (*at == '"') {
            at = skip_string(at, end);
            continue;
        }
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
        n_values += *at == '{' || *at == '[' || *at == ',';
        if (depth > max_depth)
            return etx_fail(ETX_ERR_FORMAT, "%s: nested deeper than %d levels",
                what, max_depth);
        if (n_values > ETX_JSON_MAX_VALUES)
            return etx_fail(ETX_ERR_FORMAT, "%s: more than %d values", what,
                ETX_JSON_MAX_VALUES);
        at++;
    }
    return ETX_OK;
}

etx_status etx_json_parse(json_t **out, const char *what, const char *text,
    size_t size, int32_t max_depth)
{
    const size_t flags = JSON_REJECT_DUPLICATES;
    json_error_t error;
    json_t *value = NULL;
    etx_status status = check_shape(what, text, text + size, max_depth);

    if (status != ETX_OK)
        return status;
    memset(&error, 0, sizeof error);
    value = json_loadb(text, size, flags, &error);
    if (value == NULL)
        return etx_fail(json_error_code(&error) == json_error_out_of_memory
                            ? ETX_ERR_MEMORY
                            : ETX_ERR_FORMAT,
            "%s: not valid JSON: line %d, column %d: %s", what, error.line,
            error.column, error.text);
    *out = value;
    return ETX_OK;
}

/* jansson reads through iterators of a json_t that is not const. */
static json_t *unlocked(const json_t *value)
{
    json_t *same = NULL;

    memcpy(&same, &value, sizeof same);
    return same;
}

int32_t etx_json_next(struct etx_json_member *member, const json_t *object)
{
    json_t *same = unlocked(object);

    member->iterator = member->iterator == NULL
                           ? json_object_iter(same)
                           : json_object_iter_next(same, member->iterator);
    if (member->iterator == NULL)
        return 0;
    member->key = json_object_iter_key(member->iterator);
    member->value = json_object_iter_value(member->iterator);
    return 1;
}
