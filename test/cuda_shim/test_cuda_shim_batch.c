/* cuda_shim/test_cuda_shim_batch.c -- several events in one set of launches.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/exatrkx.h>
#include <stdlib.h>

#include "../cuda/device.h"
#include "data/event.h"
#include "device_edges.h"
#include "stage/model.h"

#define N_EVENTS 7

/* What a model may have besides the shipped one's: bounds that an event needs,
 * k nearest neighbours, for which events run alone; no first pass, all label
 * methods. The last is for whole events: fewer points have no bound. */
static const struct variant {
    int32_t precision, method, max_neighbours, no_first_pass;
    float graph_max_edges, filter_max_edges;
    int32_t runs_alone;
} variants[] = {
    {ETX_PRECISION_BEST, ETX_LABEL_BEST_FIRST, 0, 0, 80.0f, 8.0f, 0},
    {ETX_PRECISION_BEST, ETX_LABEL_BEST_FIRST, 0, 1, 80.0f, 8.0f, 0},
    {ETX_PRECISION_TF32, ETX_LABEL_COMPONENTS, 0, 1, 0.0f, 0.0f, 0},
    {ETX_PRECISION_BEST, ETX_LABEL_MUTUAL_BEST, 0, 1, 0.0f, 1.0f, 1},
    {ETX_PRECISION_BEST, ETX_LABEL_MUTUAL_BEST, 0, 1, 0.0f, 8.0f, 0},
    {ETX_PRECISION_BEST, ETX_LABEL_WALKTHROUGH, 7, 1, 0.0f, 0.0f, 1},
    {ETX_PRECISION_FLOAT32, ETX_LABEL_WALKTHROUGH, 0, 1, 2.0f, 0.0f, 1},
};

/* Events of several sizes, one of them empty, one without cells, which cannot
 * join the others. */
struct fixture {
    etx_context *context;
    etx_model *model;
    etx_event *event[N_EVENTS];
};

/* The hits of every n-th particle, or of all and noise, but at most max_hits:
 * an emulated device takes long for a whole event. */
static etx_event *part_of(const etx_event *event, int32_t n, int64_t max_hits)
{
    scoped int32_t *row = etx_test_alloc(event->n_hits, sizeof *row);
    etx_event *out = NULL;
    int64_t n_hits = 0;

    for (int64_t i = 0; i < event->n_hits && n_hits < max_hits; i++)
        if (n == 1 ||
            (event->particle_row[i] >= 0 && event->particle_row[i] % n == 0))
            row[n_hits++] = (int32_t)i;
    ck_assert_ok(etx_event_select(&out, event, row, n_hits));
    return out;
}

static struct fixture open_fixture(const struct variant *variant)
{
    static const char *const names[] = {"event000000000", "event000000001"};
    const etx_context_options options = device_options(variant->precision);
    struct fixture out = {0};
    const int32_t is_whole = variant == &variants[ROWS(variants) - 1];
    etx_event *whole[2];

    etx_test_open_example(&out.model, &whole[0], names[0]);
    etx_model_free(out.model);
    etx_test_open_example(&out.model, &whole[1], names[1]);
    out.event[0] = part_of(whole[0], is_whole ? 1 : 5, INT32_MAX);
    out.event[1] = part_of(whole[1], is_whole ? 1 : 5, INT32_MAX);
    out.event[2] = part_of(whole[0], 1, 0);
    out.event[3] = part_of(whole[0], 12, INT32_MAX);
    out.event[4] = etx_test_event(out.event[1]->n_hits, out.event[1]->position);
    out.event[5] = part_of(whole[1], 9, INT32_MAX);
    out.event[6] = part_of(whole[1], 1, 1);
    etx_event_free(whole[0]);
    etx_event_free(whole[1]);
    ck_assert_ok(etx_context_create(&out.context, &options));
    out.model->label.method = variant->method;
    out.model->max_neighbours = variant->max_neighbours;
    out.model->graph_max_edges = variant->graph_max_edges;
    out.model->filter_max_edges = variant->filter_max_edges;
    if (variant->no_first_pass)
        out.model->first_pass_options.min_event_hits = INT32_MAX;
    return out;
}

