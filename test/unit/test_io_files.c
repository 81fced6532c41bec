/* test_io_files.c -- reading whole files, gzip, and atomic writing.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* O_TMPFILE */
#include "io_support.h"

#include "base/heap.h"
#include "io/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT  100000
#define NOBODY 65534

/* -------------------------------------------------------------- reading -- */

static void expect_unreadable(const char *path, const char *piece)
{
    struct etx_bytes bytes = {NULL, 0};

    ck_assert_fails(etx_file_read_text(&bytes, path, LIMIT), ETX_ERR_IO, piece);
    ck_assert_ptr_null(bytes.data);
}

IO_TEST(test_io_files_unreadable)
{
    scoped char *long_path = malloc(6000);

    ck_assert_ptr_nonnull(long_path);
    memset(long_path, 'a', 5999);
    long_path[5999] = '\0';
    expect_unreadable(io_path("none"), "cannot open: No such file");
    expect_unreadable("", "cannot open: No such file");
    expect_unreadable(io_path("."), "cannot read: Is a directory");
    expect_unreadable("/dev/full", "not a regular file");
    expect_unreadable("/dev/zero", "not a regular file");
    expect_unreadable("/proc/self/status", "it changed meanwhile");
    expect_unreadable(long_path, "aaaa");
    ck_assert_int_eq(mkfifo(io_path("pipe"), 0600), 0);
    expect_unreadable(io_path("pipe"), "not a regular file");
}

/* Without permission; root becomes nobody, as this process is the test's own.
 */
IO_TEST(test_io_files_permission)
{
    const char *path = io_write_text("secret", "x");
    const int is_root = geteuid() == 0;

    ck_assert_int_eq(chmod(path, 0), 0);
    ck_assert_int_eq(chmod(io_path("."), 0755), 0);
    if (is_root)
        ck_assert_int_eq(seteuid(NOBODY), 0);
    expect_unreadable(path, "cannot open: Permission denied");
    if (is_root) {
        ck_assert_fails(etx_file_write(io_path("new"), "x", 1), ETX_ERR_IO,
            "cannot create: Permission denied");
        ck_assert_int_eq(seteuid(0), 0);
    }
}

/* The lowest file descriptor that is free. */
static int free_descriptor(void)
{
    const int descriptor = open("/dev/null", O_RDONLY);

    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(close(descriptor), 0);
    return descriptor;
}

IO_TEST(test_io_files_limit)
{
    struct etx_bytes bytes = {NULL, 0};
    const char *path = io_write_text("f", "0123456789");
    const int descriptor = free_descriptor();

    ck_assert_ok(etx_file_read(&bytes, path, 10));
    ck_assert_int_eq(free_descriptor(), descriptor);
    ck_assert_uint_eq(bytes.size, 10);
    ck_assert_str_eq(bytes.data, "0123456789");
    etx_bytes_release(&bytes);
    ck_assert_fails(etx_file_read(&bytes, path, 9), ETX_ERR_LIMIT,
        "f has 10 bytes, the limit is 9");
    /* A hole of 8 EiB uses no disk and must not be allocated. */
    if (truncate(path, INT64_MAX) == 0 || truncate(path, 1LL << 43) == 0)
        ck_assert_fails(etx_file_read(&bytes, path, LIMIT), ETX_ERR_LIMIT,
            "the limit is 100000");
}

IO_TEST(test_io_files_names)
{
    struct etx_bytes bytes = {NULL, 0};
    const char *path =
        io_write_text("\xc3\xa9v\xc3\xa9nement \xe2\x82\xac", "x");

    ck_assert_ok(etx_file_read(&bytes, path, 1));
    etx_bytes_release(&bytes);
    ck_assert_int_eq(symlink(path, io_path("link")), 0);
    ck_assert_ok(etx_file_read(&bytes, io_path("link"), 1));
    etx_bytes_release(&bytes);
    ck_assert_ok(etx_file_read(&bytes, io_write_text("0", ""), 1));
    ck_assert_uint_eq(bytes.size, 0);
    etx_bytes_release(&bytes);
}

/* ----------------------------------------------------------------- gzip -- */

#define TEXT "a text of some length, a text of some length, and its end\n"

