/* base/json_parse.c -- JSON from untrusted text (RFC 8259).
 *
 * The parser descends by recursion, as deep as the caller allows, and stops
 * at the first byte that is wrong: a file can neither overflow the stack of a
 * small thread nor cause large allocations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct parser {
    const char *what, *begin, *at, *end;
    int32_t depth, max_depth, n_values;
};

static etx_status fail_at(const struct parser *parser, const char *message)
{
    int32_t line = 1;
    int32_t column = 1;

    for (const char *at = parser->begin; at < parser->at; at++) {
        column = *at == '\n' ? 1 : column + 1;
        line += *at == '\n';
    }
    return etx_fail(ETX_ERR_FORMAT,
        "%s: not valid JSON: line %d, column %d: %s", parser->what, (int)line,
        (int)column, message);
}

/* The next byte; 0 at the end, where no valid text has one. */
static char peek(const struct parser *parser)
{
    return parser->at < parser->end ? *parser->at : '\0';
}

static char skip_spaces(struct parser *parser)
{
    while (peek(parser) == ' ' || peek(parser) == '\t' ||
           peek(parser) == '\n' || peek(parser) == '\r')
        parser->at++;
    return peek(parser);
}

static bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}

/* ---------------------------------------------------------------- texts -- */

static size_t write_utf8(char *out, uint32_t code)
{
    const size_t n = code < 0x80      ? 1
                     : code < 0x800   ? 2
                     : code < 0x10000 ? 3
                                      : 4;

    for (size_t k = n - 1; k > 0; k--) {
        out[k] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (char)(n == 1 ? code : (0xf00u >> n & 0xf0u) | code);
    return n;
}

/* The four hexadecimal digits at `at`; UINT32_MAX when they are not. */
static uint32_t read_hex(const struct parser *parser, const char *at)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    uint32_t code = 0;

    if (parser->end - at < 4)
        return UINT32_MAX;
    for (int32_t k = 0; k < 4; k++) {
        const char *digit = at[k] == '\0' ? NULL : strchr(digits, at[k]);

        if (digit == NULL)
            return UINT32_MAX;
        code = code << 4 | (uint32_t)((digit - digits) % 16);
    }
    return code;
}

/* \uXXXX, or two of them that stand for one character; at: after the u. */
static etx_status read_unicode(char **out, struct parser *parser)
{
    const char *at = parser->at;
    uint32_t code = read_hex(parser, at);

    at += 4;
    if (code >= 0xd800 && code < 0xdc00 && parser->end - at > 6 &&
        at[0] == '\\' && at[1] == 'u') {
        const uint32_t low = read_hex(parser, at + 2);

        if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            at += 6;
        }
    }
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return fail_at(parser, "no character after \\u");
    *out += write_utf8(*out, code);
    parser->at = at;
    return ETX_OK;
}

/* at: after the backslash. */
static etx_status read_escape(char **out, struct parser *parser)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char bytes[] = "\"\\/\b\f\n\r\t";
    const char letter = peek(parser);
    const char *found = letter == '\0' ? NULL : strchr(letters, letter);

    if (found == NULL && letter != 'u')
        return fail_at(parser, "unknown escape in a text");
    parser->at++;
    if (found == NULL)
        return read_unicode(out, parser);
    *(*out)++ = bytes[found - letters];
    return ETX_OK;
}

/* The end of the text that starts after a quote: its other quote. */
static const char *find_quote(const char *at, const char *end)
{
    while (at < end && *at != '"')
        at += *at == '\\' && at + 1 < end ? 2 : 1;
    return at;
}

/* The text at a quote, which is never longer decoded than written. */
static etx_status read_text(const char **text, size_t *length,
    struct parser *parser, struct etx_json_memory *memory)
{
    const char *quote = find_quote(parser->at + 1, parser->end);
    char *begin = NULL;
    char *out = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_json_alloc(&begin, memory, (size_t)(quote - parser->at) + 1));
    out = begin;
    parser->at++;
    while (parser->at < quote) {
        const size_t n = etx_utf8_length(parser->at, quote);

        if (*parser->at == '\\') {
            parser->at++;
            ETX_CHECK(read_escape(&out, parser));
            continue;
        }
        if (n == 0 || (unsigned char)*parser->at < ' ')
            return fail_at(
                parser, n == 0 ? "not UTF-8" : "a control character in a text");
        memcpy(out, parser->at, n);
        out += n;
        parser->at += n;
    }
    if (parser->at >= parser->end)
        return fail_at(parser, "a text without end");
    parser->at++;
    *out = '\0';
    *text = begin;
    *length = (size_t)(out - begin);
done:
    return status;
}

/* -------------------------------------------------------------- numbers -- */

static bool skip_digits(struct parser *parser)
{
    const char *begin = parser->at;

    while (is_digit(peek(parser)))
        parser->at++;
    return parser->at > begin;
}

/* The number at `at`, in JSON's grammar; *is_real: with a dot or an e. */
static bool skip_number(struct parser *parser, bool *is_real)
{
    const char *digits = parser->at += peek(parser) == '-';

    if (!skip_digits(parser) || (*digits == '0' && parser->at > digits + 1))
        return false;
    *is_real = false;
    if (peek(parser) == '.') {
        *is_real = true;
        parser->at++;
        if (!skip_digits(parser))
            return false;
    }
    if (peek(parser) == 'e' || peek(parser) == 'E') {
        *is_real = true;
        parser->at++;
        parser->at += peek(parser) == '+' || peek(parser) == '-';
        if (!skip_digits(parser))
            return false;
    }
    return true;
}

