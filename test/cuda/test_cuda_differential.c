/* test_cuda_differential.c -- random programs on a device.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "device.h"
#include "differential.h"

/* Stage by stage near the CPU, and the same bits again. */
ETX_TEST(test_cuda_differential, .rows = 24, .n_quick = 6)
{
    scoped_program program = program_draw((uint64_t)_i);
    scoped_context *device = device_context(__func__);
    scoped_context *cpu = etx_test_context();

    if (device == NULL)
        return;
    scoped_outcome expected = program_run(&program, cpu);
    scoped_outcome once = program_run(&program, device);
    scoped_outcome again = program_run(&program, device);

    outcome_assert_near(&expected, &once, 2e-4);
    outcome_assert_same(&once, &again);
}
