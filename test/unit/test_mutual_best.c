/* test_mutual_best.c -- edges that are best at both their ends.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "track_graphs.h"

struct row {
    struct edge_list list;
    float cut;
    int32_t expected[6]; /* min_hits 2 */
};

static const struct row rows[] = {
    /* A fork keeps its better branch. */
    {{4, 3, {{0, 1, 0.9f}, {1, 2, 0.8f}, {1, 3, 0.7f}}}, 0.5f, {0, 0, 0, -1}},
    /* A merge keeps its better branch. */
    {{4, 3, {{0, 2, 0.6f}, {1, 2, 0.7f}, {2, 3, 0.9f}}}, 0.5f, {-1, 0, 0, 0}},
    /* Crossing tracks: each edge between them is best at one end at most. */
    {{4, 3, {{0, 2, 0.9f}, {1, 3, 0.8f}, {0, 3, 0.75f}}}, 0.5f, {0, 1, 0, 1}},
    /* Best out of its source is not enough: 1-2 loses at 2, and 1-3, second
     * out of 1, is not used instead. */
    {{4, 3, {{0, 2, 0.9f}, {1, 2, 0.8f}, {1, 3, 0.7f}}}, 0.5f, {0, -1, 0, -1}},
    /* Ties: the lower edge id, that is the lower target, then source. */
    {{4, 3, {{0, 3, 0.8f}, {0, 2, 0.8f}, {1, 3, 0.8f}}}, 0.5f, {0, -1, 0, -1}},
    {{4, 3, {{2, 3, 0.8f}, {1, 3, 0.8f}, {0, 3, 0.8f}}}, 0.5f, {0, -1, -1, 0}},
    /* The cut is strict. */
    {{3, 2, {{0, 1, 0.5f}, {1, 2, 0.51f}}}, 0.5f, {-1, 0, 0}},
    /* A ring is one track; so is a pair joined in both directions. */
    {{5, 5,
         {{0, 1, 0.9f}, {1, 2, 0.9f}, {2, 0, 0.9f}, {3, 4, 0.7f},
             {4, 3, 0.7f}}},
        0.5f, {0, 0, 0, 1, 1}},
    /* A loop is an edge of a hit to itself and blocks the others. */
    {{3, 3, {{0, 1, 0.8f}, {1, 1, 0.9f}, {1, 2, 0.8f}}}, 0.5f, {-1, -1, -1}},
};

ETX_TEST(test_mutual_best_by_hand, .rows = ROWS(rows))
{
    const struct row *row = &rows[_i];
    int32_t labels[6];

    label_list(labels, &row->list, ETX_LABEL_MUTUAL_BEST, row->cut, 2);
    assert_labels(labels, row->expected, row->list.n_nodes);
}
