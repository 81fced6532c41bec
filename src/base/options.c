/* base/options.c -- the struct_size rule of public structs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/options.h"

#include "base/check.h"
#include "base/status.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* No struct will ever be as large; a size beyond it was never initialised. */
#define MAX_BYTES 4096

static etx_status check_size(
    size_t struct_size, size_t first_size, const char *name)
{
    if (struct_size < first_size)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: struct_size %zu is below %zu: fill the struct with its _init "
            "or set it to the size of the struct",
            name, struct_size, first_size);
    if (struct_size > MAX_BYTES)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: struct_size %zu is above %d: fill the struct with its _init "
            "or set it to the size of the struct",
            name, struct_size, MAX_BYTES);
    return ETX_OK;
}

double etx_options_value(const void *options, const struct etx_field *field)
{
    const char *from = (const char *)options + field->offset;
    int32_t int32 = 0;
    int64_t int64 = 0;
    float real = 0.0f;

    switch ((enum etx_field_kind)field->kind) {
    case ETX_FIELD_INT32:
        memcpy(&int32, from, sizeof int32);
        return int32;
    case ETX_FIELD_INT64:
        memcpy(&int64, from, sizeof int64);
        return (double)int64;
    case ETX_FIELD_FLOAT:
        memcpy(&real, from, sizeof real);
        return (double)real;
    case ETX_FIELD_POINTER:
        break;
    }
    return 0.0;
}

/* Only the conversion to the type of the field is made: another one of the same
 * number may be undefined, or set a flag of the host. */
static void set_value(void *options, const struct etx_field *field)
{
    char *to = (char *)options + field->offset;
    int32_t int32;
    int64_t int64;
    float real;
    const void *const none = NULL;

    switch ((enum etx_field_kind)field->kind) {
    case ETX_FIELD_INT32:
        int32 = (int32_t)field->preset;
        memcpy(to, &int32, sizeof int32);
        break;
    case ETX_FIELD_INT64:
        int64 = (int64_t)field->preset;
        memcpy(to, &int64, sizeof int64);
        break;
    case ETX_FIELD_FLOAT:
        real = (float)field->preset;
        memcpy(to, &real, sizeof real);
        break;
    case ETX_FIELD_POINTER:
        memcpy(to, &none, sizeof none);
        break;
    }
}

void etx_options_preset(void *out, const struct etx_options_type *type)
{
    const uint32_t size = (uint32_t)type->size;

    memcpy(out, &size, sizeof size);
    for (int32_t k = 0; k < type->n_fields; k++)
        set_value(out, &type->field[k]);
}

etx_status etx_options_write(void *options, size_t struct_size,
    const void *values, const struct etx_options_type *type)
{
    etx_status status = ETX_OK;
    const size_t kept = struct_size < type->size ? struct_size : type->size;
    const uint32_t size = (uint32_t)struct_size;

    if (options == NULL)
        return etx_fail(ETX_ERR_ARGUMENT, "%s: options is NULL", type->name);
    ETX_CHECK(check_size(struct_size, type->first_size, type->name));
    memset(options, 0, struct_size);
    memcpy(options, values, kept);
    memcpy(options, &size, sizeof size);
done:
    return status;
}

static etx_status fail_whole(
    const char *owner, const struct etx_field *field, double value)
{
    const int64_t number = (int64_t)value;

    if (field->low == field->high)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: %s is %" PRId64 " and must be %" PRId64, owner, field->name,
            number, (int64_t)field->low);
    if (field->high >= INT32_MAX && value < field->low)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: %s %" PRId64 " is below %" PRId64, owner, field->name, number,
            (int64_t)field->low);
    return etx_fail(ETX_ERR_ARGUMENT,
        "%s: %s %" PRId64 " is not in %" PRId64 "..%" PRId64, owner,
        field->name, number, (int64_t)field->low, (int64_t)field->high);
}

static etx_status fail_real(
    const char *owner, const struct etx_field *field, double value)
{
    if (isnan(value))
        return etx_fail(ETX_ERR_ARGUMENT, "%s: %s is nan", owner, field->name);
    if (field->low == (double)FLT_TRUE_MIN && value < field->low)
        return etx_fail(ETX_ERR_ARGUMENT, "%s: %s %.9g is not positive", owner,
            field->name, value);
    if (field->high >= (double)FLT_MAX)
        return etx_fail(ETX_ERR_ARGUMENT,
            value < field->low ? "%s: %s %.9g is not at least %.9g"
                               : "%s: %s %.9g is not finite",
            owner, field->name, value, field->low);
    return etx_fail(ETX_ERR_ARGUMENT, "%s: %s %.9g is not in %.9g to %.9g",
        owner, field->name, value, field->low, field->high);
}

etx_status etx_options_check(
    const char *owner, const void *options, const struct etx_options_type *type)
{
    for (int32_t k = 0; k < type->n_fields; k++) {
        const struct etx_field *field = &type->field[k];
        const double value = etx_options_value(options, field);

        if (field->kind == ETX_FIELD_POINTER ||
            (value >= field->low && value <= field->high))
            continue;
        return field->kind == ETX_FIELD_FLOAT ? fail_real(owner, field, value)
                                              : fail_whole(owner, field, value);
    }
    return ETX_OK;
}

etx_status etx_options_accept(void *out, const char *owner, const void *options,
    const struct etx_options_type *type)
{
    etx_status status = ETX_OK;
    uint32_t size;

    if (options != NULL) {
        memcpy(&size, options, sizeof size);
        ETX_CHECK(etx_options_copy(
            out, type->size, options, size, type->first_size, type->name));
    }
    ETX_CHECK(etx_options_check(owner, out, type));
done:
    return status;
}

etx_status etx_options_copy(void *out, size_t size, const void *options,
    size_t struct_size, size_t first_size, const char *name)
{
    etx_status status = ETX_OK;
    const size_t kept = struct_size < size ? struct_size : size;
    const char *bytes = options;
    uint32_t own_size;

    ETX_CHECK(check_size(struct_size, first_size, name));
    for (size_t i = size; i < struct_size; i++)
        if (bytes[i] != 0)
            return etx_fail(ETX_ERR_ARGUMENT,
                "%s: byte %zu of %zu is set, but this library knows only the "
                "first %zu: the caller needs a newer library",
                name, i, struct_size, size);
    memcpy(&own_size, out, sizeof own_size);
    memcpy(out, options, kept);
    memcpy(out, &own_size, sizeof own_size);
done:
    return status;
}

etx_status etx_report_check(
    const void *report, size_t first_size, const char *name)
{
    uint32_t size;

    memcpy(&size, report, sizeof size);
    return check_size(size, first_size, name);
}

void etx_report_write(void *report, const void *values, size_t size)
{
    uint32_t struct_size;

    memcpy(&struct_size, report, sizeof struct_size);
    memcpy(report, values, struct_size < size ? struct_size : size);
    memcpy(report, &struct_size, sizeof struct_size);
}