static etx_status read_number(struct parser *parser, struct etx_json *value)
{
    const char *begin = parser->at;
    const char *end = NULL;
    bool is_real = false;

    if (!skip_number(parser, &is_real))
        return fail_at(parser, "invalid token");
    value->kind = is_real ? ETX_JSON_REAL : ETX_JSON_INTEGER;
    end = is_real ? etx_parse_double(&value->as.real, begin, parser->at)
                  : etx_parse_int64(&value->as.integer, begin, parser->at);
    if (end != NULL)
        return ETX_OK;
    parser->at--; /* its last digit */
    return fail_at(parser, is_real ? "too big real number" : "too big integer");
}

static etx_status read_word(struct parser *parser, struct etx_json *value)
{
    static const char *const words[] = {[ETX_JSON_NULL] = "null",
        [ETX_JSON_FALSE] = "false",
        [ETX_JSON_TRUE] = "true"};

    for (int32_t kind = ETX_JSON_NULL; kind <= ETX_JSON_TRUE; kind++) {
        const size_t n = strlen(words[kind]);

        if ((size_t)(parser->end - parser->at) >= n &&
            memcmp(parser->at, words[kind], n) == 0) {
            parser->at += n;
            value->kind = kind;
            return ETX_OK;
        }
    }
    return fail_at(parser, "invalid token");
}

/* --------------------------------------------------- lists and objects -- */

static etx_status check_unique(
    const struct parser *parser, const struct etx_json *object)
{
    const struct etx_json **sorted = NULL;
    etx_status status = ETX_OK;

    if (object->n < 2)
        return ETX_OK;
    ETX_CHECK(etx_json_sort_members(&sorted, object));
    for (int32_t k = 1; k < object->n && status == ETX_OK; k++)
        if (strcmp(sorted[k - 1]->key, sorted[k]->key) == 0) {
            char message[80];

            (void)snprintf(message, sizeof message,
                "duplicate object key '%.40s'", sorted[k]->key);
            status = fail_at(parser, message);
        }
done:
    etx_free(sorted);
    return status;
}

static etx_status read_key(
    const char **key, struct parser *parser, struct etx_json_memory *memory)
{
    size_t length = 0;
    etx_status status = ETX_OK;

    if (skip_spaces(parser) != '"')
        return fail_at(parser, "a key or '}' expected");
    ETX_CHECK(read_text(key, &length, parser, memory));
    if (skip_spaces(parser) != ':')
        return fail_at(parser, "':' expected");
    parser->at++;
done:
    return status;
}

static etx_status read_value(struct parser *parser, struct etx_json *value);

/* The entries of a list or the members of an object; at: its bracket. */
static etx_status read_entries(
    struct parser *parser, struct etx_json *value, char close)
{
    etx_status status = ETX_OK;

    if (++parser->depth > parser->max_depth)
        return etx_fail(ETX_ERR_FORMAT, "%s: nested deeper than %d levels",
            parser->what, (int)parser->max_depth);
    do {
        struct etx_json *entry = NULL;
        const char *key = NULL;

        parser->at++;
        if (skip_spaces(parser) == close && value->n == 0)
            break;
        if (close == '}')
            ETX_CHECK(read_key(&key, parser, value->memory));
        ETX_CHECK(etx_json_append(&entry, value, NULL, 0));
        entry->key = key;
        ETX_CHECK(read_value(parser, entry));
    } while (skip_spaces(parser) == ',');
    if (peek(parser) != close)
        return fail_at(parser, close == '}' ? "'}' expected" : "']' expected");
    parser->at++;
    parser->depth--;
    if (close == '}')
        ETX_CHECK(check_unique(parser, value));
done:
    return status;
}

static etx_status read_value(struct parser *parser, struct etx_json *value)
{
    const char first = skip_spaces(parser);

    if (++parser->n_values > ETX_JSON_MAX_VALUES)
        return etx_fail(ETX_ERR_FORMAT, "%s: more than %d values", parser->what,
            ETX_JSON_MAX_VALUES);
    if (first == '"') {
        value->kind = ETX_JSON_TEXT;
        return read_text(
            &value->as.text, &value->length, parser, value->memory);
    }
    if (first == '{' || first == '[') {
        value->kind = first == '{' ? ETX_JSON_OBJECT : ETX_JSON_LIST;
        return read_entries(parser, value, first == '{' ? '}' : ']');
    }
    if (first == '-' || is_digit(first))
        return read_number(parser, value);
    return read_word(parser, value);
}

etx_status etx_json_parse(struct etx_json **out, const char *what,
    const char *text, size_t size, int32_t max_depth)
{
    struct parser parser = {what, text, text, text + size, 0, max_depth, 0};
    struct etx_json *root = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_json_create_object(&root));
    ETX_CHECK(read_value(&parser, root));
    (void)skip_spaces(&parser);
    if (parser.at < parser.end) {
        status = fail_at(&parser, "end of the text expected");
        goto done;
    }
    *out = root;
    root = NULL;
done:
    etx_json_free(root);
    return status;
}
