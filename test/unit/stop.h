/* stop.h -- calls that are cancelled at several moments.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_UNIT_STOP_H
#define ETX_TEST_UNIT_STOP_H

#include "support.h"

/* A call, by its name. */
struct stop_entry {
    const char *name;
    etx_status (*run)(void *work);
};

/* The callback: cancels from the moment of a test on; else never. */
int32_t stop_is_late(void *user);

/* Run each of entries [n] whole, and then stopped immediately and after shares
 * of its time: it must return within 0.1 CPU s of all threads, and a turn of
 * each other thread, where they are more than cores and the one that polls
 * waits for its own. */
void stop_check(
    const struct stop_entry *entries, int n, void *work, int32_t n_threads);

#endif
