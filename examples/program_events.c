/* examples/program_events.c -- which events, and which share of them, a program
 * takes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *program_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Length of the event prefix in a file name, 0 when it is no hits file. */
static size_t hits_prefix(const char *name)
{
    static const char *const endings[] = {"-hits.csv", "-hits.csv.gz"};
    const size_t length = strlen(name);

    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) {
        const size_t ending = strlen(endings[k]);

        if (length > ending && strcmp(name + length - ending, endings[k]) == 0)
            return length - ending;
    }
    return 0;
}

/* An event may lie there both plain and compressed: items from `first` on are
 * sorted; keep one of equal ones. */
static void drop_repeated(struct program_list *list, int64_t first)
{
    int64_t kept = first;

    for (int64_t k = first; k < list->count; k++) {
        if (kept > first && strcmp(list->item[k], list->item[kept - 1]) == 0)
            free(list->item[k]);
        else
            list->item[kept++] = list->item[k];
    }
    list->count = kept;
}

/* Append the prefixes of the events in a folder, sorted. */
static int add_folder(struct program_list *list, const char *folder)
{
    const int64_t first = list->count;
    DIR *directory = opendir(folder);

    if (directory == NULL)
        return program_error("%s: %s", folder, strerror(errno));
    for (const struct dirent *entry = readdir(directory); entry != NULL;
         entry = readdir(directory)) {
        char path[PROGRAM_PATH_BYTES];
        const size_t length = hits_prefix(entry->d_name);
        const int written = snprintf(
            path, sizeof path, "%s/%.*s", folder, (int)length, entry->d_name);

        if (length > 0 && written > 0 && (size_t)written < sizeof path)
            program_list_add(list, path);
    }
    closedir(directory);
    if (list->count == first)
        return program_error("%s: no file ends in -hits.csv[.gz]", folder);
    qsort(list->item + first, (size_t)(list->count - first), sizeof *list->item,
        compare_text);
    drop_repeated(list, first);
    return 0;
}

int program_expand_events(struct program_list *events)
{
    struct program_list expanded = {0, NULL};

    for (int64_t k = 0; k < events->count; k++) {
        struct stat information;

        if (stat(events->item[k], &information) == 0 &&
            S_ISDIR(information.st_mode)) {
            if (add_folder(&expanded, events->item[k]) != 0) {
                program_list_free(&expanded);
                return PROGRAM_FAILED;
            }
        } else {
            program_list_add(&expanded, events->item[k]);
        }
    }
    program_list_free(events);
    *events = expanded;
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(program_base_name(*(char *const *)a),
        program_base_name(*(char *const *)b));
}

int program_check_names(const struct program_list *events, const char *ending)
{
    const size_t size = sizeof *events->item;
    char **sorted = program_allocate(events->count, size);
    int result = 0;

    for (int64_t k = 0; k < events->count; k++)
        sorted[k] = events->item[k];
    qsort(sorted, (size_t)events->count, size, compare_names);
    for (int64_t k = 1; result == 0 && k < events->count; k++)
        if (compare_names(&sorted[k - 1], &sorted[k]) == 0)
            result = program_usage("%s and %s would share the file %s%s",
                sorted[k - 1], sorted[k], program_base_name(sorted[k]), ending);
    free(sorted);
    return result;
}

/* --------------------------------------------------------------- ranks -- */

/* A whole number from the environment, or -1. */
static int64_t read_number(const char *name)
{
    const char *text = getenv(name);
    char *end = NULL;
    const long long number = text == NULL ? -1 : strtoll(text, &end, 10);

    return text != NULL && end != text && *end == '\0' ? number : -1;
}

int program_ranks(int64_t *rank, int64_t *n_ranks)
{
    static const char *const names[][2] = {
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
        {"PMI_RANK", "PMI_SIZE"}, {"SLURM_PROCID", "SLURM_NTASKS"}};

    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (getenv(names[k][0]) == NULL || getenv(names[k][1]) == NULL)
            continue;
        *rank = read_number(names[k][0]);
        *n_ranks = read_number(names[k][1]);
        if (*rank >= 0 && *rank < *n_ranks)
            return 0;
        return program_usage("--share: %s=%s is not a rank below %s=%s",
            names[k][0], getenv(names[k][0]), names[k][1], getenv(names[k][1]));
    }
    return program_usage("--share: neither mpirun nor srun started this "
                         "process (no OMPI_COMM_WORLD_RANK, PMI_RANK or "
                         "SLURM_PROCID with its size)");
}
