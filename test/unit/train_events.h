/* train_events.h -- small events to train on: helices through barrel layers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_TRAIN_EVENTS_H
#define ETX_TEST_TRAIN_EVENTS_H

#include <exatrkx/exatrkx.h>

/* Particles of random direction and momentum on ten cylinders, with one noise
 * hit for every ten; the caller frees it. Ends the test on failure. */
etx_event *train_event(int64_t n_particles, uint64_t seed);

#endif
