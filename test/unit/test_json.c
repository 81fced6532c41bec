/* test_json.c -- JSON from and to text: exact, strict, and without memory.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/heap.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_DEPTH 8

static etx_status parse(struct etx_json **out, const char *text)
{
    /* No byte after the text: sanitizers see what reads there. */
    const size_t size = strlen(text);
    char *copy = etx_test_alloc((int64_t)size, 1);
    etx_status status;

    memcpy(copy, text, size);
    status = etx_json_parse(out, "it", copy, size, MAX_DEPTH);
    free(copy);
    return status;
}

static void expect_text(
    const struct etx_json *json, int32_t n_digits, int sorted, const char *text)
{
    char *written = NULL;

    ck_assert_ok(etx_json_write(&written, json, n_digits, sorted));
    ck_assert_str_eq(written, text);
    etx_free(written);
}

/* What is read and what is written for it. */
static const struct {
    const char *read, *written;
} texts[] = {
    {"{}", "{}"},
    {" [ ] ", "[]"},
    {"[1 ,\n2\t,-3\r]", "[1,2,-3]"},
    {"[true,false,null]", "[true,false,null]"},
    {"{\"b\":1,\"a\":{\"d\":[],\"c\":\"\"}}",
        "{\"b\":1,\"a\":{\"d\":[],\"c\":\"\"}}"},
    {"[9223372036854775807,-9223372036854775808,-0,0]",
        "[9223372036854775807,-9223372036854775808,0,0]"},
    {"[1.0,-0.0,1e3,1E+2,1e-2,0.5]", "[1.0,-0.0,1000.0,100.0,0.01,0.5]"},
    {"[0.1,1e30,5e-324,1.7976931348623157e308,1e-400]",
        "[0.10000000000000001,1e30,4.9406564584124654e-324,"
        "1.7976931348623157e308,0.0]"},
    {"\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0001\\u007f\"",
        "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\x7f\""},
    {"\"\\u00e9\\u20ac\\ud83d\\ude00\xc3\xa9\"",
        "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa9\""},
    {"\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""},
    {"\"\\ud800\\udc00\\udbff\\udfff\"",
        "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""},
    {"\"\\u0080\\u07ff\\u0800\\ud7ff\\ue000\\uFFFF\"",
        "\"\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\""},
    {"\"\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\"",
        "\"\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\""},
    {"\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"",
        "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""},
    {"[[[[[[[[1]]]]]]]]", "[[[[[[[[1]]]]]]]]"},
};

ETX_TEST(test_json_texts, .rows = ROWS(texts))
{
    scoped_json *json = NULL;
    scoped_json *copy = NULL;

    ck_assert_ok(parse(&json, texts[_i].read));
    ck_assert_ok(etx_json_copy(&copy, json));
    expect_text(json, ETX_JSON_DIGITS, 0, texts[_i].written);
    expect_text(copy, ETX_JSON_DIGITS, 0, texts[_i].written);
}

static const struct {
    const char *text, *error;
} refused[] = {
    {"", "line 1, column 1: invalid token"},
    {"{", "key or '}' expected"},
    {"[1", "']' expected"},
    {"[1,]", "invalid token"},
    {"{\"a\":1,}", "a key or '}' expected"},
    {"{\"a\" 1}", "':' expected"},
    {"{\"a\":}", "invalid token"},
    {"{\"a\":1\n]", "line 2, column 1: '}' expected"},
    {"[01]", "invalid token"},
    {"[-]", "invalid token"},
    {"[1.]", "invalid token"},
    {"[.5]", "invalid token"},
    {"[1e]", "invalid token"},
    {"[+1]", "invalid token"},
    {"[nul]", "invalid token"},
    {"[NaN]", "invalid token"},
    {"[1e999]", "too big real number"},
    {"[9223372036854775808]", "too big integer"},
    {"{}{}", "end of the text expected"},
    {"\"a", "a text without end"},
    {"\"a\\", "unknown escape"},
    {"\"\\x\"", "unknown escape"},
    {"\"\\u12\"", "no character"},
    {"\"\\u12g4\"", "no character"},
    {"\"\\u0000\"", "no character"},
    {"\"\\ud800\"", "no character"},
    {"\"\\ud800\\u0041\"", "no character"},
    {"\"\\udc00\"", "no character"},
    {"\"\\udfff\"", "no character"},
    {"\"\\udbff\\ue000\"", "no character"},
    {"\"\\ud800\\ue000\"", "no character"},
    {"\"\\ud800\\udbff\"", "no character"},
    {"\"\n\"", "control character"},
    {"\"\xbf\x80\"", "not UTF-8"},
    {"\"\xff\"", "not UTF-8"},
    {"\"\xc0\x80\"", "not UTF-8"},
    {"\"\xed\xa0\x80\"", "not UTF-8"},
    {"\"\xf4\x90\x80\x80\"", "not UTF-8"},
    {"\"\xe2\x82\"", "not UTF-8"},
    {"\"\x80\"", "not UTF-8"},
    {"\"\xc1\xbf\"", "not UTF-8"},
    {"\"\xe0\x9f\xbf\"", "not UTF-8"},
    {"\"\xed\xbf\xbf\"", "not UTF-8"},
    {"\"\xf0\x8f\xbf\xbf\"", "not UTF-8"},
    {"\"\xc2\xc0\"", "not UTF-8"},
    {"\"\xe2\x82\xc0\"", "not UTF-8"},
    {"{\"a\":1,\"b\":2,\"a\":3}", "duplicate object key 'a'"},
    {"[[[[[[[[[1]]]]]]]]]", "nested deeper than 8 levels"},
};

ETX_TEST(test_json_refused, .rows = ROWS(refused))
{
    struct etx_json *json = NULL;

    ck_assert_fails(
        parse(&json, refused[_i].text), ETX_ERR_FORMAT, refused[_i].error);
    ck_assert_ptr_null(json);
    ck_assert_int_eq(etx_heap_in_use(), 0);
}

ETX_TEST(test_json_set)
{
    static const int64_t list[] = {1, 2};
    scoped_json *json = NULL;
    struct etx_json *inner = NULL;

    ck_assert_ok(etx_json_create_object(&json));
    ck_assert_ok(etx_json_set_integer(json, "z", 1));
    ck_assert_ok(etx_json_set_object(&inner, json, "m"));
    ck_assert_ok(etx_json_set_text(inner, "t", "x"));
    ck_assert_ok(etx_json_set_integers(json, "a", list, 2));
    ck_assert_ok(etx_json_set_copy(json, "z", inner));
    ck_assert_ok(etx_json_set_number(json, "n", 1.0 / 0.0));
    ck_assert_ok(etx_json_set_number(json, "r", 0.48));
    expect_text(json, 15, 0,
        "{\"z\":{\"t\":\"x\"},\"m\":{\"t\":\"x\"},\"a\":[1,2],\"n\":null,"
        "\"r\":0.48}");
    expect_text(json, 15, 1,
        "{\"a\":[1,2],\"m\":{\"t\":\"x\"},\"n\":null,\"r\":0.48,"
        "\"z\":{\"t\":\"x\"}}");
    etx_json_remove(json, "r");
    etx_json_remove(json, "z");
    etx_json_remove(json, "missing");
    ck_assert_ok(etx_json_set_integer(json, "e", 5));
    expect_text(
        json, 15, 0, "{\"m\":{\"t\":\"x\"},\"a\":[1,2],\"n\":null,\"e\":5}");
}

/* Many members, texts longer than a block of memory. */
static etx_status parse_and_write(void *argument)
{
    struct etx_json *json = NULL;
    char *text = NULL;
    etx_status status = parse(&json, argument);

    if (status == ETX_OK)
        status = etx_json_write(&text, json, ETX_JSON_DIGITS, 1);
    ck_assert((text != NULL) == (status == ETX_OK));
    if (text != NULL)
        ck_assert_str_eq(text, argument);
    etx_free(text);
    etx_json_free(json);
    return status;
}

ETX_TEST(test_json_no_memory)
{
    scoped char *text = etx_test_alloc(40000, 1);
    size_t n = 0;

    text[n++] = '{';
    for (int k = 0; k < 500; k++)
        n += (size_t)snprintf(text + n, 64, "\"key %03d\":[%d.5,\"\"],", k, k);
    n += (size_t)snprintf(text + n, 64, "\"long\":\"");
    memset(text + n, 'x', 15000);
    memcpy(text + n + 15000, "\"}", 3);
    ck_assert_int_gt(etx_test_out_of_memory(parse_and_write, text), 8);
}

/* Texts, a copy of them, and members that are set. */
static etx_status make_texts(void *argument)
{
    static const char *const pair[][2] = {{"a", "x"}, {"b", "y"}};
    static const int64_t list[] = {1, 2};
    scoped_json *json = NULL;
    scoped_json *copy = NULL;
    struct etx_json *inner = NULL;
    etx_status status = etx_json_create_texts(&json, pair, 2);

    (void)argument;
    if (status == ETX_OK)
        status = etx_json_copy(&copy, json);
    for (int k = 0; k < 300 && status == ETX_OK; k++)
        status = etx_json_set_object(&inner, copy, etx_test_json("ccccc"));
    if (status == ETX_OK)
        status = etx_json_set_integers(copy, "d", list, 2);
    if (status == ETX_OK)
        status = etx_json_set_copy(inner, "e", json);
    if (status == ETX_OK)
        ck_assert_ptr_nonnull(etx_json_get(etx_json_get(inner, "e"), "b"));
    return status;
}

ETX_TEST(test_json_texts_no_memory)
{
    ck_assert_int_gt(etx_test_out_of_memory(make_texts, NULL), 3);
}

/* With a decimal comma numbers are the same. */
static void expect_same_numbers(void *argument)
{
    (void)argument;
    char text[] = "{\"a\":0.10000000000000001,\"b\":[1.5,2.25e-100]}";
    scoped_json *json = NULL;

    ck_assert_ok(parse(&json, text));
    ck_assert(etx_json_number(etx_json_get(json, "a")) == 0.1);
    expect_text(json, ETX_JSON_DIGITS, 0,
        "{\"a\":0.10000000000000001,\"b\":[1.5,2.25e-100]}");
}

ETX_TEST(test_json_decimal_comma)
{
    expect_same_numbers(NULL);
    etx_test_in_comma_locale(
        "test_json_decimal_comma", expect_same_numbers, NULL);
}
