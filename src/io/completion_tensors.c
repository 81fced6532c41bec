/* io/completion_tensors.c -- the completion of a model as tensors.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/completion_tensors.h"

#include "base/check.h"
#include "io/table_tensors.h"

#include <inttypes.h>
#include <string.h>

/* The tensors, and their columns; rows are layers, steps, steps and one. */
enum { LAYERS, STEPS, WINDOWS, FIELD };

static const struct etx_table_tensor known[ETX_COMPLETION_N_TENSORS] = {
    [LAYERS] = {"completion.layers", ETX_TENSOR_I64, ETX_LAYER_WIDTH},
    [STEPS] = {"completion.steps", ETX_TENSOR_I64, ETX_STEP_WIDTH},
    [WINDOWS] = {"completion.windows", ETX_TENSOR_F32,
        2 * (int64_t)ETX_COMPLETION_N_WINDOWS},
    [FIELD] = {"completion.field", ETX_TENSOR_F32, ETX_COMPLETION_N_FIELD},
};

void etx_completion_tensors(struct etx_tensor out[ETX_COMPLETION_N_TENSORS],
    const struct etx_completion *completion)
{
    const int64_t n_rows[] = {[LAYERS] = completion->n_layers,
        [STEPS] = completion->n_steps,
        [WINDOWS] = completion->n_steps,
        [FIELD] = 1};
    const void *const data[] = {[LAYERS] = completion->layer,
        [STEPS] = completion->step,
        [WINDOWS] = completion->window,
        [FIELD] = completion->field};

    for (int32_t t = 0; t < ETX_COMPLETION_N_TENSORS; t++)
        out[t] = etx_table_describe(&known[t], n_rows[t], data[t]);
}

int32_t etx_completion_has_tensor(const char *name)
{
    return etx_table_has(known, ETX_COMPLETION_N_TENSORS, name);
}

/* found[t]: tensor t of the file, with the right type and columns. */
static etx_status find_tensors(
    const struct etx_tensor *found[ETX_COMPLETION_N_TENSORS],
    const struct etx_tensor_file *file)
{
    const etx_status status =
        etx_table_find(found, known, ETX_COMPLETION_N_TENSORS, file);

    if (status != ETX_OK)
        return status;
    if (found[WINDOWS]->dim[0] != found[STEPS]->dim[0] ||
        found[FIELD]->dim[0] != 1)
        return etx_fail(ETX_ERR_FORMAT,
            "tensors %s, %s and %s have %" PRId64 ", %" PRId64 " and %" PRId64
            " rows, expected n, n and 1",
            known[STEPS].name, known[WINDOWS].name, known[FIELD].name,
            found[STEPS]->dim[0], found[WINDOWS]->dim[0], found[FIELD]->dim[0]);
    return ETX_OK;
}

etx_status etx_completion_from_tensors(
    struct etx_completion **out, const struct etx_tensor_file *file)
{
    const struct etx_tensor *found[ETX_COMPLETION_N_TENSORS];
    struct etx_completion *made = NULL;
    etx_status status;

    ETX_CHECK(find_tensors(found, file));
    ETX_CHECK(etx_completion_create(
        &made, found[LAYERS]->dim[0], found[STEPS]->dim[0]));
    memcpy(made->layer, found[LAYERS]->data,
        (size_t)found[LAYERS]->n_values * sizeof *made->layer);
    memcpy(made->step, found[STEPS]->data,
        (size_t)found[STEPS]->n_values * sizeof *made->step);
    memcpy(made->window, found[WINDOWS]->data,
        (size_t)found[WINDOWS]->n_values * sizeof(float));
    memcpy(made->field, found[FIELD]->data,
        (size_t)found[FIELD]->n_values * sizeof *made->field);
    ETX_CHECK(etx_completion_check(made));
    *out = made;
    made = NULL;
done:
    etx_completion_free(made);
    return status;
}
