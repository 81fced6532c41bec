/* stage/event_check.h -- what of an event does not fit its detector or model.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_EVENT_CHECK_H
#define ETX_STAGE_EVENT_CHECK_H

#include "data/detector.h"
#include "stage/model.h"

/* What was found, one after the other: text [size], used bytes of it. */
struct etx_check_report {
    char *text;
    int64_t size, used;
};

/* Integers and text only: other numbers depend on the host's locale. */
__attribute__((format(printf, 2, 3))) void etx_check_say(
    struct etx_check_report *report, const char *format, ...);

/* The part that truth tells. learned: the field of the model, T; 0: none. */
etx_status etx_check_truth(struct etx_check_report *report,
    const struct etx_event *event, double learned);

/* The work of etx_event_check, which checks pointers and size. */
etx_status etx_stage_check_event(char *text, int64_t text_bytes,
    const struct etx_event *event, const struct etx_detector *detector,
    const struct etx_model *model);

#endif
