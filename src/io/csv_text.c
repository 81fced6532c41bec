/* io/csv_text.c -- which bytes a CSV file may contain.
 *
 * Almost every file is plain ASCII: blocks of it are passed over by a loop
 * that vectorises, and only the others are looked at byte by byte.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/csv_text.h"

#include "base/cancel.h"
#include "base/text.h"

#include <inttypes.h>

#define BLOCK_BYTES     4096
#define BLOCKS_PER_POLL 256

/* Whether all n bytes are ASCII that needs no second look. */
static int is_plain(const unsigned char *text, int64_t n)
{
    unsigned char odd = 0;

    for (int64_t i = 0; i < n; i++) {
        const unsigned char byte = text[i];
        odd |= (unsigned char)((byte < 0x20) & (byte != '\n') & (byte != '\r'));
        odd |= (unsigned char)((byte >= 0x7f) | (byte == '"'));
    }
    return odd == 0;
}

static etx_status fail_at(
    const char *path, const unsigned char *begin, const unsigned char *at)
{
    int64_t line = 1;
    int64_t cell = 1;

    for (const unsigned char *byte = begin; byte < at; byte++) {
        line += *byte == '\n';
        cell = *byte == '\n' ? 1 : cell + (*byte == ',');
    }
    if (*at == '"')
        return etx_fail(ETX_ERR_FORMAT,
            "%s:%" PRId64 ":%" PRId64 ": found a quote; cells are not quoted",
            path, line, cell);
    return etx_fail(ETX_ERR_FORMAT,
        "%s:%" PRId64 ":%" PRId64 ": found byte 0x%02x, expected text", path,
        line, cell, *at);
}

etx_status etx_csv_check_text(
    const char *path, const char *begin, const char *end)
{
    const unsigned char *first = (const unsigned char *)begin;
    const unsigned char *last = (const unsigned char *)end;
    const unsigned char *at = first;
    etx_status status = ETX_OK;

    for (int64_t block = 0; at < last; block++) {
        const int64_t left = last - at;
        const int64_t n = left < BLOCK_BYTES ? left : BLOCK_BYTES;
        const unsigned char *stop = at + n;

        if (block % BLOCKS_PER_POLL == 0)
            ETX_CHECK(etx_cancel_poll());
        if (is_plain(at, n)) {
            at = stop;
            continue;
        }
        while (at < stop) {
            const size_t length =
                etx_utf8_length((const char *)at, (const char *)last);
            if (length == 0 || (length == 1 && !is_plain(at, 1)))
                return fail_at(path, first, at);
            at += length;
        }
    }
done:
    return status;
}
