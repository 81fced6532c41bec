/* test_io_model_host.c -- models read and written by a host that writes a
 * decimal comma, traps, or is killed; files that are too large.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* feenableexcept */

#include "io_models.h"

#include "base/heap.h"
#include "stage/model.h"

#include <fenv.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Three sparse GiB of zeros are refused for their first bytes. */
IO_TEST(test_io_model_host_large_file)
{
    etx_model *model = NULL;
    int64_t before;

    ck_assert_int_eq(truncate(io_write_text("m", ""), (off_t)3 << 30), 0);
    etx_heap_reset_peak();
    before = etx_heap_peak();
    ck_assert_fails(etx_model_load(&model, io_path("m")), ETX_ERR_FORMAT,
        "no safetensors file");
    ck_assert_int_lt(etx_heap_peak() - before, 1000000);
}

/* Load the made model and compare it with the bytes that it was saved as. */
static void expect_same(const char *data, size_t size)
{
    scoped_model *model = NULL;
    scoped_model *small = NULL;
    scoped_event *event = NULL;
    size_t saved_size = 0;
    scoped char *saved = NULL;

    ck_assert_ok(etx_model_load(&model, io_path("made")));
    ck_assert(model->radius == 0.48f && model->label.cut == 0.1f);
    ck_assert_ok(etx_model_save(model, io_path("saved")));
    saved = io_read(io_path("saved"), &saved_size);
    ck_assert_uint_eq(saved_size, size);
    ck_assert_mem_eq(saved, data, size);
    small = io_model_make(io_model_small);
    ck_assert_ptr_nonnull(
        strstr(etx_model_describe(small), "\"radius\":0.48,"));
    ck_assert_ok(etx_event_read_features(&event,
        io_write_text("f.csv", "0.1,0.5,1000.25\n"), (float[]){1, 1, 1}));
    ck_assert(etx_event_positions(event)[2] == 1000.25f);
}

/* A host that writes 0,48; the locale is compiled when it is missing. */
static void check_model(void *unused)
{
    size_t size = 0;
    scoped char *data = io_model_bytes(io_model_small, &size);

    (void)unused;
    expect_same(data, size);
}

IO_TEST(test_io_model_host_locale)
{
    etx_test_in_comma_locale("test_io_model_host_locale", check_model, NULL);
}

/* A host that rounds upward and traps what it can: same model, same host. */
IO_TEST(test_io_model_host_float_environment)
{
    size_t size = 0;
    scoped char *data = io_model_bytes(io_model_small, &size);

    ck_assert_ptr_nonnull(data);
    ck_assert_int_eq(fesetround(FE_UPWARD), 0);
    ck_assert_int_ne(
        feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW), -1);
    etx_model *model = NULL;
    ck_assert_ok(etx_model_load(&model, io_path("made")));
    ck_assert_ok(etx_model_save(model, io_path("saved")));
    const int32_t is_right = model->radius == 0.48f;
    ck_assert_int_eq(fegetround(), FE_UPWARD);
    ck_assert_int_eq(fegetexcept(), FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    ck_assert_int_eq(is_right, 1);
    etx_model_free(model);
    etx_detector *detector = NULL;
    ck_assert_fails(
        etx_detector_read(&detector,
            io_write_text("d.csv",
                "volume_id,layer_id,module_id,cx,cy,cz,rot_xu,rot_xv,rot_xw,"
                "rot_yu,rot_yv,rot_yw,rot_zu,rot_zv,rot_zw,module_t,pitch_u,"
                "pitch_v\n1,1,1,0,0,0,3e38,0,0,0,1,0,0,0,1,1,1,1\n")),
        ETX_ERR_FORMAT, "no rotation");
}

/* ---------------------------------------------------------- killed hosts -- */

#define N_KILLS 200

static void save_for_ever(const etx_model *first, const etx_model *second)
{
    for (;;) {
        (void)!etx_model_save(first, io_path("m"));
        (void)!etx_model_save(second, io_path("m"));
    }
}

/* A host that is killed while it saves leaves one model or the other. */
IO_TEST(test_io_model_host_killed)
{
    scoped_model *first = io_model_make(io_model_small);
    scoped_model *second = io_model_make(io_model_all);
    char command[600];

    ck_assert_ok(etx_model_save(first, io_path("m")));
    for (int32_t n = 0; n < N_KILLS; n++) {
        const struct timespec pause = {0, 1000 * (n * 7919 % 4000)};
        scoped_model *model = NULL;
        int ending = 0;
        const pid_t child = fork();

        ck_assert_int_ge(child, 0);
        if (child == 0)
            save_for_ever(first, second);
        (void)nanosleep(&pause, NULL);
        ck_assert_int_eq(kill(child, SIGKILL), 0);
        ck_assert_int_eq(waitpid(child, &ending, 0), child);
        ck_assert_ok(etx_model_load(&model, io_path("m")));
    }
    (void)snprintf(command, sizeof command, "rm -f %s/m.*.tmp", io_path("."));
    ck_assert_int_eq(system(command), 0);
}
