/* io/tracks_csv.c -- tracks in TrackML's submission form.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/tracks_csv.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"
#include "base/text.h"
#include "data/event.h"
#include "data/id_index.h"
#include "data/tracks.h"
#include "io/csv.h"
#include "io/file.h"

#include <inttypes.h>
#include <string.h>

#define NO_TRACK (-1)
/* Two numbers of 64 bits, a comma and a line feed. */
#define MAX_ROW_BYTES 42
/* Bytes that one formatted row needs at most. */
#define SPARE_BYTES 32

static const char first_line[] = "hit_id,track_id\n";

enum { HIT_ID, TRACK_ID, EVENT_ID, N_COLUMNS };

static const struct etx_csv_wanted columns[N_COLUMNS] = {
    [HIT_ID] = {"hit_id", ETX_CSV_INT64},
    [TRACK_ID] = {"track_id", ETX_CSV_INT64},
    [EVENT_ID] = {"event_id", ETX_CSV_INT64 | ETX_CSV_OPTIONAL},
};

/* ------------------------------------------------------------- writing -- */

static size_t write_row(char *text, int64_t hit_id, int64_t track_id)
{
    size_t size = (size_t)etx_format_int64(text, hit_id);

    text[size++] = ',';
    size += (size_t)etx_format_int64(text + size, track_id);
    text[size++] = '\n';
    return size;
}

/* The tracks of hit i, ascending: track [first[i]] .. [first[i + 1] - 1]. */
struct by_hit {
    int64_t *first; /* [n_hits + 1] */
    int32_t *track; /* [hits of tracks] */
};

static etx_status list_by_hit(struct by_hit *out, const etx_tracks *tracks)
{
    const int64_t n = tracks->offset[tracks->n_tracks];
    etx_status status;

    ETX_NEW(out->first, tracks->n_hits + 2, "hits");
    ETX_NEW(out->track, n, "tracks of hits");
    /* Counts two ahead, so that the cursors end as the first ones. */
    for (int64_t k = 0; k < n; k++) {
        ETX_POLL(k);
        out->first[tracks->hit[k] + 2]++;
    }
    for (int64_t i = 0; i < tracks->n_hits; i++)
        out->first[i + 2] += out->first[i + 1];
    for (int64_t t = 0; t < tracks->n_tracks; t++)
        for (int64_t k = tracks->offset[t]; k < tracks->offset[t + 1]; k++) {
            ETX_POLL(k);
            out->track[out->first[tracks->hit[k] + 1]++] = (int32_t)t;
        }
done:
    return status;
}

/* What stands for no track: 0, or -1 where 0 is the id of one. */
static int64_t id_of_none(const etx_tracks *tracks)
{
    for (int64_t t = 0; t < tracks->n_tracks; t++)
        if (etx_tracks_id(tracks, t) == 0)
            return -1;
    return 0;
}

/* The rows of hit i of the event, whose id is hit_id. */
static size_t write_hit(char *text, int64_t hit_id, int64_t i,
    const struct by_hit *by_hit, const etx_tracks *tracks, int64_t none)
{
    size_t size = 0;

    if (by_hit->first[i] == by_hit->first[i + 1])
        return write_row(text, hit_id, none);
    for (int64_t k = by_hit->first[i]; k < by_hit->first[i + 1]; k++)
        size += write_row(
            text + size, hit_id, etx_tracks_id(tracks, by_hit->track[k]));
    return size;
}

