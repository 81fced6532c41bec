/* examples/program_context.c -- the context, the detector and the model that
 * the options and the environment of a program ask for.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cores.h"

#define MAX_THREADS 256

/* ETX_CPU=ref|avx2|avx512 forces an instruction set. */
static int cpu_level(int32_t *level)
{
    static const char *const names[] = {"ref", "avx2", "avx512"};
    static const int32_t levels[] = {ETX_CPU_REF, ETX_CPU_AVX2, ETX_CPU_AVX512};
    const char *asked = getenv("ETX_CPU");

    *level = ETX_CPU_BEST;
    if (asked == NULL || *asked == '\0')
        return 0;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strcmp(asked, names[k]) == 0) {
            *level = levels[k];
            return 0;
        }
    return program_usage("ETX_CPU=%s: not ref, avx2 or avx512", asked);
}

/* ETX_PRECISION of the environment. */
static int precision(int32_t *out)
{
    const char *asked = getenv("ETX_PRECISION");

    *out = ETX_PRECISION_BEST;
    if (asked == NULL || *asked == '\0')
        return 0;
    if (strcmp(asked, "float32") == 0)
        *out = ETX_PRECISION_FLOAT32;
    else if (strcmp(asked, "float16") == 0)
        *out = ETX_PRECISION_FLOAT16;
    else
        return program_usage("ETX_PRECISION=%s: not float32 or float16", asked);
    return 0;
}

/* The cores that this process may run on, at most as many as a context has
 * threads. */
static int64_t count_cores(void)
{
    double words[CORES_WORDS];
    int64_t n_cores;

    cores_describe(words);
    n_cores = cores_share(words, 1, 0);
    return n_cores > MAX_THREADS ? MAX_THREADS : n_cores;
}

int program_context(etx_context **out, const char *device, int64_t *n_threads)
{
    etx_context_options options;

    if (etx_context_options_init(&options, sizeof options) != ETX_OK)
        return program_failed(NULL);
    if (device != NULL && strcmp(device, "cuda") == 0)
        options.device = ETX_DEVICE_CUDA;
    else if (device != NULL && strcmp(device, "cpu") != 0)
        return program_usage("--device %s: not cpu or cuda", device);
    if (*n_threads == 0)
        *n_threads = count_cores();
    options.n_threads = (int32_t)*n_threads;
    if (cpu_level(&options.cpu_level) != 0 ||
        precision(&options.precision) != 0)
        return PROGRAM_USAGE;
    if (etx_context_create(out, &options) != ETX_OK)
        return program_failed(NULL);
    return 0;
}

etx_status program_timings(
    etx_stage_timing *timing, const etx_context *context)
{
    etx_status status = ETX_OK;

    for (int32_t s = 0; status == ETX_OK && s < ETX_N_STAGES; s++) {
        timing[s].struct_size = sizeof timing[s];
        status = etx_context_timing(&timing[s], context, s);
    }
    return status;
}

/* The folder of shipped files of the prefix that this program is installed in,
 * so that a prefix may be moved; "" when it is not known. */
static void find_prefix_data(char *out, size_t size)
{
    char path[PROGRAM_PATH_BYTES];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    char *slash;

    out[0] = '\0';
    if (n <= 0)
        return;
    path[n] = '\0';
    slash = strrchr(path, '/');
    if (slash == NULL)
        return;
    *slash = '\0';
    if (snprintf(out, size, "%s/../share/exatrkx", path) >= (int)size)
        out[0] = '\0';
}

char *program_shipped_file(const char *relative)
{
    char prefix_data[PROGRAM_PATH_BYTES];
    const char *places[] = {
        getenv("ETX_DATA"), prefix_data, ETX_DATA_DIR, "examples"};

    find_prefix_data(prefix_data, sizeof prefix_data);
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        char path[PROGRAM_PATH_BYTES];
        const int written =
            places[k] == NULL || *places[k] == '\0'
                ? -1
                : snprintf(path, sizeof path, "%s/%s", places[k], relative);

        if (written > 0 && (size_t)written < sizeof path &&
            access(path, R_OK) == 0)
            return program_copy_text(path);
    }
    return NULL;
}

/* path, or where it is NULL that of the shipped file, which the caller frees;
 * NULL after a message that names the option. */
static char *choose_file(
    const char *path, const char *relative, const char *option)
{
    char *found =
        path != NULL ? program_copy_text(path) : program_shipped_file(relative);

    if (found == NULL)
        (void)program_error("no %s in $ETX_DATA, ../share/exatrkx beside this "
                            "program, %s or examples: give %s FILE",
            relative, ETX_DATA_DIR, option);
    return found;
}

int program_detector(etx_detector **out, const char *path)
{
    char *file = choose_file(path, "data/detectors.csv.gz", "--detector");
    int result = file == NULL ? PROGRAM_FAILED : 0;

    if (result == 0 && etx_detector_read(out, file) != ETX_OK)
        result = program_failed(NULL);
    free(file);
    return result;
}

int program_model(etx_model **out, const char *path)
{
    char *file = choose_file(path, "models/default.safetensors", "--model");
    int result = file == NULL ? PROGRAM_FAILED : 0;

    if (result == 0 && etx_model_load(out, file) != ETX_OK)
        result = program_failed(NULL);
    free(file);
    return result;
}
