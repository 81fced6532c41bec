/* test_io_tensor_floats.c -- weights in fewer bits, alone and in model files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io_support.h"

#include "io/model_file.h"
#include "io/tensor_floats.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG                                                                 \
    "{\"schema\":1,\"embedding\":{\"arch\":\"mlp\",\"options\":{\"hidden\":"   \
    "[],\"n_out\":2},\"node_features\":[{\"name\":\"r\",\"scale\":1},"         \
    "{\"name\":\"z\",\"scale\":1},{\"name\":\"phi\",\"scale\":1}],"            \
    "\"graph\":{\"radius\":1}}}"
#define WEIGHT "embedding.layers.0.weight"

/* ---------------------------------------------------------------- halves -- */

static float from_half(uint16_t bits)
{
    const unsigned char bytes[2] = {
        (unsigned char)(bits & 0xFF), (unsigned char)(bits >> 8)};
    const struct etx_tensor tensor = {.type = ETX_TENSOR_F16,
        .n_dims = 1,
        .dim = {1},
        .n_values = 1,
        .data = bytes};
    float value = -1.0f;

    ck_assert_ok(etx_tensor_floats(&value, &tensor, NULL));
    return value;
}

/* Bytes have a scale per row, so they are a matrix. */
IO_TEST(test_io_bytes_refused)
{
    static const signed char bytes[4] = {1, 2, 3, 4};
    static const float scales[2] = {1.0f, 1.0f};
    struct etx_tensor tensor = {.name = "w",
        .type = ETX_TENSOR_I8,
        .n_dims = 1,
        .dim = {4},
        .n_values = 4,
        .data = bytes};
    struct etx_tensor scale = etx_tensor_vector("s", ETX_TENSOR_F32, 2, scales);
    float values[4] = {7.0f};

    ck_assert_fails(etx_tensor_floats(values, &tensor, &scale), ETX_ERR_FORMAT,
        "tensor w: dtype I8 with 1 dimensions, expected 2");
    tensor.n_dims = 2;
    tensor.dim[0] = 2;
    tensor.dim[1] = 2;
    ck_assert_status(etx_tensor_floats(values, &tensor, NULL), ETX_ERR_FORMAT);
    scale.dim[0] = 1;
    ck_assert_status(
        etx_tensor_floats(values, &tensor, &scale), ETX_ERR_FORMAT);
    scale.dim[0] = 2;
    scale.type = ETX_TENSOR_F16;
    ck_assert_status(
        etx_tensor_floats(values, &tensor, &scale), ETX_ERR_FORMAT);
    ck_assert(values[0] == 7.0f);
    scale.type = ETX_TENSOR_F32;
    ck_assert_ok(etx_tensor_floats(values, &tensor, &scale));
    for (int k = 0; k < 4; k++)
        ck_assert(values[k] == (float)(k + 1));
}

/* Values of IEEE 754-2019, binary16. */
IO_TEST(test_io_halves_known)
{
    static const struct {
        uint16_t bits;
        float value;
    } known[] = {
        {0x0000, 0.0f},
        {0x0001, 0x1p-24f},
        {0x03FF, 0x1.FF8p-15f},
        {0x0400, 0x1p-14f},
        {0x3555, 0x1.554p-2f},
        {0x3C00, 1.0f},
        {0x3C01, 0x1.004p0f},
        {0xC000, -2.0f},
        {0x7BFF, 65504.0f},
        {0x7C00, INFINITY},
        {0xFC00, -INFINITY},
    };

    for (size_t k = 0; k < ROWS(known); k++)
        ck_assert_msg(from_half(known[k].bits) == known[k].value, "%#x is %.9g",
            (unsigned)known[k].bits, (double)from_half(known[k].bits));
    ck_assert(signbit(from_half(0x8000)));
    ck_assert(isnan(from_half(0x7C01)) && isnan(from_half(0xFFFF)));
}