etx_status etx_tracks_csv_write(
    const etx_tracks *tracks, const etx_event *event, const char *path)
{
    const int64_t n_hits = event->n_hits;
    const int64_t none = id_of_none(tracks);
    struct by_hit by_hit = {NULL, NULL};
    char *text = NULL;
    size_t size = sizeof first_line - 1;
    etx_status status = ETX_OK;

    ETX_CHECK(list_by_hit(&by_hit, tracks));
    ETX_CHECK(etx_alloc(&text, n_hits + tracks->offset[tracks->n_tracks] + 2,
        MAX_ROW_BYTES + SPARE_BYTES, "a table of tracks"));
    memcpy(text, first_line, size);
    for (int64_t i = 0; i < n_hits; i++) {
        ETX_POLL(i);
        size +=
            write_hit(text + size, event->hit_id[i], i, &by_hit, tracks, none);
    }
    ETX_CHECK(etx_file_write(path, text, size));
done:
    etx_free(text);
    etx_free(by_hit.first);
    etx_free(by_hit.track);
    return status;
}

/* ------------------------------------------------------------- reading -- */

/* Keep the rows of the event, where the file says which they are. */
static etx_status keep_event(struct etx_csv *csv, const etx_event *event)
{
    const int64_t *event_id = csv->int64_values[EVENT_ID];
    etx_status status = ETX_OK;

    if (event_id == NULL || csv->n_rows == 0)
        return ETX_OK;
    const int64_t first = event_id[0];

    if (event->number >= 0) {
        ETX_CHECK(etx_csv_keep(csv, EVENT_ID, event->number));
        if (csv->n_rows == 0)
            ETX_FAIL(ETX_ERR_FORMAT,
                "%.300s: no row has event_id %" PRId64
                ", the number of the event; the first has %" PRId64,
                csv->path, event->number, first);
    }
    for (int64_t row = 1; row < csv->n_rows; row++)
        if (event_id[row] != event_id[0])
            return etx_csv_fail(csv, row, EVENT_ID,
                "is a second event, and the number of this one is unknown: "
                "no file eventNUMBER-hits.csv");
done:
    return status;
}

/* What stands for no track in the file: 0, or -1 where a row has it, as the
 * clusterings of scikit-learn number. */
static etx_status find_none(int64_t *none, const struct etx_csv *csv)
{
    for (int64_t row = 0; row < csv->n_rows; row++) {
        const int64_t id = csv->int64_values[TRACK_ID][row];

        if (id < -1)
            return etx_csv_fail(csv, row, TRACK_ID, "is below -1");
        if (id == -1)
            *none = -1;
    }
    return ETX_OK;
}

/* labels [n_rows] of the rows of the file: tracks numbered by their id; none is
 * the one of no track, than which no id is lower. */
static etx_status label_rows(
    int32_t *labels, const struct etx_csv *csv, int64_t none)
{
    const int64_t *track_id = csv->int64_values[TRACK_ID];
    int32_t *order = NULL;
    int32_t label = NO_TRACK;
    int64_t last = none;
    etx_status status = ETX_OK;

    ETX_NEW(order, csv->n_rows, "track order");
    ETX_CHECK(etx_sort_order(order, track_id, csv->n_rows));
    for (int64_t i = 0; i < csv->n_rows; i++) {
        ETX_POLL(i);
        const int64_t id = track_id[order[i]];
        label += id != last;
        labels[order[i]] = label;
        last = id;
    }
done:
    etx_free(order);
    return status;
}

/* Rows of a file in the order of their hits, then of their tracks. */
struct sorted_rows {
    int64_t *key;   /* [n_rows] of the rows of the file, see below */
    int32_t *order; /* [n_rows] rows of the file */
    int32_t *label; /* [n_rows] of the rows in this order */
};

static int64_t key_of(int64_t hit, int32_t label)
{
    return hit << 32 | (label - NO_TRACK);
}

static int32_t hit_of(int64_t key)
{
    return (int32_t)(key >> 32);
}

static etx_status find_keys(int64_t *key, const int32_t *label,
    const struct etx_csv *csv, const etx_event *event)
{
    const int64_t *hit_id = csv->int64_values[HIT_ID];
    struct etx_id_index hits = {0};
    etx_status status = ETX_OK;

    ETX_CHECK(etx_id_index_build(&hits, event->n_hits, event->hit_id));
    for (int64_t row = 0; row < csv->n_rows; row++) {
        ETX_POLL(row);
        const int64_t hit = etx_id_index_find(&hits, hit_id[row]);
        if (hit < 0) {
            status = etx_csv_fail(csv, row, HIT_ID, "is not in the event");
            goto done;
        }
        key[row] = key_of(hit, label[row]);
    }
done:
    etx_id_index_release(&hits);
    return status;
}

