/* bench/probe.h -- fixed pieces of work that no change of the library touches.
 *
 * The time of an operator in units of a probe run right before it says what the
 * operator costs, not how busy the machine is or how high its clock.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_BENCH_PROBE_H
#define TEST_BENCH_PROBE_H

enum probe {
    PROBE_FMA,    /* multiply-adds in registers */
    PROBE_STREAM, /* a = b + s c, in memory */
    PROBE_LINES,  /* cache lines in random order, in memory */
    N_PROBES
};

/* Open before, close after; exits without memory. */
void probe_open(void);
void probe_close(void);
/* Run it on this thread. */
void probe_run(enum probe probe);
const char *probe_name(enum probe probe);

#endif
