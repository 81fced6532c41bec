/* api/train.c -- train the networks of a pipeline.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/train.h>

#include <stddef.h>
#include <string.h>

#include "api/arguments.h"
#include "base/check.h"
#include "base/float_environment.h"
#include "base/status.h"
#include "train/checkpoint.h"
#include "train/export.h"
#include "train/ranks/gradient.h"
#include "train/ranks/team.h"
#include "train/setup.h"
#include "train/training_step.h"
#include "train/validation/validate.h"

/* A report has grown at its end: a smaller one, of the first header, gets what
 * it has room for; a larger one, of a newer header, keeps what it has beyond.
 */
static etx_status check_report(
    const char *function, const etx_training_report *report)
{
    const uint32_t min = (uint32_t)offsetof(etx_training_report, is_rollback);

    if (report == NULL)
        return etx_fail(ETX_ERR_ARGUMENT, "%s: report is NULL", function);
    if (report->struct_size < min)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: report struct_size %d is below %d", function,
            (int)report->struct_size, (int)min);
    return ETX_OK;
}

static void copy_report(
    etx_training_report *report, const etx_training_report *made)
{
    const uint32_t size = report->struct_size;

    memcpy(report, made, size < sizeof *made ? size : sizeof *made);
    report->struct_size = size;
}

etx_status etx_trainer_create(etx_trainer **out, etx_context *context,
    const char *config, const etx_model *start)
{
    fenv_t host;
    etx_status status;

    ETX_CHECK(etx_check_given("etx_trainer_create", "out", out));
    ETX_CHECK(etx_check_given("etx_trainer_create", "context", context));
    ETX_CHECK(etx_check_given("etx_trainer_create", "config", config));
    etx_float_environment_enter(&host);
    status = etx_trainer_open(out, context, config, start);
    etx_float_environment_leave(&host);
done:
    return status;
}

etx_status etx_trainer_add_event(
    etx_trainer *trainer, const etx_event *event, int32_t validation)
{
    fenv_t host;
    etx_status status;

    ETX_CHECK(etx_check_given("etx_trainer_add_event", "trainer", trainer));
    ETX_CHECK(etx_check_given("etx_trainer_add_event", "event", event));
    etx_float_environment_enter(&host);
    status =
        etx_trainer_insert_event(trainer, event, event->n_hits, -1, validation);
    etx_float_environment_leave(&host);
done:
    return status;
}

etx_status etx_trainer_add_event_of_rank(etx_trainer *trainer,
    const etx_event *event, int64_t n_hits, int32_t rank, int32_t validation)
{
    fenv_t host;
    etx_status status;

    ETX_CHECK(
        etx_check_given("etx_trainer_add_event_of_rank", "trainer", trainer));
    ETX_CHECK(
        etx_check_count("etx_trainer_add_event_of_rank", "n_hits", n_hits));
    if (rank < 0 || rank >= trainer->team.n_ranks)
        return etx_fail(ETX_ERR_ARGUMENT,
            "etx_trainer_add_event_of_rank: rank %d of a team of %d", (int)rank,
            (int)trainer->team.n_ranks);
    if ((event != NULL) != (rank == trainer->team.rank))
        return etx_fail(ETX_ERR_ARGUMENT,
            "etx_trainer_add_event_of_rank: rank %d has the event, this is "
            "rank %d, and event is %s",
            (int)rank, (int)trainer->team.rank,
            event == NULL ? "NULL" : "given");
    etx_float_environment_enter(&host);
    status = etx_trainer_insert_event(trainer, event, n_hits, rank, validation);
    etx_float_environment_leave(&host);
done:
    return status;
}

etx_status etx_trainer_set_team(etx_trainer *trainer, const etx_team *team)
{
    etx_team known = {.struct_size = sizeof known, .n_ranks = 1};
    etx_status status;

    ETX_CHECK(etx_check_given("etx_trainer_set_team", "trainer", trainer));
    if (team != NULL)
        ETX_CHECK(etx_team_read(&known, team));
    if (known.n_ranks > 1 && trainer->partition.n_parts > 0)
        return etx_fail(ETX_ERR_ARGUMENT,
            "etx_trainer_set_team: the trainer computes parts of graphs");
    ETX_CHECK(etx_trainer_join(trainer, &known));
done:
    return status;
}

etx_status etx_gradient_sum(
    float *const *slice, int64_t n_slices, int64_t n_values)
{
    etx_status status;
    fenv_t host;

    etx_float_environment_enter(&host);
    ETX_CHECK(etx_check_count("etx_gradient_sum", "n_slices", n_slices));
    ETX_CHECK(etx_check_array(
        "etx_gradient_sum", "slice", slice, n_slices, sizeof *slice));
    ETX_CHECK(etx_check_count("etx_gradient_sum", "n_values", n_values));
    etx_gradient_sum_tree(slice, n_slices, n_values);
done:
    etx_float_environment_leave(&host);
    return status;
}

