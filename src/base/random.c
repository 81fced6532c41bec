/* base/random.c -- counter-based random numbers, Philox4x32-10.
 *
 * The counter is the position in the stream (two words), the stream and the
 * substream; the key is the seed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"

#include <math.h>

#define N_ROUNDS 10
#define TWO_PI   6.283185307179586

void etx_philox(
    uint32_t output[4], const uint32_t counter[4], const uint32_t key[2])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];

    for (int round = 0; round < N_ROUNDS; round++) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * c0;
        const uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;

        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    output[0] = c0;
    output[1] = c1;
    output[2] = c2;
    output[3] = c3;
}

void etx_random_init(struct etx_random *random, uint64_t seed, uint32_t stream,
    uint32_t substream)
{
    *random = (struct etx_random){
        .key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
        .counter = {0, 0, stream, substream},
    };
}

uint32_t etx_random_u32(struct etx_random *random)
{
    if (random->n_left == 0) {
        etx_philox(random->output, random->counter, random->key);
        random->n_left = 4;
        random->counter[0]++;
        random->counter[1] += random->counter[0] == 0;
    }
    return random->output[4 - random->n_left--];
}

/* Reject the low values that would make some remainders more likely. */
uint64_t etx_random_below(struct etx_random *random, uint64_t bound)
{
    const uint64_t lowest = (UINT64_MAX - bound + 1) % bound;
    uint64_t value;

    do {
        const uint64_t high = etx_random_u32(random);
        value = high << 32 | etx_random_u32(random);
    } while (value < lowest);
    return value % bound;
}

float etx_random_uniform(struct etx_random *random)
{
    return (float)(etx_random_u32(random) >> 8) * 0x1p-24f;
}

/* Box and Muller, "A note on the generation of random normal deviates", Ann.
 * Math. Stat. 29 (1958); the second deviate is not kept. */
float etx_random_normal(struct etx_random *random)
{
    const double u = ((double)etx_random_u32(random) + 1.0) * 0x1p-32;
    const double v = (double)etx_random_u32(random) * 0x1p-32;

    return (float)(sqrt(-2.0 * log(u)) * cos(TWO_PI * v));
}

void etx_random_shuffle(
    struct etx_random *random, int32_t *values, int64_t count)
{
    for (int64_t i = count - 1; i > 0; i--) {
        const uint64_t j = etx_random_below(random, (uint64_t)i + 1);
        const int32_t value = values[i];

        values[i] = values[j];
        values[j] = value;
    }
}