static void close_fixture(struct fixture *fixture)
{
    for (int32_t e = 0; e < N_EVENTS; e++)
        etx_event_free(fixture->event[e]);
    etx_model_free(fixture->model);
    etx_context_free(fixture->context);
}
#define scoped_fixture SCOPED(close_fixture) struct fixture

/* Every event has the tracks that it has alone. */
SHIM_TEST(test_cuda_shim_batch_same, .rows = ROWS(variants), .n_quick = 3)
{
    scoped_fixture fixture = open_fixture(&variants[_i]);
    etx_tracks *together[N_EVENTS] = {NULL};
    int64_t n_tracks = 0;

    ck_assert_ok(etx_find_tracks_batch(together, fixture.context, fixture.model,
        N_EVENTS, (const etx_event *const *)fixture.event));
    for (int32_t e = 0; e < N_EVENTS; e++) {
        scoped_tracks *alone = NULL;

        ck_assert_ok(etx_find_tracks(
            &alone, fixture.context, fixture.model, fixture.event[e]));
        etx_test_same_tracks(alone, together[e]);
        n_tracks += etx_tracks_count(alone);
        etx_tracks_free(together[e]);
    }
    ck_assert_msg(n_tracks > 30, "%lld tracks", (long long)n_tracks);
}

/* What a batch of n equal events takes. */
static struct shim_counts counts_of(const struct fixture *fixture, int32_t n)
{
    const etx_event *event[8];
    etx_tracks *tracks[8] = {NULL};
    const struct shim_counts before = shim_count();

    for (int32_t e = 0; e < n; e++)
        event[e] = fixture->event[0];
    ck_assert_ok(etx_find_tracks_batch(
        tracks, fixture->context, fixture->model, n, event));
    for (int32_t e = 0; e < n; e++)
        etx_tracks_free(tracks[e]);
    return shim_count_since(&before);
}

/* They do not grow with the number of events, but for the rounds of
 * best_first, of which the event that needs most decides. */
SHIM_TEST(test_cuda_shim_batch_launches, .rows = ROWS(variants), .n_quick = 3)
{
    scoped_fixture fixture = open_fixture(&variants[_i]);
    const struct shim_counts first = counts_of(&fixture, 2);
    const struct shim_counts two = counts_of(&fixture, 2);
    const struct shim_counts many = counts_of(&fixture, 8);

    ck_assert_int_gt(first.copies_in, two.copies_in);
    const int64_t has_rounds = variants[_i].method == ETX_LABEL_BEST_FIRST;

    if (variants[_i].runs_alone) {
        ck_assert_int_gt(many.kernels, 2 * two.kernels);
        return;
    }
    ck_assert_int_le(many.kernels - two.kernels, has_rounds * 30);
    /* Times of stages are read, without a wait, for 16 of them together. */
    ck_assert_int_le(many.waits - two.waits, has_rounds * 2 + 2);
    ck_assert_int_eq(many.copies_in, two.copies_in);
}

/* An event that fails alone fails its batch; one that is cancelled, too. */
static int32_t always(void *user)
{
    (void)user;
    return 1;
}

SHIM_TEST(test_cuda_shim_batch_fails, .rows = 2)
{
    scoped_fixture fixture = open_fixture(&variants[1]);
    etx_tracks *tracks[2] = {NULL};

    if (_i == 0)
        fixture.context->options.cancel = always;
    else
        fixture.context->options.memory_limit = 1 << 12;
    fixture.context->stream->cancel = fixture.context->options.cancel;
    ck_assert_int_ne(
        etx_find_tracks_batch(tracks, fixture.context, fixture.model, 2,
            (const etx_event *const *)fixture.event),
        ETX_OK);
    ck_assert_ptr_null(tracks[0]);
    ck_assert_ptr_null(tracks[1]);
}
