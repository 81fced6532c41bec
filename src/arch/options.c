/* arch/options.c -- read a network's options from JSON, strictly.
 *
 * Options come from files of others: every error names owner, key, value and
 * bound.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/options.h"

#include "op/op.h"

#include "base/check.h"
#include "base/nearest.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define ACTIVATION_NAME(id, name) name,

const char *const etx_activation_names[ETX_N_ACTIVATIONS + 1] = {
    ETX_ACTIVATIONS(ACTIVATION_NAME) NULL};

const char *const etx_norm_names[ETX_N_NORMS + 1] = {
    [ETX_NORM_NONE] = "none",
    [ETX_NORM_LAYER] = "layer",
    [ETX_NORM_BATCH] = "batch",
    [ETX_NORM_L2] = "l2",
};

struct etx_option etx_option_int(
    const char *key, int32_t *value, double low, double high)
{
    return (struct etx_option){key, ETX_OPTION_INT, value, low, .high = high};
}

struct etx_option etx_option_float(
    const char *key, float *value, double low, double high)
{
    return (struct etx_option){key, ETX_OPTION_FLOAT, value, low, .high = high};
}

struct etx_option etx_option_bool(const char *key, int32_t *value)
{
    return (struct etx_option){key, ETX_OPTION_BOOL, .value = value};
}

struct etx_option etx_option_choice(
    const char *key, int32_t *value, const char *const *choices)
{
    return (struct etx_option){
        key, ETX_OPTION_CHOICE, value, .choices = choices};
}

struct etx_option etx_option_ints(const char *key, int32_t *value,
    int32_t *count, int32_t capacity, double low, double high)
{
    return (struct etx_option){key, ETX_OPTION_INTS, value, low, high,
        .capacity = capacity, .count = count};
}

struct etx_option etx_option_choices(const char *key, int32_t *value,
    int32_t *count, int32_t capacity, const char *const *choices)
{
    return (struct etx_option){key, ETX_OPTION_CHOICES, value,
        .choices = choices, .capacity = capacity, .count = count};
}

struct etx_option etx_option_json(
    const char *key, const struct etx_json **value)
{
    return (struct etx_option){
        .key = key, .kind = ETX_OPTION_JSON, .value = value};
}

struct etx_option etx_option_group(struct etx_option *table, int32_t n)
{
    return (struct etx_option){
        .kind = ETX_OPTION_GROUP, .value = table, .capacity = n};
}

static const char *type_name(const struct etx_json *value)
{
    switch ((enum etx_json_kind)value->kind) {
    case ETX_JSON_OBJECT:
        return "an object";
    case ETX_JSON_LIST:
        return "a list";
    case ETX_JSON_TEXT:
        return "a text";
    case ETX_JSON_INTEGER:
        return "an integer";
    case ETX_JSON_REAL:
        return "a real number";
    case ETX_JSON_TRUE:
    case ETX_JSON_FALSE:
        return "true or false";
    case ETX_JSON_NULL:
        return "null";
    }
    return "unknown";
}

static etx_status fail_type(const char *owner, const struct etx_option *option,
    const struct etx_json *value, const char *expected)
{
    return etx_fail(ETX_ERR_FORMAT, "%s: option '%s' is %s, expected %s", owner,
        option->key, type_name(value), expected);
}

static etx_status read_int(int32_t *out, const char *owner,
    const struct etx_option *option, const struct etx_json *value)
{
    int64_t number = 0;

    if (!etx_json_is(value, ETX_JSON_INTEGER))
        return fail_type(owner, option, value, "an integer");
    number = etx_json_integer(value);
    if (number < (int64_t)option->low || number > (int64_t)option->high) {
        return etx_fail(ETX_ERR_FORMAT,
            "%s: option '%s' is %" PRId64 ", expected %" PRId64 " to %" PRId64,
            owner, option->key, (int64_t)number, (int64_t)option->low,
            (int64_t)option->high);
    }
    *out = (int32_t)number;
    return ETX_OK;
}

static etx_status read_float(float *out, const char *owner,
    const struct etx_option *option, const struct etx_json *value)
{
    const double number = etx_json_number(value);
    const float stored = (float)number;
    const double high = fmin(option->high, (double)FLT_MAX);

    if (!etx_json_is_number(value))
        return fail_type(owner, option, value, "a number");
    /* A file has 15 digits of a bound that is a float; a NaN fails. */
    if (!(stored >= (float)option->low && stored <= (float)high)) {
        return etx_fail(ETX_ERR_FORMAT,
            "%s: option '%s' is %.9g, expected %.9g to %.9g", owner,
            option->key, number, option->low, high);
    }
    *out = stored;
    return ETX_OK;
}

static etx_status read_bool(int32_t *out, const char *owner,
    const struct etx_option *option, const struct etx_json *value)
{
    if (!etx_json_is(value, ETX_JSON_TRUE) &&
        !etx_json_is(value, ETX_JSON_FALSE))
        return fail_type(owner, option, value, "true or false");
    *out = etx_json_is(value, ETX_JSON_TRUE);
    return ETX_OK;
}

