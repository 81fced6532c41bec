/* test_faults_host.c -- every call on a small stack, and in a host that traps,
 * rounds and flushes otherwise, gives the bits that it gives elsewhere.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* feenableexcept */
#include <fenv.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "scenarios.h"

#define TRAPS (FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW)

#define FLUSH_TO_ZERO       0x8000u
#define DENORMALS_ARE_ZEROS 0x0040u

static const struct {
    int rounding;
    unsigned int bits; /* of MXCSR */
} environments[] = {
    {FE_UPWARD, 0},
    {FE_DOWNWARD, FLUSH_TO_ZERO},
    {FE_TOWARDZERO, FLUSH_TO_ZERO | DENORMALS_ARE_ZEROS},
};

struct call {
    const struct faults_scenario *scenario;
    struct faults_world world;
};

static void make_call(void *argument)
{
    struct call *call = argument;

    ck_assert_ok(call->scenario->call(&call->world));
}

static unsigned int float_bits(void)
{
#if defined(__SSE__)
    return _mm_getcsr() & (FLUSH_TO_ZERO | DENORMALS_ARE_ZEROS);
#else
    return 0;
#endif
}

static void set_float_bits(unsigned int bits)
{
#if defined(__SSE__)
    _mm_setcsr(_mm_getcsr() | bits);
#else
    (void)bits;
#endif
}

/* The same in environment e, which is as it was after it. */
static void call_in(struct call *call, size_t e)
{
    etx_status status;

    set_float_bits(environments[e].bits);
    ck_assert_int_eq(fesetround(environments[e].rounding), 0);
    ck_assert_int_eq(feclearexcept(FE_ALL_EXCEPT), 0);
    ck_assert_int_ne(feenableexcept(TRAPS), -1);
    const unsigned int before = float_bits();
    status = call->scenario->call(&call->world);
    const unsigned int after = float_bits();
    const int rounding = fegetround();
    const int traps = fegetexcept();
    const int raised = fetestexcept(FE_ALL_EXCEPT);
    ck_assert_int_eq(fesetenv(FE_DFL_ENV), 0);
    ck_assert_ok(status);
    ck_assert_uint_eq(after, before);
    ck_assert_int_eq(rounding, environments[e].rounding);
    ck_assert_int_eq(traps, TRAPS);
    ck_assert_msg(raised == 0, "%s raises %d", call->scenario->name, raised);
}

/* What the call gives: on the stack of the test, on a small one (-1) or in an
 * environment. */
static uint64_t bits_of(const struct faults_scenario *scenario, int32_t how)
{
    struct call call = {.scenario = scenario};
    uint64_t bits;

    faults_set_up(&call.world, scenario);
    if (how == -1)
        etx_test_on_small_stack(make_call, &call);
    else if (how < ROWS(environments))
        call_in(&call, (size_t)how);
    else
        make_call(&call);
    bits = faults_bits(&call.world, scenario);
    faults_tear_down(&call.world);
    return bits;
}

ETX_TEST(test_faults_host, .rows = faults_n_scenarios)
{
    const struct faults_scenario *const scenario = &faults_scenarios[_i];

    faults_open();
    const uint64_t bits = bits_of(scenario, ROWS(environments));

    for (int32_t how = -1; how < ROWS(environments); how++)
        ck_assert_msg(bits_of(scenario, how) == bits,
            "%s: other bits in environment %d", scenario->name, (int)how);
    faults_close();
}
