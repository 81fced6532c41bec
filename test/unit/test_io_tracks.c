/* test_io_tracks.c -- tracks in TrackML's submission form.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io_support.h"

#include "base/heap.h"
#include "data/tracks.h"

#include <exatrkx/fit.h>

#include <stdio.h>
#include <string.h>

#define N_HITS 6

static const int64_t hit_ids[N_HITS] = {10, 3, 77, 5000000000, 4, 8};

static etx_event *make_event(void)
{
    const float positions[3 * N_HITS] = {0};
    etx_event *event = NULL;

    ck_assert_ok(etx_event_create(&event, N_HITS, hit_ids, positions));
    return event;
}

static void expect_labels(const etx_tracks *tracks, const int32_t *expected)
{
    int32_t labels[N_HITS];

    ck_assert_int_eq(tracks->n_hits, N_HITS);
    etx_tracks_to_labels(labels, tracks);
    for (int32_t i = 0; i < N_HITS; i++)
        ck_assert_int_eq(labels[i], expected[i]);
}

static const char *const names[] = {"t.csv", "t.csv.gz"};

IO_TEST(test_io_tracks_round_trip, .rows = ROWS(names))
{
    static const int32_t labels[N_HITS] = {0, -1, 1, 0, 1, -1};
    const char *path = io_path(names[_i]);
    scoped_event *event = make_event();
    scoped_tracks *tracks = NULL;
    scoped_tracks *again = NULL;

    ck_assert_ok(etx_tracks_from_labels(&tracks, N_HITS, labels));
    ck_assert_ok(etx_tracks_write_csv(tracks, event, path));
    ck_assert_ok(etx_tracks_read_csv(&again, event, path));
    ck_assert_int_eq(etx_tracks_count(again), 2);
    expect_labels(again, labels);
    if (_i == 0) {
        size_t size = 0;
        scoped char *text = io_read(path, &size);
        ck_assert_str_eq(
            text, "hit_id,track_id\n10,1\n3,0\n77,2\n5000000000,1\n4,2\n8,0\n");
    }
}

IO_TEST(test_io_tracks_empty)
{
    scoped_event *event = NULL;
    scoped_tracks *tracks = NULL;
    scoped_tracks *again = NULL;

    ck_assert_ok(etx_event_create(&event, 0, NULL, NULL));
    ck_assert_ok(etx_tracks_from_labels(&tracks, 0, NULL));
    ck_assert_ok(etx_tracks_write_csv(tracks, event, io_path("t.csv")));
    ck_assert_ok(etx_tracks_read_csv(&again, event, io_path("t.csv")));
    ck_assert_int_eq(etx_tracks_count(again), 0);
}

struct tracks_row {
    const char *name;
    const char *text;
    const char *piece; /* of the message, NULL: accepted */
    int32_t labels[N_HITS];
};

#define HEAD "hit_id,track_id\n"
#define NONE                                                                   \
    {                                                                          \
        -1, -1, -1, -1, -1, -1                                                 \
    }

