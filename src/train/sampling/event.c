/* train/sampling/event.c -- the events of a trainer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/sampling/event.h"

#include "base/check.h"
#include "base/heap.h"
#include "train/hash.h"

#include <math.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;

/* A hit and the slope of the line from the origin to it. */
struct slope {
    float value;
    int32_t hit;
};

static int compare_slopes(const void *left, const void *right)
{
    const struct slope *a = left;
    const struct slope *b = right;

    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->hit < b->hit ? -1 : a->hit > b->hit;
}

/* quantile [n_hits]: the fraction of hits of smaller slope z / r. */
static etx_status find_quantiles(float *quantile, const struct etx_event *event)
{
    const int64_t n = event->n_hits;
    struct slope *slope = NULL;
    etx_status status;

    ETX_NEW(slope, n, "slopes");
    for (int64_t i = 0; i < n; i++) {
        const float *x = event->position + 3 * i;
        const double r = hypot((double)x[0], (double)x[1]);

        slope[i].value = (float)((double)x[2] / (r > 1e-3 ? r : 1e-3));
        slope[i].hit = (int32_t)i;
    }
    qsort(slope, (size_t)n, sizeof *slope, compare_slopes);
    for (int64_t i = 0; i < n; i++)
        quantile[slope[i].hit] = (float)i / (float)n;
done:
    etx_free(slope);
    return status;
}

etx_status etx_train_event_create(struct etx_train_event **out,
    const struct etx_event *event, const struct etx_train_config *config)
{
    struct etx_train_event *made = NULL;
    etx_status status;

    ETX_NEW(made, 1, "training event");
    made->event = event;
    made->n_hits = event->n_hits;
    made->holder = -1;
    ETX_CHECK(etx_truth_build(
        &made->truth, event, &config->truth, config->loss.hit_weight > 0.0f));
    ETX_NEW(made->azimuth, event->n_hits, "azimuths");
    for (int64_t i = 0; i < event->n_hits; i++) {
        const float *x = event->position + 3 * i;
        const double turn =
            atan2((double)x[1], (double)x[0]) / (2.0 * pi) + 0.5;

        made->azimuth[i] = (float)(turn - floor(turn));
    }
    ETX_NEW(made->slope_quantile, event->n_hits, "slopes");
    ETX_CHECK(find_quantiles(made->slope_quantile, event));
    *out = made;
    made = NULL;
done:
    etx_train_event_free(made);
    return status;
}

etx_status etx_train_event_absent(struct etx_train_event **out, int64_t n_hits)
{
    const etx_status status = etx_alloc(out, 1, sizeof **out, "training event");

    if (status == ETX_OK)
        (*out)->n_hits = n_hits;
    return status;
}

void etx_train_event_free(struct etx_train_event *event)
{
    if (event == NULL)
        return;
    etx_event_free(event->augmented);
    etx_truth_clear(&event->truth);
    etx_free(event->azimuth);
    etx_free(event->slope_quantile);
    etx_graph_free(event->graph);
    etx_free(event);
}

etx_status etx_train_events_add(
    struct etx_train_events *events, struct etx_train_event *event)
{
    etx_status status = ETX_OK;

    if (events->n == events->capacity) {
        const int64_t capacity = 2 * events->capacity + 16;

        ETX_CHECK(etx_resize(&events->event, events->capacity, capacity,
            sizeof(*events->event), "training events"));
        events->capacity = capacity;
    }
    events->event[events->n++] = event;
    events->n_hits += event->n_hits;
    events->hash =
        etx_hash_bytes(events->hash, &event->n_hits, sizeof event->n_hits);
done:
    return status;
}

void etx_train_events_clear(struct etx_train_events *events)
{
    for (int64_t i = 0; i < events->n; i++)
        etx_train_event_free(events->event[i]);
    etx_free(events->event);
}
