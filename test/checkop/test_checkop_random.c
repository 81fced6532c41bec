/* checkop/test_checkop_random.c -- every operator with random sizes, options
 * and values, on every implementation.
 *
 * ETX_RANDOM_CASES: how many of each operator (default 10); ETX_RANDOM_SEED.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <stdlib.h>

#define N_CASES    10
#define N_TOGETHER 20 /* cases before their arrays are freed */

static int32_t below(int32_t n)
{
    return (int32_t)etx_random_below(&check.random, (uint64_t)n);
}

/* Often small, at most max. */
static int32_t size(int32_t max)
{
    const int32_t bound = 1 << below(12);

    return below((bound < max ? bound : max) + 1);
}

static int32_t width(int32_t max)
{
    return 1 + size(max - 1);
}

/* Edges between n_nodes; none where an edge has no two ends. */
static int32_t edges(int32_t n_nodes)
{
    return n_nodes < 2 ? 0 : size(2000);
}

#define ONE_SIZE(op)                                                           \
    static void make_##op(struct checkop_case *out)                            \
    {                                                                          \
        checkop_##op(out, size(2000));                                         \
    }
#define NODES_AND_EDGES(op)                                                    \
    static void make_##op(struct checkop_case *out)                            \
    {                                                                          \
        const int32_t n_nodes = size(400);                                     \
                                                                               \
        checkop_##op(out, n_nodes, edges(n_nodes));                            \
    }
#define MAKE(op, ...)                                                          \
    static void make_##op(struct checkop_case *out)                            \
    {                                                                          \
        checkop_##op(out, __VA_ARGS__);                                        \
    }

ONE_SIZE(add)
ONE_SIZE(edge_select)
ONE_SIZE(fill)
ONE_SIZE(gather_edges)
ONE_SIZE(outward_key)
ONE_SIZE(scale)
ONE_SIZE(square_loss)
ONE_SIZE(sum_squares)
ONE_SIZE(write_edge_index)
NODES_AND_EDGES(best_first)
NODES_AND_EDGES(degree_weights)
NODES_AND_EDGES(degrees)
NODES_AND_EDGES(double_edges)
NODES_AND_EDGES(edge_features)
NODES_AND_EDGES(graph_index)
NODES_AND_EDGES(line_graph)
NODES_AND_EDGES(mutual_best)
NODES_AND_EDGES(outward_edges)
MAKE(activation, 1 + below(ETX_N_ACTIVATIONS - 1), size(2000), below(2))
MAKE(
    activation_backward, 1 + below(ETX_N_ACTIVATIONS - 1), size(2000), below(2))
MAKE(adamw, size(2000), 1 + size(1000), below(2), below(2))
MAKE(bce_loss, size(2000), below(2))
MAKE(columns, size(300), width(70),
    (enum checkop_columns)below(CHECKOP_N_COLUMNS))
MAKE(distance_bins, size(400), width(12),
    etx_random_uniform(&check.random) * 2.0f + 1e-3f)
MAKE(find_not_finite, size(2000), below(3))
MAKE(read_edge_index, size(2000), below(3))
MAKE(gather, size(300), width(130), below(2))
MAKE(hinge_loss, below(2), width(300), size(1000), width(12))
MAKE(module_map, size(2000), width(200), below(2), below(2))
MAKE(narrow, size(2000), 1 + below(ETX_N_HALVES - 1))
MAKE(radius_graph, size(400), width(12),
    etx_random_uniform(&check.random) * 2.0f + 1e-3f, below(3) ? 0 : width(40),
    below(2), below(2))
MAKE(row_dot, size(300), width(130), below(4))
MAKE(scatter, size(300), width(130), below(2))
MAKE(widen, size(2000), 1 + below(ETX_N_HALVES - 1))

static void make_connected_components(struct checkop_case *out)
{
    const int32_t n_nodes = size(400);

    checkop_connected_components(out, n_nodes, edges(n_nodes), below(2));
}

static struct checkop_segments segments(void)
{
    struct checkop_segments shape = {.n_segments = width(300),
        .n_values = size(2000),
        .width = width(130),
        .reduce = below(ETX_N_REDUCES),
        .ordered = below(2)};

    return shape;
}

static void make_segment_reduce(struct checkop_case *out)
{
    struct checkop_segments shape = segments();

    shape.gathered = below(2);
    shape.weighted = shape.reduce == ETX_REDUCE_SUM && below(2);
    shape.add = shape.reduce == ETX_REDUCE_SUM && below(2);
    checkop_segment_reduce(out, &shape);
}

