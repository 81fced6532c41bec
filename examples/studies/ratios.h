/* bench/ratios.h -- times of operators and stages in units of a probe.
 *
 * Each run is divided by a run of a probe right before it. One line per case on
 * standard output, tab-separated: operator or stage, sizes, probe, median, 10 %
 * and 90 % quantile of the ratio.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_BENCH_RATIOS_H
#define TEST_BENCH_RATIOS_H

#include "checkop.h"

/* Open before, close after. */
void ratios_open(void);
void ratios_close(void);

/* The fastest implementation of the case, on one thread. */
void ratios_of_operator(struct checkop_case *self);

/* Reading of a shipped event, its stages, and long tracks, which this event is
 * too small for otherwise. Runs in the root of the sources. */
void ratios_of_event(void);

#endif
