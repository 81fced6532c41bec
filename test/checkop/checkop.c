/* checkop/checkop.c -- run an operator on every implementation and compare.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "checkop.h"

#include "backend/backend.h"
#include "base/cpu.h"
#include "base/poison.h"

#include <check.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_BYTES 128
#define GUARD_VALUE 0xA5
#define SEED        101

struct checkop check;

static const int32_t pool_threads[CHECKOP_N_POOLS] = {1, 2, 4};
/* Memory with a guard zone before and after the data. */
struct checkop_buffer {
    struct checkop_buffer *next;
    unsigned char *memory;
    size_t before, size; /* bytes in front of the data, and of the data */
};

/* ---------------------------------------------------- start and buffers -- */

/* The device after the implementations that are counted, unless this machine
 * has none: it takes cases, whose arrays it reaches, and nothing else. */
static void add_device(void)
{
    etx_context_options options;

    if (etx_context_options_init(&options, sizeof options) != ETX_OK)
        ck_abort_msg("no options: %s", etx_last_error());
    options.device = ETX_DEVICE_CUDA;
    if (etx_context_create(&check.device, &options) != ETX_OK)
        return;
    check.implementation[check.n_implementations] =
        (struct checkop_implementation){.name = "cuda",
            .ops = *check.device->ops,
            .stream = check.device->stream};
}

void checkop_must(etx_status status)
{
    if (status == ETX_OK)
        return;
    fprintf(stderr, "checkop: %s\n", etx_last_error());
    abort();
}

/* The highest level to check: that of ETX_CPU, or of the processor. */
static int32_t last_level(void)
{
    const char *const name = getenv("ETX_CPU");
    const int32_t has = etx_cpu_level();

    if (name == NULL)
        return has;
    for (int32_t level = ETX_CPU_REF; level < ETX_N_CPU_LEVELS; level++)
        if (strcmp(etx_cpu_level_names[level], name) == 0)
            return level < has ? level : has;
    ck_abort_msg("ETX_CPU=%s is no instruction set", name);
    return has;
}

void checkop_start(void)
{
    memset(&check, 0, sizeof check);
    etx_random_init(&check.random, SEED, 0, 0);
    check.implementation[0].name = "ref";
    check.implementation[0].ops = etx_op_ref;
    check.n_implementations = 1;
    ETX_EACH_CPU_LEVEL (level) {
        if (level == ETX_CPU_REF || level > last_level())
            continue;
        struct checkop_implementation *const next =
            &check.implementation[check.n_implementations++];
        next->name = etx_cpu_level_names[level];
        next->ops = etx_op_ref;
        etx_op_simd(&next->ops, level);
    }
    for (int32_t p = 0; p < CHECKOP_N_POOLS; p++) {
        struct etx_stream *const stream = &check.stream[p];
        if (etx_arena_create(&stream->arena, 0) != ETX_OK ||
            etx_pool_create(&stream->pool, pool_threads[p]) != ETX_OK)
            ck_abort_msg("no stream: %s", etx_last_error());
    }
    add_device();
}

/* A passing assertion of Check costs a system call, so loops here look first
 * and assert only what failed. */
static void check_zone(const struct checkop_buffer *buffer,
    const unsigned char *zone, size_t size, const char *where)
{
    etx_unpoison(zone, size);
    for (size_t i = 0; i < size; i++)
        if (zone[i] != GUARD_VALUE)
            ck_abort_msg("written %zu bytes into the zone %s a buffer of %zu",
                i, where, buffer->size);
    etx_poison(zone, size);
}

static void check_guards(const struct checkop_buffer *buffer)
{
    check_zone(buffer, buffer->memory, buffer->before, "before");
    check_zone(buffer, buffer->memory + buffer->before + buffer->size,
        GUARD_BYTES, "after");
}

static void check_all_guards(void)
{
    for (const struct checkop_buffer *buffer = check.buffers; buffer != NULL;
         buffer = buffer->next)
        check_guards(buffer);
}

void checkop_stop(void)
{
    check_all_guards();
    while (check.buffers != NULL) {
        struct checkop_buffer *const buffer = check.buffers;
        check.buffers = buffer->next;
        etx_unpoison(
            buffer->memory, buffer->before + buffer->size + GUARD_BYTES);
        checkop_shared_free(buffer->memory);
        free(buffer);
    }
    for (int32_t p = 0; p < CHECKOP_N_POOLS; p++) {
        etx_pool_free(check.stream[p].pool);
        etx_arena_free(check.stream[p].arena);
    }
    etx_context_free(check.device);
}

