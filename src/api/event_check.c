/* api/event_check.c -- what of an event does not fit its detector or model.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/event_check.h"
#include "api/arguments.h"
#include "base/check.h"

etx_status etx_event_check(char *text, int64_t text_bytes,
    const etx_event *event, const etx_detector *detector,
    const etx_model *model)
{
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(
        &host, __func__, ETX_GIVEN(text), ETX_GIVEN(event), ETX_END));
    const struct etx_range range = {"text_bytes", text_bytes, 1, INT64_MAX};

    ETX_CHECK(etx_check_ranges(__func__, &range, 1));
    ETX_CHECK(etx_stage_check_event(text, text_bytes, event, detector, model));
done:
    return etx_call_end(&host, status);
}
