/* examples/cores.h -- the cores that a rank may use, and which of them other
 * ranks of its node may use as well.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EXAMPLES_CORES_H
#define ETX_EXAMPLES_CORES_H

#include <stdint.h>

#define CORES_BITS 32 /* of a word: whole numbers that doubles hold */
/* of a rank: its node, then 1024 cores and the count of those that are online
 */
#define CORES_WORDS 34

/* words [CORES_WORDS]: the node's name as a hash, the cores that the calling
 * thread may run on, bit by bit, and how many there are when the system does
 * not say which. Sums over ranks that fill rows of their own are exact. */
void cores_describe(double *words);

/* The threads for a rank: every core that it may run on, divided by the ranks
 * of its node that may run on it; at least 1. words [n_ranks, CORES_WORDS]. */
int64_t cores_share(const double *words, int32_t n_ranks, int32_t rank);

#endif
