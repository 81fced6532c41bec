/* stage/helix/layer_table.c -- what completion has learned.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/helix/layer_table.h"

#include "base/check.h"
#include "base/status.h"

#include <inttypes.h>
#include <stddef.h>

#define FIELD(name) offsetof(struct etx_completion, name)

const struct etx_table_kind etx_completion_kind = {"completion",
    sizeof(struct etx_completion), 4,
    {{"completion.layers", 0, ETX_LAYER_WIDTH, FIELD(layer), FIELD(n_layers)},
        {"completion.steps", 0, ETX_STEP_WIDTH, FIELD(step), FIELD(n_steps)},
        {"completion.windows", 1, 2 * (int64_t)ETX_COMPLETION_N_WINDOWS,
            FIELD(window), FIELD(n_steps)},
        {"completion.field", 1, ETX_COMPLETION_N_FIELD, FIELD(field),
            ETX_TABLE_ONE_ROW}}};

static etx_status check_layers(const struct etx_completion *completion)
{
    if (completion->n_layers < 1 ||
        completion->n_layers > ETX_COMPLETION_MAX_LAYERS)
        return etx_fail(ETX_ERR_FORMAT,
            "completion: %" PRId64 " layers, expected 1 to %d",
            completion->n_layers, ETX_COMPLETION_MAX_LAYERS);
    for (int64_t l = 0; l < completion->n_layers; l++) {
        const int64_t *const layer = completion->layer + l * ETX_LAYER_WIDTH;

        if (layer[ETX_LAYER_VOLUME] < 0 ||
            layer[ETX_LAYER_VOLUME] > INT32_MAX || layer[ETX_LAYER_LAYER] < 0 ||
            layer[ETX_LAYER_LAYER] > INT32_MAX ||
            layer[ETX_LAYER_IS_BARREL] < 0 || layer[ETX_LAYER_IS_BARREL] > 1)
            return etx_fail(ETX_ERR_FORMAT,
                "completion: layer %" PRId64 " is (%" PRId64 ", %" PRId64
                ", %" PRId64 "), expected ids from 0 on and 0 or 1",
                l, layer[ETX_LAYER_VOLUME], layer[ETX_LAYER_LAYER],
                layer[ETX_LAYER_IS_BARREL]);
    }
    return ETX_OK;
}

/* The order of steps; -1 for one that is out of bounds. */
static int64_t step_rank(const struct etx_completion *completion, int64_t k)
{
    const int64_t *const step = completion->step + k * ETX_STEP_WIDTH;
    const int64_t n = completion->n_layers;

    if (step[ETX_STEP_DIRECTION] < 0 ||
        step[ETX_STEP_DIRECTION] >= ETX_N_DIRECTIONS ||
        step[ETX_STEP_FROM] < 0 || step[ETX_STEP_FROM] >= n ||
        step[ETX_STEP_TO] < 0 || step[ETX_STEP_TO] >= n)
        return -1;
    return (step[ETX_STEP_DIRECTION] * n + step[ETX_STEP_FROM]) * n +
           step[ETX_STEP_TO];
}

static etx_status check_steps(const struct etx_completion *completion)
{
    int64_t last = -1;

    for (int64_t k = 0; k < completion->n_steps; k++) {
        const int64_t *const step = completion->step + k * ETX_STEP_WIDTH;
        const int64_t rank = step_rank(completion, k);

        if (rank <= last)
            return etx_fail(ETX_ERR_FORMAT,
                "completion: step %" PRId64 " is (%" PRId64 ", %" PRId64
                ", %" PRId64 "), expected a direction and two of %" PRId64
                " layers, ascending",
                k, step[ETX_STEP_DIRECTION], step[ETX_STEP_FROM],
                step[ETX_STEP_TO], completion->n_layers);
        last = rank;
    }
    return ETX_OK;
}