/* All finite ones ascend, and the sign bit changes the sign alone. */
IO_TEST(test_io_halves_all)
{
    for (uint16_t bits = 1; bits < 0x7C00; bits++) {
        ck_assert(from_half(bits) > from_half((uint16_t)(bits - 1)));
        ck_assert(from_half((uint16_t)(bits | 0x8000)) == -from_half(bits));
    }
}

/* ----------------------------------------------------------- model files -- */

static const signed char weight_bytes[6] = {127, -127, 3, 0, -1, 64};
static const float scales[3] = {0.5f, 0.25f, 8.0f};
static const uint16_t weight_halves[6] = {
    0x3C00, 0xC000, 0x0001, 0x3555, 0x0000, 0x7BFF};

/* A model file with this weight, and next to it scales with n_scales values
 * unless that is 0. */
static etx_status load_with(
    etx_model **out, int32_t type, const void *weight, int64_t n_scales)
{
    static const float bias[2] = {1.0f, 2.0f};
    const struct etx_tensor tensors[] = {
        {"embedding.layers.0.bias", ETX_TENSOR_F32, 1, {2}, 2, bias},
        {WEIGHT, type, 2, {2, 3}, 6, weight},
        {WEIGHT ETX_SCALE_SUFFIX, ETX_TENSOR_F32, 1, {n_scales}, n_scales,
            scales},
    };
    const char *const pair[][2] = {{"etx.config", CONFIG}};
    struct etx_json *metadata = NULL;

    ck_assert_ok(etx_json_create_texts(&metadata, pair, 1));
    ck_assert_ok(etx_tensor_file_write(
        io_path("m"), n_scales > 0 ? 3 : 2, tensors, metadata));
    etx_json_free(metadata);
    return etx_model_load(out, io_path("m"));
}

static void expect_weight(const etx_model *model, const float *expected)
{
    const struct etx_network *network = model->embedding.network;

    ck_assert_str_eq(network->parameter[0].name, "layers.0.weight");
    for (int64_t v = 0; v < 6; v++)
        ck_assert(network->value[v] == expected[v]);
    ck_assert(network->value[6] == 1.0f && network->value[7] == 2.0f);
}

IO_TEST(test_io_model_of_halves)
{
    const float expected[6] = {
        1.0f, -2.0f, 0x1p-24f, 0x1.554p-2f, 0.0f, 65504.0f};
    scoped_model *model = NULL;

    ck_assert_ok(load_with(&model, ETX_TENSOR_F16, weight_halves, 0));
    expect_weight(model, expected);
}

/* Saved again it has the same values in 32 bits. */
IO_TEST(test_io_model_of_bytes)
{
    const float expected[6] = {63.5f, -63.5f, 1.5f, 0.0f, -0.25f, 16.0f};
    scoped_model *model = NULL;
    scoped_model *again = NULL;

    ck_assert_ok(load_with(&model, ETX_TENSOR_I8, weight_bytes, 2));
    expect_weight(model, expected);
    ck_assert_ok(etx_model_save(model, io_path("again")));
    ck_assert_ok(etx_model_load(&again, io_path("again")));
    expect_weight(again, expected);
}

IO_TEST(test_io_model_of_bytes_wrong)
{
    const uint16_t infinite[6] = {0, 0, 0x7C00};
    const float floats[6] = {0.0f};
    etx_model *model = NULL;

    ck_assert_fails(load_with(&model, ETX_TENSOR_I8, weight_bytes, 0),
        ETX_ERR_FORMAT, "dtype I8 without " WEIGHT ".scale");
    ck_assert_fails(load_with(&model, ETX_TENSOR_I8, weight_bytes, 3),
        ETX_ERR_FORMAT, "a value a row");
    ck_assert_fails(load_with(&model, ETX_TENSOR_F32, floats, 2),
        ETX_ERR_FORMAT, WEIGHT ".scale is no parameter");
    ck_assert_fails(load_with(&model, ETX_TENSOR_F16, infinite, 0),
        ETX_ERR_FORMAT, "value 2 is not finite");
    ck_assert_ptr_null(model);
}
