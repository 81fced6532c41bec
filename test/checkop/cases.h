/* checkop/cases.h -- cases of all operators, for the tests and the benchmark.
 *
 * Inputs are drawn from check.random as check.values says; a test may change
 * them before it verifies. The case and its arrays live as long as the check.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CHECKOP_CASES_H
#define ETX_CHECKOP_CASES_H

#include "checkop.h"
#include "op/shared/layers.h"

/* in_place: y is x, and d_x is d_y. */
void checkop_activation(
    struct checkop_case *out, int32_t activation, int64_t n, int32_t in_place);
void checkop_activation_backward(
    struct checkop_case *out, int32_t activation, int64_t n, int32_t in_place);

void checkop_gather(
    struct checkop_case *out, int64_t n_rows, int32_t width, int32_t add);
void checkop_scatter(
    struct checkop_case *out, int64_t n_rows, int32_t width, int32_t add);
void checkop_add(struct checkop_case *out, int64_t n);
/* indexed: bit 0 a_index, bit 1 b_index. */
void checkop_row_dot(
    struct checkop_case *out, int64_t n_rows, int32_t width, int32_t indexed);

/* A perceptron: widths of its parts and layers, options of its layers. */
struct checkop_perceptron {
    int64_t n_rows;
    int32_t n_parts, n_layers;
    int32_t part_width[ETX_MAX_PARTS];
    uint32_t gathered; /* bit p: part p is gathered by an index */
    int32_t layer_width[ETX_MAX_LAYERS];
    int32_t norm, norm_last, activation; /* of the hidden layers */
    int32_t last_norm, last_activation;
    int32_t plain_norm;  /* 1: no gain and shift */
    int32_t shared_norm; /* 1: hidden layers share gain and shift */
    int32_t no_bias;
    int32_t residual; /* 0 none, 1 an array, 2 out itself */
    int32_t n_added;  /* rows added to the first linear; odd ones gathered */
    int32_t centred;  /* 1: those rows have mean 0 */
    int32_t no_part_gradient, no_parameter_gradient;
    int64_t n_segments; /* more than 0: mlp reduces out over segments */
    int32_t reduce;
};

/* Fields of a perceptron: widths of its parts and layers, norm and activation
 * of its hidden layers and of the last:
 *     {257, PARTS(12), LAYERS(64, 64, 8), HIDDEN(LAYER, TANH)} */
#define PARTS(...)  .n_parts = N_OF(__VA_ARGS__), .part_width = {__VA_ARGS__}
#define LAYERS(...) .n_layers = N_OF(__VA_ARGS__), .layer_width = {__VA_ARGS__}
#define HIDDEN(norm_, activation_)                                             \
    .norm = ETX_NORM_##norm_, .activation = ETX_ACTIVATION_##activation_
#define LAST(norm_, activation_)                                               \
    .last_norm = ETX_NORM_##norm_,                                             \
    .last_activation = ETX_ACTIVATION_##activation_
#define N_OF(...) (int32_t)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

void checkop_mlp(
    struct checkop_case *out, const struct checkop_perceptron *shape);
void checkop_mlp_backward(
    struct checkop_case *out, const struct checkop_perceptron *shape);

/* ordered, gathered, weighted, add: 0 or 1 each. */
struct checkop_segments {
    int64_t n_segments, n_values;
    int32_t width, reduce;
    int32_t ordered, gathered, weighted, add;
};

void checkop_segment_reduce(
    struct checkop_case *out, const struct checkop_segments *shape);
void checkop_segment_reduce_backward(
    struct checkop_case *out, const struct checkop_segments *shape);

/* All features, in a detector of n_nodes hits. */
void checkop_edge_features(
    struct checkop_case *out, int64_t n_nodes, int64_t n_edges);

/* What an operator that returns edges found is copied to these outputs. */
struct checkop_edges {
    int64_t n_edges;
    int64_t capacity;
    int32_t *src, *dst; /* [capacity] */
};

