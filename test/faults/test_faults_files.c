/* test_faults_files.c -- every system call on files fails or is short once.
 *
 * After an error the file that was to be written is the old one, nothing else
 * is left in the folder and no descriptor open, and the same call then gives
 * the bits of one that never failed. A signal (EINTR) and short reads and
 * writes are no errors.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "interpose.h"
#include "io_support.h"
#include "scenarios.h"

static const int errors[] = {
    EINTR, EIO, ENOSPC, EPERM, EACCES, FAULTS_SHORT, FAULTS_ZERO, EOPNOTSUPP};

static const char *const call_names[] = {"open",
    "open of a file without a name", "open of a folder", "read", "write",
    "fsync", "rename", "linkat", "close", "lseek", "fstat", "fchmod", "none"};

static int64_t n_files(void)
{
    DIR *folder = opendir(io_path("."));
    int64_t n = 0;

    ck_assert_ptr_nonnull(folder);
    while (readdir(folder) != NULL)
        n++;
    (void)closedir(folder);
    return n;
}

/* Whether the call must succeed although this system call failed so. */
static int32_t must_succeed(enum faults_call call, int error)
{
    if (error == FAULTS_SHORT || call == FAULTS_N_CALLS ||
        call == FAULTS_OPEN_UNNAMED)
        return 1;
    if (error == EINTR)
        return call == FAULTS_OPEN || call == FAULTS_OPEN_FOLDER ||
               call == FAULTS_READ || call == FAULTS_WRITE ||
               call == FAULTS_CLOSE;
    if (call == FAULTS_MODE) /* a file system without modes */
        return error == EPERM || error == EOPNOTSUPP;
    /* A folder that may be written but not read. */
    return call == FAULTS_OPEN_FOLDER && error == EACCES;
}

/* Whether the call must fail; what else may do either. */
static int32_t must_fail(enum faults_call call, int error)
{
    if (error == EINTR || error == FAULTS_SHORT ||
        (error == FAULTS_ZERO && call == FAULTS_READ)) /* the end of a file */
        return 0;
    return call == FAULTS_READ || call == FAULTS_WRITE || call == FAULTS_SYNC ||
           call == FAULTS_RENAME || call == FAULTS_LINK ||
           call == FAULTS_SEEK ||
           ((call == FAULTS_MODE || call == FAULTS_OPEN_FOLDER) &&
               !must_succeed(call, error));
}

static uint64_t target_hash(const struct faults_scenario *scenario)
{
    return scenario->target == NULL
               ? 0
               : faults_hash_file(io_path(scenario->target));
}

struct reference {
    uint64_t bits;
    uint64_t target; /* hash of the file that was written */
    int64_t n_calls;
};

static struct reference find_reference(const struct faults_scenario *scenario)
{
    const struct faults_plan none = {.kind = FAULTS_FILES, .number = -1};
    struct reference reference = {0};
    struct faults_world world;

    faults_set_up(&world, scenario);
    faults_arm(&none);
    ck_assert_ok(scenario->call(&world));
    reference.n_calls = faults_disarm();
    ck_assert_int_gt(reference.n_calls, 0);
    reference.target = target_hash(scenario);
    reference.bits = faults_bits(&world, scenario);
    faults_tear_down(&world);
    return reference;
}

#define WHERE "%s, %s (call %lld) fails with %d: "
#define AT                                                                     \
    scenario->name, call_names[call], (long long)plan->number, plan->error

/* What an error leaves. */
static void check_failure(const struct faults_scenario *scenario,
    const struct faults_plan *plan, enum faults_call call, etx_status status,
    uint64_t old, uint64_t target)
{
    const uint64_t found = target_hash(scenario);
    /* After the rename the new file stands there. */
    const int32_t may_be_new = call == FAULTS_SYNC || call == FAULTS_CLOSE;

    ck_assert_msg(status == ETX_ERR_IO ||
                      (call == FAULTS_READ && status == ETX_ERR_FORMAT),
        WHERE "status %s (%s)", AT, etx_status_name(status), etx_last_error());
    ck_assert_msg(found == old || (may_be_new && found == target),
        WHERE "the file is neither the old nor the new one", AT);
}

static void try_plan(const struct faults_scenario *scenario,
    const struct faults_plan *plan, const struct reference *reference)
{
    const int64_t descriptors = faults_descriptors();
    struct faults_world world, before;
    etx_status status;

    faults_set_up(&world, scenario);
    before = world;
    const int64_t files = n_files();
    const uint64_t old = target_hash(scenario);
    faults_arm(plan);
    status = scenario->call(&world);
    (void)faults_disarm();
    const enum faults_call call = faults_last();
    ck_assert_msg(status == ETX_OK || !must_succeed(call, plan->error),
        WHERE "status %s (%s)", AT, etx_status_name(status), etx_last_error());
    ck_assert_msg(status != ETX_OK || !must_fail(call, plan->error),
        WHERE "and the call succeeds", AT);
    if (status != ETX_OK) {
        check_failure(scenario, plan, call, status, old, reference->target);
        ck_assert_msg(memcmp(&before.out, &world.out, sizeof world.out) == 0,
            WHERE "an output was touched", AT);
        status = scenario->call(&world);
        ck_assert_msg(
            status == ETX_OK, WHERE "once more: %s", AT, etx_last_error());
    }
    ck_assert_msg(n_files() == files, WHERE "a file is left", AT);
    ck_assert_msg(faults_bits(&world, scenario) == reference->bits,
        WHERE "other bits", AT);
    faults_tear_down(&world);
    ck_assert_msg(
        faults_descriptors() == descriptors, WHERE "a descriptor is left", AT);
}