etx_status etx_trainer_set_cache(etx_trainer *trainer, const char *folder)
{
    etx_status status;

    ETX_CHECK(etx_check_given("etx_trainer_set_cache", "trainer", trainer));
    ETX_CHECK(etx_check_given("etx_trainer_set_cache", "folder", folder));
    ETX_CHECK(etx_trainer_open_cache(trainer, folder));
done:
    return status;
}

etx_status etx_trainer_set_parts(etx_trainer *trainer, int32_t n_parts,
    int32_t part, int32_t order, const etx_part_exchange *exchange)
{
    struct etx_train_partition parts = {
        .n_parts = n_parts, .part = part, .order = order};
    etx_status status;

    ETX_CHECK(etx_check_given("etx_trainer_set_parts", "trainer", trainer));
    ETX_CHECK(etx_check_part("etx_trainer_set_parts", n_parts, part, order));
    if (exchange == NULL && n_parts == 1)
        parts.n_parts = 0;
    else {
        ETX_CHECK(etx_read_exchange(
            &parts.exchange, "etx_trainer_set_parts", exchange));
    }
    ETX_CHECK(etx_trainer_partition(trainer, &parts));
done:
    return status;
}

int64_t etx_trainer_steps_done(const etx_trainer *trainer)
{
    return trainer == NULL ? 0 : trainer->progress.step;
}

int64_t etx_trainer_n_steps(const etx_trainer *trainer)
{
    return trainer == NULL ? 0 : trainer->config.schedule.n_steps;
}

int32_t etx_trainer_is_finished(const etx_trainer *trainer)
{
    return trainer == NULL ? 1 : etx_trainer_finished(trainer);
}

etx_status etx_trainer_step(etx_trainer *trainer, etx_training_report *report)
{
    etx_training_report made;
    fenv_t host;
    etx_status status;

    ETX_CHECK(etx_check_given("etx_trainer_step", "trainer", trainer));
    ETX_CHECK(check_report("etx_trainer_step", report));
    etx_float_environment_enter(&host);
    status = etx_trainer_run_step(trainer, &made);
    etx_float_environment_leave(&host);
    ETX_CHECK(status);
    copy_report(report, &made);
done:
    return status;
}

etx_status etx_trainer_validate(
    etx_trainer *trainer, etx_training_report *report)
{
    etx_training_report made;
    fenv_t host;
    etx_status status;

    ETX_CHECK(etx_check_given("etx_trainer_validate", "trainer", trainer));
    ETX_CHECK(check_report("etx_trainer_validate", report));
    etx_float_environment_enter(&host);
    status = etx_trainer_run_validation(trainer, &made);
    etx_float_environment_leave(&host);
    ETX_CHECK(status);
    copy_report(report, &made);
done:
    return status;
}

etx_status etx_trainer_save_checkpoint(
    const etx_trainer *trainer, const char *path)
{
    etx_status status;

    ETX_CHECK(
        etx_check_given("etx_trainer_save_checkpoint", "trainer", trainer));
    ETX_CHECK(etx_check_given("etx_trainer_save_checkpoint", "path", path));
    ETX_CHECK(etx_checkpoint_write(trainer, path));
done:
    return status;
}

etx_status etx_trainer_load_checkpoint(etx_trainer *trainer, const char *path)
{
    etx_status status;

    ETX_CHECK(
        etx_check_given("etx_trainer_load_checkpoint", "trainer", trainer));
    ETX_CHECK(etx_check_given("etx_trainer_load_checkpoint", "path", path));
    ETX_CHECK(etx_checkpoint_read(trainer, path));
done:
    return status;
}

uint64_t etx_trainer_hash(const etx_trainer *trainer)
{
    return trainer == NULL ? 0 : etx_trainer_hash_state(trainer);
}

etx_status etx_trainer_model(etx_model **out, const etx_trainer *trainer)
{
    fenv_t host;
    etx_status status;

    ETX_CHECK(etx_check_given("etx_trainer_model", "out", out));
    ETX_CHECK(etx_check_given("etx_trainer_model", "trainer", trainer));
    etx_float_environment_enter(&host);
    status = etx_trainer_export(out, trainer);
    etx_float_environment_leave(&host);
done:
    return status;
}

void etx_trainer_free(etx_trainer *trainer)
{
    etx_trainer_close(trainer);
}