void *checkop_buffer(int64_t n, size_t size)
{
    struct checkop_buffer *const buffer = malloc(sizeof *buffer);

    if (buffer == NULL)
        ck_abort_msg("no memory");
    buffer->before = GUARD_BYTES + (size < 16 ? size : 0);
    buffer->size = (size_t)n * size;
    const size_t whole = buffer->before + buffer->size + GUARD_BYTES;
    buffer->memory = checkop_shared_alloc(whole);
    if (buffer->memory == NULL)
        ck_abort_msg("no memory");
    memset(buffer->memory, GUARD_VALUE, whole);
    memset(buffer->memory + buffer->before, 0, buffer->size);
    etx_poison(buffer->memory, buffer->before);
    etx_poison(buffer->memory + buffer->before + buffer->size, GUARD_BYTES);
    buffer->next = check.buffers;
    check.buffers = buffer;
    return buffer->memory + buffer->before;
}

void *checkop_copy(const void *values, int64_t n, size_t size)
{
    return memcpy(checkop_buffer(n, size), values, (size_t)n * size);
}

/* --------------------------------------------------------- random input -- */

static float random_value(void)
{
    static const float products[] = {0.0f, -0.0f, 1e-42f, -1e-39f, 1e-20f,
        -1e-10f, 1e-3f, -1.0f, 1.0f, 3.0f, -1e5f, 1e10f, -1e15f};
    static const float extreme[] = {0.0f, -0.0f, 1e-45f, -1e-40f, 1e-30f,
        -1e-6f, 0.5f, -1.0f, 17.0f, -88.0f, 104.0f, -1e10f, 1e30f, -1e30f,
        FLT_MAX, -FLT_MAX};
    struct etx_random *const random = &check.random;

    if (check.values == CHECKOP_NORMAL || etx_random_below(random, 2) == 0)
        return etx_random_normal(random);
    if (check.values == CHECKOP_PRODUCTS)
        return products[etx_random_below(
            random, sizeof products / sizeof products[0])];
    return extreme[etx_random_below(
        random, sizeof extreme / sizeof extreme[0])];
}

float *checkop_floats(int64_t n)
{
    float *const out = checkop_buffer(n, sizeof *out);

    for (int64_t i = 0; i < n; i++)
        out[i] = random_value();
    return out;
}

float *checkop_uniform(int64_t n, float low, float high)
{
    float *const out = checkop_buffer(n, sizeof *out);

    for (int64_t i = 0; i < n; i++)
        out[i] = low + (high - low) * etx_random_uniform(&check.random);
    return out;
}

int32_t *checkop_indices(int64_t n, int32_t bound)
{
    int32_t *const out = checkop_buffer(n, sizeof *out);

    for (int64_t i = 0; i < n; i++)
        out[i] = (int32_t)etx_random_below(&check.random, (uint64_t)bound);
    return out;
}

int32_t *checkop_permutation(int64_t n)
{
    int32_t *const out = checkop_buffer(n, sizeof *out);

    for (int64_t i = 0; i < n; i++)
        out[i] = (int32_t)i;
    etx_random_shuffle(&check.random, out, n);
    return out;
}

int64_t *checkop_offsets(int64_t n_segments, int64_t n_values)
{
    int64_t *const out = checkop_buffer(n_segments + 1, sizeof *out);

    /* Each value chooses a segment; a tenth of them the middle one. */
    for (int64_t v = 0; v < n_values; v++) {
        const uint64_t bound = (uint64_t)n_segments;
        const int64_t s = v % 10 == 0
                              ? n_segments / 2
                              : (int64_t)etx_random_below(&check.random, bound);
        out[s + 1]++;
    }
    for (int64_t s = 0; s < n_segments; s++)
        out[s + 1] += out[s];
    return out;
}

/* --------------------------------------------------------------- bounds -- */

void *checkop_begin(struct checkop_case *self, const char *op, size_t args_size)
{
    *self =
        (struct checkop_case){.op = op, .args = checkop_buffer(1, args_size)};
    return self->args;
}

