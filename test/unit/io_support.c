/* io_support.c -- files to read and write in tests.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io_support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define N_PATHS    32
#define PATH_BYTES 512

static char folder[256];

void io_make_folder(void)
{
    etx_test_folder(folder);
}

void io_remove_folder(void)
{
    DIR *list = opendir(folder);
    const struct dirent *entry = NULL;
    char found[256] = "";

    ck_assert_ptr_nonnull(list);
    while ((entry = readdir(list)) != NULL)
        if (strstr(entry->d_name, ".tmp") != NULL)
            (void)snprintf(found, sizeof found, "%s", entry->d_name);
    (void)closedir(list);
    etx_test_remove(folder);
    ck_assert_msg(found[0] == '\0', "left behind: %s", found);
}

const char *io_path(const char *name)
{
    static char paths[N_PATHS][PATH_BYTES];
    static int32_t next;
    char *path = paths[next++ % N_PATHS];

    (void)snprintf(path, PATH_BYTES, "%s/%s", folder, name);
    return path;
}

const char *io_write(const char *name, const void *data, size_t size)
{
    const char *path = io_path(name);
    FILE *file = fopen(path, "wb");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(data, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

const char *io_write_text(const char *name, const char *text)
{
    return io_write(name, text, strlen(text));
}

char *io_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *data = NULL;
    struct stat info;

    ck_assert_msg(file != NULL, "cannot open %s", path);
    ck_assert_int_eq(stat(path, &info), 0);
    data = malloc((size_t)info.st_size + 1);
    ck_assert_ptr_nonnull(data);
    *size = fread(data, 1, (size_t)info.st_size, file);
    data[*size] = '\0';
    (void)fclose(file);
    return data;
}

char *io_gzip(size_t *out_size, const void *data, size_t size)
{
    z_stream stream;
    const size_t capacity = size + size / 1000 + 100;
    unsigned char *input = malloc(size + 1);
    unsigned char *out = malloc(capacity);

    ck_assert(input != NULL && out != NULL);
    memcpy(input, data, size);
    memset(&stream, 0, sizeof stream);
    ck_assert_int_eq(
        deflateInit2(&stream, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = input;
    stream.avail_in = (unsigned int)size;
    stream.next_out = out;
    stream.avail_out = (unsigned int)capacity;
    ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    *out_size = stream.total_out;
    ck_assert_int_eq(deflateEnd(&stream), Z_OK);
    free(input);
    return (char *)out;
}

int32_t io_exists(const char *name)
{
    struct stat info;

    return lstat(io_path(name), &info) == 0;
}

void io_expect(
    const char *what, etx_status status, etx_status expected, const char *piece)
{
    ck_assert_msg(status == expected, "%s: got %s, expected %s; last error: %s",
        what, etx_status_name(status), etx_status_name(expected),
        etx_last_error());
    if (piece != NULL)
        ck_assert_msg(strstr(etx_last_error(), piece) != NULL,
            "%s: \"%s\" lacks \"%s\"", what, etx_last_error(), piece);
}

void io_expect_row(const char *what, etx_status status, const char *piece)
{
    io_expect(what, status, piece == NULL ? ETX_OK : ETX_ERR_FORMAT, piece);
}
