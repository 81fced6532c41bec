/* train/graphs/graph_file.c -- cached graphs on disk.
 *
 * A safetensors file:
 *   tensors   dst, src [4 n_edges] bytes: little-endian int32, which the subset
 *             of safetensors used here lacks; score [n_edges] float32, optional
 *   metadata  etx.graph (schema), etx.checksum, etx.hash
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/graphs/graph_file.h"

#include "base/check.h"
#include "base/heap.h"
#include "io/file.h"
#include "train/hash.h"

#include <stdio.h>
#include <string.h>

#define MAX_TENSORS 3

etx_status etx_graph_file_write(const char *path, const struct etx_graph *graph,
    const struct etx_graph_key *key)
{
    const int64_t n_bytes = graph->n_edges * (int64_t)sizeof(int32_t);
    struct etx_tensor tensor[MAX_TENSORS];
    int64_t n = 0;
    char checksum[9];
    char hash[17];
    const char *const pair[][2] = {
        {"etx.graph", "1"}, {"etx.checksum", checksum}, {"etx.hash", hash}};
    struct etx_json *metadata = NULL;
    etx_status status = ETX_OK;

    tensor[n++] = etx_tensor_vector("dst", ETX_TENSOR_U8, n_bytes, graph->dst);
    if (graph->score != NULL)
        tensor[n++] = etx_tensor_vector(
            "score", ETX_TENSOR_F32, graph->n_edges, graph->score);
    tensor[n++] = etx_tensor_vector("src", ETX_TENSOR_U8, n_bytes, graph->src);
    ETX_CHECK(etx_tensor_checksum(checksum, n, tensor));
    etx_hash_text(hash, key->hash);
    ETX_CHECK(etx_json_create_texts(&metadata, pair, 3));
    ETX_CHECK(etx_tensor_file_write(path, n, tensor, metadata));
done:
    etx_json_free(metadata);
    return status;
}

static int has(
    const struct etx_tensor_file *file, const char *name, const char *wanted)
{
    const char *text = etx_json_text(etx_json_get(file->metadata, name));

    return text != NULL && strcmp(text, wanted) == 0;
}

static etx_status check_metadata(const struct etx_tensor_file *file,
    const char *path, const struct etx_graph_key *key)
{
    char checksum[9];
    char hash[17];
    etx_status status;

    ETX_CHECK(etx_tensor_checksum(checksum, file->n_tensors, file->tensor));
    etx_hash_text(hash, key->hash);
    if (!has(file, "etx.graph", "1"))
        return etx_fail(
            ETX_ERR_FORMAT, "%s: not a cached graph of schema 1", path);
    if (!has(file, "etx.checksum", checksum))
        return etx_fail(ETX_ERR_FORMAT,
            "%s: damaged: its checksum is %s, not what the file says", path,
            checksum);
    if (!has(file, "etx.hash", hash))
        return etx_fail(ETX_ERR_FORMAT,
            "%s: a graph of another event or model, hash %s is wanted", path,
            hash);
done:
    return status;
}

/* The number of edges, or -1 when the tensors are not a graph's. */
static int64_t count_edges(const struct etx_tensor_file *file)
{
    const struct etx_tensor *src = etx_tensor_file_find(file, "src");
    const struct etx_tensor *dst = etx_tensor_file_find(file, "dst");
    const struct etx_tensor *score = etx_tensor_file_find(file, "score");
    const int64_t n_known = score == NULL ? 2 : 3;

    if (src == NULL || dst == NULL || file->n_tensors != n_known ||
        src->type != ETX_TENSOR_U8 || dst->type != ETX_TENSOR_U8 ||
        src->n_values % 4 != 0 || src->n_values != dst->n_values)
        return -1;
    if (score != NULL &&
        (score->type != ETX_TENSOR_F32 || score->n_values != src->n_values / 4))
        return -1;
    return src->n_values / 4;
}

/* Ends in range, edges ascending by (dst, src), scores in 0 .. 1. */
static etx_status check_edges(const char *path, int64_t n_nodes,
    int64_t n_edges, const int32_t *src, const int32_t *dst, const float *score)
{
    for (int64_t e = 0; e < n_edges; e++) {
        const int in_range =
            src[e] >= 0 && src[e] < n_nodes && dst[e] >= 0 && dst[e] < n_nodes;
        const int ascends = e == 0 || dst[e - 1] < dst[e] ||
                            (dst[e - 1] == dst[e] && src[e - 1] < src[e]);

        if (!in_range || !ascends ||
            (score != NULL && !(score[e] >= 0.0f && score[e] <= 1.0f)))
            return etx_fail(ETX_ERR_FORMAT,
                "%s: edge %lld from %d to %d of %lld hits is out of range, "
                "out of order, or has no score in 0 .. 1",
                path, (long long)e, (int)src[e], (int)dst[e],
                (long long)n_nodes);
    }
    return ETX_OK;
}

static etx_status copy_tensor(void *out_pointer,
    const struct etx_tensor_file *file, const char *name, int64_t n_edges)
{
    const struct etx_tensor *tensor = etx_tensor_file_find(file, name);
    void *copy = NULL;
    etx_status status;

    if (tensor == NULL)
        return ETX_OK;
    ETX_CHECK(etx_alloc(&copy, n_edges, 4, "edges of a cached graph"));
    memcpy(copy, tensor->data, (size_t)n_edges * 4);
    memcpy(out_pointer, &copy, sizeof copy);
done:
    return status;
}

static etx_status make_graph(struct etx_graph **out,
    const struct etx_tensor_file *file, const char *path, int64_t n_nodes)
{
    const int64_t n = count_edges(file);
    int32_t *src = NULL;
    int32_t *dst = NULL;
    float *score = NULL;
    etx_status status;

    if (n < 0)
        return etx_fail(ETX_ERR_FORMAT, "%s: not the tensors of a graph", path);
    ETX_CHECK(copy_tensor(&src, file, "src", n));
    ETX_CHECK(copy_tensor(&dst, file, "dst", n));
    ETX_CHECK(copy_tensor(&score, file, "score", n));
    ETX_CHECK(check_edges(path, n_nodes, n, src, dst, score));
    ETX_CHECK(etx_graph_adopt(out, NULL, n_nodes, n, src, dst, score));
    src = dst = NULL;
    score = NULL;
done:
    etx_free(src);
    etx_free(dst);
    etx_free(score);
    return status;
}

/* Prefix the parser's error with the name of the file. */
static etx_status add_path(const char *path, etx_status status)
{
    char why[256];

    (void)snprintf(why, sizeof why, "%s", etx_last_error());
    return etx_fail(status, "%s: %s", path, why);
}

etx_status etx_graph_file_read(
    struct etx_graph **out, const char *path, const struct etx_graph_key *key)
{
    struct etx_bytes bytes = {.data = NULL};
    struct etx_tensor_file *file = NULL;
    etx_status status;

    ETX_CHECK(etx_tensor_file_read(&bytes, path));
    status = etx_tensor_file_parse(&file, bytes.data, bytes.size);
    if (status != ETX_OK) {
        status = add_path(path, status);
        goto done;
    }
    ETX_CHECK(check_metadata(file, path, key));
    ETX_CHECK(make_graph(out, file, path, key->n_nodes));
done:
    etx_tensor_file_free(file);
    etx_bytes_release(&bytes);
    return status;
}