static const struct tracks_row rows[] = {
    {"header only", HEAD, NULL, NONE},
    {"some hits", HEAD "77,1\n4,1\n", NULL, {-1, -1, 0, -1, 0, -1}},
    {"other columns", "event_id,track_id,hit_id\n1,7,3\n1,7,10\n", NULL,
        {0, 0, -1, -1, -1, -1}},
    {"two events", "event_id,track_id,hit_id\n1,7,3\n2,7,10\n",
        "t.csv:3:1: event_id 2 is a second event", NONE},
    {"ids of 63 bits",
        HEAD "8,9223372036854775807\n10,4503599627370497\n"
             "3,9223372036854775807\n4,0\n",
        NULL, {0, 1, -1, -1, -1, 1}},
    {"one hit of its own", HEAD "4,5\n", NULL, {-1, -1, -1, -1, 0, -1}},
    {"unknown hit", HEAD "10,1\n11,1\n",
        "t.csv:3:1: hit_id 11 is not in the event", NONE},
    {"hit twice", HEAD "10,1\n3,1\n10,1\n",
        "t.csv:4:1: hit_id 10 occurs twice in one track", NONE},
    {"hit with and without track", HEAD "10,1\n10,0\n",
        "t.csv:2:1: hit_id 10 occurs twice, first without a track", NONE},
    {"hit twice without", HEAD "10,0\n10,0\n",
        "t.csv:3:1: hit_id 10 occurs twice", NONE},
    {"-1 is no track, 0 is one", HEAD "10,0\n3,-1\n77,0\n4,1\n", NULL,
        {0, -1, 0, -1, 1, -1}},
    {"hit with track and with -1", HEAD "10,0\n10,-1\n",
        "t.csv:2:1: hit_id 10 occurs twice, first without a track", NONE},
    {"negative track", HEAD "10,-2\n", "t.csv:2:2: track_id -2 is below -1",
        NONE},
    {"track in 64 bits", HEAD "10,9223372036854775808\n",
        "t.csv:2:2: found \"9223372036854775808\"", NONE},
    {"real track", HEAD "10,1.0\n", "t.csv:2:2: found \"1.0\"", NONE},
    {"no track_id", "hit_id,track\n", "there is no column track_id", NONE},
    {"empty", "", "t.csv:1:1: the file is empty", NONE},
};

IO_TEST(test_io_tracks_read, .rows = ROWS(rows))
{
    const struct tracks_row *row = &rows[_i];
    const char *path = io_write_text("t.csv", row->text);
    scoped_event *event = make_event();
    const int64_t before = etx_heap_in_use();
    etx_tracks *tracks = NULL;
    const etx_status status = etx_tracks_read_csv(&tracks, event, path);

    io_expect_row(row->name, status, row->piece);
    ck_assert((tracks != NULL) == (status == ETX_OK));
    if (tracks != NULL)
        expect_labels(tracks, row->labels);
    etx_tracks_free(tracks);
    ck_assert_int_eq(etx_heap_in_use(), before);
}

IO_TEST(test_io_tracks_arguments)
{
    static const int32_t labels[2] = {0, 0};
    scoped_event *event = make_event();
    etx_tracks *tracks = NULL;
    etx_tracks *out = NULL;

    ck_assert_ok(etx_tracks_from_labels(&tracks, 2, labels));
    ck_assert_refused(etx_tracks_write_csv(tracks, event, io_path("t.csv")),
        "tracks of 2 hits and an event of 6");
    ck_assert_int_eq(io_exists("t.csv"), 0);
    ck_assert_fails(etx_tracks_read_csv(&out, event, io_path("none")),
        ETX_ERR_IO, "No such file");
    etx_tracks_free(tracks);
    tracks = NULL;
    ck_assert_ok(etx_tracks_from_labels(&tracks, N_HITS, rows[1].labels));
    ck_assert_fails(etx_tracks_write_csv(tracks, event, "/dev/full"),
        ETX_ERR_IO, "No space left");
    ck_assert_fails(etx_tracks_write_csv(tracks, event, io_path("no/t.csv")),
        ETX_ERR_IO, "No such file");
    etx_tracks_free(tracks);
}

/* A hit of two tracks has two rows; read again, the tracks are the same. */
IO_TEST(test_io_tracks_shared_hit)
{
    static const int64_t offsets[3] = {0, 3, 5};
    static const int32_t hits[5] = {0, 1, 2, 1, 5};
    scoped_event *event = make_event();
    scoped_tracks *tracks = NULL;
    scoped_tracks *again = NULL;
    size_t size = 0;
    scoped char *text = NULL;

    ck_assert_ok(etx_tracks_from_lists(&tracks, N_HITS, 2, offsets, hits));
    ck_assert_ok(etx_tracks_write_csv(tracks, event, io_path("t.csv")));
    text = io_read(io_path("t.csv"), &size);
    ck_assert_str_eq(text, "hit_id,track_id\n10,1\n3,1\n3,2\n77,1\n"
                           "5000000000,0\n4,0\n8,2\n");
    ck_assert_ok(etx_tracks_read_csv(&again, event, io_path("t.csv")));
    ck_assert_int_eq(etx_tracks_n_hits(again), N_HITS);
    ck_assert_int_eq(etx_tracks_count(again), 2);
    ck_assert_mem_eq(etx_tracks_offsets(again), offsets, sizeof offsets);
    ck_assert_mem_eq(etx_tracks_hits(again), hits, sizeof hits);
}

