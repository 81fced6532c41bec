/* base/text.h -- numbers to text and back, whatever the host's locale.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_TEXT_H
#define ETX_BASE_TEXT_H

#include <exatrkx/exatrkx.h>

/* Read a decimal number at [begin, end): [+-] digits [eE [+-] digits], where
 * one dot may stand before, among or after the first digits; no spaces, hex,
 * inf or nan. *value is the nearest float
 * (double), bit-identical to strtof (strtod) in the C locale. Returns the
 * first character after the number, or NULL when there is none or it
 * overflows. */
const char *etx_parse_float(float *value, const char *begin, const char *end);
const char *etx_parse_double(double *value, const char *begin, const char *end);

/* Bytes of the character at `at`, before end; 0 when it is not UTF-8. */
size_t etx_utf8_length(const char *at, const char *end);

/* [+-] digits that fit; NULL otherwise. */
const char *etx_parse_int64(int64_t *value, const char *begin, const char *end);

/* Write value with the fewest significant digits (at most 9 for float, 17
 * for double) that read back to the same bits; returns the number of bytes
 * written to text [capacity >= 32], NUL-terminated. nan, inf and -inf are
 * written so. */
int32_t etx_format_float(char *text, float value);
int32_t etx_format_double(char *text, double value);
int32_t etx_format_int64(char *text, int64_t value);

#endif
