/* base/json_write.c -- JSON to text.
 *
 * The text is written twice: first its bytes are counted, then they are
 * written.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

struct writer {
    char *text; /* NULL: count only */
    size_t length;
    int32_t n_digits, is_sorted;
};

static void append(struct writer *writer, const char *bytes, size_t n)
{
    if (writer->text != NULL)
        memcpy(writer->text + writer->length, bytes, n);
    writer->length += n;
}

static void write_text(struct writer *writer, const char *text)
{
    static const char letters[] = "\"\\bfnrt";
    static const char bytes[] = "\"\\\b\f\n\r\t";
    char escape[8];

    append(writer, "\"", 1);
    for (; *text != '\0'; text++) {
        const char *found = strchr(bytes, *text);

        if (found != NULL) {
            escape[0] = '\\';
            escape[1] = letters[found - bytes];
            append(writer, escape, 2);
        } else if ((unsigned char)*text < ' ') {
            (void)snprintf(escape, sizeof escape, "\\u%04X", (unsigned)*text);
            append(writer, escape, 6);
        } else {
            append(writer, text, 1);
        }
    }
    append(writer, "\"", 1);
}

/* As %.*g in the C locale, with a dot or an exponent, and that without plus
 * and leading zeros: 1.0, 0.5, 1e30, 1e-5. */
static void write_real(struct writer *writer, double value)
{
    char digits[64];
    char *out = digits;
    char *exponent;

    (void)snprintf(digits, sizeof digits, "%.*g", (int)writer->n_digits, value);
    for (const char *at = digits; *at != '\0'; at++) {
        const int is_point = strchr("0123456789+-e", *at) == NULL;

        /* The point of the host's locale may have several bytes. */
        if (!is_point || out == digits || out[-1] != '.')
            *out++ = (char)(is_point ? '.' : *at);
    }
    *out = '\0';
    exponent = strchr(digits, 'e');
    if (exponent == NULL) {
        append(writer, digits, strlen(digits));
        if (strchr(digits, '.') == NULL)
            append(writer, ".0", 2);
        return;
    }
    append(writer, digits, (size_t)(exponent + 1 - digits));
    if (*++exponent == '-')
        append(writer, "-", 1);
    exponent += strspn(exponent, "+-0");
    append(writer, exponent, strlen(exponent));
}

static etx_status write_value(
    struct writer *writer, const struct etx_json *value);

/* The entries of a list, the members of an object. */
static etx_status write_entries(
    struct writer *writer, const struct etx_json *value)
{
    const int32_t is_object = value->kind == ETX_JSON_OBJECT;
    const struct etx_json **sorted = NULL;
    const struct etx_json *member = value->as.first;
    etx_status status = ETX_OK;

    append(writer, is_object ? "{" : "[", 1);
    if (is_object && writer->is_sorted)
        ETX_CHECK(etx_json_sort_members(&sorted, value));
    for (int32_t k = 0; k < value->n; k++) {
        const struct etx_json *entry = sorted == NULL ? member : sorted[k];

        if (k > 0)
            append(writer, ",", 1);
        if (is_object) {
            write_text(writer, entry->key);
            append(writer, ":", 1);
        }
        ETX_CHECK(write_value(writer, entry));
        member = member->next;
    }
    append(writer, is_object ? "}" : "]", 1);
done:
    etx_free(sorted);
    return status;
}

static etx_status write_value(
    struct writer *writer, const struct etx_json *value)
{
    char digits[32];

    switch ((enum etx_json_kind)value->kind) {
    case ETX_JSON_NULL:
        append(writer, "null", 4);
        break;
    case ETX_JSON_FALSE:
        append(writer, "false", 5);
        break;
    case ETX_JSON_TRUE:
        append(writer, "true", 4);
        break;
    case ETX_JSON_INTEGER:
        append(writer, digits,
            (size_t)etx_format_int64(digits, value->as.integer));
        break;
    case ETX_JSON_REAL:
        write_real(writer, value->as.real);
        break;
    case ETX_JSON_TEXT:
        write_text(writer, value->as.text);
        break;
    case ETX_JSON_LIST:
    case ETX_JSON_OBJECT:
        return write_entries(writer, value);
    }
    return ETX_OK;
}

etx_status etx_json_write(char **out, const struct etx_json *value,
    int32_t n_digits, int32_t is_sorted)
{
    struct writer writer = {NULL, 0, n_digits, is_sorted};
    char *text = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(write_value(&writer, value));
    ETX_CHECK(
        etx_alloc(&text, (int64_t)writer.length + 1, 1, "the text of JSON"));
    writer.text = text;
    writer.length = 0;
    ETX_CHECK(write_value(&writer, value));
    *out = text;
    text = NULL;
done:
    etx_free(text);
    return status;
}
