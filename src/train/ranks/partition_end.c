/* train/ranks/partition_end.c -- the end of what the parts of a graph do
 * together.
 *
 * A part that fails after its last exchange would be noticed at the next step
 * only, when the others have taken theirs. So all of them meet once more before
 * anything is written that lasts: an exchange of nothing, at which a part that
 * failed is missed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "base/check.h"

#include <string.h>

etx_status etx_train_meet_parts(const struct etx_trainer *trainer)
{
    const struct etx_train_parts *parts = &trainer->parts;
    struct etx_arena *arena = trainer->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    float nothing[1] = {0.0f};
    int64_t *zero;
    etx_status status;

    if (parts->n_parts == 0)
        return ETX_OK;
    ETX_CHECK(etx_arena_alloc(
        &zero, arena, parts->n_parts, sizeof *zero, "values to send"));
    memset(zero, 0, (size_t)parts->n_parts * sizeof *zero);
    ETX_CHECK(parts->exchange.swap(
        parts->exchange.user, nothing, zero, nothing, zero));
done:
    etx_arena_reset(arena, mark);
    return status;
}
