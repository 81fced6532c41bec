/* io/file.c -- whole files in.
 *
 * The buffer has the size that fstat reports; one byte more is requested, so
 * a file that grows is noticed, as is one that ends early. Files of /proc,
 * whose size is reported as 0, fall under the same rule.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/file.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"
#include "io/file_error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Between two polls of cancel. */
#define READ_BYTES ((size_t)1 << 22)

etx_status etx_file_fail(const char *path, const char *verb, int error)
{
    char reason[128];

    if (strerror_r(error, reason, sizeof reason) != 0)
        memcpy(reason, "unknown error", sizeof "unknown error");
    return etx_fail(error == ENOMEM ? ETX_ERR_MEMORY : ETX_ERR_IO,
        "%.300s: cannot %s: %s (errno %d)", path, verb, reason, error);
}

/* O_NONBLOCK: opening a pipe without a writer must not wait. */
static int open_for_reading(const char *path)
{
    int descriptor;

    do {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

/* Read until the buffer is full or the file ends. */
static etx_status read_up_to(size_t *out, int descriptor, char *buffer,
    size_t capacity, const char *path)
{
    etx_status status = ETX_OK;
    size_t total = 0;

    while (total < capacity) {
        const size_t left = capacity - total;
        ssize_t got;

        ETX_CHECK(etx_cancel_poll());
        got = read(
            descriptor, buffer + total, left < READ_BYTES ? left : READ_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return etx_file_fail(path, "read", errno);
        if (got == 0)
            break;
        total += (size_t)got;
    }
    *out = total;
done:
    return status;
}

static etx_status file_size(
    size_t *out, int descriptor, const char *path, size_t max_bytes)
{
    struct stat info;

    if (fstat(descriptor, &info) != 0)
        return etx_file_fail(path, "read", errno);
    if (S_ISDIR(info.st_mode))
        return etx_file_fail(path, "read", EISDIR);
    if (!S_ISREG(info.st_mode))
        return etx_fail(ETX_ERR_IO,
            "%s: cannot read: not a regular file (errno %d)", path, EINVAL);
    if (info.st_size < 0 || (uint64_t)info.st_size > max_bytes)
        return etx_fail(ETX_ERR_LIMIT, "%s has %lld bytes, the limit is %zu",
            path, (long long)info.st_size, max_bytes);
    *out = (size_t)info.st_size;
    return ETX_OK;
}

static etx_status check_start(int descriptor, const char *path, size_t size,
    etx_status (*check)(
        const unsigned char start[ETX_START_BYTES], size_t size))
{
    char start[ETX_START_BYTES] = {0};
    size_t n_read = 0;
    etx_status status = ETX_OK;

    ETX_CHECK(read_up_to(&n_read, descriptor, start, sizeof start, path));
    if (lseek(descriptor, 0, SEEK_SET) != 0)
        return etx_file_fail(path, "read", errno);
    status = check((const unsigned char *)start, size);
    if (status != ETX_OK)
        status = etx_fail(status, "%s: %s", path, etx_last_error());
done:
    return status;
}

etx_status etx_file_read_checked(struct etx_bytes *out, const char *path,
    size_t max_bytes,
    etx_status (*check)(
        const unsigned char start[ETX_START_BYTES], size_t size))
{
    etx_status status = ETX_OK;
    char *data = NULL;
    size_t expected = 0;
    size_t size = 0;
    const int descriptor = open_for_reading(path);

    if (descriptor < 0)
        return etx_file_fail(path, "open", errno);
    ETX_CHECK(file_size(&expected, descriptor, path, max_bytes));
    if (check != NULL)
        ETX_CHECK(check_start(descriptor, path, expected, check));
    ETX_CHECK(etx_alloc(&data, (int64_t)expected + 1, 1, "a file in memory"));
    ETX_CHECK(read_up_to(&size, descriptor, data, expected + 1, path));
    if (size != expected)
        ETX_FAIL(ETX_ERR_IO,
            "%s: cannot read: it changed meanwhile, from %zu bytes to %s", path,
            expected, size > expected ? "more" : "less");
    data[size] = '\0';
    out->data = data;
    out->size = size;
    data = NULL;
done:
    etx_free(data);
    close(descriptor);
    return status;
}

etx_status etx_file_read(
    struct etx_bytes *out, const char *path, size_t max_bytes)
{
    return etx_file_read_checked(out, path, max_bytes, NULL);
}

etx_status etx_file_read_text(
    struct etx_bytes *out, const char *path, size_t max_bytes)
{
    struct etx_bytes bytes = {NULL, 0};
    etx_status status = etx_file_read(&bytes, path, max_bytes);

    if (status != ETX_OK)
        return status;
    if (!etx_is_gzip(bytes.data, bytes.size)) {
        *out = bytes;
        return ETX_OK;
    }
    status = etx_gunzip(out, path, bytes.data, bytes.size, max_bytes);
    etx_bytes_release(&bytes);
    return status;
}

void etx_bytes_release(struct etx_bytes *bytes)
{
    etx_free(bytes->data);
    bytes->data = NULL;
}

int32_t etx_file_exists(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 || (errno != ENOENT && errno != ENOTDIR);
}
