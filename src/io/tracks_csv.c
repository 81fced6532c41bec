/* io/tracks_csv.c -- tracks in TrackML's submission form.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/tracks_csv.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"
#include "base/text.h"
#include "data/event.h"
#include "data/id_index.h"
#include "data/tracks.h"
#include "io/csv.h"
#include "io/file.h"

#include <string.h>

#define NO_TRACK (-1)
/* Two numbers of 64 bits, a comma and a line feed. */
#define MAX_ROW_BYTES 42
/* Bytes that one formatted row needs at most. */
#define SPARE_BYTES 32

static const char first_line[] = "hit_id,track_id\n";

enum { HIT_ID, TRACK_ID, N_COLUMNS };

static const struct etx_csv_wanted columns[N_COLUMNS] = {
    [HIT_ID] = {"hit_id", ETX_CSV_INT64},
    [TRACK_ID] = {"track_id", ETX_CSV_INT64},
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

etx_status etx_tracks_csv_write(
    const etx_tracks *tracks, const etx_event *event, const char *path)
{
    const int64_t n_hits = event->n_hits;
    int32_t *labels = NULL;
    char *text = NULL;
    size_t size = sizeof first_line - 1;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_alloc(&labels, n_hits, sizeof *labels, "labels"));
    ETX_CHECK(etx_alloc(
        &text, n_hits + 2, MAX_ROW_BYTES + SPARE_BYTES, "a table of tracks"));
    etx_tracks_to_labels(labels, tracks);
    memcpy(text, first_line, size);
    for (int64_t i = 0; i < n_hits; i++)
        size +=
            write_row(text + size, event->hit_id[i], (int64_t)labels[i] + 1);
    ETX_CHECK(etx_file_write(path, text, size));
done:
    etx_free(text);
    etx_free(labels);
    return status;
}

/* ------------------------------------------------------------- reading -- */

/* labels [n_rows] of the rows of the file: tracks numbered by their id. */
static etx_status label_rows(int32_t *labels, const struct etx_csv *csv)
{
    const int64_t *track_id = csv->int64_values[TRACK_ID];
    int32_t *order = NULL;
    int32_t label = NO_TRACK;
    int64_t last = 0;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_alloc(&order, csv->n_rows, sizeof *order, "track order"));
    ETX_CHECK(etx_sort_order(order, track_id, csv->n_rows));
    for (int64_t i = 0; i < csv->n_rows; i++) {
        const int64_t id = track_id[order[i]];
        label += id != last;
        labels[order[i]] = label;
        last = id;
    }
done:
    etx_free(order);
    return status;
}

/* labels [n_hits] of the event from row_labels [csv->n_rows] of the file. */
static etx_status scatter_labels(int32_t *labels, const int32_t *row_labels,
    const struct etx_csv *csv, const etx_event *event)
{
    const int64_t *hit_id = csv->int64_values[HIT_ID];
    struct etx_id_index hits = {0};
    etx_status status = ETX_OK;

    ETX_CHECK(etx_id_index_build(&hits, event->n_hits, event->hit_id));
    for (int64_t row = 0; row < csv->n_rows; row++) {
        const int64_t hit = etx_id_index_find(&hits, hit_id[row]);
        if (hit < 0) {
            status = etx_csv_fail(csv, row, HIT_ID, "is not in the event");
            goto done;
        }
        labels[hit] = row_labels[row];
    }
done:
    etx_id_index_release(&hits);
    return status;
}

static etx_status check_rows(const struct etx_csv *csv)
{
    const int64_t *hit_id = csv->int64_values[HIT_ID];
    struct etx_id_index index = {0};
    etx_status status = ETX_OK;

    for (int64_t row = 0; row < csv->n_rows; row++)
        if (csv->int64_values[TRACK_ID][row] < 0)
            return etx_csv_fail(csv, row, TRACK_ID, "is negative");
    ETX_CHECK(etx_id_index_build(&index, csv->n_rows, hit_id));

    const int64_t first = etx_id_index_duplicate(&index, hit_id);
    if (first >= 0)
        status = etx_csv_fail(csv, etx_id_index_find(&index, hit_id[first]),
            HIT_ID, "occurs twice");
done:
    etx_id_index_release(&index);
    return status;
}

etx_status etx_tracks_csv_read(
    etx_tracks **out, const etx_event *event, const char *path)
{
    struct etx_csv csv = {0};
    int32_t *row_labels = NULL;
    int32_t *labels = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_csv_read(&csv, path, columns, N_COLUMNS));
    ETX_CHECK(check_rows(&csv));
    ETX_CHECK(etx_alloc(&labels, event->n_hits, sizeof *labels, "labels"));
    ETX_CHECK(etx_alloc(&row_labels, csv.n_rows, sizeof *row_labels, "labels"));
    for (int64_t i = 0; i < event->n_hits; i++)
        labels[i] = NO_TRACK;
    ETX_CHECK(label_rows(row_labels, &csv));
    ETX_CHECK(scatter_labels(labels, row_labels, &csv, event));
    ETX_CHECK(etx_tracks_group(out, event->n_hits, labels, 1));
done:
    etx_free(labels);
    etx_free(row_labels);
    etx_csv_release(&csv);
    return status;
}