etx_status etx_completion_check_windows(
    const struct etx_completion_window *window, int64_t n, const char *owner)
{
    for (int64_t k = 0; k < n; k++) {
        const float transverse = window[k].transverse;
        const float longitudinal = window[k].longitudinal;

        if (!(transverse >= 0.0f && transverse <= 1e6f &&
                longitudinal >= 0.0f && longitudinal <= 1e6f) ||
            (transverse > 0.0f) != (longitudinal > 0.0f))
            return etx_fail(ETX_ERR_FORMAT,
                "%s: window %" PRId64
                " is (%.9g, %.9g) mm, expected both 0 or both in 0 to 1e6",
                owner, k, (double)transverse, (double)longitudinal);
    }
    return ETX_OK;
}

static etx_status check_field(const struct etx_completion *completion)
{
    for (int32_t k = 0; k < ETX_COMPLETION_N_FIELD; k++)
        if (!(completion->field[k] >= -1e3f && completion->field[k] <= 1e3f))
            return etx_fail(ETX_ERR_FORMAT,
                "completion: field %d is %.9g T, expected -1000 to 1000", k,
                (double)completion->field[k]);
    return ETX_OK;
}

static void index_steps(struct etx_completion *completion)
{
    int64_t k = 0;

    for (int32_t d = 0; d < ETX_N_DIRECTIONS; d++)
        for (int32_t l = 0; l <= ETX_COMPLETION_MAX_LAYERS; l++) {
            const int64_t *step = completion->step + k * ETX_STEP_WIDTH;

            completion->begin[d][l] = k;
            while (k < completion->n_steps && step[ETX_STEP_DIRECTION] == d &&
                   step[ETX_STEP_FROM] == l) {
                k++;
                step += ETX_STEP_WIDTH;
            }
        }
}

etx_status etx_completion_check(struct etx_completion *completion)
{
    etx_status status;

    ETX_CHECK(check_layers(completion));
    ETX_CHECK(check_steps(completion));
    ETX_CHECK(etx_completion_check_windows(completion->window,
        completion->n_steps * ETX_COMPLETION_N_WINDOWS, "completion"));
    ETX_CHECK(check_field(completion));
    index_steps(completion);
done:
    return status;
}

const struct etx_completion_window *etx_step_window(
    const struct etx_completion *completion, int32_t direction, int32_t from,
    int32_t to, int32_t pt_bin)
{
    const int64_t *const begin = completion->begin[direction];

    for (int64_t k = begin[from]; k < begin[from + 1]; k++) {
        const struct etx_completion_window *const window =
            etx_completion_window(completion, k, ETX_HELIX_FREE, pt_bin);

        if (etx_completion_step_to(completion, k) == to)
            return window->transverse > 0.0f ? window : NULL;
    }
    return NULL;
}

const struct etx_completion_window *etx_window_between(
    const struct etx_completion *completion, int32_t from, int32_t to,
    int32_t pt_bin)
{
    const struct etx_completion_window *const window =
        etx_step_window(completion, ETX_OUTWARD, from, to, pt_bin);

    return window != NULL
               ? window
               : etx_step_window(completion, ETX_INWARD, to, from, pt_bin);
}

void etx_completion_layers(int32_t *layer,
    const struct etx_completion *completion, const struct etx_event *event)
{
    const int32_t n_layers = (int32_t)completion->n_layers;
    int32_t last = 0; /* hits mostly come by layer */

    for (int64_t i = 0; i < event->n_hits; i++) {
        const int32_t volume_id = event->volume_id[i];
        const int32_t layer_id = event->layer_id[i];

        layer[i] = -1;
        for (int32_t k = 0; k < n_layers; k++) {
            const int32_t l = (last + k) % n_layers;

            const int64_t *const known =
                completion->layer + l * ETX_LAYER_WIDTH;

            if (known[ETX_LAYER_VOLUME] == volume_id &&
                known[ETX_LAYER_LAYER] == layer_id) {
                layer[i] = last = l;
                break;
            }
        }
    }
}
