/* base/options.h -- the struct_size rule of public structs.
 *
 * An options struct begins with uint32_t struct_size and only ever grows at
 * its end. A caller that was compiled against an older library gives a
 * smaller struct and gets defaults for what it lacks; one compiled against a
 * newer library gives a larger one, which is fine as long as the bytes that
 * this library does not know are zero (the rule of Linux clone3).
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

/* The size of a struct whose last field was this one. */
#define ETX_SIZE_UP_TO(type, field)                                            \
    (offsetof(type, field) + sizeof(((type *)NULL)->field))

/* Fill the caller's options [struct_size] with defaults [known_size], zero
 * beyond them, and set its struct_size. */
etx_status etx_options_init(void *options, size_t struct_size,
    const void *defaults, size_t known_size, size_t first_size,
    const char *name);

/* Copy the caller's options [struct_size] into known [known_size], which
 * holds the defaults; known's own struct_size stays. */
etx_status etx_options_copy(void *known, size_t known_size, const void *options,
    size_t struct_size, size_t first_size, const char *name);

/* The struct_size of the caller's report is at least first_size. */
etx_status etx_report_check(
    const void *report, size_t first_size, const char *name);

/* Copy known [known_size] to the caller's report, as far as its struct_size
 * goes; its struct_size stays. */
void etx_report_write(void *report, const void *known, size_t known_size);

#endif
