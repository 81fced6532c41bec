/* test_cuda_half.c -- operators with float16 operands and storage, compared
 * with the reference, which computes in float32 from the same stored values.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/float16.h"
#include "cases.h"
#include "support.h"

/* Of the largest result: a few layers of operands rounded by 2^-11. */
#define MAX_ERROR 6e-3f

#define VECTOR_BYTES 16

/* What is stored as float16. */
enum storage {
    STORES_FLOATS,
    STORES_HALVES,  /* rows, added rows, residual and out; barely aligned */
    STORES_VECTORS, /* the same, aligned so that a device reads several in one
                       access */
    N_STORAGES
};

/* Fused or layer by layer, as cuda/op/mlp.cu chooses by width, norm and
 * activation. */
static const struct checkop_perceptron shapes[] = {
    {1, PARTS(1), LAYERS(1)},
    /* a filter of edges: 21 columns, then one */
    {37, PARTS(6, 6, 9), .gathered = 3, LAYERS(32, 32, 1), HIDDEN(LAYER, RELU)},
    /* more rows than all blocks of the emulated device process in one wave */
    {1105, PARTS(16), LAYERS(16, 8), .activation = ETX_ACTIVATION_RELU},
    /* the edges of an interaction network */
    {100, PARTS(64), LAYERS(64, 64), HIDDEN(LAYER, SILU), LAST(LAYER, TANH),
        .residual = 2, .n_added = 2, .centred = 1},
    /* its nodes */
    {49, PARTS(64, 64, 64), LAYERS(64, 64), HIDDEN(LAYER, SILU), .residual = 1},
    /* as wide as it goes */
    {33, PARTS(128, 8), .gathered = 2, LAYERS(128, 128, 3), HIDDEN(LAYER, TANH),
        .norm_last = 1, .shared_norm = 1},
    /* odd numbers of everything */
    {35, PARTS(13, 4), .gathered = 1, LAYERS(39, 21, 7), HIDDEN(LAYER, RELU),
        .plain_norm = 1, .no_bias = 1, .residual = 1, .n_added = 3},
    /* too wide to fuse */
    {20, PARTS(12), LAYERS(200, 200, 8), HIDDEN(LAYER, SILU), .residual = 2,
        .n_added = 1},
    /* rows wider than shared memory has for each warp, with and without norm */
    {5, PARTS(8), LAYERS(1600, 9), HIDDEN(LAYER, SILU)},
    {5, PARTS(8), LAYERS(1600, 9), .activation = ETX_ACTIVATION_RELU},
    /* what the fused kernel has no code for */
    {24, PARTS(20), LAYERS(24, 6), HIDDEN(BATCH, GELU),
        .last_norm = ETX_NORM_L2},
};

#define N_SHAPES ROWS(shapes)

static uint16_t *halves(int64_t n, enum storage storage)
{
    if (storage == STORES_VECTORS)
        return checkop_buffer(
            (n * (int64_t)sizeof(uint16_t) + VECTOR_BYTES - 1) / VECTOR_BYTES,
            VECTOR_BYTES);
    return checkop_buffer(n, sizeof(uint16_t));
}

static uint16_t *round_values(
    const float *values, int64_t n, enum storage storage)
{
    uint16_t *out = halves(n, storage);

    for (int64_t i = 0; i < n; i++)
        out[i] = etx_float16_from_float(values[i]);
    return out;
}

/* The rows that indices reach, as the cases make them. */
static void round_rows(
    struct etx_rows *rows, int64_t n_rows, enum storage storage)
{
    const int64_t n = rows->index != NULL ? n_rows / 3 + 1 : n_rows;

    rows->half = round_values(rows->data, n * rows->width, storage);
    rows->data = NULL;
}

static int64_t n_results(const struct etx_mlp_args *args)
{
    return args->n_rows * args->layer[args->n_layers - 1].n_out;
}

static void store(struct etx_mlp_args *args, enum storage storage)
{
    const int64_t n = n_results(args);

    if (storage == STORES_FLOATS)
        return;
    for (int32_t p = 0; p < args->n_parts; p++)
        round_rows(&args->part[p], args->n_rows, storage);
    for (int32_t p = 0; p < args->n_added; p++)
        round_rows(&args->added[p], args->n_rows, storage);
    args->half_out = round_values(args->out, n, storage);
    if (args->residual == args->out)
        args->half_residual = args->half_out;
    else if (args->residual != NULL)
        args->half_residual = round_values(args->residual, n, storage);
    args->residual = NULL;
    args->out = NULL;
}

/* The same arguments in arrays of one's own for what is written. */
static struct etx_mlp_args with_own_out(
    const struct etx_mlp_args *args, enum storage storage)
{
    const int64_t n = n_results(args);
    struct etx_mlp_args own = *args;

    if (args->half_out != NULL) {
        own.half_out = halves(n, storage);
        memcpy(own.half_out, args->half_out, (size_t)n * sizeof(uint16_t));
        if (args->half_residual == args->half_out)
            own.half_residual = own.half_out;
    } else {
        own.out = checkop_buffer(n, sizeof(float));
        memcpy(own.out, args->out, (size_t)n * sizeof(float));
        if (args->residual == args->out)
            own.residual = own.out;
    }
    return own;
}

