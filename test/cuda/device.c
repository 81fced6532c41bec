/* device.c -- a context on a device, and an event to compare it on.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

etx_context_options device_options(int32_t precision)
{
    etx_context_options options;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.device = ETX_DEVICE_CUDA;
    options.precision = precision;
    return options;
}

static etx_context *open_device(
    const char *name, const etx_context_options *options)
{
    etx_context *device = NULL;

    if (etx_context_create(&device, options) != ETX_OK)
        etx_test_skip(name, etx_last_error());
    return device;
}

etx_context *device_context(const char *name)
{
    const etx_context_options options = device_options(ETX_PRECISION_FLOAT32);

    return open_device(name, &options);
}

int32_t device_job_make(struct device_job *out, const char *name,
    const char *event, const etx_context_options *options)
{
    *out = (struct device_job){.cuda = open_device(name, options)};
    if (out->cuda == NULL)
        return 0;
    out->cpu = etx_test_context();
    etx_test_open_example(&out->model, &out->event, event);
    return 1;
}

void device_job_filter(struct device_job *both)
{
    scoped_graph *all = NULL;

    ck_assert_ok(etx_graph_build(&all, both->cpu, both->model, both->event));
    ck_assert_ok(etx_graph_filter(
        &both->graph, all, both->cpu, both->model, both->event));
}

float *device_job_scores(const struct device_job *both)
{
    const int64_t n = etx_graph_n_edges(both->graph);
    float *out = etx_test_alloc(n, sizeof *out);

    memcpy(out, etx_graph_scores(both->graph), (size_t)n * sizeof *out);
    return out;
}

void device_job_free(struct device_job *both)
{
    etx_graph_free(both->graph);
    etx_event_free(both->event);
    etx_model_free(both->model);
    etx_context_free(both->cuda);
    etx_context_free(both->cpu);
}
