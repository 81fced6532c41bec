/* api/train.c -- train the networks of a pipeline.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/train.h>

#include "api/arguments.h"
#include "base/check.h"
#include "base/options.h"
#include "base/status.h"
#include "train/ranks/gradient.h"
#include "train/ranks/team.h"
#include "train/sampling/event_order.h"
#include "train/train.h"
#include "train/validation/validate.h"

/* sizeof(etx_training_report) in its first release. */
#define REPORT_FIRST_SIZE ETX_SIZE_UP_TO(etx_training_report, n_skipped)

etx_status etx_trainer_create(etx_trainer **out, etx_context *context,
    const char *config, const etx_model *start)
{
    ETX_FORWARD(etx_trainer_open(out, context, config, start), ETX_GIVEN(out),
        ETX_GIVEN(context), ETX_GIVEN(config));
}

etx_status etx_trainer_add_event(
    etx_trainer *trainer, const etx_event *event, int32_t validation)
{
    ETX_FORWARD_IN(trainer->context,
        etx_trainer_insert_event(trainer, event, event->n_hits, -1, validation),
        ETX_GIVEN(trainer), ETX_GIVEN(event));
}

etx_status etx_trainer_add_event_of_rank(etx_trainer *trainer,
    const etx_event *event, int64_t n_hits, int32_t rank, int32_t validation)
{
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(trainer), ETX_END));
    ETX_CHECK(etx_check_count(__func__, "n_hits", n_hits));
    if (rank < 0 || rank >= trainer->team.n_ranks)
        ETX_FAIL(ETX_ERR_ARGUMENT, "%s: rank %d of a team of %d", __func__,
            (int)rank, (int)trainer->team.n_ranks);
    if ((event != NULL) != (rank == trainer->team.rank))
        ETX_FAIL(ETX_ERR_ARGUMENT,
            "%s: rank %d has the event, this is rank %d, and event is %s",
            __func__, (int)rank, (int)trainer->team.rank,
            event == NULL ? "NULL" : "given");
    ETX_CHECK(
        etx_trainer_insert_event(trainer, event, n_hits, rank, validation));
done:
    return etx_call_end(&host, status);
}

etx_status etx_trainer_set_team(etx_trainer *trainer, const etx_team *team)
{
    etx_team used = {.struct_size = sizeof used, .n_ranks = 1};
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(trainer), ETX_END));
    if (team != NULL)
        ETX_CHECK(etx_team_read(&used, team));
    if (used.n_ranks > 1 && trainer->partition.n_parts > 0)
        ETX_FAIL(ETX_ERR_ARGUMENT, "%s: the trainer computes parts of graphs",
            __func__);
    ETX_CHECK(etx_trainer_join(trainer, &used));
done:
    return etx_call_end(&host, status);
}

etx_status etx_gradient_sum(
    float *const *slice, int64_t n_values, int64_t n_slices)
{
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_END));
    ETX_CHECK(etx_check_count(__func__, "n_slices", n_slices));
    ETX_CHECK(
        etx_check_array(__func__, "slice", slice, n_slices, sizeof *slice));
    ETX_CHECK(etx_check_count(__func__, "n_values", n_values));
    for (int64_t k = 0; k < n_slices; k++)
        ETX_CHECK(
            etx_check_array(__func__, ETX_ARRAY(slice[k], n_values, float)));
    etx_gradient_sum_tree(slice, n_slices, n_values);
done:
    return etx_call_end(&host, status);
}

etx_status etx_trainer_set_cache(etx_trainer *trainer, const char *folder)
{
    ETX_FORWARD(etx_trainer_open_cache(trainer, folder), ETX_GIVEN(trainer),
        ETX_GIVEN(folder));
}

etx_status etx_trainer_set_parts(etx_trainer *trainer, int32_t n_parts,
    int32_t part, int32_t order, const etx_part_exchange *exchange)
{
    struct etx_train_partition parts = {
        .n_parts = n_parts, .part = part, .order = order};
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(trainer), ETX_END));
    ETX_CHECK(etx_check_part(__func__, n_parts, part, order));
    if (exchange == NULL && n_parts == 1)
        parts.n_parts = 0;
    else
        ETX_CHECK(etx_read_exchange(&parts.exchange, __func__, exchange));
    ETX_CHECK(etx_trainer_partition(trainer, &parts));
done:
    return etx_call_end(&host, status);
}

ETX_GETTER(int64_t, etx_trainer_steps_done, etx_trainer, progress.step, 0)
ETX_GETTER(
    int64_t, etx_trainer_n_steps, etx_trainer, config.schedule.n_steps, 0)

int64_t etx_trainer_epoch_steps(const etx_trainer *trainer)
{
    return trainer == NULL ? 0
                           : etx_train_steps_per_epoch(
                                 &trainer->training, &trainer->config);
}

int32_t etx_trainer_is_new(const etx_trainer *trainer)
{
    return trainer != NULL && etx_json_get(trainer->config.json, "model");
}

int32_t etx_trainer_is_finished(const etx_trainer *trainer)
{
    return trainer == NULL ? 1 : etx_trainer_finished(trainer);
}

/* Run a step or a validation; its report as far as the caller knows it. */
static etx_status make_report(etx_training_report *report, etx_trainer *trainer,
    etx_status (*run)(etx_trainer *trainer, etx_training_report *report))
{
    etx_training_report filled;
    etx_status status;

    ETX_CHECK(etx_report_check(report, REPORT_FIRST_SIZE, "training report"));
    ETX_CHECK(run(trainer, &filled));
    etx_report_write(report, &filled, sizeof filled);
done:
    return status;
}

etx_status etx_trainer_step(etx_training_report *report, etx_trainer *trainer)
{
    ETX_FORWARD_IN(trainer->context,
        make_report(report, trainer, etx_trainer_run_step), ETX_GIVEN(trainer),
        ETX_GIVEN(report));
}

etx_status etx_trainer_validate(
    etx_training_report *report, etx_trainer *trainer)
{
    ETX_FORWARD_IN(trainer->context,
        make_report(report, trainer, etx_trainer_run_validation),
        ETX_GIVEN(trainer), ETX_GIVEN(report));
}

etx_status etx_trainer_save_checkpoint(
    const etx_trainer *trainer, const char *path)
{
    ETX_FORWARD_IN(trainer->context, etx_checkpoint_write(trainer, path),
        ETX_GIVEN(trainer), ETX_GIVEN(path));
}

etx_status etx_trainer_load_checkpoint(etx_trainer *trainer, const char *path)
{
    ETX_FORWARD_IN(trainer->context, etx_checkpoint_read(trainer, path),
        ETX_GIVEN(trainer), ETX_GIVEN(path));
}

uint64_t etx_trainer_hash(const etx_trainer *trainer)
{
    return trainer == NULL ? 0 : etx_trainer_hash_state(trainer);
}

etx_status etx_trainer_model(etx_model **out, const etx_trainer *trainer)
{
    ETX_FORWARD(
        etx_trainer_export(out, trainer), ETX_GIVEN(out), ETX_GIVEN(trainer));
}

void etx_trainer_free(etx_trainer *trainer)
{
    etx_trainer_close(trainer);
}