static int64_t try_error(const struct faults_scenario *scenario, int error,
    const struct reference *reference)
{
    const int32_t may_repeat = error == EIO || error == ENOSPC;
    int64_t n_tried = 0;

    for (int32_t for_ever = 0; for_ever <= may_repeat; for_ever++)
        for (int64_t k = 0; k < reference->n_calls; k++) {
            const struct faults_plan plan = {.kind = FAULTS_FILES,
                .number = k,
                .for_ever = for_ever,
                .error = error};

            try_plan(scenario, &plan, reference);
            n_tried++;
        }
    return n_tried;
}

ETX_TEST(test_faults_files, .rows = faults_n_scenarios)
{
    const struct faults_scenario *scenario = &faults_scenarios[_i];
    struct reference reference;
    int64_t n_tried = 0;

    if (!scenario->has_files)
        return;
    faults_open();
    reference = find_reference(scenario);
    for (int32_t n = 0; n < ROWS(errors); n++)
        n_tried += try_error(scenario, errors[n], &reference);
    printf("%s: %lld failures\n", scenario->name, (long long)n_tried);
    faults_close();
}

/* ----------------------------------------------------------- taken names -- */

#define N_NAMES 100 /* that are tried for a temporary file */

/* From call k on, all names that the writer tries exist: the calls that were
 * made until it gave up for this reason, 0 when it did for another. */
static int64_t count_tries(
    const struct faults_scenario *scenario, int64_t k, const char *reason)
{
    const struct faults_plan plan = {
        .kind = FAULTS_FILES, .number = k, .for_ever = 1, .error = EEXIST};
    struct faults_world world;

    faults_set_up(&world, scenario);
    faults_arm(&plan);
    const etx_status status = scenario->call(&world);
    const int64_t n = faults_disarm() - k;
    const bool is_it = strstr(etx_last_error(), reason) != NULL;
    faults_tear_down(&world);
    return status == ETX_ERR_IO && is_it ? n : 0;
}

ETX_TEST(test_faults_files_taken_names)
{
    const struct faults_scenario *scenario = faults_scenarios;

    faults_open();
    while (strcmp(scenario->name, "model_save") != 0)
        scenario++;
    const int64_t n_calls = find_reference(scenario).n_calls;
    int64_t n_created = 0, n_named = 0;
    for (int64_t k = n_calls - 1; k >= 0; k--) {
        const int64_t n =
            count_tries(scenario, k, "cannot create: File exists");

        n_created = n > 0 ? n : n_created;
        n_named += count_tries(scenario, k, "cannot name: File exists");
    }
    /* After the file without a name, where the file system has them; before
     * that is closed. */
    ck_assert_int_eq(n_created, 1 + N_NAMES);
    ck_assert(n_named == N_NAMES + 1 || n_named == 0);
    faults_close();
}

/* ------------------------------------------------------------ power cuts -- */

/* What a cut may leave of the bytes that are not on disk for certain. */
enum loss { LOST, ZEROS, KEPT, N_LOSSES };

/* The file [size] as the cut leaves it, written to "cut". */
static void write_cut(
    const char *data, const struct faults_disk *disk, enum loss loss)
{
    const size_t size = (size_t)disk->n_written;
    const size_t synced = (size_t)disk->n_synced;
    scoped char *left = etx_test_alloc((int64_t)size, 1);

    memcpy(left, data, loss == KEPT ? size : synced);
    (void)io_write("cut", left, loss == LOST ? synced : size);
}

/* The states after a cut in which the target is neither the old file nor the
 * new one. */
static int64_t n_broken(
    const struct faults_scenario *scenario, int32_t syncs_nothing)
{
    const struct faults_disk *step = NULL;
    struct faults_world world;
    int64_t n_broken = 0;
    size_t size = 0;

    faults_set_up(&world, scenario);
    faults_disk_begin(syncs_nothing);
    ck_assert_ok(scenario->call(&world));
    const int64_t n_steps = faults_disk_end(&step);
    const uint64_t target = target_hash(scenario);
    scoped char *data = io_read(io_path(scenario->target), &size);

    ck_assert_int_ge(n_steps, 3);
    for (int64_t s = 0; s < n_steps; s++)
        for (int32_t loss = 0; loss < N_LOSSES && step[s].is_target; loss++) {
            ck_assert_uint_eq((size_t)step[s].n_written, size);
            write_cut(data, &step[s], (enum loss)loss);
            n_broken += faults_hash_file(io_path("cut")) != target;
        }
    /* The call has returned: the new file is on disk. */
    n_broken += !step[n_steps - 1].is_certain;
    faults_tear_down(&world);
    return n_broken;
}

ETX_TEST(test_faults_power_cut, .rows = faults_n_scenarios)
{
    const struct faults_scenario *scenario = &faults_scenarios[_i];

    if (scenario->target == NULL)
        return;
    faults_open();
    ck_assert_int_eq(n_broken(scenario, 0), 0);
    /* A library that does not synchronise is found out. */
    ck_assert_int_gt(n_broken(scenario, 1), 0);
    faults_close();
}
