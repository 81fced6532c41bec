/* api/options.c -- the defaults of options structs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/options.h"

#include "api/arguments.h"

/* The same for every struct: etx_<name>_options_init. */
#define INIT(name, text, last)                                                 \
    etx_status etx_##name##_options_init(                                      \
        etx_##name##_options *options, size_t struct_size)                     \
    {                                                                          \
        etx_##name##_options values;                                           \
                                                                               \
        etx_options_preset(&values, &etx_##name##_options_type);               \
        return etx_options_write(                                              \
            options, struct_size, &values, &etx_##name##_options_type);        \
    }
ETX_OPTIONS_TYPES(INIT)
