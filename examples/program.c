/* examples/program.c -- options and messages of the programs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *program_name = "etx";

__attribute__((format(printf, 1, 0))) static void print_line(
    const char *format, va_list arguments)
{
    fprintf(stderr, "%s: ", program_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

int program_usage(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
    return PROGRAM_USAGE;
}

int program_error(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
    return PROGRAM_FAILED;
}

int program_failed(const char *subject)
{
    if (subject == NULL)
        return program_error("%s", etx_last_error());
    return program_error("%s: %s", subject, etx_last_error());
}

void *program_allocate(int64_t count, size_t size)
{
    void *memory = calloc(count > 0 ? (size_t)count : 1, size);

    if (memory == NULL)
        exit(program_error("out of memory"));
    return memory;
}

char *program_copy_text(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = program_allocate((int64_t)size, 1);

    memcpy(copy, text, size);
    return copy;
}

void program_list_add(struct program_list *list, const char *item)
{
    char **grown =
        realloc(list->item, (size_t)(list->count + 1) * sizeof *list->item);

    if (grown == NULL)
        exit(program_error("out of memory"));
    list->item = grown;
    list->item[list->count++] = program_copy_text(item);
}

void program_list_free(struct program_list *list)
{
    for (int64_t i = 0; i < list->count; i++)
        free(list->item[i]);
    free(list->item);
    list->item = NULL;
    list->count = 0;
}

/* ------------------------------------------------------------- options -- */

static void print_help(const char *summary,
    const struct program_option *options, int32_t n_options)
{
    printf("usage: %s [options]\n%s\n\noptions:\n", program_name, summary);
    for (int32_t k = 0; k < n_options; k++) {
        char left[64];

        snprintf(left, sizeof left, "--%s%s%s", options[k].name,
            options[k].value != NULL ? " " : "",
            options[k].value != NULL ? options[k].value : "");
        printf("  %-24s %s\n", left, options[k].help);
    }
    printf("  %-24s %s\n", "--help", "this text");
}

static const struct program_option *find_option(const char *name, size_t length,
    const struct program_option *options, int32_t n_options)
{
    for (int32_t k = 0; k < n_options; k++)
        if (strlen(options[k].name) == length &&
            strncmp(options[k].name, name, length) == 0)
            return &options[k];
    return NULL;
}

/* Store the value of an option, or end with a line of usage. */
static void store_value(const struct program_option *option, const char *value)
{
    char *end = NULL;
    double number = 0.0;

    if (option->text != NULL) {
        *option->text = value;
        return;
    }
    if (option->list != NULL) {
        program_list_add(option->list, value);
        return;
    }
    errno = 0;
    number = strtod(value, &end);
    if (end == value || *end != '\0' || errno != 0 ||
        !(number >= option->low && number <= option->high) ||
        (option->integer != NULL && number != (double)(int64_t)number))
        exit(program_usage("--%s %s: not %s in %g..%g", option->name, value,
            option->integer != NULL ? "a whole number" : "a number",
            option->low, option->high));
    if (option->integer != NULL)
        *option->integer = (int64_t)number;
    else
        *option->number = number;
}

void program_parse(int argc, char **argv, const char *summary,
    const struct program_option *options, int32_t n_options)
{
    program_name = program_base_name(argv[0]);
    for (int k = 1; k < argc; k++) {
        const char *name = argv[k] + 2;
        const char *equals = NULL;
        const struct program_option *option = NULL;
        size_t length = 0;

        if (strcmp(argv[k], "--help") == 0) {
            print_help(summary, options, n_options);
            exit(0);
        }
        if (strncmp(argv[k], "--", 2) != 0)
            exit(program_usage("unexpected argument %s", argv[k]));
        equals = strchr(name, '=');
        length = equals != NULL ? (size_t)(equals - name) : strlen(name);
        option = find_option(name, length, options, n_options);
        if (option == NULL)
            exit(program_usage("unknown option %s (see --help)", argv[k]));
        if (option->flag != NULL && equals == NULL) {
            *option->flag = 1;
            continue;
        }
        if (option->flag != NULL || (equals == NULL && k + 1 >= argc))
            exit(program_usage("--%s %s", option->name,
                option->flag != NULL ? "takes no value" : "needs a value"));
        store_value(option, equals != NULL ? equals + 1 : argv[++k]);
    }
}