struct checkop_output *checkop_add_output(struct checkop_case *self,
    const char *name, void *data, int64_t n, size_t size)
{
    if (self->n_outputs == CHECKOP_MAX_OUTPUTS)
        ck_abort_msg("too many outputs");
    struct checkop_output *const output = &self->output[self->n_outputs++];

    *output = (struct checkop_output){
        .name = name, .data = data, .n = n, .size = size};
    output->initial = checkop_buffer(n, size);
    memcpy(output->initial, data, (size_t)n * size);
    return output;
}

void checkop_add_input(struct checkop_case *self, float *data, int64_t n)
{
    if (self->n_inputs == CHECKOP_MAX_INPUTS)
        ck_abort_msg("too many inputs");
    self->input[self->n_inputs++] = (struct checkop_input){data, n};
}

void checkop_label(struct checkop_case *self, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    (void)vsnprintf(self->label, sizeof self->label, format, list);
    va_end(list);
}

void checkop_flat_bound(struct checkop_output *output, double value)
{
    output->bound = checkop_buffer(output->n, sizeof(double));
    for (int64_t i = 0; i < output->n; i++)
        output->bound[i] = value;
}

double checkop_sum_bound(int64_t n_terms, double magnitude)
{
    const double n = (double)n_terms;

    return 8.0 * CHECKOP_EPS * sqrt(n) * magnitude + (n + 1.0) * 1.5e-45;
}

static void *copy_of(const void *data, int64_t n, size_t size)
{
    void *const copy = checkop_buffer(n, size);

    memcpy(copy, data, (size_t)n * size);
    return copy;
}

static void perturb(const struct checkop_input *input, int64_t n_terms)
{
    const float relative = (float)(CHECKOP_EPS * sqrt((double)n_terms));

    for (int64_t i = 0; i < input->n; i++) {
        const float u = 2.0f * etx_random_uniform(&check.random) - 1.0f;
        input->data[i] *= 1.0f + relative * u;
    }
}

static double largest(const float *values, const float *subtract, int64_t n)
{
    double out = 0.0;

    for (int64_t i = 0; i < n; i++) {
        const double base = subtract != NULL ? (double)subtract[i] : 0.0;
        out = fmax(out, fabs((double)values[i] - base));
    }
    return out;
}

void checkop_perturbation_bounds(struct checkop_case *self, int64_t n_terms)
{
    void *input[CHECKOP_MAX_INPUTS];
    void *expected[CHECKOP_MAX_OUTPUTS];

    for (int32_t o = 0; o < self->n_outputs; o++) {
        struct checkop_output *const output = &self->output[o];
        expected[o] = copy_of(output->data, output->n, output->size);
        checkop_flat_bound(
            output, 4.0 * CHECKOP_EPS * largest(output->data, NULL, output->n));
    }
    for (int32_t i = 0; i < self->n_inputs; i++)
        input[i] =
            copy_of(self->input[i].data, self->input[i].n, sizeof(float));
    for (int32_t draw = 0; draw < 2; draw++) {
        for (int32_t i = 0; i < self->n_inputs; i++)
            perturb(&self->input[i], n_terms);
        checkop_run_reference(self);
        for (int32_t o = 0; o < self->n_outputs; o++) {
            struct checkop_output *const output = &self->output[o];
            const double change = largest(output->data, expected[o], output->n);
            for (int64_t t = 0; t < output->n; t++)
                output->bound[t] = fmax(output->bound[t], 16.0 * change);
        }
        for (int32_t i = 0; i < self->n_inputs; i++)
            memcpy(self->input[i].data, input[i],
                (size_t)self->input[i].n * sizeof(float));
    }
}

/* ------------------------------------------------------------- compare -- */

static void restore_outputs(struct checkop_case *self)
{
    for (int32_t o = 0; o < self->n_outputs; o++)
        memcpy(self->output[o].data, self->output[o].initial,
            (size_t)self->output[o].n * self->output[o].size);
}