static etx_status gunzip(struct etx_bytes *out, const char *data, size_t size)
{
    return etx_gunzip(out, "x.gz", data, size, LIMIT);
}

static void expect_text(const char *data, size_t size, const char *text)
{
    struct etx_bytes bytes = {NULL, 0};

    ck_assert_ok(gunzip(&bytes, data, size));
    ck_assert_uint_eq(bytes.size, strlen(text));
    ck_assert_str_eq(bytes.data, text);
    etx_bytes_release(&bytes);
}

IO_TEST(test_io_files_gzip_cut)
{
    size_t size = 0;
    scoped char *data = io_gzip(&size, TEXT, strlen(TEXT));

    expect_text(data, size, TEXT);
    for (size_t n = 0; n < size; n++) {
        const int64_t before = etx_heap_in_use();
        struct etx_bytes bytes = {NULL, 0};
        scoped char *cut = malloc(n + 1); /* so that a sanitizer sees its end */

        ck_assert_ptr_nonnull(cut);
        memcpy(cut, data, n);
        ck_assert_fails(gunzip(&bytes, cut, n), ETX_ERR_FORMAT, "truncated");
        ck_assert_ptr_null(bytes.data);
        ck_assert_int_eq(etx_heap_in_use(), before);
    }
}

/* Any bit turned: an error, or the text where the bit carries nothing. */
IO_TEST(test_io_files_gzip_bits)
{
    size_t size = 0;
    scoped char *data = io_gzip(&size, TEXT, strlen(TEXT));

    for (size_t bit = 0; bit < 8 * size; bit++) {
        struct etx_bytes bytes = {NULL, 0};
        etx_status status;

        data[bit / 8] ^= (char)(1 << bit % 8);
        status = gunzip(&bytes, data, size);
        if (status == ETX_OK)
            ck_assert_str_eq(bytes.data, TEXT);
        else
            ck_assert_fails(status, ETX_ERR_FORMAT, "x.gz");
        etx_bytes_release(&bytes);
        data[bit / 8] ^= (char)(1 << bit % 8);
    }
    data[size - 8] ^= 1;
    ck_assert_fails(gunzip(&(struct etx_bytes){NULL, 0}, data, size),
        ETX_ERR_FORMAT, "incorrect data check");
}

IO_TEST(test_io_files_gzip_members)
{
    size_t size = 0;
    struct etx_bytes bytes = {NULL, 0};
    char *data = io_gzip(&size, TEXT, strlen(TEXT));
    char *all = calloc(2 * size + 100, 1);

    ck_assert_ptr_nonnull(all);
    memcpy(all, data, size);
    memcpy(all + size, data, size);
    expect_text(all, 2 * size, TEXT TEXT);
    expect_text(all, 2 * size + 100, TEXT TEXT);
    all[2 * size + 50] = 1;
    ck_assert_fails(gunzip(&bytes, all, 2 * size + 100), ETX_ERR_FORMAT,
        "100 bytes follow the end");
    ck_assert_fails(
        gunzip(&bytes, all, 2 * size - 20), ETX_ERR_FORMAT, "truncated");
    free(all);
    free(data);
    data = io_gzip(&size, "", 0);
    expect_text(data, size, "");
    free(data);
}

IO_TEST(test_io_files_gzip_limit)
{
    scoped char *zeros = etx_test_alloc(LIMIT + 1, 1);
    struct etx_bytes bytes = {NULL, 0};
    size_t size = 0;
    char *data = NULL;

    data = io_gzip(&size, zeros, LIMIT);
    ck_assert_ok(gunzip(&bytes, data, size));
    ck_assert_uint_eq(bytes.size, LIMIT);
    etx_bytes_release(&bytes);
    free(data);
    data = io_gzip(&size, zeros, LIMIT + 1);
    ck_assert_fails(gunzip(&bytes, data, size), ETX_ERR_LIMIT,
        "x.gz has more than 100000 bytes when decompressed");
    free(data);
}

