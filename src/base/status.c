/* base/status.c -- the last error of a thread and how its text is written.
 *
 * The text is formatted here and not by vsnprintf, because a host may run in
 * a locale that writes 0.5 as 0,5.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"

#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

static _Thread_local char last_error[ETX_MESSAGE_SIZE];

/* A message under construction; what does not fit is dropped. */
struct message {
    char text[ETX_MESSAGE_SIZE];
    size_t length;
};

/* One conversion of a format: what stands between its % and its letter. */
struct conversion {
    bool zero_padded;
    int width;
    int precision; /* -1 = none */
    int n_long;    /* 1 for l, 2 for ll */
    bool is_size;  /* z */
    char letter;
};

static void append(struct message *message, const char *text, size_t length)
{
    const size_t capacity = ETX_MESSAGE_SIZE - 1 - message->length;
    const size_t kept = length < capacity ? length : capacity;

    memcpy(message->text + message->length, text, kept);
    message->length += kept;
}

static void append_padded(struct message *message,
    const struct conversion *conversion, const char *text, size_t length)
{
    const char *pad = conversion->zero_padded ? "0" : " ";

    for (size_t i = length; i < (size_t)conversion->width; i++)
        append(message, pad, 1);
    append(message, text, length);
}

static void append_string(struct message *message,
    const struct conversion *conversion, const char *text)
{
    const size_t max = conversion->precision < 0
                           ? ETX_MESSAGE_SIZE
                           : (size_t)conversion->precision;
    size_t length = 0;

    if (text == NULL)
        text = "(null)";
    while (length < max && text[length] != '\0')
        length++;
    append(message, text, length);
}

static void append_unsigned(struct message *message,
    const struct conversion *conversion, uint64_t value, unsigned base)
{
    char text[24];
    size_t at = sizeof text;

    do {
        text[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0);
    append_padded(message, conversion, text + at, sizeof text - at);
}

static void append_signed(
    struct message *message, const struct conversion *conversion, int64_t value)
{
    char text[32] = "";

    append_padded(
        message, conversion, text, (size_t)etx_format_int64(text, value));
}

/* A value that came from a float is written as that float: 0.1, and not
 * 0.10000000149011612. The comparisons are quiet and the narrowing cannot
 * overflow, so nothing traps in a host that enabled traps. */
static void append_double(struct message *message, double value)
{
    char text[32] = "";
    const double size = fabs(value);
    const bool in_range = isgreater(size, 1e-30) && isless(size, 1e30);
    const bool is_float = in_range && (double)(float)value == value;

    append(message, text,
        (size_t)(is_float ? etx_format_float(text, (float)value)
                          : etx_format_double(text, value)));
}

/* Read a decimal number at format, or from the arguments for *. */
static const char *read_number(int *value, const char *format, va_list *list)
{
    if (*format == '*') {
        *value = va_arg(*list, int);
        return format + 1;
    }
    *value = 0;
    for (; *format >= '0' && *format <= '9'; format++)
        if (*value < ETX_MESSAGE_SIZE)
            *value = *value * 10 + (*format - '0');
    return format;
}

/* Read the conversion after a %; returns what follows it. */
static const char *read_conversion(
    struct conversion *out, const char *format, va_list *list)
{
    memset(out, 0, sizeof *out);
    out->precision = -1;
    if (*format == '0') {
        out->zero_padded = true;
        format++;
    }
    format = read_number(&out->width, format, list);
    if (out->width < 0)
        out->width = 0;
    if (*format == '.')
        format = read_number(&out->precision, format + 1, list);
    for (; *format == 'l'; format++)
        out->n_long++;
    if (*format == 'z') {
        out->is_size = true;
        format++;
    }
    out->letter = *format;
    return *format == '\0' ? format : format + 1;
}

static int64_t signed_argument(
    const struct conversion *conversion, va_list *list)
{
    if (conversion->is_size)
        return (int64_t)va_arg(*list, size_t);
    if (conversion->n_long == 0)
        return va_arg(*list, int);
    if (conversion->n_long == 1)
        return va_arg(*list, long);
    return va_arg(*list, long long);
}

static uint64_t unsigned_argument(
    const struct conversion *conversion, va_list *list)
{
    if (conversion->is_size)
        return va_arg(*list, size_t);
    if (conversion->n_long == 0)
        return va_arg(*list, unsigned);
    if (conversion->n_long == 1)
        return va_arg(*list, unsigned long);
    return va_arg(*list, unsigned long long);
}

static void append_conversion(
    struct message *message, const struct conversion *conversion, va_list *list)
{
    switch (conversion->letter) {
    case '%':
        append(message, "%", 1);
        break;
    case 'c': {
        const char letter = (char)va_arg(*list, int);
        append(message, &letter, 1);
        break;
    }
    case 's':
        append_string(message, conversion, va_arg(*list, const char *));
        break;
    case 'd':
    case 'i':
        append_signed(message, conversion, signed_argument(conversion, list));
        break;
    case 'u':
        append_unsigned(
            message, conversion, unsigned_argument(conversion, list), 10);
        break;
    case 'x':
        append_unsigned(
            message, conversion, unsigned_argument(conversion, list), 16);
        break;
    case 'e':
    case 'f':
    case 'g':
        append_double(message, va_arg(*list, double));
        break;
    default:
        append(message, "?", 1);
        break;
    }
}

etx_status etx_fail(etx_status status, const char *format, ...)
{
    struct message message = {.length = 0};
    va_list list;

    va_start(list, format);
    while (*format != '\0') {
        const size_t plain = strcspn(format, "%");

        append(&message, format, plain);
        format += plain;
        if (*format == '%') {
            struct conversion conversion;

            format = read_conversion(&conversion, format + 1, &list);
            append_conversion(&message, &conversion, &list);
        }
    }
    va_end(list);
    memcpy(last_error, message.text, message.length);
    last_error[message.length] = '\0';
    return status;
}

void etx_set_last_error(const char *text)
{
    struct message message = {.length = 0};

    append_string(&message, &(struct conversion){.precision = -1},
        text == NULL ? "" : text);
    memcpy(last_error, message.text, message.length);
    last_error[message.length] = '\0';
}

const char *etx_last_error(void)
{
    return last_error;
}

void etx_callback_begin(struct etx_callback *kept)
{
    memcpy(kept->message, last_error, strlen(last_error) + 1);
    last_error[0] = '\0';
}

etx_status etx_callback_end(
    const struct etx_callback *kept, const char *name, etx_status status)
{
    const char *status_name = etx_status_name(status);

    if (status == ETX_OK)
        etx_set_last_error(kept->message);
    else if (strcmp(status_name, "unknown") == 0)
        return etx_fail(ETX_ERR_IO,
            "%s of the caller returned %d, which is no status", name,
            (int)status);
    else if (last_error[0] == '\0')
        return etx_fail(
            status, "%s of the caller returned %s", name, status_name);
    return status;
}