static float result(const struct etx_mlp_args *args, int64_t i)
{
    return args->half_out != NULL ? etx_float16_to_float(args->half_out[i])
                                  : args->out[i];
}

/* 0 after etx_test_skip where there is none. */
static int has_device(const char *name)
{
    if (check.device == NULL)
        etx_test_skip(name, etx_last_error());
    return check.device != NULL;
}

/* On the device, with float16 operands. */
static void run_half(struct etx_mlp_args *args)
{
    struct etx_stream *stream = check.device->stream;

    stream->is_half = 1;
    ck_assert_ok(check.device->ops->mlp(stream, args));
    stream->is_half = 0;
    ck_assert_ok(etx_memory_synchronize(stream->memory));
}

static void assert_near(const struct etx_mlp_args *got,
    const struct etx_mlp_args *want, const char *label)
{
    float largest = 0.0f;

    for (int64_t i = 0; i < n_results(want); i++)
        largest = fmaxf(largest, fabsf(result(want, i)));
    ck_assert_float_gt(largest, 0.0f);
    for (int64_t i = 0; i < n_results(want); i++)
        if (!(fabsf(result(got, i) - result(want, i)) <= MAX_ERROR * largest))
            ck_abort_msg("%s: out[%lld] is %.7g, not %.7g; the largest %.7g",
                label, (long long)i, (double)result(got, i),
                (double)result(want, i), (double)largest);
}

static void assert_same(
    const struct etx_mlp_args *a, const struct etx_mlp_args *b)
{
    for (int64_t i = 0; i < n_results(a); i++)
        if (memcmp(&(float){result(a, i)}, &(float){result(b, i)},
                sizeof(float)) != 0)
            ck_abort_msg("out[%lld] differs from run to run", (long long)i);
}

CHECKOP_TEST(test_cuda_half_mlp, .rows = N_SHAPES)
{
    if (!has_device(__func__))
        return;
    for (int32_t s = 0; s < N_STORAGES; s++) {
        struct checkop_case self;

        checkop_mlp(&self, &shapes[_i]);
        struct etx_mlp_args *args = self.args;

        store(args, (enum storage)s);
        struct etx_mlp_args want = with_own_out(args, (enum storage)s);
        struct etx_mlp_args got = with_own_out(args, (enum storage)s);
        struct etx_mlp_args again = with_own_out(args, (enum storage)s);

        ck_assert_ok(etx_op_ref.mlp(&check.stream[0], &want));
        run_half(&got);
        run_half(&again);
        assert_near(&got, &want, self.label);
        assert_same(&got, &again);
    }
}

/* From here on cuBLASLt takes tensor cores where TF32 is allowed: on an H200 it
 * does for 64 outputs, and for 39 it does not. */
#define TF32_WIDTH 64

static int has_wide_layer(const struct etx_mlp_args *args)
{
    for (int32_t k = 0; k < args->n_layers; k++)
        if (args->layer[k].n_out >= TF32_WIDTH)
            return 1;
    return 0;
}

/* With operands rounded to TF32, which are stored as float32: near, and where
 * tensor cores compute not the bits of float32. */
CHECKOP_TEST(test_cuda_tf32_mlp, .rows = N_SHAPES)
{
    if (!has_device(__func__))
        return;
    struct etx_stream *stream = check.device->stream;
    struct checkop_case self;

    checkop_mlp(&self, &shapes[_i]);
    struct etx_mlp_args *args = self.args;
    struct etx_mlp_args want = with_own_out(args, STORES_FLOATS);
    struct etx_mlp_args exact = with_own_out(args, STORES_FLOATS);
    struct etx_mlp_args got = with_own_out(args, STORES_FLOATS);

    ck_assert_ok(etx_op_ref.mlp(&check.stream[0], &want));
    ck_assert_ok(check.device->ops->mlp(stream, &exact));
    stream->is_tf32 = 1;
    ck_assert_ok(check.device->ops->mlp(stream, &got));
    stream->is_tf32 = 0;
    ck_assert_ok(etx_memory_synchronize(stream->memory));
    assert_near(&got, &want, self.label);
    if (has_wide_layer(args))
        ck_assert_mem_ne(
            got.out, exact.out, (size_t)n_results(args) * sizeof *got.out);
}

/* The gradients that a case of mlp_backward writes, on the device with float16
 * operands: near the reference's, in the mean square of each. */
