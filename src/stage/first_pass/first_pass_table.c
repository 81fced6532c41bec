/* stage/first_pass/first_pass_table.c -- what the first pass has learned.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/first_pass/first_pass_table.h"

#include "base/check.h"
#include "base/status.h"

#include <inttypes.h>
#include <stddef.h>

#define FIELD(name) offsetof(struct etx_first_pass, name)

const struct etx_table_kind etx_first_pass_kind = {"first pass",
    sizeof(struct etx_first_pass), 3,
    {{"first_pass.seeds", 0, ETX_SEED_WIDTH, FIELD(seed), FIELD(n_seeds)},
        {"first_pass.windows", 1, 2 * (int64_t)ETX_COMPLETION_N_PT,
            FIELD(window), FIELD(n_seeds)},
        {"first_pass.beam", 1, 2, FIELD(beam), ETX_TABLE_ONE_ROW}}};

/* The order of seeds; -1 for one that is out of bounds. */
static int64_t seed_rank(const int64_t *seed, int64_t n_layers)
{
    for (int32_t k = 0; k < ETX_SEED_LAYERS; k++)
        if (seed[k] < 0 || seed[k] >= n_layers)
            return -1;
    return (seed[0] * n_layers + seed[1]) * n_layers + seed[2];
}

static etx_status check_seeds(
    const struct etx_first_pass *first_pass, int64_t n_layers)
{
    int64_t last = -1;

    for (int64_t k = 0; k < first_pass->n_seeds; k++) {
        const int64_t *const seed = first_pass->seed + k * ETX_SEED_WIDTH;
        const int64_t rank = seed_rank(seed, n_layers);

        if (rank <= last)
            return etx_fail(ETX_ERR_FORMAT,
                "first pass: seed %" PRId64 " is (%" PRId64 ", %" PRId64
                ", %" PRId64 "), expected three of %" PRId64
                " layers, ascending",
                k, seed[0], seed[1], seed[2], n_layers);
        if (seed[ETX_SEED_LACKS_HIT] != 0 && seed[ETX_SEED_LACKS_HIT] != 1)
            return etx_fail(ETX_ERR_FORMAT,
                "first pass: seed %" PRId64 " lacks %" PRId64
                " hits, expected 0 or 1",
                k, seed[ETX_SEED_LACKS_HIT]);
        last = rank;
    }
    return ETX_OK;
}

etx_status etx_first_pass_check(
    const struct etx_first_pass *first_pass, int64_t n_layers)
{
    const float *const beam = first_pass->beam;
    etx_status status;

    ETX_CHECK(check_seeds(first_pass, n_layers));
    ETX_CHECK(etx_completion_check_windows(first_pass->window,
        first_pass->n_seeds * ETX_COMPLETION_N_PT, "first pass"));
    if (!(beam[0] >= -1e6f && beam[0] <= 1e6f && beam[1] >= 0.0f &&
            beam[1] <= 1e6f))
        status = etx_fail(ETX_ERR_FORMAT,
            "first pass: the beam is at %.9g within %.9g mm, expected -1e6 to "
            "1e6 and 0 to 1e6",
            (double)beam[0], (double)beam[1]);
done:
    return status;
}
