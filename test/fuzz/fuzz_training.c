/* fuzz_training.c -- hostile configs of trainings; the first byte says on which
 * models. What is accepted is trained for two steps, and continued from its
 * checkpoint.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_support.h"

#include "train/trainer.h"

#include <exatrkx/train.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_EVENTS   2 /* the last one to validate on */
#define MAX_VALUES 100000

static etx_event *events[N_EVENTS];
static etx_model *start;

int LLVMFuzzerInitialize(int *n_arguments, char ***arguments)
{
    (void)n_arguments;
    (void)arguments;
    for (int32_t k = 0; k < N_EVENTS; k++)
        events[k] = fuzz_event(6, (uint64_t)k);
    start = fuzz_model(fuzz_model_config);
    return 0;
}

/* A checkpoint continues the training that wrote it. */
static void save_and_load(etx_trainer *trainer)
{
    const char *path = fuzz_path("checkpoint");
    const uint64_t hash = etx_trainer_hash(trainer);

    if (etx_trainer_save_checkpoint(trainer, path) != ETX_OK)
        return;
    fuzz_require(etx_trainer_load_checkpoint(trainer, path) == ETX_OK,
        "its own checkpoint is refused");
    fuzz_require(etx_trainer_hash(trainer) == hash, "another state is loaded");
    (void)unlink(path);
}

/* A model that is written is read again. */
static void make_model(const etx_trainer *trainer)
{
    const char *path = fuzz_path("model");
    etx_model *model = NULL;
    etx_model *again = NULL;

    if (etx_trainer_model(&model, trainer) != ETX_OK)
        return;
    if (etx_model_save(model, path) == ETX_OK) {
        fuzz_require(
            etx_model_load(&again, path) == ETX_OK, "its own model is refused");
        (void)unlink(path);
    }
    etx_model_free(again);
    etx_model_free(model);
}

static etx_status train(etx_trainer *trainer)
{
    etx_training_report report = {.struct_size = sizeof report};
    etx_status status = ETX_OK;

    for (int32_t k = 0; k < N_EVENTS && status == ETX_OK; k++)
        status = etx_trainer_add_event(trainer, events[k], k == N_EVENTS - 1);
    for (int32_t n = 0; n < 2 && status == ETX_OK; n++)
        if (!etx_trainer_is_finished(trainer))
            status = etx_trainer_step(&report, trainer);
    if (status == ETX_OK)
        status = etx_trainer_validate(&report, trainer);
    if (status == ETX_OK) {
        save_and_load(trainer);
        make_model(trainer);
    }
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *config = calloc(size + 1, 1);
    etx_trainer *trainer = NULL;
    etx_status status;

    if (size == 0 || config == NULL) {
        free(config);
        return 0;
    }
    memcpy(config, data + 1, size - 1);
    etx_context *context = fuzz_kept_context(1 + (data[0] >> 1 & 1));
    status = etx_trainer_create(
        &trainer, context, config, (data[0] & 1) != 0 ? start : NULL);
    if (status == ETX_OK && trainer->stage->network->n_values < MAX_VALUES)
        status = train(trainer);
    etx_trainer_free(trainer);
    free(config);
    fuzz_check_kept(status);
    return 0;
}