struct event_row {
    const char *hits;  /* name of the file of hits */
    const char *text;  /* of the tracks */
    const char *piece; /* of the message; NULL: the hits 1, 2 are in a track */
};

static const struct event_row event_rows[] = {
    {"event000000012-hits.csv",
        "event_id,hit_id,track_id\n2,1,4\n2,2,5\n2,9,6\n12,1,4\n12,2,4\n",
        NULL},
    {"event12-hits.csv", "hit_id,track_id,event_id\n1,3,12\n2,3,12\n", NULL},
    {"event12-hits.csv", "hit_id,track_id\n1,3\n2,3\n", NULL},
    {"run12-hits.csv", "hit_id,track_id,event_id\n1,3,7\n2,3,7\n", NULL},
    {"event12-hits.csv", "event_id,hit_id,track_id\n2,1,4\n12,1,4\n12,7,4\n",
        "t.csv:4:2: hit_id 7 is not in the event"},
    {"event12-hits.csv", "event_id,hit_id,track_id\n2,1,4\n3,1,4\n",
        "t.csv: no row has event_id 12, the number of the event; the first has "
        "2"},
    {"run12-hits.csv", "event_id,hit_id,track_id\n12,1,4\n2,1,4\n",
        "t.csv:3:1: event_id 2 is a second event"},
    {"event12x-hits.csv", "event_id,hit_id,track_id\n12,1,4\n2,1,4\n",
        "t.csv:3:1: event_id 2 is a second event"},
};

/* Of a submission of several events, the rows of this one. */
IO_TEST(test_io_tracks_of_events, .rows = ROWS(event_rows))
{
    const struct event_row *row = &event_rows[_i];
    scoped_event *event = NULL;
    scoped_tracks *tracks = NULL;

    ck_assert_ok(etx_event_read_trackml_files(&event,
        io_write_text(row->hits, "hit_id,x,y,z,volume_id,layer_id,module_id\n"
                                 "1,10,0,0,8,2,1\n2,20,0,0,8,4,1\n"),
        NULL, NULL, NULL, NULL));
    const etx_status status =
        etx_tracks_read_csv(&tracks, event, io_write_text("t.csv", row->text));

    io_expect_row(row->hits, status, row->piece);
    if (tracks != NULL) {
        ck_assert_int_eq(etx_tracks_count(tracks), 1);
        ck_assert_int_eq(etx_tracks_offsets(tracks)[1], 2);
    }
}

struct ids_row {
    const char *text, *again; /* a file, and what is written of it */
    int64_t ids[3];           /* of the tracks 0, 1, 2 */
};

static const struct ids_row ids_rows[] = {
    {"10,9\n3,9\n77,4\n5000000000,7\n4,0\n8,4\n",
        "10,9\n3,9\n77,4\n5000000000,7\n4,0\n8,4\n", {9, 4, 7}},
    {"8,0\n4,-1\n5000000000,0\n77,9223372036854775807\n3,-1\n10,2\n",
        "10,2\n3,-1\n77,9223372036854775807\n5000000000,0\n4,-1\n8,0\n",
        {2, INT64_MAX, 0}},
};

