/* io/file_error.h -- the system's reason in words.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_FILE_ERROR_H
#define ETX_IO_FILE_ERROR_H

#include "base/status.h"

/* ETX_ERR_IO "PATH: cannot VERB: REASON" for a value of errno; ETX_ERR_MEMORY
 * for ENOMEM. */
etx_status etx_file_fail(const char *path, const char *verb, int error);

#endif