/* A gigabyte of zeros in a megabyte, as 64 members. */
IO_TEST(test_io_files_gzip_bomb)
{
    const size_t n_zeros = (size_t)16 << 20;
    scoped char *zeros = calloc(n_zeros, 1);
    etx_event *event = NULL;
    size_t size = 0;
    scoped char *member = NULL;
    scoped char *all = NULL;

    ck_assert_ptr_nonnull(zeros);
    member = io_gzip(&size, zeros, n_zeros);
    all = malloc(64 * size);
    ck_assert_ptr_nonnull(all);
    for (size_t i = 0; i < 64; i++)
        memcpy(all + i * size, member, size);
    (void)io_write("b-hits.csv.gz", all, 64 * size);
    etx_heap_reset_peak();
    ck_assert_fails(etx_event_read_trackml(&event, io_path("b"), NULL),
        ETX_ERR_LIMIT, "b-hits.csv.gz has more than 536870912 bytes");
    ck_assert_int_le(etx_heap_peak(), (int64_t)900 << 20);
}

/* -------------------------------------------------------------- writing -- */

static void expect_content(const char *name, const char *text)
{
    size_t size = 0;
    scoped char *found = io_read(io_path(name), &size);

    ck_assert_str_eq(found, text);
    ck_assert_uint_eq(size, strlen(text));
}

static etx_status put(const char *name, const char *text)
{
    return etx_file_write(io_path(name), text, strlen(text));
}

IO_TEST(test_io_files_write)
{
    struct stat info;
    const mode_t mask = umask(022);

    ck_assert_ok(put("f", "one"));
    expect_content("f", "one");
    ck_assert_int_eq(stat(io_path("f"), &info), 0);
    ck_assert_int_eq(info.st_mode & 0777, 0644);
    ck_assert_ok(put("f", ""));
    expect_content("f", "");
    ck_assert_int_eq(symlink("f", io_path("link")), 0);
    ck_assert_ok(put("link", "two"));
    expect_content("f", "two");
    ck_assert_int_eq(lstat(io_path("link"), &info), 0);
    ck_assert(S_ISLNK(info.st_mode));
    (void)umask(mask);
}

IO_TEST(test_io_files_write_relative)
{
    char before[1024];

    ck_assert_ptr_nonnull(getcwd(before, sizeof before));
    ck_assert_int_eq(chdir(io_path(".")), 0);
    ck_assert_ok(etx_file_write("f", "x", 1));
    expect_content("f", "x");
    ck_assert_int_eq(chdir(before), 0);
}

IO_TEST(test_io_files_write_refused)
{
    ck_assert_int_eq(symlink("nothing", io_path("dangling")), 0);
    ck_assert_fails(
        put("no/f", "x"), ETX_ERR_IO, "no/f: cannot create: No such file");
    ck_assert_fails(put(".", "x"), ETX_ERR_IO, "directory");
    ck_assert_fails(put("dangling", "x"), ETX_ERR_IO,
        "cannot follow the link: No such file");
    ck_assert_fails(etx_file_write("/dev/full", "x", 1), ETX_ERR_IO,
        "/dev/full: cannot write: No space left");
    ck_assert_fails(
        etx_file_write("/dev/full", TEXT, 20), ETX_ERR_IO, "No space left");
    ck_assert_ok(etx_file_write("/dev/null", "x", 1));
    ck_assert_int_eq(access("/dev/null", F_OK), 0);
}

/* The host's SIGXFSZ would end it: the call must not raise it. */
IO_TEST(test_io_files_write_too_large)
{
    struct rlimit before;
    scoped char *data = etx_test_alloc(5000, 1);
    sigset_t pending;

    ck_assert_ok(put("f", "old"));
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit limit = {1000, before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_fails(etx_file_write(io_path("f"), data, 5000), ETX_ERR_IO,
        "f: cannot write: File too large");
    ck_assert_int_eq(sigpending(&pending), 0);
    ck_assert_int_eq(sigismember(&pending, SIGXFSZ), 0);
    ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, NULL, &pending), 0);
    ck_assert_int_eq(sigismember(&pending, SIGXFSZ), 0);
    expect_content("f", "old");
    /* gcov writes its counts at the end of the process. */
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
}

