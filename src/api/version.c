/* api/version.c -- version of the library and names of status values.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/exatrkx.h>

#define JOIN(a, b, c)    #a "." #b "." #c
#define VERSION(a, b, c) JOIN(a, b, c)

/* By the negative of the status. */
static const char *const status_names[] = {
    "ETX_OK",
    "ETX_ERR_ARGUMENT",
    "ETX_ERR_MEMORY",
    "ETX_ERR_IO",
    "ETX_ERR_FORMAT",
    "ETX_ERR_UNSUPPORTED",
    "ETX_ERR_DEVICE",
    "ETX_ERR_LIMIT",
    "ETX_ERR_CANCELLED",
    "ETX_ERR_RANK",
};

const char *etx_version(void)
{
    return VERSION(ETX_VERSION_MAJOR, ETX_VERSION_MINOR, ETX_VERSION_PATCH);
}

const char *etx_status_name(etx_status status)
{
    const int64_t n_names = sizeof status_names / sizeof status_names[0];
    const int64_t row = -(int64_t)status;

    return row >= 0 && row < n_names ? status_names[row] : "unknown";
}
