/* examples/small/own_edges.c -- tracks from edges and scores of another
 * program.
 *
 *     own_edges
 *
 * Six hits and five scored edges. The edge 2 -> 3 has a low score, so that the
 * connected components of the others are two tracks:
 *
 *     0 --.9-> 1 --.8-> 2 --.1-> 3 --.9-> 4 --.7-> 5
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <exatrkx/graph.h>

int main(void)
{
    const int32_t src[5] = {0, 1, 2, 3, 4};
    const int32_t dst[5] = {1, 2, 3, 4, 5};
    const float score[5] = {0.9f, 0.8f, 0.1f, 0.9f, 0.7f};
    int32_t label[6];
    etx_label_options options;
    etx_context *context = NULL;
    etx_graph *graph = NULL;
    int result = 0;

    if (etx_context_create(&context, NULL) ||
        etx_graph_from_edges(&graph, 6, 5, src, dst, score, NULL) ||
        etx_label_options_init(&options, sizeof options))
        result = 1;
    options.method = ETX_LABEL_COMPONENTS;
    options.cut = 0.5f;
    options.min_hits = 3;
    /* These methods need no positions, so there is no event. */
    if (result == 0 && etx_graph_label(label, graph, context, NULL, &options))
        result = 1;
    if (result != 0)
        fprintf(stderr, "%s\n", etx_last_error());
    for (int i = 0; result == 0 && i < 6; i++)
        printf("hit %d: track %d\n", i, (int)label[i]);
    etx_graph_free(graph);
    etx_context_free(context);
    return result;
}
