/* arch/options.c -- read a family's options from JSON, strictly.
 *
 * Options come from files of others: every error names owner, key, value and
 * bound.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/options.h"

#include "op/op.h"

#include "base/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const etx_activation_names[ETX_N_ACTIVATIONS + 1] = {
    [ETX_ACTIVATION_NONE] = "none",
    [ETX_ACTIVATION_RELU] = "relu",
    [ETX_ACTIVATION_SILU] = "silu",
    [ETX_ACTIVATION_TANH] = "tanh",
    [ETX_ACTIVATION_GELU] = "gelu",
    [ETX_ACTIVATION_ELU] = "elu",
    [ETX_ACTIVATION_SIGMOID] = "sigmoid",
};

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

struct etx_option etx_option_json(const char *key, const json_t **value)
{
    return (struct etx_option){
        .key = key, .kind = ETX_OPTION_JSON, .value = value};
}

struct etx_option etx_option_group(struct etx_option *table, int32_t n)
{
    return (struct etx_option){
        .kind = ETX_OPTION_GROUP, .value = table, .capacity = n};
}

static const char *type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a text";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a real number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    case JSON_NULL:
        return "null";
    }
    return "unknown";
}

static etx_status fail_type(const char *owner, const struct etx_option *option,
    const json_t *value, const char *expected)
{
    return etx_fail(ETX_ERR_FORMAT, "%s: option '%s' is %s, expected %s", owner,
        option->key, type_name(value), expected);
}

static etx_status read_int(int32_t *out, const char *owner,
    const struct etx_option *option, const json_t *value)
{
    json_int_t number = 0;

    if (!json_is_integer(value))
        return fail_type(owner, option, value, "an integer");
    number = json_integer_value(value);
    if (number < (json_int_t)option->low || number > (json_int_t)option->high) {
        return etx_fail(ETX_ERR_FORMAT,
            "%s: option '%s' is %" PRId64 ", expected %" PRId64 " to %" PRId64,
            owner, option->key, (int64_t)number, (int64_t)option->low,
            (int64_t)option->high);
    }
    *out = (int32_t)number;
    return ETX_OK;
}

static etx_status read_float(float *out, const char *owner,
    const struct etx_option *option, const json_t *value)
{
    double number = 0.0;

    if (!json_is_number(value))
        return fail_type(owner, option, value, "a number");
    number = json_number_value(value);
    /* Written so that a NaN fails. */
    if (!(number >= option->low && number <= option->high)) {
        return etx_fail(ETX_ERR_FORMAT,
            "%s: option '%s' is %.9g, expected %.9g to %.9g", owner,
            option->key, number, option->low, option->high);
    }
    *out = (float)number;
    return ETX_OK;
}

static etx_status read_bool(int32_t *out, const char *owner,
    const struct etx_option *option, const json_t *value)
{
    if (!json_is_boolean(value))
        return fail_type(owner, option, value, "true or false");
    *out = json_is_true(value) ? 1 : 0;
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
        (void)snprintf(text + used, capacity - used, "%s%s",
            used > 0 ? ", " : "", choices[c]);
        used += length + (used > 0 ? 2 : 0);
    }
}

static etx_status read_choice(int32_t *out, const char *owner,
    const struct etx_option *option, const json_t *value)
{
    char known[256];

    etx_options_list(known, sizeof known, option->choices);
    if (!json_is_string(value))
        return fail_type(owner, option, value, known);
    for (int32_t c = 0; option->choices[c] != NULL; c++) {
        if (strcmp(option->choices[c], json_string_value(value)) == 0) {
            *out = c;
            return ETX_OK;
        }
    }
    return etx_fail(ETX_ERR_FORMAT,
        "%s: option '%s' is '%s', expected one of: %s", owner, option->key,
        json_string_value(value), known);
}

/* A list of integers or choices; nothing is written unless all are valid. */
static etx_status read_list(
    const char *owner, const struct etx_option *option, const json_t *value)
{
    etx_status status = ETX_OK;
    const size_t n = json_array_size(value);
    int32_t *out = option->value;
    int32_t ignored = 0;

    if (!json_is_array(value))
        return fail_type(owner, option, value, "a list");
    if (n > (size_t)option->capacity) {
        return etx_fail(ETX_ERR_FORMAT,
            "%s: option '%s' has %zu entries, expected at most %d", owner,
            option->key, n, (int)option->capacity);
    }
    for (int32_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < n; i++) {
            int32_t *target = pass == 0 ? &ignored : &out[i];
            const json_t *entry = json_array_get(value, i);

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

static etx_status read_option(
    const char *owner, const struct etx_option *option, const json_t *value)
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
        *(const json_t **)option->value = value;
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

etx_status etx_options_read(const char *owner, const json_t *object,
    const struct etx_option *option, int32_t n_options)
{
    etx_status status = ETX_OK;
    const char *key = NULL;
    const json_t *value = NULL;

    if (object == NULL)
        return ETX_OK;
    if (!json_is_object(object)) {
        return etx_fail(ETX_ERR_FORMAT,
            "%s: options are %s, expected an object", owner, type_name(object));
    }
    /* The iterators read only, but take a json_t that is not const. */
    for (void *i = json_object_iter((json_t *)(uintptr_t)object); i != NULL;
         i = json_object_iter_next((json_t *)(uintptr_t)object, i)) {
        const struct etx_option *found = NULL;

        key = json_object_iter_key(i);
        value = json_object_iter_value(i);
        found = find(option, n_options, key);
        if (found == NULL) {
            status =
                etx_fail(ETX_ERR_FORMAT, "%s: unknown option '%s'", owner, key);
            goto done;
        }
        ETX_CHECK(read_option(owner, found, value));
    }
done:
    return status;
}
