/* op/ref/ref.h -- the reference operators, one prototype each.
 *
 * Plain, serial C that says what every operator means. Sums are float64
 * unless op.h prescribes float32. The contracts are those of op.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_REF_REF_H
#define ETX_OP_REF_REF_H

#include "op/op.h"

etx_status etx_ref_mlp(
    struct etx_stream *stream, const struct etx_mlp_args *args);
etx_status etx_ref_mlp_prepare(
    struct etx_stream *stream, const struct etx_mlp_prepare_args *args);
etx_status etx_ref_mlp_backward(
    struct etx_stream *stream, const struct etx_mlp_backward_args *args);
etx_status etx_ref_linear(
    struct etx_stream *stream, const struct etx_linear_args *args);
etx_status etx_ref_linear_backward(
    struct etx_stream *stream, const struct etx_linear_backward_args *args);
etx_status etx_ref_norm(
    struct etx_stream *stream, const struct etx_norm_args *args);
etx_status etx_ref_norm_backward(
    struct etx_stream *stream, const struct etx_norm_backward_args *args);
etx_status etx_ref_activation(
    struct etx_stream *stream, const struct etx_activation_args *args);
etx_status etx_ref_activation_backward(
    struct etx_stream *stream, const struct etx_activation_backward_args *args);
etx_status etx_ref_gather(
    struct etx_stream *stream, const struct etx_gather_args *args);
etx_status etx_ref_scatter(
    struct etx_stream *stream, const struct etx_scatter_args *args);
etx_status etx_ref_add(
    struct etx_stream *stream, const struct etx_add_args *args);
etx_status etx_ref_row_dot(
    struct etx_stream *stream, const struct etx_row_dot_args *args);
etx_status etx_ref_segment_reduce(
    struct etx_stream *stream, const struct etx_segment_reduce_args *args);
etx_status etx_ref_segment_reduce_backward(struct etx_stream *stream,
    const struct etx_segment_reduce_backward_args *args);
etx_status etx_ref_edge_features(
    struct etx_stream *stream, const struct etx_edge_features_args *args);
etx_status etx_ref_hough_votes(
    struct etx_stream *stream, const struct etx_hough_votes_args *args);
etx_status etx_ref_radius_graph(
    struct etx_stream *stream, const struct etx_radius_graph_args *args);
etx_status etx_ref_distance_bins(
    struct etx_stream *stream, const struct etx_distance_bins_args *args);
etx_status etx_ref_line_graph(
    struct etx_stream *stream, const struct etx_line_graph_args *args);
etx_status etx_ref_connected_components(struct etx_stream *stream,
    const struct etx_connected_components_args *args);
etx_status etx_ref_edge_select(
    struct etx_stream *stream, const struct etx_edge_select_args *args);
etx_status etx_ref_mutual_best(
    struct etx_stream *stream, const struct etx_mutual_best_args *args);
etx_status etx_ref_outward_edges(
    struct etx_stream *stream, const struct etx_outward_edges_args *args);
etx_status etx_ref_best_first(
    struct etx_stream *stream, const struct etx_best_first_args *args);
etx_status etx_ref_walkthrough(
    struct etx_stream *stream, const struct etx_walkthrough_args *args);
etx_status etx_ref_double_edges(
    struct etx_stream *stream, const struct etx_double_edges_args *args);
etx_status etx_ref_degrees(
    struct etx_stream *stream, const struct etx_degrees_args *args);
etx_status etx_ref_degree_weights(
    struct etx_stream *stream, const struct etx_degree_weights_args *args);
etx_status etx_ref_graph_index(
    struct etx_stream *stream, const struct etx_graph_index_args *args);
etx_status etx_ref_fill(
    struct etx_stream *stream, const struct etx_fill_args *args);
etx_status etx_ref_columns(
    struct etx_stream *stream, const struct etx_columns_args *args);
etx_status etx_ref_take(
    struct etx_stream *stream, const struct etx_take_args *args);
etx_status etx_ref_find_not_finite(
    struct etx_stream *stream, const struct etx_find_not_finite_args *args);
etx_status etx_ref_scale(
    struct etx_stream *stream, const struct etx_scale_args *args);
etx_status etx_ref_sum_squares(
    struct etx_stream *stream, const struct etx_sum_squares_args *args);
etx_status etx_ref_narrow(
    struct etx_stream *stream, const struct etx_narrow_args *args);
etx_status etx_ref_widen(
    struct etx_stream *stream, const struct etx_widen_args *args);
etx_status etx_ref_outward_key(
    struct etx_stream *stream, const struct etx_outward_key_args *args);
etx_status etx_ref_bce_loss(
    struct etx_stream *stream, const struct etx_bce_loss_args *args);
etx_status etx_ref_square_loss(
    struct etx_stream *stream, const struct etx_square_loss_args *args);
etx_status etx_ref_hinge_loss(
    struct etx_stream *stream, const struct etx_hinge_loss_args *args);
etx_status etx_ref_adamw(
    struct etx_stream *stream, const struct etx_adamw_args *args);

/* What mlp and mlp_backward share. */

/* 1 when some layer normalises over the rows of the batch. */
int32_t etx_ref_mlp_has_batch_norm(const struct etx_mlp_args *args);

/* The arguments of rows first .. first + n_rows - 1 alone. */
struct etx_mlp_args etx_ref_mlp_rows(
    const struct etx_mlp_args *args, int64_t first, int64_t n_rows);

/* x [n_rows, layer[0].n_in] = the parts side by side. */
void etx_ref_mlp_concat(float *x, const struct etx_mlp_args *args);

/* y [n_rows, layer[0].n_out] += the added rows. */
void etx_ref_mlp_add_rows(float *y, const struct etx_mlp_args *args);

#endif
