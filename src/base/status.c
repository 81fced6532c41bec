/* base/status.c -- status values and the last error of a thread.
 *
 * Messages are formatted here rather than by vsnprintf, because a host may
 * run in a locale that writes 0.5 as 0,5. Integers and strings go to snprintf
 * one conversion at a time; floating-point numbers go to base/text.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MESSAGE_SIZE 512
#define SPEC_SIZE    32

static _Thread_local char last_error[MESSAGE_SIZE];

/* A message under construction; what does not fit is dropped. */
struct message {
    char text[MESSAGE_SIZE];
    size_t length;
};

static void append(struct message *message, const char *text, size_t length)
{
    const size_t room = MESSAGE_SIZE - 1 - message->length;
    const size_t kept = length < room ? length : room;

    memcpy(message->text + message->length, text, kept);
    message->length += kept;
    message->text[message->length] = '\0';
}

static void append_double(struct message *message, double value)
{
    char text[32];
    const float narrow = (float)value;

    /* A number that came from a float is written as that float: 0.1, not
     * 0.10000000149011612. */
    const int32_t length = (double)narrow == value
                               ? etx_format_float(text, narrow)
                               : etx_format_double(text, value);
    append(message, text, (size_t)length);
}

/* One conversion of a format: "%5.2f" has spec "%5.2f", no length modifier
 * and conversion 'f'. */
struct conversion {
    char spec[SPEC_SIZE];
    char length[3]; /* "", "l", "ll", "z", "j" or "t" */
    char letter;
    int n_stars;
};

/* Split what starts at the % of format; returns what follows it, or NULL when
 * it is no conversion of ours. */
static const char *split_conversion(
    struct conversion *out, const char *format)
{
    const char *at = format + 1;
    size_t size = 0;

    memset(out, 0, sizeof *out);
    at += strspn(at, "-+ #0123456789.*");
    while (size + 1 < sizeof out->length && *at != '\0' &&
           strchr("lzjth", *at) != NULL)
        out->length[size++] = *at++;
    out->letter = *at;
    if (*at == '\0' || (size_t)(at + 1 - format) >= sizeof out->spec)
        return NULL;
    memcpy(out->spec, format, (size_t)(at + 1 - format));
    for (const char *star = out->spec; *star != '\0'; star++)
        out->n_stars += *star == '*';
    return at + 1;
}
