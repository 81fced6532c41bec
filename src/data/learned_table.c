/* data/learned_table.c -- tables that a model has learned: arrays of numbers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/learned_table.h"

#include "base/check.h"
#include "base/heap.h"

#include <string.h>

const struct etx_table_kind *etx_table_kind_of(const void *table)
{
    const struct etx_table_kind *kind;

    memcpy(&kind, table, sizeof kind);
    return kind;
}

int64_t etx_table_n_rows(const void *table, const struct etx_table_array *array)
{
    int64_t n_rows = 1;

    if (array->n_rows != ETX_TABLE_ONE_ROW)
        memcpy(&n_rows, (const char *)table + array->n_rows, sizeof n_rows);
    return n_rows;
}

void *etx_table_values(const void *table, const struct etx_table_array *array)
{
    void *values;

    memcpy(&values, (const char *)table + array->values, sizeof values);
    return values;
}

size_t etx_table_value_size(const struct etx_table_array *array)
{
    return array->is_real ? sizeof(float) : sizeof(int64_t);
}

etx_status etx_table_create(
    void *out, const struct etx_table_kind *kind, const int64_t *n_rows)
{
    char *created = NULL;
    etx_status status;

    ETX_CHECK(etx_alloc(&created, 1, kind->size, kind->name));
    memcpy(created, &kind, sizeof kind);
    for (int32_t k = 0; k < kind->n_arrays; k++) {
        const struct etx_table_array *array = &kind->array[k];

        if (array->n_rows != ETX_TABLE_ONE_ROW)
            memcpy(created + array->n_rows, &n_rows[k], sizeof n_rows[k]);
        ETX_CHECK(
            etx_alloc(created + array->values, n_rows[k] * array->n_columns,
                etx_table_value_size(array), array->name));
    }
    memcpy(out, &created, sizeof created);
    created = NULL;
done:
    etx_table_free(created);
    return status;
}

etx_status etx_table_copy(void *out, const void *table)
{
    const struct etx_table_kind *kind = etx_table_kind_of(table);
    void *const none = NULL;
    char *created = NULL;
    etx_status status;

    ETX_CHECK(etx_alloc_copy(&created, table, 1, kind->size, kind->name));
    for (int32_t k = 0; k < kind->n_arrays; k++)
        memcpy(created + kind->array[k].values, &none, sizeof none);
    for (int32_t k = 0; k < kind->n_arrays; k++) {
        const struct etx_table_array *array = &kind->array[k];

        ETX_CHECK(etx_alloc_copy(created + array->values,
            etx_table_values(table, array),
            etx_table_n_rows(table, array) * array->n_columns,
            etx_table_value_size(array), array->name));
    }
    memcpy(out, &created, sizeof created);
    created = NULL;
done:
    etx_table_free(created);
    return status;
}

void etx_table_free(void *table)
{
    if (table == NULL)
        return;
    const struct etx_table_kind *kind = etx_table_kind_of(table);

    for (int32_t k = 0; k < kind->n_arrays; k++)
        etx_free(etx_table_values(table, &kind->array[k]));
    etx_free(table);
}
