/* examples/small/train.c -- train a small embedding on one event.
 *
 *     train EVENT OUT
 *
 * EVENT is the prefix of an event in TrackML form with truth, OUT the model
 * file to write. The JSON is described in docs/training_config.md.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <exatrkx/train.h>

static const char config[] =
    "{\"stage\": \"embedding\","
    " \"model\": {\"arch\": \"mlp\","
    "  \"options\": {\"hidden\": [32, 32], \"n_out\": 4},"
    "  \"node_features\": [{\"name\": \"r\", \"scale\": 1000.0},"
    "   {\"name\": \"phi\", \"scale\": 3.14159265},"
    "   {\"name\": \"z\", \"scale\": 1000.0}],"
    "  \"graph\": {\"radius\": 0.3}},"
    " \"schedule\": {\"steps\": 20}}";

static etx_status train(const etx_event *event, const char *path)
{
    etx_training_report report = {.struct_size = sizeof report};
    etx_context *context = NULL;
    etx_trainer *trainer = NULL;
    etx_model *model = NULL;
    etx_status status = etx_context_create(&context, NULL);

    if (status == ETX_OK)
        status = etx_trainer_create(&trainer, context, config, NULL);
    if (status == ETX_OK)
        status = etx_trainer_add_event(trainer, event, 0);
    while (status == ETX_OK && !etx_trainer_is_finished(trainer)) {
        status = etx_trainer_step(&report, trainer);
        if (status == ETX_OK)
            printf(
                "step %lld: loss %.4f\n", (long long)report.step, report.loss);
    }
    if (status == ETX_OK)
        status = etx_trainer_model(&model, trainer);
    if (status == ETX_OK)
        status = etx_model_save(model, path);
    etx_model_free(model);
    etx_trainer_free(trainer);
    etx_context_free(context);
    return status;
}

int main(int argc, char **argv)
{
    etx_event *event = NULL;
    int failed = argc != 3;

    if (failed)
        fprintf(stderr, "usage: train EVENT OUT\n");
    else if (etx_event_read_trackml(&event, argv[1], NULL) ||
             train(event, argv[2])) {
        fprintf(stderr, "%s\n", etx_last_error());
        failed = 1;
    }
    etx_event_free(event);
    return failed;
}
