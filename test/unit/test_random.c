/* test_random.c -- Philox4x32-10 and what is drawn from it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/random.h"

#include <math.h>
#include <stdlib.h>

#define N_DRAWS 200000

/* kat_vectors of Random123, philox4x32 10. */
static const struct {
    uint32_t counter[4], key[2], output[4];
} known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff},
        {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0},
        {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

ETX_TEST(test_random_known_answers, .rows = ROWS(known))
{
    uint32_t output[4];

    etx_philox(output, known[_i].counter, known[_i].key);
    for (int word = 0; word < 4; word++)
        ck_assert_uint_eq(output[word], known[_i].output[word]);
}

/* The words of a stream are the blocks of its counter, in order. */
ETX_TEST(test_random_stream)
{
    struct etx_random random;
    const uint32_t key[2] = {0x89abcdef, 0x01234567};

    etx_random_init(&random, 0x0123456789abcdefu, 7, 9);
    for (uint32_t block = 0; block < 3; block++) {
        const uint32_t counter[4] = {block, 0, 7, 9};
        uint32_t output[4];

        etx_philox(output, counter, key);
        for (int word = 0; word < 4; word++)
            ck_assert_uint_eq(etx_random_u32(&random), output[word]);
    }
}

ETX_TEST(test_random_counter_carries)
{
    struct etx_random random;
    const uint32_t counter[4] = {0, 1, 7, 9};
    uint32_t output[4];

    etx_random_init(&random, 5, 7, 9);
    random.counter[0] = UINT32_MAX;
    for (int word = 0; word < 4; word++)
        (void)etx_random_u32(&random);
    etx_philox(output, counter, random.key);
    ck_assert_uint_eq(etx_random_u32(&random), output[0]);
}

ETX_TEST(test_random_below)
{
    static const uint64_t bounds[] = {
        1, 2, 3, 10, 1000, UINT64_C(1) << 40, UINT64_MAX};
    struct etx_random random;
    int64_t counts[10] = {0};

    etx_random_init(&random, 1, 0, 0);
    for (size_t k = 0; k < ROWS(bounds); k++)
        for (int i = 0; i < 1000; i++)
            ck_assert_uint_lt(etx_random_below(&random, bounds[k]), bounds[k]);

    for (int i = 0; i < N_DRAWS; i++)
        counts[etx_random_below(&random, 10)]++;
    for (int k = 0; k < 10; k++) /* 6 sigma */
        ck_assert_int_lt(llabs(counts[k] - N_DRAWS / 10), 810);
}

ETX_TEST(test_random_moments)
{
    struct etx_random random;
    double uniform = 0.0, normal = 0.0, squares = 0.0;

    etx_random_init(&random, 2, 0, 0);
    for (int i = 0; i < N_DRAWS; i++) {
        const float u = etx_random_uniform(&random);
        const double g = (double)etx_random_normal(&random);

        ck_assert(u >= 0.0f && u < 1.0f);
        ck_assert(isfinite(g));
        uniform += (double)u / N_DRAWS;
        normal += g / N_DRAWS;
        squares += g * g / N_DRAWS;
    }
    ck_assert_double_eq_tol(uniform, 0.5, 0.004);
    ck_assert_double_eq_tol(normal, 0.0, 0.014);
    ck_assert_double_eq_tol(squares, 1.0, 0.02);
}

ETX_TEST(test_random_shuffle)
{
    struct etx_random random, again;
    int32_t values[100], twin[100];
    int64_t sum = 0, n_moved = 0;

    for (int32_t i = 0; i < 100; i++)
        values[i] = twin[i] = i;
    etx_random_init(&random, 3, 1, 2);
    etx_random_init(&again, 3, 1, 2);
    etx_random_shuffle(&random, values, 100);
    etx_random_shuffle(&again, twin, 100);
    ck_assert_mem_eq(values, twin, sizeof values);
    for (int32_t i = 0; i < 100; i++) {
        sum += values[i];
        n_moved += values[i] != i;
    }
    ck_assert_int_eq(sum, 4950);
    ck_assert_int_gt(n_moved, 80);
    etx_random_shuffle(&random, values, 0);
    etx_random_shuffle(&random, values, 1);
}
