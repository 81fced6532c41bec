/* test_faults_memory.c -- every allocation of every call fails once, and the
 * host cancels at every moment.
 *
 * The call has to say ETX_ERR_MEMORY, or ETX_ERR_CANCELLED, and leave its
 * outputs as they were, and the same call on the same objects must then give
 * the bits of one that never failed, with nothing left allocated. Each
 * allocation fails alone and with all that follow; of many requests of scratch
 * memory and moments to cancel, MAX_TRIED at equal distances, unless ETX_FAULTS
 * is set. The allocator of the host is what malloc is called by: where malloc
 * can fail, its failures are tried with ETX_FAULTS alone. ETX_SCENARIO: part of
 * a scenario's name, for those alone.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "interpose.h"
#include "scenarios.h"

#define MAX_TRIED 12

/* What a call without failures gives. */
struct reference {
    uint64_t bits;
    int64_t n_calls; /* that may fail */
};

static struct reference find_reference(
    const struct faults_scenario *scenario, enum faults_kind kind)
{
    const struct faults_plan none = {.kind = kind, .number = -1};
    struct reference reference = {0};

    /* The first time also fills what libc and zlib keep. */
    for (int32_t n = 0; n < 2; n++) {
        struct faults_world world;

        faults_set_up(&world, scenario);
        faults_arm(&none);
        const etx_status status = scenario->call(&world);
        reference.n_calls = faults_disarm();
        ck_assert_msg(
            status == ETX_OK, "%s: %s", scenario->name, etx_last_error());
        reference.bits = faults_bits(&world, scenario);
        faults_tear_down(&world);
    }
    return reference;
}

/* One call with a failure, and once more without. Returns the status. */
static etx_status try_plan(const struct faults_scenario *scenario,
    const struct faults_plan *plan, uint64_t bits)
{
    const int64_t blocks = faults_blocks();
    const int64_t heap = etx_heap_in_use();
    struct faults_world world, before;
    etx_status status, again = ETX_OK;

    faults_set_up(&world, scenario);
    before = world;
    etx_set_last_error("");
    faults_arm(plan);
    status = scenario->call(&world);
    (void)faults_disarm();
#define WHERE "%s, failure %lld%s of kind %d: "
#define AT                                                                     \
    scenario->name, (long long)plan->number, plan->for_ever ? " and on" : "",  \
        (int)plan->kind
    if (status != ETX_OK) {
        ck_assert_msg(status == (plan->kind == FAULTS_CANCEL ? ETX_ERR_CANCELLED
                                                             : ETX_ERR_MEMORY),
            WHERE "status %s (%s)", AT, etx_status_name(status),
            etx_last_error());
        ck_assert_msg(etx_last_error()[0] != '\0', WHERE "no message", AT);
        ck_assert_msg(memcmp(&before.out, &world.out, sizeof world.out) == 0,
            WHERE "an output was touched", AT);
        again = scenario->call(&world);
        ck_assert_msg(again == ETX_OK, WHERE "once more: %s (%s)", AT,
            etx_status_name(again), etx_last_error());
    }
    ck_assert_msg(faults_bits(&world, scenario) == bits,
        WHERE "other bits, status %s", AT, etx_status_name(status));
    faults_tear_down(&world);
    ck_assert_msg(faults_blocks() == blocks && etx_heap_in_use() == heap,
        WHERE "%lld blocks are left", AT,
        (long long)(faults_blocks() - blocks));
    return status;
}

static int32_t tries_all(void)
{
    return getenv("ETX_FAULTS") != NULL;
}

static void try_all(
    const struct faults_scenario *scenario, enum faults_kind kind)
{
    const struct reference reference = find_reference(scenario, kind);
    const int64_t n = reference.n_calls;
    const int32_t is_sample =
        (kind == FAULTS_SCRATCH || kind == FAULTS_CANCEL) && !tries_all();
    const int64_t step = is_sample ? 1 + n / MAX_TRIED : 1;
    int64_t n_tried = 0;
    int64_t n_failed = 0;

    for (int32_t for_ever = 0; for_ever < 2; for_ever++)
        for (int64_t k = for_ever * step / 2; k < n; k += step, n_tried++) {
            const struct faults_plan plan = {
                .kind = kind, .number = k, .for_ever = for_ever};

            n_failed += try_plan(scenario, &plan, reference.bits) != ETX_OK;
        }
    printf("%s: %lld failures, %lld ended the call\n", scenario->name,
        (long long)n_tried, (long long)n_failed);
}

static void try_scenario(int row, enum faults_kind kind)
{
    const char *const only = getenv("ETX_SCENARIO");

    if (only != NULL && strstr(faults_scenarios[row].name, only) == NULL)
        return;
    faults_open();
    try_all(&faults_scenarios[row], kind);
    faults_close();
}

ETX_TEST(test_faults_malloc, .rows = faults_n_scenarios)
{
    if (faults_has_malloc())
        try_scenario(_i, FAULTS_MALLOC);
    else
        etx_test_skip(__func__, "the malloc of a sanitizer");
}

/* The allocator of the host. */
ETX_TEST(test_faults_hook, .rows = faults_n_scenarios)
{
    if (tries_all() || !faults_has_malloc())
        try_scenario(_i, FAULTS_HOOK);
}

ETX_TEST(test_faults_threads, .rows = faults_n_scenarios)
{
    try_scenario(_i, FAULTS_THREADS);
}

ETX_TEST(test_faults_scratch, .rows = faults_n_scenarios)
{
    try_scenario(_i, FAULTS_SCRATCH);
}

ETX_TEST(test_faults_cancel, .rows = faults_n_scenarios)
{
    try_scenario(_i, FAULTS_CANCEL);
}
