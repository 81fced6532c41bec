/* io/csv_text.h -- which bytes a CSV file may contain.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_CSV_TEXT_H
#define ETX_IO_CSV_TEXT_H

#include "base/status.h"

/* ETX_ERR_FORMAT with line and cell when [begin, end) holds a control
 * character other than CR and LF, a quote, or bytes that are not UTF-8. */
etx_status etx_csv_check_text(
    const char *path, const char *begin, const char *end);

#endif