static void assert_near_backward(struct checkop_case *self)
{
    struct etx_stream *stream = check.device->stream;
    float *wanted[CHECKOP_MAX_OUTPUTS];

    checkop_run_reference(self);
    for (int32_t o = 0; o < self->n_outputs; o++) {
        const struct checkop_output *output = &self->output[o];
        const size_t bytes = (size_t)output->n * sizeof(float);

        wanted[o] = checkop_buffer(output->n, sizeof(float));
        memcpy(wanted[o], output->data, bytes);
        memcpy(output->data, output->initial, bytes);
    }
    stream->is_half = 1;
    ck_assert_ok(check.device->ops->mlp_backward(stream, self->args));
    stream->is_half = 0;
    ck_assert_ok(etx_memory_synchronize(stream->memory));
    for (int32_t o = 0; o < self->n_outputs; o++) {
        const struct checkop_output *output = &self->output[o];
        const float *got = output->data;
        const float *want = wanted[o];
        double difference = 0.0;
        double square = 0.0;

        for (int64_t i = 0; i < output->n; i++) {
            const double d = (double)got[i] - (double)want[i];

            difference += d * d;
            square += (double)want[i] * (double)want[i];
        }
        ck_assert_msg(difference <= 1e-4 * square,
            "%s, %s: differs by %.2g of its size", self->label, output->name,
            sqrt(difference / square));
        ck_assert_msg(output->n < 64 || difference > 0.0,
            "%s, %s: nothing was rounded", self->label, output->name);
    }
}

CHECKOP_TEST(test_cuda_half_backward, .rows = 2)
{
    static const struct checkop_perceptron kinds[] = {
        {300, PARTS(16, 8), .gathered = 1, LAYERS(32, 16), HIDDEN(LAYER, SILU)},
        {200, PARTS(24), .n_added = 2, LAYERS(40, 24, 8),
            .activation = ETX_ACTIVATION_TANH},
    };
    struct checkop_case self;

    if (!has_device(__func__))
        return;
    checkop_mlp_backward(&self, &kinds[_i]);
    assert_near_backward(&self);
}

/* Sums of float16 equal the reference, bit by bit. */
CHECKOP_TEST(test_cuda_half_segments)
{
    static const struct checkop_segments kinds[] = {
        {.n_segments = 40, .n_values = 300, .width = 64},
        {.n_segments = 40, .n_values = 300, .width = 16, .ordered = 1},
        {.n_segments = 30, .n_values = 200, .width = 5, .ordered = 1},
        {.n_segments = 30, .n_values = 200, .width = 8, .add = 1},
        {.n_segments = 30,
            .n_values = 200,
            .width = 8,
            .reduce = ETX_REDUCE_MAX,
            .ordered = 1},
    };

    if (!has_device(__func__))
        return;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (int32_t s = STORES_HALVES; s < N_STORAGES; s++) {
            const int64_t n = kinds[k].n_segments * kinds[k].width;
            struct checkop_case self;

            checkop_segment_reduce(&self, &kinds[k]);
            struct etx_segment_reduce_args want[2], got[2];

            want[0] = *(struct etx_segment_reduce_args *)self.args;
            want[0].half = round_values(
                want[0].x, kinds[k].n_values * kinds[k].width, (enum storage)s);
            want[0].x = NULL;
            want[1] = want[0];
            want[1].order = checkop_permutation((int32_t)kinds[k].n_values);
            for (int32_t i = 0; i < 2; i++) {
                if (i > 0)
                    want[i].out = checkop_floats(n);
                got[i] = want[i];
                got[i].out = checkop_buffer(n, sizeof(float));
                memcpy(got[i].out, want[i].out, (size_t)n * sizeof(float));
            }
            want[0].next = &want[1];
            got[0].next = &got[1];
            ck_assert_ok(etx_op_ref.segment_reduce(&check.stream[0], want));
            ck_assert_ok(
                check.device->ops->segment_reduce(check.device->stream, got));
            ck_assert_ok(etx_memory_synchronize(check.device->stream->memory));
            for (int32_t i = 0; i < 2; i++)
                ck_assert_mem_eq(
                    got[i].out, want[i].out, (size_t)n * sizeof(float));
        }
}

/* Every float16 is the nearest of its own value and of those around it. */
ETX_TEST(test_cuda_half_rounding)
{
    for (uint32_t bits = 0; bits < 0x7c00u; bits++) {
        const float value = etx_float16_to_float((uint16_t)bits);
        const float next = etx_float16_to_float((uint16_t)(bits + 1));
        const float middle = value + (next - value) / 2.0f;
        const uint32_t even = bits + (bits & 1u);

        ck_assert_uint_eq(etx_float16_from_float(value), bits);
        ck_assert_uint_eq(etx_float16_from_float(-value), bits | 0x8000u);
        if (bits == 0x7bffu)
            break;
        ck_assert_uint_eq(etx_float16_from_float(middle), even);
        ck_assert_uint_eq(
            etx_float16_from_float(nextafterf(middle, 0.0f)), bits);
        ck_assert_uint_eq(
            etx_float16_from_float(nextafterf(middle, next)), bits + 1);
    }
    ck_assert_float_eq(etx_float16_to_float(0x3c00u), 1.0f);
    ck_assert_float_eq(etx_float16_to_float(0x0001u), 0x1p-24f);
    ck_assert_uint_eq(etx_float16_from_float(65519.0f), 0x7bffu);
    ck_assert_uint_eq(etx_float16_from_float(65520.0f), 0x7c00u);
    ck_assert_uint_eq(etx_float16_from_float(-INFINITY), 0xfc00u);
    ck_assert(isinf(etx_float16_to_float(0x7c00u)));
    ck_assert(isnan(etx_float16_to_float(etx_float16_from_float(NAN))));
}
