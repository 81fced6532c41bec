/* test/upgrade/files.c -- what a release leaves in files and later versions
 * read: a model, a checkpoint, the defaults of its options.
 *
 * `files write FOLDER` is of make abi-baseline. `files read FOLDER`, compiled
 * against the headers of the release, goes on from its files with the library
 * of today. Both print the defaults, byte by byte.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/eval.h>
#include <exatrkx/fit.h>
#include <exatrkx/graph.h>
#include <exatrkx/train.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_PARTICLES 6
#define N_LAYERS    5
#define N_HITS      (N_PARTICLES * N_LAYERS)

static const char config[] =
    "{\"stage\": \"embedding\", \"model\": {\"arch\": \"mlp\","
    " \"options\": {\"hidden\": [8], \"n_out\": 2},"
    " \"node_features\": [{\"name\": \"r\", \"scale\": 1000.0},"
    " {\"name\": \"z\", \"scale\": 1000.0}], \"graph\": {\"radius\": 0.3}},"
    " \"schedule\": {\"steps\": 2}}";

static void check(const char *call, etx_status status)
{
    if (status == ETX_OK)
        return;
    fprintf(stderr, "%s: %s\n", call, etx_last_error());
    exit(1);
}

#define CHECK(call) check(#call, call)

/* Straight particles through the layers of a barrel. */
static etx_event *make_event(void)
{
    float position[N_HITS][3];
    int64_t particle_id[N_HITS];
    etx_particle particle[N_PARTICLES];
    etx_event *event = NULL;

    for (int p = 0; p < N_PARTICLES; p++)
        particle[p] = (etx_particle){
            .id = p + 1, .momentum = {1.0f, 0.0f, 0.2f}, .charge = 1};
    for (int i = 0; i < N_HITS; i++) {
        const float r = 50.0f * (float)(1 + i % N_LAYERS);

        particle_id[i] = 1 + i / N_LAYERS;
        position[i][0] = r;
        position[i][1] = 0.0f;
        position[i][2] = r * 0.2f * (float)particle_id[i];
    }
    CHECK(etx_event_create(&event, N_HITS, NULL, position[0]));
    CHECK(etx_event_set_truth(event, particle_id, NULL, N_PARTICLES, particle));
    return event;
}

/* Four bytes a line, so that the first that differs tells the field. */
static void print_bytes(const char *name, const void *bytes, size_t size)
{
    for (size_t k = 0; k < size; k++) {
        if (k % 4 == 0)
            printf("%s %d:", name, (int)k);
        printf(" %02x%s", ((const unsigned char *)bytes)[k],
            k % 4 == 3 ? "\n" : "");
    }
}

#define PRINT_DEFAULTS(name)                                                   \
    {                                                                          \
        etx_##name options;                                                    \
        memset(&options, 0, sizeof options);                                   \
        CHECK(etx_##name##_init(&options, sizeof options));                    \
        print_bytes(#name, &options, sizeof options);                          \
    }

static void print_defaults(void)
{
    PRINT_DEFAULTS(context_options)
    PRINT_DEFAULTS(graph_options)
    PRINT_DEFAULTS(label_options)
    PRINT_DEFAULTS(completion_options)
    PRINT_DEFAULTS(first_pass_options)
    PRINT_DEFAULTS(module_map_options)
    PRINT_DEFAULTS(fit_options)
    PRINT_DEFAULTS(resolve_options)
    PRINT_DEFAULTS(evaluation_options)
}

/* The first of two steps of a training. */
static void write_files(
    etx_trainer *trainer, const char *model_path, const char *checkpoint_path)
{
    etx_training_report report = {.struct_size = sizeof report};
    etx_model *model = NULL;

    CHECK(etx_trainer_step(&report, trainer));
    CHECK(etx_trainer_save_checkpoint(trainer, checkpoint_path));
    CHECK(etx_trainer_model(&model, trainer));
    CHECK(etx_model_save(model, model_path));
    etx_model_free(model);
}

/* The second, and the points of the model. */
static void read_files(etx_trainer *trainer, etx_context *context,
    etx_event *event, const char *model_path, const char *checkpoint_path)
{
    etx_training_report report = {.struct_size = sizeof report};
    float points[2 * N_HITS];
    etx_model *model = NULL;
    int64_t n_dim = 0;

    CHECK(etx_trainer_load_checkpoint(trainer, checkpoint_path));
    CHECK(etx_trainer_step(&report, trainer));
    CHECK(etx_model_load(&model, model_path));
    CHECK(etx_embed(&n_dim, points, 2 * N_HITS, context, model, event));
    if (report.step != 2 || n_dim != 2) {
        fprintf(stderr, "step %d, points of %d numbers\n", (int)report.step,
            (int)n_dim);
        exit(1);
    }
    etx_model_free(model);
}

int main(int argc, char **argv)
{
    char model_path[4096], checkpoint_path[4096];
    etx_context *context = NULL;
    etx_event *event = make_event();
    etx_trainer *trainer = NULL;

    if (argc != 3)
        return 2;
    (void)snprintf(
        model_path, sizeof model_path, "%s/model.safetensors", argv[2]);
    (void)snprintf(
        checkpoint_path, sizeof checkpoint_path, "%s/checkpoint", argv[2]);
    CHECK(etx_context_create(&context, NULL));
    CHECK(etx_trainer_create(&trainer, context, config, NULL));
    CHECK(etx_trainer_add_event(trainer, event, 0));
    if (strcmp(argv[1], "write") == 0)
        write_files(trainer, model_path, checkpoint_path);
    else
        read_files(trainer, context, event, model_path, checkpoint_path);
    print_defaults();
    etx_trainer_free(trainer);
    etx_event_free(event);
    etx_context_free(context);
    return 0;
}