/* Tracks keep the ids of their file: read, written, selected, resolved. */
IO_TEST(test_io_tracks_ids, .rows = ROWS(ids_rows))
{
    static const uint8_t keep[3] = {0, 1, 1};
    static const etx_track_parameters fitted[3] = {
        {.n_degrees = 1}, {.n_degrees = 1}, {.n_degrees = 1}};
    const struct ids_row *row = &ids_rows[_i];
    etx_resolve_options options;
    scoped_event *event = make_event();
    scoped_tracks *tracks = NULL;
    scoped_tracks *some = NULL;
    scoped_tracks *left = NULL;
    char file[256];
    size_t size = 0;

    (void)snprintf(file, sizeof file, HEAD "%s", row->text);
    ck_assert_ok(
        etx_tracks_read_csv(&tracks, event, io_write_text("t.csv", file)));
    ck_assert_int_eq(etx_tracks_count(tracks), 3);
    ck_assert_mem_eq(etx_tracks_ids(tracks), row->ids, sizeof row->ids);
    ck_assert_ok(etx_tracks_write_csv(tracks, event, io_path("t.csv")));
    scoped char *again = io_read(io_path("t.csv"), &size);
    (void)snprintf(file, sizeof file, HEAD "%s", row->again);
    ck_assert_str_eq(again, file);

    ck_assert_ok(etx_tracks_select(&some, tracks, keep, NULL));
    ck_assert_int_eq(etx_tracks_count(some), 2);
    ck_assert_mem_eq(etx_tracks_ids(some), row->ids + 1, 2 * sizeof *row->ids);
    ck_assert_ok(etx_resolve_options_init(&options, sizeof options));
    options.min_hits = 1;
    ck_assert_ok(etx_tracks_resolve(&left, tracks, fitted, &options));
    ck_assert_int_eq(etx_tracks_count(left), 3);
    ck_assert_mem_eq(etx_tracks_ids(left), row->ids, sizeof row->ids);
}

IO_TEST(test_io_tracks_of_no_file)
{
    static const int32_t labels[2] = {0, 1};
    scoped_tracks *tracks = NULL;

    ck_assert_ok(etx_tracks_from_labels(&tracks, 2, labels));
    ck_assert_ptr_null(etx_tracks_ids(tracks));
}

/* Set by the caller: written to a file, selected, refused, removed. */
IO_TEST(test_io_tracks_set_ids)
{
    static const int64_t offsets[3] = {0, 1, 3};
    static const int32_t hits[3] = {5, 0, 1};
    static const int64_t ids[2] = {INT64_MAX, 0};
    static const int64_t negative[2] = {3, -1};
    static const int64_t twice[2] = {3, 3};
    scoped_event *event = make_event();
    scoped_tracks *tracks = NULL;
    size_t size = 0;

    ck_assert_ok(etx_tracks_from_lists(&tracks, N_HITS, 2, offsets, hits));
    ck_assert_ok(etx_tracks_set_ids(tracks, ids));
    ck_assert_mem_eq(etx_tracks_ids(tracks), ids, sizeof ids);
    ck_assert_fails(
        etx_tracks_set_ids(tracks, negative), ETX_ERR_ARGUMENT, "id 1 is -1");
    ck_assert_fails(etx_tracks_set_ids(tracks, twice), ETX_ERR_ARGUMENT,
        "ids 0 and 1 are both 3");
    ck_assert_refused(
        etx_tracks_set_ids(tracks, (const int64_t *)((uintptr_t)ids + 4)),
        "ids");
    ck_assert_mem_eq(etx_tracks_ids(tracks), ids, sizeof ids);
    ck_assert_ok(etx_tracks_write_csv(tracks, event, io_path("t.csv")));
    scoped char *text = io_read(io_path("t.csv"), &size);
    ck_assert_str_eq(text, HEAD "10,0\n3,0\n77,-1\n5000000000,-1\n4,-1\n"
                                "8,9223372036854775807\n");
    ck_assert_ok(etx_tracks_set_ids(tracks, NULL));
    ck_assert_ptr_null(etx_tracks_ids(tracks));
}
