/* io/table_tensors.c -- learned tables of a model file: matrices by name.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/table_tensors.h"

#include "base/status.h"

#include <inttypes.h>
#include <string.h>

struct etx_tensor etx_table_describe(
    const struct etx_table_tensor *tensor, int64_t n_rows, const void *data)
{
    struct etx_tensor out = etx_tensor_vector(
        tensor->name, tensor->type, n_rows * tensor->n_columns, data);

    out.n_dims = 2;
    out.dim[0] = n_rows;
    out.dim[1] = tensor->n_columns;
    return out;
}

etx_status etx_table_find(const struct etx_tensor **found,
    const struct etx_table_tensor *tensors, int32_t n,
    const struct etx_tensor_file *file)
{
    for (int32_t t = 0; t < n; t++) {
        found[t] = etx_tensor_file_find(file, tensors[t].name);
        if (found[t] == NULL)
            return etx_fail(
                ETX_ERR_FORMAT, "there is no tensor %s", tensors[t].name);
        if (found[t]->type != (int32_t)tensors[t].type ||
            found[t]->n_dims != 2 || found[t]->dim[1] != tensors[t].n_columns)
            return etx_fail(ETX_ERR_FORMAT,
                "tensor %s is not a matrix of %" PRId64 " columns of %s",
                tensors[t].name, tensors[t].n_columns,
                tensors[t].type == ETX_TENSOR_I64 ? "I64" : "F32");
    }
    return ETX_OK;
}

int32_t etx_table_has(
    const struct etx_table_tensor *tensors, int32_t n, const char *name)
{
    for (int32_t t = 0; t < n; t++)
        if (strcmp(tensors[t].name, name) == 0)
            return 1;
    return 0;
}
