/* io/file_writer.c -- whole files out, atomically.
 *
 * The new file lies next to the target, since rename() does not cross file
 * systems. Where the file system has files without a name it gets one just
 * before the rename, so that a process that is killed leaves nothing. A limit
 * on file sizes (EFBIG) and a closed pipe (EPIPE) come with a signal that would
 * end the host; it is blocked for the length of the write and discarded when
 * the write caused it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* O_TMPFILE */

#include "io/file.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"
#include "io/file_error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ZLIB_CONST
#include <zlib.h>

#define PIECE_BYTES    ((size_t)1 << 16)
#define WRITE_BYTES    ((size_t)1 << 22) /* between two polls of cancel */
#define GZIP_WINDOW    (15 + 16)         /* window of 2^15, gzip framing */
#define GZIP_MEMORY    8                 /* zlib's default */
#define N_NAME_TRIES   100
#define MAX_STEM_BYTES 200
#define NAME_EXTRA     64 /* bytes that a temporary name has more */
#define DESCRIPTORS    "/proc/self/fd"

struct etx_file_writer {
    char *path;      /* where the file shall stand, symbolic links followed */
    char *temporary; /* name until the rename; NULL: path is written directly */
    bool is_named;   /* there is a file of that name */
    int descriptor;  /* -1: closed */
    int32_t compressed;
    z_stream stream;
    unsigned char piece[PIECE_BYTES];
};

static etx_status copy_text(char **out, const char *text)
{
    const size_t size = strlen(text) + 1;
    const etx_status status =
        etx_alloc(out, (int64_t)size, 1, "the name of a file");

    if (status == ETX_OK)
        memcpy(*out, text, size);
    return status;
}

/* ---------------------------------------------------- signals of write -- */

struct guard {
    sigset_t ours, before, pending;
};

static void guard_begin(struct guard *guard)
{
    (void)sigemptyset(&guard->ours);
    (void)sigaddset(&guard->ours, SIGXFSZ);
    (void)sigaddset(&guard->ours, SIGPIPE);
    (void)sigemptyset(&guard->pending);
    (void)sigpending(&guard->pending);
    (void)pthread_sigmask(SIG_BLOCK, &guard->ours, &guard->before);
}

/* caused: the signal that the write raised, 0 for none. */
static void guard_end(const struct guard *guard, int caused)
{
    if (caused != 0 && sigismember(&guard->pending, caused) == 0) {
        const struct timespec now = {0, 0};
        sigset_t one;
        (void)sigemptyset(&one);
        (void)sigaddset(&one, caused);
        while (sigtimedwait(&one, NULL, &now) < 0 && errno == EINTR)
            ;
    }
    (void)pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
}

static int signal_of(int error)
{
    if (error == EFBIG)
        return SIGXFSZ;
    return error == EPIPE ? SIGPIPE : 0;
}

static etx_status write_raw(const struct etx_file_writer *writer,
    const unsigned char *data, size_t size)
{
    struct guard guard;
    size_t n_written = 0;
    etx_status status = ETX_OK;
    int error = 0;

    guard_begin(&guard);
    while (n_written < size && error == 0 && status == ETX_OK) {
        const size_t left = size - n_written;
        const ssize_t n = write(writer->descriptor, data + n_written,
            left < WRITE_BYTES ? left : WRITE_BYTES);
        if (n > 0)
            n_written += (size_t)n;
        else if (n == 0)
            error = EIO; /* a device that takes nothing would for ever */
        else if (errno != EINTR)
            error = errno;
        status = etx_cancel_poll();
    }
    guard_end(&guard, signal_of(error));
    if (error != 0)
        return etx_file_fail(writer->path, "write", error);
    return status;
}

/* ------------------------------------------------------------- opening -- */

