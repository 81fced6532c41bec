/* checkop/test_checkop_line_graph.c -- doublets to triplets.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <string.h>

/* Nodes and doublets: empty, loops on one node, one hub with rows longer than
 * any vector and block of columns, sparse and dense. */
static const int32_t shapes[][2] = {{0, 0}, {1, 0}, {5, 0}, {1, 1}, {1, 3},
    {2, 7}, {1, 40}, {1, 300}, {2, 1200}, {31, 33}, {100, 500}, {1000, 900},
    {5000, 5000}, {300, 9000}};
#define N_SHAPES ROWS(shapes)

/* Every pair of doublets, column by column, and the way back. */
static void compare_with_all_pairs(const struct checkop_case *one)
{
    const struct etx_line_graph_args *args = one->args;
    const struct etx_line_graph *graph =
        &((const struct checkop_line *)one->more)->graph;
    int64_t edge = 0;

    for (int32_t b = 0; b < args->n_doublets; b++) {
        ck_assert_int_eq(graph->in_offset[b], edge);
        for (int32_t a = 0; a < args->n_doublets; a++) {
            if (args->dst[a] != args->src[b])
                continue;
            if (graph->src[edge] != a || graph->dst[edge] != b)
                ck_abort_msg("%s: no edge %d -> %d", one->label, a, b);
            edge++;
        }
    }
    ck_assert_int_eq(graph->n_edges, edge);
    ck_assert_int_eq(graph->in_offset[args->n_doublets], edge);
    ck_assert_int_eq(graph->out_offset[args->n_doublets], edge);
    for (int32_t a = 0; a < args->n_doublets; a++)
        for (int64_t k = graph->out_offset[a]; k < graph->out_offset[a + 1];
             k++)
            if (graph->src[graph->out_edge[k]] != a ||
                (k > graph->out_offset[a] &&
                    graph->out_edge[k - 1] >= graph->out_edge[k]))
                ck_abort_msg("%s: edges out of %d", one->label, a);
}

CHECKOP_TEST(test_line_graph_shapes, .rows = N_SHAPES)
{
    struct checkop_case one;

    checkop_line_graph(&one, shapes[_i][0], shapes[_i][1]);
    checkop_verify(&one);
    compare_with_all_pairs(&one);
}

/* Enough for several blocks of doublets and of nodes. */
CHECKOP_VERIFY(test_line_graph_larger, 2,
    checkop_line_graph(&one, _i ? 20000 : 3000, _i ? 60000 : 30000))

/* Hits 0 -> 1 -> 2 -> 4 and 0 -> 3 -> 2: doublets by (dst, src) are 0-1, 1-2,
 * 3-2, 0-3, 2-4; 1-2 and 3-2 both go on to 2-4. */
CHECKOP_TEST(test_line_graph_by_hand)
{
    static const int32_t src[] = {0, 1, 3, 0, 2}, dst[] = {1, 2, 2, 3, 4};
    static const int64_t in[] = {0, 0, 1, 3, 4, 5}, out[] = {0, 2, 3, 4, 5, 5};
    static const int32_t doublet[] = {0, 3, 1, 4, 2};
    static const int32_t want_src[] = {0, 3, 1, 2}, want_dst[] = {1, 2, 4, 4};
    struct checkop_case one;

    checkop_line_graph(&one, 5, 5);
    struct etx_line_graph_args *args = one.args;
    struct checkop_line *line = one.more;
    args->src = checkop_copy(src, 5, sizeof *src);
    args->dst = checkop_copy(dst, 5, sizeof *dst);
    args->in_offset = checkop_copy(in, 6, sizeof *in);
    args->out_offset = checkop_copy(out, 6, sizeof *out);
    args->out_doublet = checkop_copy(doublet, 5, sizeof *doublet);
    line->capacity = 4;
    for (int32_t o = 1; o <= 3; o++)
        one.output[o].n = 4;
    line->graph.src = one.output[1].data = checkop_buffer(4, 4);
    line->graph.dst = one.output[2].data = checkop_buffer(4, 4);
    line->graph.out_edge = one.output[3].data = checkop_buffer(4, 4);
    for (int32_t o = 1; o <= 3; o++)
        one.output[o].initial = checkop_buffer(4, 4);
    checkop_verify(&one);
    ck_assert_int_eq(line->graph.n_edges, 4);
    ck_assert_mem_eq(line->graph.src, want_src, sizeof want_src);
    ck_assert_mem_eq(line->graph.dst, want_dst, sizeof want_dst);
}

/* One edge more than the bound is an error that names it; none is made. */
CHECKOP_TEST(test_line_graph_limit)
{
    struct checkop_case one;

    checkop_line_graph(&one, 50, 400);
    struct etx_line_graph_args *args = one.args;
    args->max_edges = ((struct checkop_line *)one.more)->capacity;
    checkop_verify(&one);
    args->max_edges--;
    checkop_verify_failure(&one, ETX_ERR_LIMIT);
    ck_assert_ptr_nonnull(strstr(etx_last_error(), "max_edges"));
}

CHECKOP_TEST(test_line_graph_cancelled)
{
    struct checkop_case one;

    for (int32_t p = 0; p < CHECKOP_N_POOLS; p++)
        check.stream[p].cancel = etx_test_cancel;
    /* One block, so that the calling thread has it. */
    checkop_line_graph(&one, 50, 400);
    struct etx_stream *stream = &check.stream[0];
    struct etx_line_graph graph = {.n_edges = -7};
    ((struct etx_line_graph_args *)one.args)->out = &graph;
    for (int32_t i = 0; i < check.n_implementations; i++)
        ck_assert_status(
            check.implementation[i].ops.line_graph(stream, one.args),
            ETX_ERR_CANCELLED);
    ck_assert_int_eq(graph.n_edges, -7);
}
