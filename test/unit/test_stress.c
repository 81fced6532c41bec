/* test_stress.c -- many contexts on one model at the same time, cancelled at
 * random, opened and freed in any order: every result is that of one context
 * alone.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io_models.h"

#include "base/heap.h"
#include "base/random.h"
#include "cylinders.h"

#include <pthread.h>
#include <stdlib.h>

#define N_WORKERS 8
#define N_EVENTS  10
#define N_CALLS   400 /* of each worker */

/* A model that finds something: hits that follow each other are joined. */
static const char model_text[] =
    "{\"schema\":1,\"embedding\":{\"arch\":\"mlp\",\"options\":{\"hidden\":[4],"
    "\"n_out\":3},\"node_features\":[{\"name\":\"r\",\"scale\":1000},{\"name\":"
    "\"phi\",\"scale\":3.14}],\"graph\":{\"radius\":0.2,\"orientation\":"
    "\"outward\"}},\"gnn\":{\"arch\":\"interaction_network\",\"options\":{"
    "\"hidden\":4,\"n_iterations\":2},\"node_features\":[{\"name\":\"r\","
    "\"scale\":1000}],\"edge_features\":[{\"name\":\"dphi\",\"scale\":1}]},"
    "\"label\":{\"method\":\"walkthrough\",\"cut\":0.1,\"min_hits\":3}}";

/* What the workers share. */
struct stress {
    etx_model *model;
    etx_event *event[N_EVENTS];
    etx_tracks *expected[N_EVENTS];
};

struct worker {
    const struct stress *stress;
    uint64_t seed;
    int64_t n_found, n_cancelled, n_wrong;
};

static int is_same(const etx_tracks *a, const etx_tracks *b)
{
    const int64_t n = etx_tracks_count(a);
    const int64_t *offset = etx_tracks_offsets(a);

    return n == etx_tracks_count(b) &&
           memcmp(offset, etx_tracks_offsets(b),
               (size_t)(n + 1) * sizeof *offset) == 0 &&
           memcmp(etx_tracks_hits(a), etx_tracks_hits(b),
               (size_t)offset[n] * sizeof(int32_t)) == 0;
}

/* Cancels at the poll that *user counts down to; 0: never. */
static int32_t poll(void *user)
{
    int64_t *left = user;

    return *left > 0 && --*left == 0;
}

static etx_context *open_context(struct etx_random *random, int64_t *left)
{
    etx_context_options options = {.struct_size = sizeof options,
        .n_threads = 1 + (int32_t)etx_random_below(random, 3),
        .cancel = poll,
        .cancel_user = left};
    etx_context *context = NULL;

    return etx_context_create(&context, &options) == ETX_OK ? context : NULL;
}

/* No assertion here: it would be one of another thread. */
static void find_one(struct worker *worker, etx_context *context,
    struct etx_random *random, int64_t *left)
{
    const int64_t k = (int64_t)etx_random_below(random, N_EVENTS);
    etx_tracks *tracks = NULL;
    etx_status status;

    *left = (int64_t)etx_random_below(random, 40);
    *left = *left < 20 ? *left : 0;
    status = etx_find_tracks(
        &tracks, context, worker->stress->model, worker->stress->event[k]);
    if (status == ETX_OK)
        worker->n_found++;
    if (status == ETX_ERR_CANCELLED)
        worker->n_cancelled++;
    worker->n_wrong +=
        (status != ETX_OK && status != ETX_ERR_CANCELLED) ||
        (status != ETX_OK && tracks != NULL) ||
        (status == ETX_OK && !is_same(tracks, worker->stress->expected[k]));
    etx_tracks_free(tracks);
}

/* Two contexts at a time, of which one is opened again now and then. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    struct etx_random random;
    etx_context *context[2] = {NULL, NULL};
    int64_t left[2] = {0, 0};

    etx_random_init(&random, worker->seed, 0, 0);
    for (int32_t n = 0; n < N_CALLS; n++) {
        const uint64_t k = etx_random_below(&random, 2);

        if (context[k] == NULL || etx_random_below(&random, 16) == 0) {
            etx_context_free(context[k]);
            context[k] = open_context(&random, &left[k]);
        }
        if (context[k] == NULL)
            worker->n_wrong++;
        else
            find_one(worker, context[k], &random, &left[k]);
    }
    etx_context_free(context[1]);
    etx_context_free(context[0]);
    return NULL;
}

ETX_TEST(test_stress_contexts)
{
    struct stress stress = {.model = io_model_make(model_text)};
    scoped_context *serial = etx_test_context();
    struct worker worker[N_WORKERS];
    pthread_t thread[N_WORKERS];
    int64_t n_cancelled = 0;
    int64_t heap;

    for (int32_t k = 0; k < N_EVENTS; k++) {
        stress.event[k] = train_event(2 + k, (uint64_t)k);
        ck_assert_ok(etx_find_tracks(
            &stress.expected[k], serial, stress.model, stress.event[k]));
    }
    heap = etx_heap_in_use();
    for (int32_t w = 0; w < N_WORKERS; w++) {
        worker[w] = (struct worker){.stress = &stress, .seed = (uint64_t)w};
        ck_assert_int_eq(pthread_create(&thread[w], NULL, work, &worker[w]), 0);
    }
    for (int32_t w = 0; w < N_WORKERS; w++) {
        ck_assert_int_eq(pthread_join(thread[w], NULL), 0);
        ck_assert_int_eq(worker[w].n_wrong, 0);
        ck_assert_int_gt(worker[w].n_found, 0);
        n_cancelled += worker[w].n_cancelled;
    }
    ck_assert_int_gt(n_cancelled, 0);
    ck_assert_int_eq(etx_heap_in_use(), heap);
    ck_assert_int_gt(etx_tracks_count(stress.expected[N_EVENTS - 1]), 0);
    for (int32_t k = 0; k < N_EVENTS; k++) {
        etx_tracks_free(stress.expected[k]);
        etx_event_free(stress.event[k]);
    }
    etx_model_free(stress.model);
}
