/* io/table_tensors.c -- learned tables of a model file: matrices by name.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/table_tensors.h"

#include "base/check.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>

static enum etx_tensor_type type_of(const struct etx_table_array *array)
{
    return array->is_real ? ETX_TENSOR_F32 : ETX_TENSOR_I64;
}

void etx_table_tensors(struct etx_tensor *out, const void *table)
{
    const struct etx_table_kind *kind = etx_table_kind_of(table);

    for (int32_t k = 0; k < kind->n_arrays; k++) {
        const struct etx_table_array *array = &kind->array[k];
        const int64_t n_rows = etx_table_n_rows(table, array);

        out[k] = etx_tensor_vector(array->name, type_of(array),
            n_rows * array->n_columns, etx_table_values(table, array));
        out[k].n_dims = 2;
        out[k].dim[0] = n_rows;
        out[k].dim[1] = array->n_columns;
    }
}

static etx_status find_tensor(const struct etx_tensor **out,
    const struct etx_table_array *array, const struct etx_tensor_file *file)
{
    const struct etx_tensor *found = etx_tensor_file_find(file, array->name);

    if (found == NULL)
        return etx_fail(ETX_ERR_FORMAT, "there is no tensor %s", array->name);
    if (found->type != (int32_t)type_of(array) || found->n_dims != 2 ||
        found->dim[1] != array->n_columns)
        return etx_fail(ETX_ERR_FORMAT,
            "tensor %s is not a matrix of %" PRId64 " columns of %s",
            array->name, array->n_columns, array->is_real ? "F32" : "I64");
    *out = found;
    return ETX_OK;
}

/* Arrays with the same count, which table has of one of them, have as many
 * rows. */
static etx_status check_rows(const void *table,
    const struct etx_table_array *array, const struct etx_tensor *found)
{
    const int64_t expected = etx_table_n_rows(table, array);

    if (found->dim[0] != expected)
        return etx_fail(ETX_ERR_FORMAT,
            "tensor %s has %" PRId64 " rows, expected %" PRId64, array->name,
            found->dim[0], expected);
    return ETX_OK;
}

etx_status etx_table_from_tensors(void *out, const struct etx_table_kind *kind,
    const struct etx_tensor_file *file)
{
    const struct etx_tensor *found[ETX_TABLE_MAX_ARRAYS];
    int64_t n_rows[ETX_TABLE_MAX_ARRAYS];
    void *made = NULL;
    etx_status status = ETX_OK;

    for (int32_t k = 0; k < kind->n_arrays; k++) {
        ETX_CHECK(find_tensor(&found[k], &kind->array[k], file));
        n_rows[k] = found[k]->dim[0];
    }
    ETX_CHECK(etx_table_create(&made, kind, n_rows));
    for (int32_t k = 0; k < kind->n_arrays; k++) {
        const struct etx_table_array *array = &kind->array[k];

        ETX_CHECK(check_rows(made, array, found[k]));
        memcpy(etx_table_values(made, array), found[k]->data,
            (size_t)found[k]->n_values * etx_table_value_size(array));
    }
    memcpy(out, &made, sizeof made);
    made = NULL;
done:
    etx_table_free(made);
    return status;
}

int32_t etx_table_has_tensor(
    const struct etx_table_kind *kind, const char *name)
{
    for (int32_t k = 0; k < kind->n_arrays; k++)
        if (strcmp(kind->array[k].name, name) == 0)
            return 1;
    return 0;
}
