/* stage/batch.c -- several events in one call.
 *
 * A small event has too little work for many threads. So on the CPU each thread
 * runs whole events, in a context of one thread of its own, which stays for the
 * next call with the forms of the weights that it has made. On a device several
 * are joined: the networks see one event whose hits have neighbours in their
 * own event only, so that launches and waits do not grow with the number of
 * events. First pass and completion, on the host, are of each event.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/threads.h"

#include <string.h>

#define MAX_JOINED_HITS 131072 /* about a full event: enough for a device */
#define MAX_JOINED      256

struct batch {
    struct etx_tracks **out; /* [n] */
    struct etx_context *context;
    const struct etx_model *model;
    const struct etx_event *const *event;     /* [n] */
    etx_stage_timing (*timing)[ETX_N_STAGES]; /* [n_threads] */
    int32_t side_by_side; /* 1: in the contexts of threads */
};

/* The cancel of a context of a thread: that of the context of the batch. */
static int32_t poll_batch(void *user)
{
    const struct etx_context *const of = user;

    return etx_check_cancelled(of->stream) != ETX_OK;
}

static etx_status open_worker(struct etx_context **out, struct etx_context *of)
{
    struct etx_context *context = NULL;
    etx_status status;

    ETX_NEW(context, 1, "context of a thread");
    context->options = of->options;
    context->options.n_threads = 1;
    context->options.memory_limit =
        of->options.memory_limit > 0
            ? of->options.memory_limit / of->options.n_threads + 1
            : 0;
    context->options.cancel = of->options.cancel == NULL ? NULL : poll_batch;
    context->options.cancel_user = of;
    ETX_CHECK(etx_backend_open(context));
    *out = context;
    context = NULL;
done:
    etx_free(context);
    return status;
}

void etx_batch_free(struct etx_context *context)
{
    if (context->worker == NULL)
        return;
    for (int32_t w = 0; w < context->options.n_threads; w++)
        if (context->worker[w] != NULL) {
            etx_backend_close(context->worker[w]);
            etx_free(context->worker[w]);
        }
    etx_free(context->worker);
    context->worker = NULL;
}

static void add_timing(etx_stage_timing *sum, const etx_stage_timing *of)
{
    for (int32_t s = 0; s < ETX_N_STAGES; s++) {
        sum[s].seconds += of[s].seconds;
        sum[s].gflop += of[s].gflop;
        sum[s].n_edges += of[s].n_edges;
        if (of[s].peak_bytes > sum[s].peak_bytes)
            sum[s].peak_bytes = of[s].peak_bytes;
    }
}

static etx_status run_event(void *argument, int64_t index, int32_t worker)
{
    const struct batch *batch = argument;
    struct etx_context *context = batch->context;
    etx_status status = ETX_OK;

    if (batch->side_by_side) {
        if (context->worker[worker] == NULL)
            ETX_CHECK(open_worker(&context->worker[worker], context));
        context = context->worker[worker];
    }
    ETX_CHECK(etx_stage_find_tracks(
        &batch->out[index], context, batch->model, batch->event[index]));
    etx_stage_read_timings(context);
    add_timing(batch->timing[worker], context->timing);
done:
    return status;
}

/* Whether the result of every network is that of each event alone. */
static int32_t can_join(const struct etx_model *model)
{
    const struct etx_network *const networks[] = {
        model->embedding.network, model->filter.network, model->gnn.network};

    for (int32_t k = 0; k < 3; k++)
        if (networks[k] != NULL && networks[k]->needs_whole != NULL)
            return 0;
    return model->module_map == NULL && model->max_neighbours == 0;
}

/* How many events from index on are joined. */
static int32_t count_joined(const struct batch *batch, int64_t index, int64_t n)
{
    int64_t n_hits = batch->event[index]->n_hits;
    int32_t count = 1;

    while (
        index + count < n && count < MAX_JOINED &&
        etx_event_can_join(batch->event[index], batch->event[index + count])) {
        n_hits += batch->event[index + count]->n_hits;
        if (n_hits > MAX_JOINED_HITS)
            break;
        count++;
    }
    return count;
}

/* Tracks are numbered by their first hits: an event continues the numbers of
 * the events before, up to *base. Its own label [n] begin at 0. */
static void number_tracks(int32_t *label, int64_t n, int32_t *base)
{
    int32_t next = *base;

    for (int64_t k = 0; k < n; k++) {
        if (label[k] >= next)
            next = label[k] + 1;
        if (label[k] >= 0)
            label[k] -= *base;
    }
    *base = next;
}