/* They become outputs and `more` of the case. */
struct checkop_edges *checkop_edge_outputs(
    struct checkop_case *out, int64_t capacity);
/* Copy what fits, then release the list. */
void checkop_take_edges(struct checkop_edges *edges,
    const struct etx_stream *stream, const struct etx_edge_list *list);

/* Points are standard normal around a tenth as many centres. */
void checkop_radius_graph(struct checkop_case *out, int64_t n_points,
    int32_t n_dim, float radius, int32_t max_neighbours, int32_t both,
    int32_t with_key);
/* Hits on n_units modules in eight layers (or on whole layers), some at one
 * azimuth, some on no unit; pairs of neighbouring layers with windows of all
 * widths. */
void checkop_module_map(struct checkop_case *out, int64_t n_hits,
    int64_t n_units, int32_t of_layers, int32_t with_triplets);
/* What line_graph made is copied to these outputs. */
struct checkop_line {
    struct etx_line_graph graph; /* [capacity] edges */
    int64_t capacity;
};

/* A random graph, with equal edges, loops and nodes without edges. */
void checkop_line_graph(
    struct checkop_case *out, int64_t n_nodes, int64_t n_doublets);
/* scored: 0 without scores. */
void checkop_connected_components(
    struct checkop_case *out, int64_t n_nodes, int64_t n_edges, int32_t scored);
void checkop_distance_bins(
    struct checkop_case *out, int64_t n_points, int32_t n_dim, float radius);
void checkop_edge_select(struct checkop_case *out, int64_t n_edges);
void checkop_mutual_best(
    struct checkop_case *out, int64_t n_nodes, int64_t n_edges);

void checkop_outward_edges(
    struct checkop_case *out, int64_t n_nodes, int64_t n_edges);
/* n_nodes > 1 where there are edges. */
void checkop_best_first(
    struct checkop_case *out, int64_t n_nodes, int64_t n_edges);
void checkop_double_edges(
    struct checkop_case *out, int64_t n_nodes, int64_t n_edges);
void checkop_degrees(
    struct checkop_case *out, int64_t n_nodes, int64_t n_edges);
void checkop_degree_weights(
    struct checkop_case *out, int64_t n_nodes, int64_t n_edges);

void checkop_bce_loss(struct checkop_case *out, int64_t n, int32_t weighted);
void checkop_square_loss(struct checkop_case *out, int64_t n);
void checkop_hinge_loss(struct checkop_case *out, int32_t hinge,
    int64_t n_points, int64_t n_pairs, int32_t n_dim);
/* with_decays: every third parameter has no weight decay. */
void checkop_adamw(struct checkop_case *out, int64_t n, int64_t step,
    int32_t amsgrad, int32_t with_decays);

void checkop_fill(struct checkop_case *out, int64_t n);
enum checkop_columns {
    CHECKOP_COLUMNS_COPY,
    CHECKOP_COLUMNS_CENTRE,
    CHECKOP_COLUMNS_ADD,
    CHECKOP_N_COLUMNS
};
void checkop_columns(struct checkop_case *out, int64_t n_rows, int32_t width,
    enum checkop_columns how);
void checkop_gather_edges(struct checkop_case *out, int64_t n);
void checkop_read_edge_index(
    struct checkop_case *out, int64_t n, int32_t n_wrong);
void checkop_write_edge_index(struct checkop_case *out, int64_t n);
/* About n_wrong values are infinite or not numbers. */
void checkop_find_not_finite(
    struct checkop_case *out, int64_t n, int32_t n_wrong);
void checkop_scale(struct checkop_case *out, int64_t n);
void checkop_sum_squares(struct checkop_case *out, int64_t n);
/* format: enum etx_half. */
void checkop_narrow(struct checkop_case *out, int64_t n, int32_t format);
void checkop_widen(struct checkop_case *out, int64_t n, int32_t format);
void checkop_outward_key(struct checkop_case *out, int64_t n);
void checkop_graph_index(
    struct checkop_case *out, int64_t n_nodes, int64_t n_edges);

#endif
