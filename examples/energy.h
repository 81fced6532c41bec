/* examples/energy.h -- the energy that this machine's processors use.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EXAMPLES_ENERGY_H
#define ETX_EXAMPLES_ENERGY_H

#include <stdint.h>

#define ENERGY_COUNTERS "/sys/class/powercap"
#define ENERGY_MAX      16 /* processors of one machine */

/* One counter: it starts again from 0 beyond its range. */
struct energy_counter {
    char path[512];
    double last, range; /* microjoules */
};

/* The counters of the processors ("package-...") and what they counted. */
struct energy {
    int32_t n_counters;
    struct energy_counter counter[ENERGY_MAX];
    double joules; /* nan without a readable counter */
};

/* Open the counters in a folder like ENERGY_COUNTERS. That of the whole machine
 * ("psys") includes the processors and is not used. */
void energy_open(struct energy *energy, const char *folder);

/* Add what was used since the last call: at least once in a turn of the
 * counters, which is minutes. */
void energy_sample(struct energy *energy);

#endif
