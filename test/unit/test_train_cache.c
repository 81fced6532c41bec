/* test_train_cache.c -- graphs on disk: the same bits, and hostile files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/graphs/disk_cache.h"

#include "support.h"
#include "train/graphs/graph_file.h"
#include "train_bench.h"

#include <dirent.h>
#include <stdio.h>

/* Nothing is kept in memory: every graph comes from the disk. */
static const char *const no_memory =
    "{'sampling': {'cache_mib': 0, 'graphs': 2}}";

static int count_files(const char *folder, char *last, size_t size)
{
    DIR *open = opendir(folder);
    int n = 0;

    ck_assert_ptr_nonnull(open);
    for (struct dirent *entry = readdir(open); entry != NULL;
         entry = readdir(open))
        if (strstr(entry->d_name, ".graph") != NULL) {
            (void)snprintf(last, size, "%s/%s", folder, entry->d_name);
            n++;
        }
    (void)closedir(open);
    return n;
}

static void fill_cache(struct train_bench *bench, const char *folder)
{
    ck_assert_ok(etx_trainer_set_cache(bench->trainer, folder));
    train_bench_steps(bench->trainer, 12);
    (void)train_bench_validate(bench->trainer);
}

/* A kept graph counts what its arrays hold: two offsets of 8 bytes for each
 * node and the end, and 4 bytes each for source, target, order and, of the
 * filter, score of an edge. Above cache_mib the oldest go, before the next is
 * kept. */
ETX_TEST(test_train_cache_counts_bytes, .rows = 2)
{
    const int stage = _i == 0 ? ETX_TRAIN_FILTER : ETX_TRAIN_GNN;
    scoped_bench bench = train_bench_new(stage, 1, NULL);
    struct etx_event_graphs *const graphs = &bench.trainer->graphs;
    struct etx_train_event **const event = bench.trainer->training.event;
    const struct etx_graph *graph[2];
    int64_t n_bytes[2];

    graphs->max_bytes = 0;
    for (int k = 0; k < 2; k++) {
        ck_assert_ok(etx_event_graph(&graph[k], graphs, event[k]));
        n_bytes[k] = (graph[k]->n_nodes + 1) * 2 * 8 +
                     graph[k]->n_edges * (_i == 0 ? 3 : 4) * 4;
        ck_assert_int_eq(graphs->n_bytes, n_bytes[k]);
        ck_assert_ptr_eq(event[k]->graph, graph[k]);
    }
    ck_assert_ptr_null(event[0]->graph);
    graphs->max_bytes = n_bytes[1];
    ck_assert_ok(etx_event_graph(&graph[0], graphs, event[0]));
    ck_assert_int_eq(graphs->n_bytes, n_bytes[0] + n_bytes[1]);
    ck_assert_ptr_eq(event[1]->graph, graph[1]);
}

/* Graphs of another precision are other files. */
ETX_TEST(test_train_cache_precision)
{
    char folder[256];
    char path[600];

    etx_test_folder(folder);
    scoped_bench bench = train_bench_new(ETX_TRAIN_GNN, 1, no_memory);
    struct train_bench rounded = bench;
    fill_cache(&bench, folder);
    rounded.context = etx_test_context_bfloat16();
    train_bench_add(&rounded, ETX_TRAIN_GNN, no_memory);
    fill_cache(&rounded, folder);
    ck_assert_int_eq(
        count_files(folder, path, sizeof path), 2 * TRAIN_BENCH_EVENTS);
    train_bench_leave(&rounded);
    etx_test_remove(folder);
}

/* A damaged file is an error of the step that needs it, and names it: a text,
 * and a header that is none. */
ETX_TEST(test_train_cache_damaged, .rows = 2)
{
    static const char damaged[2][10] = {"no graph .", "\2\0\0\0\0\0\0\0{]"};
    etx_training_report report = {.struct_size = sizeof report};
    etx_status status = ETX_OK;
    char folder[256];
    char path[600];

    etx_test_folder(folder);
    scoped_bench bench = train_bench_new(ETX_TRAIN_GNN, 1, no_memory);
    ck_assert_ok(etx_trainer_set_cache(bench.trainer, folder));
    (void)train_bench_validate(bench.trainer);
    ck_assert_int_eq(count_files(folder, path, sizeof path), 1);
    train_bench_write(path, damaged[_i], sizeof damaged[_i]);
    train_bench_steps(bench.trainer, 1);
    status = etx_trainer_validate(&report, bench.trainer);
    ck_assert_fails(status, ETX_ERR_FORMAT, path);
    etx_test_remove(folder);
}

