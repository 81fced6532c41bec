/* io/first_pass_tensors.c -- the first pass of a model as tensors.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/first_pass_tensors.h"

#include "base/check.h"
#include "io/table_tensors.h"

#include <inttypes.h>
#include <string.h>

enum { SEEDS, WINDOWS, BEAM };

static const struct etx_table_tensor known[ETX_FIRST_PASS_N_TENSORS] = {
    [SEEDS] = {"first_pass.seeds", ETX_TENSOR_I64, ETX_SEED_WIDTH},
    [WINDOWS] = {"first_pass.windows", ETX_TENSOR_F32,
        2 * (int64_t)ETX_COMPLETION_N_PT},
    [BEAM] = {"first_pass.beam", ETX_TENSOR_F32, 2},
};

void etx_first_pass_tensors(struct etx_tensor out[ETX_FIRST_PASS_N_TENSORS],
    const struct etx_first_pass *first_pass)
{
    const int64_t n = first_pass->n_seeds;

    out[SEEDS] = etx_table_describe(&known[SEEDS], n, first_pass->seed);
    out[WINDOWS] = etx_table_describe(&known[WINDOWS], n, first_pass->window);
    out[BEAM] = etx_table_describe(&known[BEAM], 1, first_pass->beam);
}

int32_t etx_first_pass_has_tensor(const char *name)
{
    return etx_table_has(known, ETX_FIRST_PASS_N_TENSORS, name);
}

etx_status etx_first_pass_from_tensors(struct etx_first_pass **out,
    const struct etx_tensor_file *file, int64_t n_layers)
{
    const struct etx_tensor *found[ETX_FIRST_PASS_N_TENSORS];
    struct etx_first_pass *made = NULL;
    etx_status status;

    ETX_CHECK(etx_table_find(found, known, ETX_FIRST_PASS_N_TENSORS, file));
    if (found[WINDOWS]->dim[0] != found[SEEDS]->dim[0] ||
        found[BEAM]->dim[0] != 1)
        ETX_CHECK(etx_fail(ETX_ERR_FORMAT,
            "tensors %s, %s and %s have %" PRId64 ", %" PRId64 " and %" PRId64
            " rows, expected n, n and 1",
            known[SEEDS].name, known[WINDOWS].name, known[BEAM].name,
            found[SEEDS]->dim[0], found[WINDOWS]->dim[0], found[BEAM]->dim[0]));
    ETX_CHECK(etx_first_pass_create(&made, found[SEEDS]->dim[0]));
    memcpy(made->seed, found[SEEDS]->data,
        (size_t)found[SEEDS]->n_values * sizeof *made->seed);
    memcpy(made->window, found[WINDOWS]->data,
        (size_t)found[WINDOWS]->n_values * sizeof(float));
    memcpy(made->beam, found[BEAM]->data, sizeof made->beam);
    ETX_CHECK(etx_first_pass_check(made, n_layers));
    *out = made;
    made = NULL;
done:
    etx_first_pass_free(made);
    return status;
}
