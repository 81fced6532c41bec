/* io/json_text.h -- JSON from untrusted text.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_JSON_TEXT_H
#define ETX_IO_JSON_TEXT_H

#include <jansson.h>

#include "base/status.h"

/* Values in a text: jansson needs up to a hundred bytes for a value of two. */
#define ETX_JSON_MAX_VALUES 262144

/* Parse text [size]: one value, keys unique, nested at most max_depth deep,
 * at most ETX_JSON_MAX_VALUES values. Anything else is ETX_ERR_FORMAT; what
 * names the text in messages. */
etx_status etx_json_parse(json_t **out, const char *what, const char *text,
    size_t size, int32_t max_depth);

/* The next member of an object: NULL before the first and after the last. */
struct etx_json_member {
    const char *key;
    const json_t *value;
    void *iterator;
};
int32_t etx_json_next(struct etx_json_member *member, const json_t *object);

#endif
