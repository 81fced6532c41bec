/* io/gzip.c -- gzip files in memory.
 *
 * A gzip file is one or more members (RFC 1952), each with its own checksum,
 * which zlib verifies. The last four bytes (ISIZE) are the size of the last
 * member modulo 2^32: a hint for the first buffer, never trusted. Deflate
 * expands by at most 1032, so a short file cannot cause a large allocation.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/file.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"

#include <string.h>

#define ZLIB_CONST
#include <zlib.h>

#define GZIP_WINDOW   (15 + 16) /* window of 2^15, gzip framing only */
#define MAX_EXPANSION 1032
#define CHUNK_BYTES   ((size_t)1 << 20) /* between two polls of cancel */

/* What is left of the input, and the output so far. */
struct gunzip {
    const char *path;
    const unsigned char *input;
    size_t n_left;
    char *output;
    size_t size;
    size_t capacity;
    size_t max_bytes;
    z_stream stream;
};

int32_t etx_is_gzip(const char *data, size_t size)
{
    return size >= 3 && memcmp(data, "\x1f\x8b\x08", 3) == 0;
}

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t first_capacity(
    const unsigned char *data, size_t size, size_t max_bytes)
{
    size_t hint = 0;

    if (size >= 4)
        for (size_t i = 0; i < 4; i++)
            hint |= (size_t)data[size - 4 + i] << (8 * i);
    if (size < max_bytes / MAX_EXPANSION)
        hint = min(hint, size * MAX_EXPANSION);
    return min(hint, max_bytes) + 1;
}

/* Capacity is at most max_bytes + 1: the last byte is for the NUL, or shows
 * that the data is too large. */
static etx_status grow_output(struct gunzip *job)
{
    const size_t max = job->max_bytes + 1;
    size_t capacity;
    etx_status status;

    if (job->size < job->capacity)
        return ETX_OK;
    capacity = job->capacity < max / 2 ? 2 * job->capacity : max;
    status = etx_resize(&job->output, (int64_t)job->capacity, (int64_t)capacity,
        1, "a decompressed file");
    if (status == ETX_OK)
        job->capacity = capacity;
    return status;
}

/* Let zlib work on the next piece; its answer goes to *code. */
static void inflate_piece(int *code, struct gunzip *job)
{
    const size_t n_in = min(job->n_left, CHUNK_BYTES);
    const size_t n_out = min(job->capacity - job->size, CHUNK_BYTES);

    job->stream.next_in = job->input;
    job->stream.avail_in = (unsigned int)n_in;
    job->stream.next_out = (unsigned char *)job->output + job->size;
    job->stream.avail_out = (unsigned int)n_out;
    *code = inflate(&job->stream, Z_NO_FLUSH);
    job->input += n_in - job->stream.avail_in;
    job->n_left -= n_in - job->stream.avail_in;
    job->size += n_out - job->stream.avail_out;
}

/* After the end of a member: another one, or nothing but the zeros that tape
 * blocks are filled with. */
static etx_status next_member(int *finished, struct gunzip *job)
{
    size_t n_zeros = 0;

    while (n_zeros < job->n_left && job->input[n_zeros] == 0)
        n_zeros++;
    *finished = n_zeros == job->n_left;
    if (*finished)
        return ETX_OK;
    if (!etx_is_gzip((const char *)job->input, job->n_left))
        return etx_fail(ETX_ERR_FORMAT,
            "%s: %zu bytes follow the end of the gzip data", job->path,
            job->n_left);
    (void)inflateReset(&job->stream);
    return ETX_OK;
}

static etx_status inflate_all(struct gunzip *job)
{
    etx_status status = ETX_OK;
    int finished = 0;

    while (!finished) {
        int code = Z_OK;
        ETX_CHECK(etx_cancel_poll());
        ETX_CHECK(grow_output(job));
        inflate_piece(&code, job);
        if (job->size > job->max_bytes)
            return etx_fail(ETX_ERR_LIMIT,
                "%s has more than %zu bytes when decompressed", job->path,
                job->max_bytes);
        if (code == Z_STREAM_END)
            ETX_CHECK(next_member(&finished, job));
        else if (code == Z_MEM_ERROR)
            return etx_fail(
                ETX_ERR_MEMORY, "%s: no memory to decompress", job->path);
        else if (code != Z_OK && code != Z_BUF_ERROR)
            return etx_fail(ETX_ERR_FORMAT, "%s: damaged gzip data: %s",
                job->path,
                job->stream.msg != NULL ? job->stream.msg : "bad stream");
        else if (job->n_left == 0 && job->size < job->capacity)
            return etx_fail(
                ETX_ERR_FORMAT, "%s: the gzip data is truncated", job->path);
    }
done:
    return status;
}

etx_status etx_gunzip(struct etx_bytes *out, const char *path, const char *data,
    size_t size, size_t max_bytes)
{
    etx_status status = ETX_OK;
    int32_t open = 0;
    struct gunzip job;

    memset(&job, 0, sizeof job);
    job.path = path;
    job.input = (const unsigned char *)data;
    job.n_left = size;
    job.max_bytes = max_bytes;
    job.capacity = first_capacity(job.input, size, max_bytes);
    ETX_CHECK(etx_alloc(
        &job.output, (int64_t)job.capacity, 1, "a decompressed file"));
    if (inflateInit2(&job.stream, GZIP_WINDOW) != Z_OK)
        ETX_FAIL(ETX_ERR_MEMORY, "%s: no memory to decompress", path);
    open = 1;
    ETX_CHECK(inflate_all(&job));
    ETX_CHECK(grow_output(&job));
    job.output[job.size] = '\0';
    out->data = job.output;
    out->size = job.size;
    job.output = NULL;
done:
    if (open)
        (void)inflateEnd(&job.stream);
    etx_free(job.output);
    return status;
}
