/* stage/clock.c -- wall time and memory of the stages.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "stage/stage.h"

#include "base/clock.h"
#include "memory/memory.h"

/* Times of a device are known once it has come there, for which nobody waits
 * until they are read: pair k of marks, 2 k and 2 k + 1, is the time of a
 * run of stage context->marked[k]. */
static double seconds_of(const struct etx_context *context, int32_t k)
{
    const struct etx_memory *memory = context->stream->memory;

    return memory->seconds(memory, 2 * k, 2 * k + 1);
}

/* The last first: one wait is for all. */
void etx_stage_read_timings(struct etx_context *context)
{
    for (int32_t k = context->n_marked - 1; k >= 0; k--)
        if (context->marked[k] >= 0)
            context->timing[context->marked[k]].seconds +=
                seconds_of(context, k);
    context->n_marked = 0;
}

etx_stage_timing etx_stage_timing_of(
    const struct etx_context *context, int32_t stage)
{
    etx_stage_timing timing = context->timing[stage];

    for (int32_t k = 0; k < context->n_marked; k++)
        if (context->marked[k] == stage)
            timing.seconds += seconds_of(context, k);
    return timing;
}

struct etx_stage_clock etx_stage_begin(
    struct etx_context *context, int32_t stage)
{
    const struct etx_memory *memory = context->stream->memory;
    struct etx_stage_clock clock = {
        etx_now(), context->stream->flop, stage, -1, ETX_OK};

    etx_memory_reset_peak(memory);
    if (memory == NULL)
        return clock;
    if (context->n_marked == ETX_MAX_MARKS / 2)
        etx_stage_read_timings(context);
    clock.status = memory->mark(memory, 2 * context->n_marked);
    if (clock.status != ETX_OK)
        return clock;
    clock.pair = context->n_marked++;
    context->marked[clock.pair] = -1; /* until it ends */
    return clock;
}

etx_status etx_stage_end(struct etx_context *context,
    const struct etx_stage_clock *clock, int64_t n_edges)
{
    etx_stage_timing *const timing = &context->timing[clock->stage];
    const struct etx_memory *memory = context->stream->memory;
    const int64_t peak = etx_memory_peak(memory);
    etx_status status = clock->status;

    if (memory == NULL) {
        timing->seconds += etx_now() - clock->start;
    } else if (clock->pair >= 0) {
        status = memory->mark(memory, 2 * clock->pair + 1);
        if (status == ETX_OK)
            context->marked[clock->pair] = clock->stage;
    }
    timing->gflop += 1e-9 * (context->stream->flop - clock->flop);
    timing->n_edges = n_edges;
    if (peak > timing->peak_bytes)
        timing->peak_bytes = peak;
    return status;
}

void etx_stage_reset_timings(struct etx_context *context)
{
    memset(context->timing, 0, sizeof context->timing);
    context->n_marked = 0;
}
