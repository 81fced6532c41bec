/* test_limits.c -- bounds of SECURITY.md, each at the last value that is
 * allowed and at the first that is refused, where no suite of its own has them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/arch.h"
#include "base/heap.h"
#include "base/json.h"
#include "base/threads.h"
#include "io/config.h"
#include "io_support.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Text of n bytes: first, then middle as often as it fits, then last. */
static char *make_text(
    const char *first, const char *middle, const char *last, size_t n)
{
    char *text = etx_test_alloc((int64_t)n + 1, 1);
    const size_t begin = strlen(first);
    const size_t end = n - strlen(last);

    memcpy(text, first, begin);
    for (size_t k = begin; k < end; k++)
        text[k] = middle[(k - begin) % strlen(middle)];
    memcpy(text + end, last, strlen(last));
    return text;
}

static void check(etx_status status, int32_t is_beyond, etx_status refused,
    const char *message)
{
    if (is_beyond)
        ck_assert_fails(status, refused, message);
    else
        ck_assert_ok(status);
}

/* A last number with as many zeros. */
IO_TEST(test_limits_line, .rows = 2)
{
    scoped char *line =
        make_text("1,2,3,4,5,6,", "0", "7", ((size_t)1 << 20) + (size_t)_i);
    scoped char *text = etx_test_alloc((int64_t)strlen(line) + 100, 1);
    scoped_event *event = NULL;

    strcpy(text, "hit_id,x,y,z,volume_id,layer_id,module_id\n");
    strcat(text, line);
    check(etx_event_read_trackml_files(
              &event, io_write_text("h.csv", text), NULL, NULL, NULL, NULL),
        _i, ETX_ERR_FORMAT, "h.csv:2: the line has more than 1048576 bytes");
}

IO_TEST(test_limits_columns, .rows = 2)
{
    static const char names[] = "hit_id,x,y,z,volume_id,layer_id,module_id";
    scoped char *header =
        make_text(names, ",", "\n", sizeof names + 1024 - 7 + (size_t)_i);
    scoped_event *event = NULL;

    check(etx_event_read_trackml_files(
              &event, io_write_text("h.csv", header), NULL, NULL, NULL, NULL),
        _i, ETX_ERR_FORMAT, "h.csv:1: more than 1024 columns");
}

ETX_TEST(test_limits_json_values, .rows = 2)
{
    /* The array is one, too. */
    const size_t n = 2 * (ETX_JSON_MAX_VALUES - 1 + (size_t)_i) + 1;
    scoped char *text = make_text("[", "1,", "]", n);
    struct etx_json *json = NULL;

    check(etx_json_parse(&json, "it", text, n, 1), _i, ETX_ERR_FORMAT,
        "more than 262144 values");
    etx_json_free(json);
}

/* Of headers of model files 4, of configs 8. */
ETX_TEST(test_limits_json_depth, .rows = 2)
{
    const size_t depth = ETX_CONFIG_MAX_DEPTH + (size_t)_i;
    scoped char *text = make_text("", "[", &"]]]]]]]]]"[1 - _i], 2 * depth);
    struct etx_json *json = NULL;

    check(etx_json_parse(&json, "it", text, 2 * depth, ETX_CONFIG_MAX_DEPTH),
        _i, ETX_ERR_FORMAT, "nested deeper than 8 levels");
    etx_json_free(json);
}

/* Sparse: of the largest file the first bytes are read, and refused. */
IO_TEST(test_limits_model_bytes, .rows = 2)
{
    etx_model *model = NULL;

    ck_assert_int_eq(
        truncate(io_write_text("m", ""), ((off_t)4 << 30) + _i), 0);
    ck_assert_fails(etx_model_load(&model, io_path("m")),
        _i == 0 ? ETX_ERR_FORMAT : ETX_ERR_LIMIT,
        _i == 0 ? "no safetensors file" : "the limit is 4294967296");
}

ETX_TEST(test_limits_threads, .rows = 2)
{
    etx_context_options options;
    scoped_context *context = NULL;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.n_threads = 256 + _i;
    check(etx_context_create(&context, &options), _i, ETX_ERR_ARGUMENT,
        "n_threads");
}

ETX_TEST(test_limits_features, .rows = 2)
{
    static const float zeros[33];
    scoped_event *event = etx_test_event(1, zeros);

    check(etx_event_set_features(event, 32 + _i, zeros), _i, ETX_ERR_LIMIT,
        "n_features 33");
}

ETX_TEST(test_limits_edge_features, .rows = 2)
{
    static const float zeros[17];
    scoped_graph *graph = NULL;

    ck_assert_ok(etx_graph_from_edges(
        &graph, 2, 1, (const int32_t[]){0}, (const int32_t[]){1}, NULL, NULL));
    check(etx_graph_set_edge_features(graph, 16 + _i, zeros), _i, ETX_ERR_LIMIT,
        "n_features 17 is not in 0..16");
}

/* 2^26 values, but for those that a layer has yet to declare. */
ETX_TEST(test_limits_network_values, .rows = 2)
{
    struct etx_parameter parameter = {
        .name = "last", .n_rows = 64, .n_cols = 64, .fan_in = 64};
    struct etx_network network = {.arch = etx_arch_find("mlp"),
        .n_values = ((int64_t)1 << 26) - 4096 + _i};
    int64_t offset = 0;

    check(etx_network_declare(&network, &offset, &parameter), _i, ETX_ERR_LIMIT,
        "takes the network beyond 67108864 parameter values");
    etx_free(network.parameter);
}

/* Equal points: of 5793 each pair is an edge, fewer than 2^24; of one more they
 * are too many. The same where all others are the nearest of a point. */
ETX_TEST(test_limits_free_edges, .rows = 4)
{
    const int64_t n = 5793 + _i % 2;
    scoped float *points = etx_test_alloc(3 * n, sizeof *points);
    scoped_context *context = etx_test_context();
    scoped_graph *graph = NULL;
    etx_graph_options options;

    ck_assert_ok(etx_graph_options_init(&options, sizeof options));
    options.radius = 1.0f;
    options.max_neighbours = _i < 2 ? 0 : INT32_MAX;
    check(etx_graph_build_radius(&graph, context, n, 3, points, NULL, &options),
        _i % 2, ETX_ERR_LIMIT, "max_edges = 16777216");
}

ETX_TEST(test_limits_dimensions, .rows = 2)
{
    static const float zeros[2 * 1025];
    scoped_context *context = etx_test_context();
    scoped_graph *graph = NULL;

    check(etx_graph_build_radius(
              &graph, context, 2, 1024 + _i, zeros, NULL, NULL),
        _i, ETX_ERR_ARGUMENT, "n_dim 1025 is not in 1..1024");
}

ETX_TEST(test_limits_parts, .rows = 2)
{
    static const float zeros[6];
    scoped_event *event = etx_test_event(2, zeros);
    scoped_graph *graph = NULL;
    int32_t owners[2];

    ck_assert_ok(etx_graph_from_edges(
        &graph, 2, 1, (const int32_t[]){0}, (const int32_t[]){1}, NULL, NULL));
    check(etx_graph_partition(owners, graph, event, 65536 + _i, 0), _i,
        ETX_ERR_ARGUMENT, "n_parts 65537 is not in 1..65536");
}
