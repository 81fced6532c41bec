/* hashed_pairs.c -- locality-sensitive hashing of points, for neighbours.py.
 *
 * E2LSH (Datar et al., SCG 2004): a table hashes a point to the cells that it
 * falls into on random lines, and points of one bucket are compared. A pair
 * counts in the first table that has it in one bucket, so none is found twice.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TABLES 64
#define MAX_DIM    16
#define BLOCK      64

/* Called from Python: no header. line [n_tables, n_lines, n_dim + 1]: direction
 * and offset, in cells. Writes at most capacity pairs; returns their number. */
int64_t hashed_pairs(int32_t *pair, int64_t capacity, const float *point,
    int64_t n, int32_t n_dim, float radius, const float *line, int32_t n_tables,
    int32_t n_lines);

struct job {
    int32_t *pair;
    int64_t capacity, n_pairs;
    float square; /* of the radius */
    int64_t n;
    int32_t n_dim;
    uint32_t *key[MAX_TABLES]; /* [n] */
    int32_t *order, *scratch;  /* [n] */
    float *sorted;             /* [n_dim, n] coordinates in this order */
};

static void hash_points(uint32_t *key, const float *point, int64_t n,
    int32_t n_dim, const float *line, int32_t n_lines)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t hash = 2166136261u;
        for (int32_t l = 0; l < n_lines; l++) {
            const float *a = line + l * (n_dim + 1);
            float cell = a[n_dim];
            for (int32_t k = 0; k < n_dim; k++)
                cell += a[k] * point[i * n_dim + k];
            hash = (hash ^ (uint32_t)(int32_t)floorf(cell)) * 16777619u;
        }
        key[i] = hash ^ (hash >> 15);
    }
}

/* order = the points by key: two passes of 16 bits. */
static void sort_by_key(struct job *job, const uint32_t *key)
{
    int64_t *begin = malloc(65537 * sizeof *begin);
    int32_t *from = job->scratch, *to = job->order;

    for (int64_t i = 0; i < job->n; i++)
        to[i] = (int32_t)i;
    for (int32_t shift = 0; shift < 32; shift += 16) {
        int32_t *swap = from;
        from = to;
        to = swap;
        memset(begin, 0, 65537 * sizeof *begin);
        for (int64_t i = 0; i < job->n; i++)
            begin[(key[from[i]] >> shift & 65535) + 1]++;
        for (int32_t b = 0; b < 65536; b++)
            begin[b + 1] += begin[b];
        for (int64_t i = 0; i < job->n; i++)
            to[begin[key[from[i]] >> shift & 65535]++] = from[i];
    }
    free(begin);
}

static int is_known(const struct job *job, int32_t table, int32_t i, int32_t j)
{
    for (int32_t t = 0; t < table; t++)
        if (job->key[t][i] == job->key[t][j])
            return 1;
    return 0;
}

static void add_pair(struct job *job, int32_t table, int32_t i, int32_t j)
{
    if (is_known(job, table, i, j))
        return;
    if (job->n_pairs < job->capacity) {
        job->pair[2 * job->n_pairs] = i;
        job->pair[2 * job->n_pairs + 1] = j;
    }
    job->n_pairs++;
}

/* Point a of the order against points begin .. end - 1. */
static void compare(
    struct job *job, int32_t table, int64_t a, int64_t begin, int64_t end)
{
    for (int64_t first = begin; first < end; first += BLOCK) {
        const int64_t m = end - first < BLOCK ? end - first : BLOCK;
        float s[BLOCK] = {0};
        int32_t near = 0;
        for (int32_t k = 0; k < job->n_dim; k++) {
            const float *x = job->sorted + k * job->n;
            for (int64_t b = 0; b < m; b++) {
                const float d = x[first + b] - x[a];
                s[b] += d * d;
            }
        }
        for (int64_t b = 0; b < BLOCK; b++)
            near |= (b < m) & (s[b] <= job->square);
        for (int64_t b = 0; near && b < m; b++)
            if (s[b] <= job->square)
                add_pair(job, table, job->order[a], job->order[first + b]);
    }
}

static void search_table(struct job *job, const float *point, int32_t table)
{
    const uint32_t *key = job->key[table];

    sort_by_key(job, key);
    for (int64_t i = 0; i < job->n; i++)
        for (int32_t k = 0; k < job->n_dim; k++)
            job->sorted[k * job->n + i] =
                point[(int64_t)job->order[i] * job->n_dim + k];
    for (int64_t begin = 0, end; begin < job->n; begin = end) {
        for (end = begin + 1;
             end < job->n && key[job->order[end]] == key[job->order[begin]];
             end++)
            continue;
        for (int64_t a = begin; a < end; a++)
            compare(job, table, a, a + 1, end);
    }
}

int64_t hashed_pairs(int32_t *pair, int64_t capacity, const float *point,
    int64_t n, int32_t n_dim, float radius, const float *line, int32_t n_tables,
    int32_t n_lines)
{
    struct job job = {.pair = pair,
        .capacity = capacity,
        .square = radius * radius,
        .n = n,
        .n_dim = n_dim};

    job.order = malloc((size_t)n * sizeof *job.order);
    job.scratch = malloc((size_t)n * sizeof *job.scratch);
    job.sorted = malloc((size_t)(n * n_dim) * sizeof *job.sorted);
    for (int32_t t = 0; t < n_tables; t++) {
        job.key[t] = malloc((size_t)n * sizeof *job.key[t]);
        hash_points(job.key[t], point, n, n_dim,
            line + t * n_lines * (n_dim + 1), n_lines);
    }
    for (int32_t t = 0; t < n_tables; t++)
        search_table(&job, point, t);
    for (int32_t t = 0; t < n_tables; t++)
        free(job.key[t]);
    free(job.sorted);
    free(job.scratch);
    free(job.order);
    return job.n_pairs;
}