/* label: of the hits left of all events [n], one event after the other. */
static etx_status run_networks(int32_t **label,
    const struct etx_hits_left *left, struct etx_context *context,
    const struct etx_model *model, int32_t n)
{
    struct etx_arena *arena = etx_host_of(context)->stream->arena;
    const struct etx_event **rest = NULL;
    struct etx_event *joined = NULL;
    etx_status status;

    ETX_SCRATCH(rest, arena, n, "hits of events");
    for (int32_t e = 0; e < n; e++)
        rest[e] = left[e].rest;
    ETX_CHECK(etx_event_join(&joined, rest, n));
    ETX_CHECK(etx_arena_alloc(
        label, arena, joined->n_hits, sizeof **label, "labels"));
    ETX_CHECK(etx_stage_run_networks(*label, context, model, joined));
done:
    etx_event_free(joined);
    return status;
}

/* Events joined for the networks; on failure some of out [n] are set. */
static etx_status find_joined(struct etx_tracks **out,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *const *event, int32_t n)
{
    const struct etx_scratch_mark mark = etx_scratch_mark(context);
    struct etx_hits_left *left = NULL;
    int32_t *label = NULL;
    etx_status status;

    etx_stage_reset_timings(context);
    ETX_NEW(left, n, "events");
    for (int32_t e = 0; e < n; e++)
        ETX_CHECK(etx_stage_begin_event(&left[e], context, model, event[e]));
    for (int32_t pass = etx_stage_passes(model, event[0]); pass > 0; pass--) {
        int32_t base = 0;

        ETX_CHECK(run_networks(&label, left, context, model, n));
        for (int32_t e = 0; e < n; e++) {
            const int64_t n_hits = left[e].rest->n_hits;

            number_tracks(label, n_hits, &base);
            etx_stage_add_found(&left[e], label);
            label += n_hits;
            if (pass > 1)
                ETX_CHECK(etx_stage_next_pass(&left[e], context, model));
            else
                ETX_CHECK(
                    etx_stage_end_event(&out[e], &left[e], context, model));
        }
    }
done:
    for (int32_t e = 0; left != NULL && e < n; e++)
        etx_hits_left_free(&left[e]);
    etx_free(left);
    etx_scratch_reset(context, mark);
    return status;
}

/* Events on a device. Where a joined one fails, for want of memory or as one of
 * them needs its bounds on edges, each runs alone, and may fail for itself. */
static etx_status run_joined(struct batch *batch, int64_t n)
{
    struct etx_context *context = batch->context;
    int32_t count = 1;
    etx_status status = ETX_OK;

    for (int64_t e = 0; e < n; e += count) {
        count = can_join(batch->model) ? count_joined(batch, e, n) : 1;
        if (count > 1) {
            status = find_joined(
                &batch->out[e], context, batch->model, &batch->event[e], count);
            if (status == ETX_OK) {
                etx_stage_read_timings(context);
                add_timing(batch->timing[0], context->timing);
                continue;
            }
            for (int32_t k = 0; k < count; k++) {
                etx_tracks_free(batch->out[e + k]);
                batch->out[e + k] = NULL;
            }
            if (status == ETX_ERR_CANCELLED)
                goto done;
        }
        for (int32_t k = 0; k < count; k++)
            ETX_CHECK(run_event(batch, e + k, 0));
    }
done:
    return status;
}

/* Each event by one thread, or all threads one event after the other. */
static etx_status run_events(struct batch *batch, int64_t n)
{
    struct etx_context *context = batch->context;
    const int32_t n_threads = context->options.n_threads;
    etx_status status = ETX_OK;

    if (n > 1 && n_threads > 1 && context->host == NULL) {
        if (context->worker == NULL)
            ETX_CHECK(etx_alloc(&context->worker, n_threads,
                sizeof(*context->worker), "contexts of threads"));
        batch->side_by_side = 1;
        /* The caller's thread may be left without an event. */
        ETX_CHECK(etx_check_cancelled(context->stream));
        return etx_parallel_for(context->stream->pool, n, run_event, batch);
    }
    if (context->host != NULL)
        return run_joined(batch, n);
    for (int64_t e = 0; e < n; e++)
        ETX_CHECK(run_event(batch, e, 0));
done:
    return status;
}

etx_status etx_stage_find_tracks_batch(struct etx_tracks **out,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *const *event, int64_t n)
{
    struct batch batch = {.context = context, .model = model, .event = event};
    etx_status status;

    ETX_CHECK(etx_alloc(&batch.out, n, sizeof(*batch.out), "tracks of events"));
    ETX_CHECK(etx_alloc(&batch.timing, context->options.n_threads,
        sizeof(*batch.timing), "timings of threads"));
    ETX_CHECK(run_events(&batch, n));
    etx_stage_reset_timings(context);
    for (int32_t w = 0; w < context->options.n_threads; w++)
        add_timing(context->timing, batch.timing[w]);
    for (int64_t e = 0; e < n; e++) {
        out[e] = batch.out[e];
        batch.out[e] = NULL;
    }
done:
    for (int64_t e = 0; batch.out != NULL && e < n; e++)
        etx_tracks_free(batch.out[e]);
    etx_free(batch.timing);
    etx_free(batch.out);
    return status;
}