/* The file of /dev/stdout is written to, and not replaced. */
IO_TEST(test_io_files_write_open_file)
{
    char path[64];
    const char *const name = io_path("open");
    const int descriptor = open(name, O_CREAT | O_WRONLY | O_APPEND, 0600);

    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(write(descriptor, "before ", 7), 7);
    (void)snprintf(path, sizeof path, "/dev/fd/%d", descriptor);
    ck_assert_ok(etx_file_write(path, "text", 4));
    ck_assert_int_eq(write(descriptor, " after", 6), 6);
    ck_assert_int_eq(close(descriptor), 0);
    expect_content("open", "before text after");
}

/* Nor SIGPIPE, when the reader has gone. */
IO_TEST(test_io_files_write_pipe)
{
    int ends[2];
    char path[64];
    char found[8] = "";
    sigset_t pending;

    ck_assert_int_eq(pipe(ends), 0);
    (void)snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    ck_assert_ok(etx_file_write(path, "text", 4));
    ck_assert_int_eq(read(ends[0], found, sizeof found), 4);
    ck_assert_str_eq(found, "text");
    ck_assert_int_eq(mkfifo(io_path("pipe"), 0600), 0);
    const int reader = open(io_path("pipe"), O_RDONLY | O_NONBLOCK);
    struct etx_file_writer *writer = NULL;
    ck_assert_ok(etx_file_writer_open(&writer, io_path("pipe"), 0));
    ck_assert_int_eq(close(reader), 0);
    ck_assert_fails(etx_file_writer_append(writer, "text", 4), ETX_ERR_IO,
        "pipe: cannot write: Broken pipe");
    etx_file_writer_free(writer);
    ck_assert_int_eq(sigpending(&pending), 0);
    ck_assert_int_eq(sigismember(&pending, SIGPIPE), 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* One that the host has pending stays. */
IO_TEST(test_io_files_write_pending_signal)
{
    struct etx_file_writer *writer = NULL;
    sigset_t pipe, before;
    int found = 0;

    (void)sigemptyset(&pipe);
    (void)sigaddset(&pipe, SIGPIPE);
    ck_assert_int_eq(pthread_sigmask(SIG_BLOCK, &pipe, &before), 0);
    ck_assert_int_eq(raise(SIGPIPE), 0);
    ck_assert_int_eq(mkfifo(io_path("pipe"), 0600), 0);
    const int reader = open(io_path("pipe"), O_RDONLY | O_NONBLOCK);
    ck_assert_ok(etx_file_writer_open(&writer, io_path("pipe"), 0));
    ck_assert_int_eq(close(reader), 0);
    ck_assert_fails(
        etx_file_writer_append(writer, "text", 4), ETX_ERR_IO, "Broken pipe");
    etx_file_writer_free(writer);
    ck_assert_int_eq(sigpending(&before), 0);
    ck_assert_int_eq(sigismember(&before, SIGPIPE), 1);
    ck_assert_int_eq(sigwait(&pipe, &found), 0);
    ck_assert_int_eq(pthread_sigmask(SIG_UNBLOCK, &pipe, NULL), 0);
}

/* Abandoned before the commit: the old file stays. */
IO_TEST(test_io_files_write_abandoned)
{
    struct etx_file_writer *writer = NULL;

    ck_assert_ok(put("f", "old"));
    ck_assert_ok(etx_file_writer_open(&writer, io_path("f"), 0));
    ck_assert_ok(etx_file_writer_append(writer, "new", 3));
    etx_file_writer_free(writer);
    expect_content("f", "old");
}

static int32_t n_files(const char *folder)
{
    DIR *list = opendir(folder);
    int32_t n = 0;

    ck_assert_ptr_nonnull(list);
    while (readdir(list) != NULL)
        n++;
    (void)closedir(list);
    return n - 2;
}

/* Nothing is left of a process that is killed while it writes. */
IO_TEST(test_io_files_write_unnamed)
{
    struct etx_file_writer *writer = NULL;
    const int unnamed = open(io_path("."), O_TMPFILE | O_WRONLY, 0600);

    if (unnamed < 0) {
        etx_test_skip(__func__, "a file system without O_TMPFILE");
        return;
    }
    (void)close(unnamed);
    ck_assert_ok(etx_file_writer_open(&writer, io_path("f"), 0));
    ck_assert_ok(etx_file_writer_append(writer, "new", 3));
    ck_assert_int_eq(n_files(io_path(".")), 0);
    ck_assert_ok(etx_file_writer_commit(writer));
    ck_assert_int_eq(n_files(io_path(".")), 1);
    etx_file_writer_free(writer);
    expect_content("f", "new");
}

/* Compressed: the same bytes whenever it is written. */
IO_TEST(test_io_files_write_gzip)
{
    const size_t size = 300000;
    struct etx_bytes bytes = {NULL, 0};
    scoped char *data = malloc(size);
    size_t n = 0;
    scoped char *file = NULL;

    ck_assert_ptr_nonnull(data);
    for (size_t i = 0; i < size; i++)
        data[i] = (char)('a' + i * i % 23);
    ck_assert_ok(etx_file_write(io_path("f.gz"), data, size));
    file = io_read(io_path("f.gz"), &n);
    ck_assert_uint_lt(n, size);
    ck_assert_int_eq(memcmp(file, "\x1f\x8b\x08\0\0\0\0\0", 8), 0);
    ck_assert_ok(etx_file_read_text(&bytes, io_path("f.gz"), size));
    ck_assert_uint_eq(bytes.size, size);
    ck_assert_int_eq(memcmp(bytes.data, data, size), 0);
    etx_bytes_release(&bytes);
    ck_assert_ok(etx_file_read(&bytes, io_path("f.gz"), size));
    ck_assert_uint_eq(bytes.size, n);
    etx_bytes_release(&bytes);
}

/* A secret stays one; a name as long as the file system allows is fine. */
IO_TEST(test_io_files_write_keeps_mode)
{
    struct stat info;
    char name[256];

    ck_assert_int_eq(chmod(io_write_text("secret", "old"), 0600), 0);
    ck_assert_ok(put("secret", "new"));
    expect_content("secret", "new");
    ck_assert_int_eq(stat(io_path("secret"), &info), 0);
    ck_assert_int_eq(info.st_mode & 07777, 0600);
    memset(name, 'n', 255);
    name[255] = '\0';
    ck_assert_ok(put(name, "long"));
    expect_content(name, "long");
}

/* Opening it would wait for ever. */
IO_TEST(test_io_files_write_pipe_without_reader)
{
    ck_assert_int_eq(mkfifo(io_path("pipe"), 0600), 0);
    ck_assert_fails(put("pipe", "x"), ETX_ERR_IO,
        "cannot open for writing: No such device");
}

static etx_status write_compressed(void *argument)
{
    (void)argument;
    return put("f.gz", TEXT);
}

IO_TEST(test_io_files_write_no_memory)
{
    (void)io_write_text("target.gz", "");
    ck_assert_int_eq(symlink("target.gz", io_path("f.gz")), 0);
    ck_assert_int_ge(etx_test_out_of_memory(write_compressed, NULL), 3);
}

/* ------------------------------------------------- signals while reading -- */

static void ignore(int number)
{
    (void)number;
}

static volatile sig_atomic_t reading;

static void *interrupt(void *thread)
{
    while (reading) {
        const struct timespec pause = {0, 20000};
        (void)pthread_kill(*(pthread_t *)thread, SIGUSR1);
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

/* A host whose handlers interrupt system calls. */
IO_TEST(test_io_files_signals)
{
    const size_t size = (size_t)4 << 20;
    struct sigaction action;
    struct etx_bytes bytes = {NULL, 0};
    pthread_t self = pthread_self();
    pthread_t other;
    scoped char *data = calloc(size, 1);

    ck_assert_ptr_nonnull(data);
    memset(&action, 0, sizeof action);
    action.sa_handler = ignore;
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    reading = 1;
    ck_assert_int_eq(pthread_create(&other, NULL, interrupt, &self), 0);
    for (int32_t n = 0; n < 20; n++) {
        ck_assert_ok(etx_file_write(io_path("f"), data, size));
        ck_assert_ok(etx_file_read(&bytes, io_path("f"), size));
        ck_assert_uint_eq(bytes.size, size);
        etx_bytes_release(&bytes);
    }
    reading = 0;
    ck_assert_int_eq(pthread_join(other, NULL), 0);
}
