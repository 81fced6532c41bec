/* base/random.h -- counter-based random numbers, Philox4x32-10.
 *
 * Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. A
 * stream is named by (seed, stream, substream) and never by a thread or a
 * rank, so draws are the same wherever they happen.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_RANDOM_H
#define ETX_BASE_RANDOM_H

#include <stdint.h>

struct etx_random {
    uint32_t key[2];
    uint32_t counter[4];
    uint32_t output[4];
    uint32_t n_left; /* words of output not yet returned */
};

/* The Philox4x32-10 block function: output [4] of counter [4] and key [2]. */
void etx_philox(
    uint32_t output[4], const uint32_t counter[4], const uint32_t key[2]);

void etx_random_init(struct etx_random *random, uint64_t seed, uint32_t stream,
    uint32_t substream);
uint32_t etx_random_u32(struct etx_random *random);
/* Uniform in 0 .. bound-1 without bias; bound > 0. */
uint64_t etx_random_below(struct etx_random *random, uint64_t bound);
float etx_random_uniform(struct etx_random *random); /* [0, 1) */
float etx_random_normal(struct etx_random *random);  /* mean 0, sigma 1 */
/* Fisher-Yates over values [count]. */
void etx_random_shuffle(
    struct etx_random *random, int32_t *values, int64_t count);

#endif