static int open_for_writing(const char *path, int flags)
{
    int descriptor;

    do {
        descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | flags, 0666);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

/* A name that no other process and no other thread of this one tries; a long
 * one loses its end, which the file system cannot store. */
static void temporary_name(char *out, size_t size, const char *path, int n)
{
    const char *slash = strrchr(path, '/');
    const size_t folder = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    size_t length = strlen(path);
    struct timespec now = {0, 0};

    if (length - folder > MAX_STEM_BYTES)
        length = folder + MAX_STEM_BYTES;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    (void)snprintf(out, size, "%.*s.%ld-%lx-%d.tmp", (int)length, path,
        (long)getpid(), (unsigned long)now.tv_nsec, n);
}

/* out [PATH_MAX] = the folder of path; false when it is too long. */
static bool folder_of(char *out, const char *path)
{
    const char *slash = strrchr(path, '/');
    const size_t length = slash == NULL ? 0 : (size_t)(slash - path) + 1;

    if (length > PATH_MAX - 2)
        return false;
    memcpy(out, path, length);
    memcpy(out + length, ".", 2);
    return true;
}

/* -1 where the file system has no files without a name, or they cannot be
 * given one. */
static int open_unnamed(const char *path)
{
#ifdef O_TMPFILE
    char folder[PATH_MAX];

    if (access(DESCRIPTORS, X_OK) == 0 && folder_of(folder, path))
        return open_for_writing(folder, O_TMPFILE);
#else
    (void)path;
#endif
    return -1;
}

static etx_status open_named(struct etx_file_writer *writer, size_t size)
{
    for (int n = 0; n < N_NAME_TRIES; n++) {
        temporary_name(writer->temporary, size, writer->path, n);
        writer->descriptor =
            open_for_writing(writer->temporary, O_CREAT | O_EXCL);
        if (writer->descriptor >= 0 || errno != EEXIST)
            break;
    }
    if (writer->descriptor < 0)
        return etx_file_fail(writer->path, "create", errno);
    writer->is_named = true;
    return ETX_OK;
}

/* mode: of the file to replace; NULL where there is none. */
static etx_status open_temporary(
    struct etx_file_writer *writer, const struct stat *mode)
{
    const size_t size = strlen(writer->path) + NAME_EXTRA;
    etx_status status = ETX_OK;

    ETX_CHECK(
        etx_alloc(&writer->temporary, (int64_t)size, 1, "the name of a file"));
    writer->descriptor = open_unnamed(writer->path);
    if (writer->descriptor < 0)
        ETX_CHECK(open_named(writer, size));
    if (mode != NULL &&
        fchmod(writer->descriptor, mode->st_mode & 07777) != 0 &&
        errno != EPERM && errno != ENOTSUP) /* file systems without modes */
        return etx_file_fail(writer->path, "keep the mode of", errno);
done:
    return status;
}

/* Does path name an open file of the process, as /dev/stdout does? */
static bool is_open_file(const char *path)
{
    struct stat info;

    return (strncmp(path, "/dev/", 5) == 0 ||
               strncmp(path, "/proc/", 6) == 0) &&
           lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
}

/* A symbolic link to a file stays one: the file that it names is replaced.
 * One to a device, a pipe or an open file (/dev/stdout) is written through. */
static etx_status follow_links(char **out, const char *path)
{
    struct stat info;
    char *resolved = NULL;
    etx_status status;

    if (lstat(path, &info) != 0 || !S_ISLNK(info.st_mode))
        return copy_text(out, path);
    if (is_open_file(path) ||
        (stat(path, &info) == 0 && !S_ISREG(info.st_mode)))
        return copy_text(out, path);
    resolved = realpath(path, NULL);
    if (resolved == NULL)
        return etx_file_fail(path, "follow the link", errno);
    status = copy_text(out, resolved);
    free(resolved);
    return status;
}

static etx_status open_target(struct etx_file_writer *writer)
{
    struct stat info;

    if (stat(writer->path, &info) != 0)
        return open_temporary(writer, NULL);
    if (S_ISREG(info.st_mode) && !is_open_file(writer->path))
        return open_temporary(writer, &info);
    /* Opening a pipe without a reader must not wait; writing may. */
    writer->descriptor = open_for_writing(writer->path, O_NONBLOCK | O_APPEND);
    if (writer->descriptor < 0 ||
        fcntl(writer->descriptor, F_SETFL, O_APPEND) != 0)
        return etx_file_fail(writer->path, "open for writing", errno);
    return ETX_OK;
}

static etx_status start_compression(struct etx_file_writer *writer)
{
    if (deflateInit2(&writer->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
            GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return etx_fail(
            ETX_ERR_MEMORY, "%s: no memory to compress", writer->path);
    writer->compressed = 1;
    return ETX_OK;
}

etx_status etx_file_writer_open(
    struct etx_file_writer **out, const char *path, int32_t compressed)
{
    struct etx_file_writer *writer = NULL;
    etx_status status = ETX_OK;

    ETX_NEW(writer, 1, "a file writer");
    writer->descriptor = -1;
    ETX_CHECK(follow_links(&writer->path, path));
    if (compressed)
        ETX_CHECK(start_compression(writer));
    ETX_CHECK(open_target(writer));
    *out = writer;
    writer = NULL;
done:
    etx_file_writer_free(writer);
    return status;
}

/* ------------------------------------------------------------- writing -- */

/* Compress the pending input; with Z_FINISH to the end of the stream. */
static etx_status deflate_out(struct etx_file_writer *writer, int flush)
{
    z_stream *stream = &writer->stream;
    etx_status status = ETX_OK;
    int code;

    do {
        ETX_CHECK(etx_cancel_poll());
        stream->next_out = writer->piece;
        stream->avail_out = (unsigned int)PIECE_BYTES;
        code = deflate(stream, flush);
        ETX_CHECK(
            write_raw(writer, writer->piece, PIECE_BYTES - stream->avail_out));
    } while (code == Z_OK && stream->avail_out == 0);
done:
    return status;
}

etx_status etx_file_writer_append(
    struct etx_file_writer *writer, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    etx_status status = ETX_OK;

    if (!writer->compressed)
        return write_raw(writer, bytes, size);
    for (size_t at = 0; at < size; at += WRITE_BYTES) {
        const size_t left = size - at;
        writer->stream.next_in = bytes + at;
        writer->stream.avail_in =
            (unsigned int)(left < WRITE_BYTES ? left : WRITE_BYTES);
        ETX_CHECK(deflate_out(writer, Z_NO_FLUSH));
    }
done:
    return status;
}

/* *out = the folder of path, to synchronise it; -1: it may be written but not
 * read. */
static etx_status open_folder(int *out, const char *path)
{
    char folder[PATH_MAX];

    if (!folder_of(folder, path))
        return etx_file_fail(path, "open the folder", ENAMETOOLONG);
    do {
        *out = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    } while (*out < 0 && errno == EINTR);
    if (*out < 0 && errno != EACCES)
        return etx_file_fail(path, "open the folder", errno);
    return ETX_OK;
}

static etx_status close_descriptor(struct etx_file_writer *writer)
{
    const int descriptor = writer->descriptor;

    writer->descriptor = -1;
    if (close(descriptor) != 0 && errno != EINTR)
        return etx_file_fail(writer->path, "close", errno);
    return ETX_OK;
}

/* The file without a name gets the temporary one: rename() needs it. */
static etx_status link_file(struct etx_file_writer *writer)
{
    const size_t size = strlen(writer->path) + NAME_EXTRA;
    char link[64];
    int failed = -1;

    (void)snprintf(link, sizeof link, DESCRIPTORS "/%d", writer->descriptor);
    for (int n = 0; n < N_NAME_TRIES && failed != 0; n++) {
        temporary_name(writer->temporary, size, writer->path, n);
        failed = linkat(
            AT_FDCWD, link, AT_FDCWD, writer->temporary, AT_SYMLINK_FOLLOW);
        if (failed != 0 && errno != EEXIST)
            break;
    }
    if (failed != 0)
        return etx_file_fail(writer->path, "name", errno);
    writer->is_named = true;
    return ETX_OK;
}

/* The folder is opened first: where that fails the old file stands. Some file
 * systems cannot synchronise a folder: EINVAL is no failure. */
static etx_status replace_target(struct etx_file_writer *writer)
{
    etx_status status;
    int folder = -1;

    ETX_CHECK(open_folder(&folder, writer->path));
    if (rename(writer->temporary, writer->path) != 0)
        status = etx_file_fail(writer->path, "replace", errno);
    else
        writer->is_named = false;
    if (status == ETX_OK && folder >= 0 && fsync(folder) != 0 &&
        errno != EINVAL && errno != EROFS)
        status = etx_file_fail(writer->path, "synchronise the folder", errno);
    if (folder >= 0)
        close(folder);
done:
    return status;
}

etx_status etx_file_writer_commit(struct etx_file_writer *writer)
{
    etx_status status = ETX_OK;

    if (writer->compressed) {
        writer->stream.next_in = NULL;
        writer->stream.avail_in = 0;
        ETX_CHECK(deflate_out(writer, Z_FINISH));
    }
    if (writer->temporary == NULL)
        return close_descriptor(writer);
    if (fsync(writer->descriptor) != 0)
        return etx_file_fail(writer->path, "synchronise", errno);
    if (!writer->is_named)
        ETX_CHECK(link_file(writer));
    ETX_CHECK(close_descriptor(writer));
    ETX_CHECK(replace_target(writer));
done:
    return status;
}

void etx_file_writer_free(struct etx_file_writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->descriptor >= 0)
        close(writer->descriptor);
    if (writer->is_named)
        (void)unlink(writer->temporary);
    if (writer->compressed)
        (void)deflateEnd(&writer->stream);
    etx_free(writer->temporary);
    etx_free(writer->path);
    etx_free(writer);
}

etx_status etx_file_write(const char *path, const void *data, size_t size)
{
    const size_t length = strlen(path);
    const int32_t compressed =
        length > 3 && strcmp(path + length - 3, ".gz") == 0;
    struct etx_file_writer *writer = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_file_writer_open(&writer, path, compressed));
    ETX_CHECK(etx_file_writer_append(writer, data, size));
    ETX_CHECK(etx_file_writer_commit(writer));
done:
    etx_file_writer_free(writer);
    return status;
}