void etx_options_list(char *text, size_t capacity, const char *const *choices)
{
    size_t used = 0;

    text[0] = '\0';
    for (int64_t c = 0; choices[c] != NULL; c++) {
        const size_t length = strlen(choices[c]);

        if (used + length + 3 > capacity)
            return;
        if (used > 0) {
            memcpy(text + used, ", ", 2);
            used += 2;
        }
        memcpy(text + used, choices[c], length + 1);
        used += length;
    }
}

static etx_status read_choice(int32_t *out, const char *owner,
    const struct etx_option *option, const struct etx_json *value)
{
    char names[256];

    etx_options_list(names, sizeof names, option->choices);
    if (!etx_json_is(value, ETX_JSON_TEXT))
        return fail_type(owner, option, value, names);
    for (int32_t c = 0; option->choices[c] != NULL; c++) {
        if (strcmp(option->choices[c], etx_json_text(value)) == 0) {
            *out = c;
            return ETX_OK;
        }
    }
    return etx_fail(ETX_ERR_FORMAT,
        "%s: option '%s' is '%s', expected one of: %s", owner, option->key,
        etx_json_text(value), names);
}

/* A list of integers or choices; nothing is written unless all are valid. */
static etx_status read_list(const char *owner, const struct etx_option *option,
    const struct etx_json *value)
{
    etx_status status = ETX_OK;
    const size_t n = etx_json_size(value);
    int32_t *out = option->value;
    int32_t ignored = 0;

    if (!etx_json_is(value, ETX_JSON_LIST))
        return fail_type(owner, option, value, "a list");
    if (n > (size_t)option->capacity) {
        return etx_fail(ETX_ERR_FORMAT,
            "%s: option '%s' has %zu entries, expected at most %d", owner,
            option->key, n, (int)option->capacity);
    }
    for (int32_t pass = 0; pass < 2; pass++) {
        const struct etx_json *entry = etx_json_first(value);

        for (size_t i = 0; i < n; i++, entry = entry->next) {
            int32_t *target = pass == 0 ? &ignored : &out[i];

            if (option->kind == ETX_OPTION_INTS)
                ETX_CHECK(read_int(target, owner, option, entry));
            else
                ETX_CHECK(read_choice(target, owner, option, entry));
        }
    }
    *option->count = (int32_t)n;
done:
    return status;
}

static etx_status read_option(const char *owner,
    const struct etx_option *option, const struct etx_json *value)
{
    switch ((enum etx_option_kind)option->kind) {
    case ETX_OPTION_INT:
        return read_int(option->value, owner, option, value);
    case ETX_OPTION_FLOAT:
        return read_float(option->value, owner, option, value);
    case ETX_OPTION_BOOL:
        return read_bool(option->value, owner, option, value);
    case ETX_OPTION_CHOICE:
        return read_choice(option->value, owner, option, value);
    case ETX_OPTION_INTS:
    case ETX_OPTION_CHOICES:
        return read_list(owner, option, value);
    case ETX_OPTION_JSON:
        *(const struct etx_json **)option->value = value;
        return ETX_OK;
    case ETX_OPTION_GROUP: /* find returns its entries */
        return ETX_OK;
    }
    return ETX_OK;
}

static const struct etx_option *find(
    const struct etx_option *option, int32_t n_options, const char *key)
{
    const struct etx_option *found = NULL;

    for (int32_t o = 0; o < n_options && found == NULL; o++) {
        if (option[o].kind == ETX_OPTION_GROUP)
            found = find(option[o].value, option[o].capacity, key);
        else if (strcmp(option[o].key, key) == 0)
            found = &option[o];
    }
    return found;
}

static void add_keys(struct etx_nearest *nearest,
    const struct etx_option *option, int32_t n_options)
{
    for (int32_t o = 0; o < n_options; o++) {
        if (option[o].kind == ETX_OPTION_GROUP)
            add_keys(nearest, option[o].value, option[o].capacity);
        else
            etx_nearest_add(nearest, option[o].key);
    }
}

static etx_status fail_unknown(const char *owner, const char *key,
    const struct etx_option *option, int32_t n_options)
{
    struct etx_nearest nearest = etx_nearest_of(key);

    add_keys(&nearest, option, n_options);
    if (*nearest.name == '\0')
        return etx_fail(
            ETX_ERR_FORMAT, "%s: unknown option '%s': it has none", owner, key);
    return etx_fail(ETX_ERR_FORMAT, "%s: unknown option '%s' (nearest: '%s')",
        owner, key, nearest.name);
}

etx_status etx_options_read(const char *owner, const struct etx_json *object,
    const struct etx_option *option, int32_t n_options)
{
    etx_status status = ETX_OK;

    if (object == NULL)
        return ETX_OK;
    if (!etx_json_is(object, ETX_JSON_OBJECT)) {
        return etx_fail(ETX_ERR_FORMAT,
            "%s: options are %s, expected an object", owner, type_name(object));
    }
    for (const struct etx_json *value = etx_json_first(object); value != NULL;
         value = value->next) {
        const struct etx_option *found = find(option, n_options, value->key);

        if (found == NULL)
            return fail_unknown(owner, value->key, option, n_options);
        ETX_CHECK(read_option(owner, found, value));
    }
done:
    return status;
}
