/* examples/training.c -- the files of a training: events, config, model and
 * checkpoints.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "training.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

/* -------------------------------------------------------------- events -- */

#define MAX_READERS 64

/* What the reading threads share. */
struct reading {
    struct training_events *events;
    int64_t next; /* of events->index */
    etx_status status;
    char message[1024]; /* of the first failure */
    pthread_mutex_t lock;
};

/* The next event to read, or -1. */
static int64_t next_event(struct reading *reading)
{
    const struct training_events *events = reading->events;
    int64_t k = -1;

    pthread_mutex_lock(&reading->lock);
    if (reading->status == ETX_OK && reading->next < events->n)
        k = events->index != NULL ? events->index[reading->next]
                                  : reading->next;
    reading->next += k >= 0;
    pthread_mutex_unlock(&reading->lock);
    return k;
}

static void note_failure(struct reading *reading, etx_status status, int64_t k)
{
    pthread_mutex_lock(&reading->lock);
    if (reading->status == ETX_OK) {
        reading->status = status;
        reading->events->failed = k;
        snprintf(
            reading->message, sizeof reading->message, "%s", etx_last_error());
    }
    pthread_mutex_unlock(&reading->lock);
}

static void *read_some(void *argument)
{
    struct reading *reading = argument;
    struct training_events *events = reading->events;

    for (int64_t k = next_event(reading); k >= 0; k = next_event(reading)) {
        const etx_status status = etx_event_read_trackml(
            &events->event[k], events->name[k], events->detector);

        if (status != ETX_OK)
            note_failure(reading, status, k);
        else
            program_check_event(
                events->name[k], events->event[k], events->detector, NULL);
    }
    return NULL;
}

etx_status training_read_events(
    struct training_events *events, int64_t n_threads)
{
    struct reading reading = {.events = events};
    pthread_t thread[MAX_READERS];
    int64_t n = 0;

    pthread_mutex_init(&reading.lock, NULL);
    while (n < n_threads - 1 && n < events->n - 1 && n < MAX_READERS &&
           pthread_create(&thread[n], NULL, read_some, &reading) == 0)
        n++;
    read_some(&reading);
    while (n > 0)
        pthread_join(thread[--n], NULL);
    pthread_mutex_destroy(&reading.lock);
    if (reading.status != ETX_OK)
        etx_set_last_error(reading.message);
    return reading.status;
}

/* -------------------------------------------------------------- config -- */

#define MAX_CONFIG_BYTES (1 << 16)

/* The bytes of a file with a zero after them; NULL when it cannot be read or
 * is too large. errno is 0 for the latter. */
static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = file == NULL ? NULL : program_allocate(MAX_CONFIG_BYTES, 1);
    size_t size = 0;

    if (file == NULL)
        return NULL;
    errno = 0;
    size = fread(text, 1, MAX_CONFIG_BYTES, file);
    if (ferror(file) || size == MAX_CONFIG_BYTES) {
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

char *training_read_config(const char *path)
{
    char *named = program_shipped_name("configs", path, ".json");
    char *text = read_text(named != NULL ? named : path);

    if (text == NULL)
        (void)program_error("%s: %s", path,
            errno != 0 ? strerror(errno) : "64 KiB or more, no config");
    free(named);
    return text;
}

/* ----------------------------------------------------------- leftovers -- */

/* Whether name is "BASE.PID-....tmp" of a process that no longer runs. */
static int is_leftover(const char *name, const char *base)
{
    const size_t n = strlen(base);
    const size_t size = strlen(name);
    char *end;
    long process;

    if (size < n + 5 || strncmp(name, base, n) != 0 || name[n] != '.' ||
        strcmp(name + size - 4, ".tmp") != 0)
        return 0;
    process = strtol(name + n + 1, &end, 10);
    return process > 0 && *end == '-' && kill((pid_t)process, 0) != 0 &&
           errno == ESRCH;
}

static void remove_file(const char *folder, const char *name)
{
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *path = program_allocate((int64_t)size, 1);

    snprintf(path, size, "%s/%s", folder, name);
    unlink(path);
    free(path);
}

void training_remove_leftovers(const char *checkpoint)
{
    const char *slash = strrchr(checkpoint, '/');
    const char *base = slash == NULL ? checkpoint : slash + 1;
    const size_t length = (size_t)(base - checkpoint);
    char *folder = program_allocate((int64_t)length + 2, 1);
    DIR *open;

    memcpy(folder, length > 0 ? checkpoint : ".", length > 0 ? length : 1);
    open = opendir(folder);
    for (struct dirent *entry = open == NULL ? NULL : readdir(open);
         entry != NULL; entry = readdir(open))
        if (is_leftover(entry->d_name, base))
            remove_file(folder, entry->d_name);
    if (open != NULL)
        closedir(open);
    free(folder);
}

/* -------------------------------------------------------------- earlier -- */

static int copy_bytes(FILE *to, FILE *from)
{
    static const size_t size = 1 << 16;
    char *buffer = program_allocate((int64_t)size, 1);
    size_t n = 1;

    while (n > 0) {
        n = fread(buffer, 1, size, from);
        if (fwrite(buffer, 1, n, to) != n)
            break;
    }
    free(buffer);
    return n == 0 && !ferror(from) ? 0 : -1;
}

/* 0, or -1 with no file at `to`. */
static int copy_file(const char *from, const char *to)
{
    FILE *in = fopen(from, "rb");
    FILE *out = in == NULL ? NULL : fopen(to, "wb");
    int failed = out == NULL || copy_bytes(out, in) != 0;

    if (in != NULL)
        fclose(in);
    if (out != NULL)
        failed |= fclose(out) != 0;
    if (failed)
        unlink(to);
    return failed ? -1 : 0;
}

void training_keep_earlier(const char *checkpoint, const char *earlier)
{
    if (access(checkpoint, F_OK) != 0)
        return;
    unlink(earlier);
    if (link(checkpoint, earlier) != 0 && copy_file(checkpoint, earlier) != 0)
        (void)program_error("%s: cannot be kept as %s: %s", checkpoint, earlier,
            strerror(errno));
}