static void make_segment_reduce_backward(struct checkop_case *out)
{
    struct checkop_segments shape = segments();

    shape.add = below(2);
    checkop_segment_reduce_backward(out, &shape);
}

/* Norms of few columns amplify rounding without bound. */
static struct checkop_perceptron perceptron(void)
{
    struct checkop_perceptron shape = {.n_rows = size(300),
        .n_parts = below(4),
        .n_layers = 1 + below(4),
        .gathered = (uint32_t)below(16),
        .norm = below(ETX_N_NORMS),
        .norm_last = below(2),
        .activation = below(ETX_N_ACTIVATIONS),
        .last_activation = below(ETX_N_ACTIVATIONS),
        .plain_norm = below(2),
        .no_bias = below(2),
        .residual = below(3)};

    for (int32_t p = 0; p < shape.n_parts; p++)
        shape.part_width[p] = width(70);
    for (int32_t l = 0; l < shape.n_layers; l++)
        shape.layer_width[l] = 7 + width(90);
    shape.n_added = shape.n_parts == 0 ? 1 + below(3) : below(3);
    return shape;
}

static void make_mlp(struct checkop_case *out)
{
    const struct checkop_perceptron shape = perceptron();

    checkop_mlp(out, &shape);
}

static void make_mlp_backward(struct checkop_case *out)
{
    const struct checkop_perceptron shape = perceptron();

    checkop_mlp_backward(out, &shape);
}

/* Operators, and the wildest values that their arguments may have. */
#define RANDOM(op, values)                                                     \
    {                                                                          \
#op, make_##op, CHECKOP_##values                                       \
    }
static const struct {
    const char *name;
    void (*make)(struct checkop_case *out);
    enum checkop_values wildest;
} operators[] = {RANDOM(activation, EXTREME),
    RANDOM(activation_backward, NORMAL), RANDOM(adamw, NORMAL),
    RANDOM(add, PRODUCTS), RANDOM(bce_loss, NORMAL), RANDOM(best_first, NORMAL),
    RANDOM(columns, PRODUCTS), RANDOM(connected_components, NORMAL),
    RANDOM(degree_weights, NORMAL), RANDOM(degrees, NORMAL),
    RANDOM(distance_bins, NORMAL), RANDOM(double_edges, NORMAL),
    RANDOM(edge_features, EXTREME), RANDOM(edge_select, NORMAL),
    RANDOM(fill, EXTREME), RANDOM(find_not_finite, EXTREME),
    RANDOM(gather, EXTREME), RANDOM(gather_edges, NORMAL),
    RANDOM(graph_index, NORMAL), RANDOM(hinge_loss, NORMAL),
    RANDOM(line_graph, NORMAL), RANDOM(mlp, NORMAL),
    RANDOM(mlp_backward, NORMAL), RANDOM(module_map, NORMAL),
    RANDOM(mutual_best, NORMAL), RANDOM(narrow, EXTREME),
    RANDOM(outward_edges, NORMAL), RANDOM(outward_key, NORMAL),
    RANDOM(radius_graph, NORMAL), RANDOM(read_edge_index, NORMAL),
    RANDOM(row_dot, PRODUCTS), RANDOM(scale, PRODUCTS),
    RANDOM(scatter, EXTREME), RANDOM(segment_reduce, PRODUCTS),
    RANDOM(segment_reduce_backward, NORMAL), RANDOM(square_loss, NORMAL),
    RANDOM(sum_squares, PRODUCTS), RANDOM(widen, EXTREME),
    RANDOM(write_edge_index, NORMAL)};

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);

    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

CHECKOP_TEST(test_random_cases, .rows = ROWS(operators))
{
    const uint64_t n_cases = number_of("ETX_RANDOM_CASES", N_CASES);
    const uint64_t seed = number_of("ETX_RANDOM_SEED", 1);

    for (uint64_t k = 0; k < n_cases; k++) {
        struct checkop_case one;

        if (k % N_TOGETHER == N_TOGETHER - 1) {
            checkop_stop();
            checkop_start();
        }
        etx_random_init(&check.random, seed, (uint32_t)_i, (uint32_t)k);
        check.values =
            (enum checkop_values)below((int32_t)operators[_i].wildest + 1);
        operators[_i].make(&one);
        checkop_verify(&one);
    }
}
