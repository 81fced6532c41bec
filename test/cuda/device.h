/* device.h -- a context on a device, and an event to compare it on.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_CUDA_DEVICE_H
#define ETX_TEST_CUDA_DEVICE_H

#include "support.h"

/* Options of a context on the first device; and one in float32, or NULL after
 * etx_test_skip(name, ...) where there is no device. */
etx_context_options device_options(int32_t precision);
etx_context *device_context(const char *name);

/* The same event on the CPU and on a device. */
struct device_job {
    etx_context *cpu, *cuda;
    etx_model *model;
    etx_event *event;
    etx_graph *graph; /* NULL, or what the filter leaves on the CPU */
};

#define scoped_device_job SCOPED(device_job_free) struct device_job

/* The default model and an event that ships; 0 after etx_test_skip(name, ...)
 * where there is no device. */
int32_t device_job_make(struct device_job *out, const char *name,
    const char *event, const etx_context_options *options);
void device_job_filter(struct device_job *both);
/* A copy of the scores of the graph, to be freed. */
float *device_job_scores(const struct device_job *both);
void device_job_free(struct device_job *both);

#endif
