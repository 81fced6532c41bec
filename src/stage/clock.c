/* stage/clock.c -- wall time and memory of the stages.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "stage/stage.h"

#include "base/clock.h"
#include "memory/memory.h"

struct etx_stage_clock etx_stage_begin(
    struct etx_context *context, int32_t stage)
{
    const struct etx_stage_clock clock = {
        etx_now(), context->stream->flop, stage};

    etx_memory_reset_peak(context->stream->memory);
    return clock;
}

etx_status etx_stage_end(struct etx_context *context,
    const struct etx_stage_clock *clock, int64_t n_edges)
{
    etx_stage_timing *const timing = &context->timing[clock->stage];
    const struct etx_memory *memory = context->stream->memory;
    /* What is queued belongs to this stage. */
    const etx_status status = etx_memory_synchronize(memory);
    const int64_t peak = etx_memory_peak(memory);

    timing->seconds += etx_now() - clock->start;
    timing->gflop += 1e-9 * (context->stream->flop - clock->flop);
    timing->n_edges = n_edges;
    if (peak > timing->peak_bytes)
        timing->peak_bytes = peak;
    return status;
}

void etx_stage_reset_timings(struct etx_context *context)
{
    memset(context->timing, 0, sizeof context->timing);
}