etx_status checkop_run(const struct etx_op_table *ops,
    struct etx_stream *stream, struct checkop_case *self)
{
    if (self->run != NULL)
        return self->run(ops, stream, self);
#define RUN(name)                                                              \
    if (strcmp(self->op, #name) == 0)                                          \
        return ops->name(stream, self->args);
    ETX_OPERATORS(RUN)
#undef RUN
    ck_abort_msg("no operator %s", self->op);
    return ETX_ERR_ARGUMENT;
}

static etx_status run_once(struct checkop_case *self, int32_t i, int32_t p)
{
    struct etx_stream *const stream = check.implementation[i].stream != NULL
                                          ? check.implementation[i].stream
                                          : &check.stream[p];
    const int64_t in_use = etx_arena_in_use(stream->arena);

    restore_outputs(self);
    etx_status status = checkop_run(&check.implementation[i].ops, stream, self);
    if (status == ETX_OK)
        status = etx_memory_synchronize(stream->memory);
    if (etx_arena_in_use(stream->arena) != in_use)
        ck_abort_msg("%s %s %s: scratch not freed", self->op, self->label,
            check.implementation[i].name);
    return status;
}

static int32_t is_near(double got, double want, double bound)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    return got == want || fabs(got - want) <= bound;
}

static double element(
    const struct checkop_output *output, const void *data, int64_t i)
{
    if (output->size == sizeof(double))
        return ((const double *)data)[i];
    return (double)((const float *)data)[i];
}

static void compare(const struct checkop_case *self,
    const struct checkop_output *output, const void *want, const char *who)
{
    const unsigned char *const got_bytes = output->data;
    const unsigned char *const want_bytes = want;

    for (int64_t i = 0; i < output->n; i++) {
        const size_t at = (size_t)i * output->size;
        if (memcmp(got_bytes + at, want_bytes + at, output->size) == 0)
            continue;
        if (output->bound == NULL)
            ck_abort_msg("%s %s %s: %s[%" PRId64 "] is not the same", self->op,
                self->label, who, output->name, i);
        const double got = element(output, output->data, i);
        const double expected = element(output, want, i);
        if (!is_near(got, expected, output->bound[i]))
            ck_abort_msg("%s %s %s: %s[%" PRId64
                         "] is %.9g, not %.9g within %.3g",
                self->op, self->label, who, output->name, i, got, expected,
                output->bound[i]);
    }
}

void checkop_run_and_copy(
    float **copy, struct checkop_case *self, const struct etx_op_table *ops)
{
    for (int32_t k = 0; k < self->n_outputs; k++)
        memcpy(self->output[k].data, self->output[k].initial,
            (size_t)self->output[k].n * self->output[k].size);
    ck_assert_ok(checkop_run(ops, &check.stream[0], self));
    for (int32_t k = 0; k < self->n_outputs; k++) {
        copy[k] = checkop_buffer(self->output[k].n, sizeof **copy);
        memcpy(copy[k], self->output[k].data,
            (size_t)self->output[k].n * sizeof **copy);
    }
}

int32_t checkop_is_own(int32_t i, const struct checkop_case *self)
{
    const struct etx_op_table *const ops = &check.implementation[i].ops;

#define SAME(name)                                                             \
    if (strcmp(self->op, #name) == 0)                                          \
        return ops->name != etx_op_ref.name;
    ETX_OPERATORS(SAME)
#undef SAME
    ck_abort_msg("no operator %s", self->op);
    return 0;
}

void checkop_run_reference(struct checkop_case *self)
{
    if (run_once(self, 0, 0) != ETX_OK)
        ck_abort_msg("%s %s: %s", self->op, self->label, etx_last_error());
}

/* One implementation on every pool, twice; the reference, which has run, once;
 * a device has no pools. */
static void verify_implementation(
    struct checkop_case *self, int32_t i, void *const *expected)
{
    const char *const name = check.implementation[i].name;
    void *first[CHECKOP_MAX_OUTPUTS];
    const int32_t n_pools =
        check.implementation[i].stream != NULL ? 1 : CHECKOP_N_POOLS;
    const int32_t n_turns = i == 0 ? n_pools : 2 * n_pools;

    for (int32_t turn = 0; turn < n_turns; turn++) {
        const int32_t p = turn % CHECKOP_N_POOLS;
        if (run_once(self, i, p) != ETX_OK)
            ck_abort_msg(
                "%s %s %s: %s", self->op, self->label, name, etx_last_error());
        for (int32_t o = 0; o < self->n_outputs; o++) {
            const struct checkop_output *const output = &self->output[o];
            const size_t bytes = (size_t)output->n * output->size;
            if (turn == 0) {
                compare(self, output, expected[o], name);
                first[o] = copy_of(output->data, output->n, output->size);
            }
            if (memcmp(output->data, first[o], bytes) != 0)
                ck_abort_msg("%s %s %s: %s differs with %d threads", self->op,
                    self->label, name, output->name, pool_threads[p]);
        }
    }
}

void checkop_verify(struct checkop_case *self)
{
    static int32_t said = ETX_CPU_REF; /* missing levels, up to this one */
    void *expected[CHECKOP_MAX_OUTPUTS];

    for (; said < ETX_N_CPU_LEVELS; said++)
        if (!etx_cpu_has(said))
            printf("SKIPPED checkop with %s: not of this processor\n",
                etx_cpu_level_names[said]);
    checkop_run_reference(self);
    for (int32_t o = 0; o < self->n_outputs; o++)
        expected[o] = copy_of(
            self->output[o].data, self->output[o].n, self->output[o].size);
    if (self->set_bounds != NULL)
        self->set_bounds(self);
    for (int32_t i = 0; i < check.n_implementations; i++)
        if (i == 0 || checkop_is_own(i, self))
            verify_implementation(self, i, expected);
    if (check.device != NULL && checkop_is_own(check.n_implementations, self))
        verify_implementation(self, check.n_implementations, expected);
    for (int32_t o = 0; o < self->n_outputs; o++)
        memcpy(self->output[o].data, expected[o],
            (size_t)self->output[o].n * self->output[o].size);
    check_all_guards();
}

void checkop_verify_failure(struct checkop_case *self, etx_status expected)
{
    for (int32_t i = 0; i < check.n_implementations; i++)
        for (int32_t p = 0; p < CHECKOP_N_POOLS; p++) {
            const etx_status status = run_once(self, i, p);
            ck_assert_msg(status == expected, "%s %s %s: status %d, not %d",
                self->op, self->label, check.implementation[i].name,
                (int)status, (int)expected);
        }
    check_all_guards();
}

static int32_t always(void *user)
{
    (void)user;
    return 1;
}

void checkop_verify_interrupted(struct checkop_case *self)
{
    for (int32_t p = 0; p < CHECKOP_N_POOLS; p++)
        check.stream[p].cancel = always;
    checkop_verify_failure(self, ETX_ERR_CANCELLED);
    for (int32_t p = 0; p < CHECKOP_N_POOLS; p++) {
        check.stream[p].cancel = NULL;
        etx_arena_free(check.stream[p].arena);
        checkop_must(etx_arena_create(&check.stream[p].arena, 64));
    }
    checkop_verify_failure(self, ETX_ERR_MEMORY);
}

/* ---------------------------------------------------------- gradients -- */

double checkop_dot(const float *a, const float *b, int64_t n)
{
    double sum = 0.0;

    for (int64_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* Fourth-order central difference at x[at]:
 * (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h. */
static double difference(const struct checkop_slope *slope, int64_t at)
{
    const float centre = slope->x[at];
    const float h = slope->step;
    double f[2][2];

    for (int32_t width = 0; width < 2; width++)
        for (int32_t side = 0; side < 2; side++) {
            const float sign = side == 0 ? -1.0f : 1.0f;
            slope->x[at] = centre + sign * (float)(width + 1) * h;
            f[width][side] = slope->objective(slope->user);
        }
    slope->x[at] = centre;
    return (8.0 * (f[0][1] - f[0][0]) - (f[1][1] - f[1][0])) /
           (12.0 * (double)h);
}

void checkop_verify_slope(const struct checkop_slope *slope)
{
    const double scale = slope->scale > 0.0
                             ? slope->scale
                             : largest(slope->gradient, NULL, slope->n);

    for (int64_t t = 0; t < slope->n_points && slope->n > 0; t++) {
        const int64_t at =
            slope->n_points >= slope->n
                ? t % slope->n
                : (int64_t)etx_random_below(&check.random, (uint64_t)slope->n);
        const double want = difference(slope, at);
        const double got = (double)slope->gradient[at];
        if (!(fabs(got - want) <=
                slope->relative * fabs(want) + slope->absolute * scale))
            ck_abort_msg("%s[%" PRId64 "]: gradient %.7g, difference %.7g",
                slope->name, at, got, want);
    }
}