/* A hit is once in a track, and in no track only when it is in none. */
static etx_status check_repeated(
    const struct sorted_rows *rows, const struct etx_csv *csv)
{
    etx_status status = ETX_OK;

    for (int64_t k = 1; k < csv->n_rows; k++) {
        const int32_t before = rows->label[k - 1];

        ETX_POLL(k);
        if (hit_of(rows->key[rows->order[k]]) !=
            hit_of(rows->key[rows->order[k - 1]]))
            continue;
        if (before == NO_TRACK)
            return etx_csv_fail(csv, rows->order[k], HIT_ID,
                "occurs twice, first without a track");
        if (before == rows->label[k])
            return etx_csv_fail(
                csv, rows->order[k], HIT_ID, "occurs twice in one track");
    }
done:
    return status;
}

static etx_status sort_rows(struct sorted_rows *rows, int32_t *label,
    const struct etx_csv *csv, const etx_event *event)
{
    int64_t none = 0;
    etx_status status;

    ETX_CHECK(find_none(&none, csv));
    ETX_NEW(rows->key, csv->n_rows, "rows");
    ETX_NEW(rows->order, csv->n_rows, "rows");
    ETX_NEW(rows->label, csv->n_rows, "labels");
    ETX_CHECK(label_rows(label, csv, none));
    ETX_CHECK(find_keys(rows->key, label, csv, event));
    ETX_CHECK(etx_sort_order(rows->order, rows->key, csv->n_rows));
    for (int64_t k = 0; k < csv->n_rows; k++) {
        ETX_POLL(k);
        rows->label[k] = label[rows->order[k]];
    }
    ETX_CHECK(check_repeated(rows, csv));
done:
    return status;
}

/* The id of each track: that of the row of its first hit. Rows become hits. */
static etx_status name_tracks(struct etx_tracks *tracks,
    const struct sorted_rows *rows, const struct etx_csv *csv)
{
    etx_status status;

    ETX_NEW(tracks->id, tracks->n_tracks, "ids of tracks");
    for (int64_t t = 0; t < tracks->n_tracks; t++) {
        ETX_POLL(t);
        tracks->id[t] =
            csv->int64_values[TRACK_ID]
                             [rows->order[tracks->hit[tracks->offset[t]]]];
    }
    for (int64_t k = 0; k < tracks->offset[tracks->n_tracks]; k++) {
        ETX_POLL(k);
        tracks->hit[k] = hit_of(rows->key[rows->order[tracks->hit[k]]]);
    }
done:
    return status;
}

etx_status etx_tracks_csv_read(
    etx_tracks **out, const etx_event *event, const char *path)
{
    struct etx_csv csv = {0};
    struct sorted_rows rows = {NULL, NULL, NULL};
    struct etx_tracks *tracks = NULL;
    int32_t *label = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_csv_read(&csv, path, columns, N_COLUMNS));
    ETX_CHECK(keep_event(&csv, event));
    ETX_NEW(label, csv.n_rows, "labels");
    ETX_CHECK(sort_rows(&rows, label, &csv, event));
    ETX_CHECK(etx_tracks_group(&tracks, csv.n_rows, rows.label, 1));
    ETX_CHECK(name_tracks(tracks, &rows, &csv));
    tracks->n_hits = event->n_hits;
    *out = tracks;
    tracks = NULL;
done:
    etx_tracks_free(tracks);
    etx_free(rows.key);
    etx_free(rows.order);
    etx_free(rows.label);
    etx_free(label);
    etx_csv_release(&csv);
    return status;
}
