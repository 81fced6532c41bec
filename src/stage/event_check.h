/* stage/event_check.h -- what of an event does not fit its detector or model.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_EVENT_CHECK_H
#define ETX_STAGE_EVENT_CHECK_H

#include "data/detector.h"
#include "stage/model.h"

/* The work of etx_event_check, which checks pointers and size. */
etx_status etx_stage_check_event(char *text, int64_t text_bytes,
    const struct etx_event *event, const struct etx_detector *detector,
    const struct etx_model *model);

#endif
