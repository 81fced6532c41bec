/* base/options.h -- the struct_size rule of public structs.
 *
 * An options struct begins with uint32_t struct_size and only ever grows at
 * its end. A caller that was compiled against an older library gives a
 * smaller struct and gets defaults for what it lacks; one compiled against a
 * newer library gives a larger one, which is fine as long as the bytes beyond
 * this library's struct are zero (the rule of Linux clone3).
 *
 * A report is a struct that the library fills. The caller sets its struct_size;
 * the library writes the fields that both know and leaves the rest alone.
 *
 * first_size is the size at the struct's first release and stays when it grows;
 * name stands in messages.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_OPTIONS_H
#define ETX_BASE_OPTIONS_H

#include <exatrkx/exatrkx.h>

#include <stddef.h>

/* The size of a struct whose last field was this one. */
#define ETX_SIZE_UP_TO(type, field)                                            \
    (offsetof(type, field) + sizeof(((type *)NULL)->field))

/* What a field of an options struct is; ETX_FIELD finds it from the type. */
enum etx_field_kind {
    ETX_FIELD_INT32,
    ETX_FIELD_INT64,
    ETX_FIELD_FLOAT,
    ETX_FIELD_POINTER /* not checked; its default is NULL */
};

/* A field of an options struct: all that is known of it but its comment. Bounds
 * are inclusive; nan is within none. low equal to high: a reserved field. */
struct etx_field {
    const char *name;
    size_t offset;
    int32_t kind; /* enum etx_field_kind */
    double preset, low, high;
    const char *const *choices; /* of an int32_t: names in model files, ends
                                 * with NULL; NULL: it is a number there */
};

/* Any other type of field does not compile. */
#define ETX_FIELD_KIND(type, field)                                            \
    _Generic(&((type *)NULL)->field, int32_t *: ETX_FIELD_INT32,               \
        int64_t *: ETX_FIELD_INT64, float *: ETX_FIELD_FLOAT,                  \
        void **: ETX_FIELD_POINTER, const float **: ETX_FIELD_POINTER,         \
        int32_t (**)(void *): ETX_FIELD_POINTER)
#define ETX_FIELD(type, field, preset, low, high)                              \
    {                                                                          \
#field, offsetof(type, field), ETX_FIELD_KIND(type, field), preset,    \
            low, high, NULL                                                    \
    }
#define ETX_FIELD_CHOICE(type, field, preset, n, names)                        \
    {                                                                          \
#field, offsetof(type, field), ETX_FIELD_KIND(type, field), preset, 0, \
            (n)-1, names                                                       \
    }

/* An options struct: everything but struct_size, in the order of the struct. */
struct etx_options_type {
    const char *name; /* in messages */
    size_t size, first_size;
    int32_t n_fields;
    const struct etx_field *field;
};

/* *out: struct_size and every default. */
void etx_options_preset(void *out, const struct etx_options_type *type);

/* Fill the caller's options [struct_size] with values, a whole struct, zero
 * beyond it, and set its struct_size. */
etx_status etx_options_write(void *options, size_t struct_size,
    const void *values, const struct etx_options_type *type);

/* A field of kind int or float, as a number. */
double etx_options_value(const void *options, const struct etx_field *field);

/* Every field is within its bounds; messages begin with owner. */
etx_status etx_options_check(const char *owner, const void *options,
    const struct etx_options_type *type);

/* *out, which has a value in every field, gets the fields of the caller's
 * options, which may be NULL; then it is checked. */
etx_status etx_options_accept(void *out, const char *owner, const void *options,
    const struct etx_options_type *type);

/* The same without a table: copy the caller's options [struct_size] into out
 * [size], which has the defaults; out's own struct_size stays. */
etx_status etx_options_copy(void *out, size_t size, const void *options,
    size_t struct_size, size_t first_size, const char *name);

/* The struct_size of the caller's report is at least first_size. */
etx_status etx_report_check(
    const void *report, size_t first_size, const char *name);

/* Copy values [size] to the caller's report, as far as its struct_size goes;
 * its struct_size stays. */
void etx_report_write(void *report, const void *values, size_t size);

#endif
