/* train/optimiser.c -- clip the gradient and step.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "base/check.h"

#include <math.h>

double etx_train_norm(int64_t n, const float *value)
{
    double sum = 0.0;

    for (int64_t k = 0; k < n; k++)
        sum += (double)value[k] * (double)value[k];
    return sqrt(sum);
}

static void scale_values(int64_t n, float *value, float factor)
{
    for (int64_t k = 0; k < n; k++)
        value[k] *= factor;
}

/* One block of parameters; weight decay belongs to weights alone. */
static etx_status update_parameter(struct etx_trainer *trainer,
    const struct etx_parameter *parameter, int64_t step, float learning_rate)
{
    const struct etx_train_optimiser *options = &trainer->config.optimiser;
    const int64_t at = parameter->offset;
    const struct etx_adamw_args args = {
        .n = (int64_t)parameter->n_rows * parameter->n_cols,
        .step = step,
        .learning_rate = learning_rate,
        .beta1 = options->beta1,
        .beta2 = options->beta2,
        .eps = options->eps,
        .weight_decay = parameter->decays ? options->weight_decay : 0.0f,
        .gradient = trainer->gradient + at,
        .parameter = trainer->stage->network->value + at,
        .m = trainer->m + at,
        .v = trainer->v + at,
        .v_max = trainer->v_max == NULL ? NULL : trainer->v_max + at};

    return etx_host_of(trainer->context)
        ->ops->adamw(etx_train_host(trainer), &args);
}

etx_status etx_train_update(struct etx_trainer *trainer, int64_t step,
    float learning_rate, double norm)
{
    const struct etx_network *network = trainer->stage->network;
    const double clip = (double)trainer->config.optimiser.gradient_clip;
    etx_status status = ETX_OK;

    if (!isfinite(norm))
        return etx_fail(ETX_ERR_ARGUMENT,
            "step %d: the gradient is not finite; a smaller learning_rate "
            "than %.9g may help",
            (int)step, (double)trainer->config.schedule.learning_rate);
    if (clip > 0.0 && norm > clip)
        scale_values(
            network->n_values, trainer->gradient, (float)(clip / norm));
    for (int32_t p = 0; p < network->n_parameters; p++)
        ETX_CHECK(update_parameter(
            trainer, network->parameter + p, step, learning_rate));
done:
    return status;
}