ETX_TEST(test_train_cache_no_folder)
{
    etx_training_report report = {.struct_size = sizeof report};

    scoped_bench bench = train_bench_new(ETX_TRAIN_FILTER, 1, NULL);
    ck_assert_fails(
        etx_trainer_set_cache(bench.trainer, NULL), ETX_ERR_ARGUMENT, "folder");
    ck_assert_ok(etx_trainer_set_cache(bench.trainer, "/nonexistent"));
    ck_assert_fails(
        etx_trainer_step(&report, bench.trainer), ETX_ERR_IO, "/nonexistent");
}

/* --------------------------------------------------------- hostile files -- */

#define N_NODES 5
#define N_EDGES 4

static const struct etx_graph_key mark = {.hash = 77, .n_nodes = N_NODES};

static struct etx_graph *make_graph(void)
{
    static const int32_t src[N_EDGES] = {1, 2, 0, 3};
    static const int32_t dst[N_EDGES] = {0, 0, 4, 4};
    static const float score[N_EDGES] = {0.0f, 0.25f, 0.5f, 1.0f};
    const struct etx_edges edges = {.n_nodes = N_NODES,
        .n_edges = N_EDGES,
        .src = src,
        .dst = dst,
        .score = score};
    struct etx_graph *graph = NULL;

    ck_assert_ok(etx_graph_sort(&graph, NULL, NULL, &edges));
    return graph;
}

/* Every prefix and every byte changed: an error, and no graph. */
ETX_TEST(test_train_cache_hostile_bytes)
{
    scoped_graph *graph = make_graph();
    struct etx_graph *read = NULL;
    char folder[256];
    char path[300];
    scoped char *bytes = NULL;
    long size;

    etx_test_folder(folder);
    (void)snprintf(path, sizeof path, "%s/one.graph", folder);
    ck_assert_ok(etx_graph_file_write(path, graph, &mark));
    ck_assert_ok(etx_graph_file_read(&read, path, &mark));
    ck_assert_int_eq(read->n_edges, N_EDGES);
    ck_assert_mem_eq(read->src, graph->src, sizeof(int32_t) * N_EDGES);
    ck_assert_mem_eq(read->score, graph->score, sizeof(float) * N_EDGES);
    etx_graph_free(read);
    read = NULL;
    bytes = train_bench_read(path, &size);
    for (long cut = 0; cut < size; cut++) {
        train_bench_write(path, bytes, cut);
        ck_assert_int_ne(etx_graph_file_read(&read, path, &mark), ETX_OK);
    }
    for (long at = 0; at < size; at++) {
        bytes[at] ^= 1;
        train_bench_write(path, bytes, size);
        ck_assert_msg(etx_graph_file_read(&read, path, &mark) != ETX_OK,
            "byte %ld of %ld may be anything", at, size);
        bytes[at] ^= 1;
    }
    ck_assert_ptr_null(read);
    etx_test_remove(folder);
}

/* Files with a right checksum and edges that no graph has. */
ETX_TEST(test_train_cache_hostile_edges, .rows = 7)
{
    scoped_graph *graph = make_graph();
    struct etx_graph *read = NULL;
    struct etx_graph_key other = mark;
    char folder[256];
    char path[300];

    switch (_i) {
    case 0:
        graph->dst[3] = N_NODES;
        break;
    case 1:
        graph->src[0] = -1;
        break;
    case 2:
        graph->dst[1] = 4;
        graph->dst[2] = 0;
        break;
    case 3:
        graph->src[1] = graph->src[0];
        break;
    case 4:
        graph->score[2] = 1.5f;
        break;
    case 5:
        other.hash = 78;
        break;
    default:
        other.n_nodes = 3;
    }
    etx_test_folder(folder);
    (void)snprintf(path, sizeof path, "%s/one.graph", folder);
    ck_assert_ok(etx_graph_file_write(path, graph, &mark));
    ck_assert_fails(
        etx_graph_file_read(&read, path, &other), ETX_ERR_FORMAT, path);
    ck_assert_ptr_null(read);
    etx_test_remove(folder);
}
