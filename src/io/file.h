/* io/file.h -- whole files in, whole files out.
 *
 * Reading copies a regular file into memory with read(): a mapped file that
 * somebody truncates would end the host with SIGBUS. Writing goes to a
 * temporary file next to the target, which is synchronised and renamed, so
 * that a reader finds the old file or the new one and never a piece.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_FILE_H
#define ETX_IO_FILE_H

#include "base/status.h"

/* Bounds on bytes in memory: text after decompression, and model files. */
#define ETX_TEXT_MAX_BYTES  ((size_t)512 << 20)
#define ETX_MODEL_MAX_BYTES ((size_t)4 << 30)

/* The bytes of a file. */
struct etx_bytes {
    char *data; /* [size] from etx_alloc, followed by a NUL */
    size_t size;
};

/* Read the regular file at path. ETX_ERR_IO with the system's reason when it
 * is missing, not readable, not a regular file or changes while it is read;
 * ETX_ERR_LIMIT above max_bytes. */
etx_status etx_file_read(
    struct etx_bytes *out, const char *path, size_t max_bytes);

/* The same, after check said ETX_OK of the first bytes (zeros after a file
 * that has fewer) and of the size: a large file that is none of ours costs no
 * memory. */
#define ETX_START_BYTES 9
etx_status etx_file_read_checked(struct etx_bytes *out, const char *path,
    size_t max_bytes,
    etx_status (*check)(
        const unsigned char start[ETX_START_BYTES], size_t size));

/* The same, decompressed when the file starts with the magic of gzip;
 * max_bytes bounds both sizes. */
etx_status etx_file_read_text(
    struct etx_bytes *out, const char *path, size_t max_bytes);

void etx_bytes_release(struct etx_bytes *bytes);

/* Whether data [size] starts like a gzip file. */
int32_t etx_is_gzip(const char *data, size_t size);

/* Decompress all members of the gzip file data [size]; path is for messages.
 * A truncated file, a wrong checksum and bytes after the last member are
 * ETX_ERR_FORMAT, more than max_bytes ETX_ERR_LIMIT. */
etx_status etx_gunzip(struct etx_bytes *out, const char *path, const char *data,
    size_t size, size_t max_bytes);

/* Whether there is something at path. A folder on the way that may not be
 * looked into counts as something: opening it will say why. */
int32_t etx_file_exists(const char *path);

/* ------------------------------------------------------------ writing -- */

struct etx_file_writer;

/* Start a file that shall stand at path, compressed (with no time in it) when
 * compressed is not 0. A path that names a device, a pipe or
 * an open file (/dev/stdout) is written
 * directly; a pipe without a reader is ETX_ERR_IO. The old file stays until the
 * commit, which keeps its mode. The new file has no name until then, so nothing
 * is left of a process that is killed; where the file system has no such files
 * it is PATH.<process>-<time>-<n>.tmp. */
etx_status etx_file_writer_open(
    struct etx_file_writer **out, const char *path, int32_t compressed);
etx_status etx_file_writer_append(
    struct etx_file_writer *writer, const void *data, size_t size);
/* Flush, synchronise, rename. After an error the old file is intact; only when
 * the folder could not be synchronised the new file stands there, whole, but a
 * crash of the system may still restore the old one. */
etx_status etx_file_writer_commit(struct etx_file_writer *writer);
/* Removes what was not committed; NULL is fine. */
void etx_file_writer_free(struct etx_file_writer *writer);

/* All of the above for data [size]; compressed when path ends in .gz. */
etx_status etx_file_write(const char *path, const void *data, size_t size);

#endif
