/* arch/options.h -- read a network's options from JSON, strictly.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_OPTIONS_H
#define ETX_ARCH_OPTIONS_H

#include "base/json.h"
#include <stddef.h>

#include "base/status.h"

enum etx_option_kind {
    ETX_OPTION_INT,     /* int32_t between low and high */
    ETX_OPTION_FLOAT,   /* float between low and high, finite */
    ETX_OPTION_BOOL,    /* int32_t 0 or 1 from true or false */
    ETX_OPTION_CHOICE,  /* int32_t index in choices */
    ETX_OPTION_INTS,    /* int32_t array of at most `capacity`, and its count */
    ETX_OPTION_CHOICES, /* the same, of indices in choices */
    ETX_OPTION_JSON, /* const struct etx_json *, borrowed: read by the caller */
    ETX_OPTION_GROUP /* a table of options in place of this entry */
};

/* One option: key, kind, where the value goes (holds the default before). The
 * functions below make one of every kind. */
struct etx_option {
    const char *key;
    int32_t kind; /* enum etx_option_kind */
    void *value;
    double low, high;
    const char *const *choices; /* NULL-terminated, for CHOICE, CHOICES */
    int32_t capacity;           /* for INTS, CHOICES; entries of a GROUP */
    int32_t *count;             /* for INTS, CHOICES */
};

/* Entries of a table of options. A value whose key the object lacks keeps its
 * default. Bounds are inclusive; choices end with NULL. */
struct etx_option etx_option_int(
    const char *key, int32_t *value, double low, double high);
struct etx_option etx_option_float(
    const char *key, float *value, double low, double high);
struct etx_option etx_option_bool(const char *key, int32_t *value);
struct etx_option etx_option_choice(
    const char *key, int32_t *value, const char *const *choices);

/* Lists: value [capacity], of which *count are used. */
struct etx_option etx_option_ints(const char *key, int32_t *value,
    int32_t *count, int32_t capacity, double low, double high);
struct etx_option etx_option_choices(const char *key, int32_t *value,
    int32_t *count, int32_t capacity, const char *const *choices);

struct etx_option etx_option_json(
    const char *key, const struct etx_json **value);

/* The options of table [n], which is borrowed. */
struct etx_option etx_option_group(struct etx_option *table, int32_t n);

/* Entries of a table of options. */
#define ETX_N_OPTIONS(table) ((int32_t)(sizeof(table) / sizeof(table)[0]))

/* object NULL leaves all defaults. Unknown keys, wrong types and values out
 * of bounds are ETX_ERR_FORMAT naming owner, key, value and bound. */
etx_status etx_options_read(const char *owner, const struct etx_json *object,
    const struct etx_option *option, int32_t n_options);

/* text = "a, b, c" of choices, cut where it does not fit. */
void etx_options_list(char *text, size_t capacity, const char *const *choices);

/* Names of enum etx_activation and enum etx_norm, NULL-terminated. */
extern const char *const etx_activation_names[];
extern const char *const etx_norm_names[];

#endif
