/* test_io_csv.c -- CSV files of hits, detectors and features: what is
 * accepted, and refusal of hostile files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io_columns.h"
#include "io_support.h"

#include "base/heap.h"
#include "data/detector.h"
#include "data/event.h"
#include "io/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- hits -- */

/* A file of hits: n_hits when it is read, else a piece of the message. */
struct hits_row {
    const char *name;
    const char *text;
    etx_status status;
    const char *piece;
    int64_t n_hits;
    size_t size; /* of text, 0: strlen */
};

#define GOOD(n)    ETX_OK, NULL, (n), 0
#define BAD(piece) ETX_ERR_FORMAT, (piece), 0, 0

static const struct hits_row hits_rows[] = {
    {"empty file", "", BAD("hits.csv:1:1: the file is empty")},
    {"byte order mark alone", "\xef\xbb\xbf", BAD("the file is empty")},
    {"header only", HEAD, GOOD(0)},
    {"header without line feed", "hit_id,x,y,z,volume_id,layer_id,module_id",
        GOOD(0)},
    {"no header", "1,2,3,4,5,6,7\n", BAD(":1:1: there is no column hit_id")},
    {"one hit", HEAD "1,2,3,4,5,6,7\n", GOOD(1)},
    {"a far hit", HEAD "1,1e9,3,-1e9,5,6,7\n", GOOD(1)},
    {"beyond", HEAD "1,2,3,4,5,6,7\n2,2,1.0000001e9,4,5,6,7\n",
        BAD("hits.csv:3:3: y 1000000100 is not in +-1e9 mm")},
    {"other order",
        "y,x,module_id,z,hit_id,volume_id,layer_id\n1,2,3,4,5,6,7\n", GOOD(1)},
    {"extra columns",
        "geometry_id,hit_id,x,y,z,volume_id,layer_id,module_id,sp_x,\n"
        "0x1,1,2,3,4,5,6,7,what ever,\n",
        GOOD(1)},
    {"extra column in UTF-8",
        "hit_id,x,y,z,volume_id,layer_id,module_id,\xc3\xa9\xe2\x82\xac\n"
        "1,2,3,4,5,6,7,\xf0\x9f\x98\x80\n",
        GOOD(1)},
    {"x is missing", "hit_id,y,z,volume_id,layer_id,module_id\n",
        BAD("there is no column x")},
    {"no modules", "hit_id,x,y,z\n1,2,3,4\n", GOOD(1)},
    {"no layers", "hit_id,x,y,z,volume_id,module_id\n",
        BAD("hits.csv:1:1: there is no column layer_id in the first line")},
    {"x twice", "hit_id,x,y,z,x,volume_id,layer_id,module_id\n",
        BAD(":1:5: a second column x, the first is 2")},
    {"the first column twice", "x,hit_id,y,z,x,volume_id,layer_id,module_id\n",
        BAD(":1:5: a second column x, the first is 1")},
    {"spaces in names", "hit_id, x,y,z,volume_id,layer_id,module_id\n",
        BAD("there is no column x")},
    {"no last line feed", HEAD "1,2,3,4,5,6,7\n2,2,3,4,5,6,7", GOOD(2)},
    {"CR LF", "hit_id,x,y,z,volume_id,layer_id,module_id\r\n1,2,3,4,5,6,7\r\n",
        GOOD(1)},
    {"CR alone", "hit_id,x,y,z,volume_id,layer_id,module_id\r1,2,3,4,5,6,7\r",
        BAD("there is no column module_id")},
    {"UTF-8 at the end of the file",
        "hit_id,x,y,z,volume_id,layer_id,module_id,unit\n"
        "1,2,3,4,5,6,7,\xc2\xb5",
        GOOD(1)},
    {"byte order mark", "\xef\xbb\xbf" HEAD "1,2,3,4,5,6,7\n", GOOD(1)},
    {"NUL byte", HEAD "1,2,3,4,5,6,7\n2,\0,3,4,5,6,7\n", ETX_ERR_FORMAT,
        "hits.csv:3:2: found byte 0x00", 0, 71},
    {"NUL byte in the header", "hit\0", ETX_ERR_FORMAT, ":1:1: found byte 0x00",
        0, 4},
    {"byte 0xFF", HEAD "1,2,3,4,5,6,7\xff\n", BAD(":2:7: found byte 0xff")},
    {"UTF-8 cut short", HEAD "1,2,3,4,5,6,7\xe2\x82\n",
        BAD(":2:7: found byte 0xe2")},
    {"UTF-8 too long", HEAD "1,2,3,4,5,6,7\xc0\xaf\n",
        BAD(":2:7: found byte 0xc0")},
    {"UTF-8 of every length and at its ends",
        "hit_id,x,y,z,volume_id,layer_id,module_id,\xc2\x80\xdf\xbf\xe0\xa0\x80"
        "\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"
        "\n",
        GOOD(0)},
    {"UTF-8 of four bytes too long", HEAD "1,2,3,4,5,6,\xf0\x8f\xbf\xbf\n",
        BAD(":2:7: found byte 0xf0")},
    {"UTF-8 beyond its last", HEAD "1,2,3,4,5,6,\xf4\x90\x80\x80\n",
        BAD(":2:7: found byte 0xf4")},
    {"UTF-8 of three bytes too long", HEAD "1,2,3,4,5,6,\xe0\x9f\xbf\n",
        BAD(":2:7: found byte 0xe0")},
    {"UTF-8 that starts inside", HEAD "1,2,3,4,5,6,\xbf\n",
        BAD(":2:7: found byte 0xbf")},
    {"UTF-8 of five bytes", HEAD "1,2,3,4,5,6,\xf5\x80\x80\x80\n",
        BAD(":2:7: found byte 0xf5")},
    {"UTF-8 whose third byte is none", HEAD "1,2,3,4,5,6,\xe2\x82\xc0\n",
        BAD(":2:7: found byte 0xe2")},
    {"a number in UTF-8", HEAD "1,\xc3\xa9,3,4,5,6,7\n",
        BAD(":2:2: found \"\\xc3\\xa9\", expected a number")},
    {"a long cell",
        HEAD
        "1,aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg"
        "ggggggghhhhhhhhhh,3,4,5,6,7\n",
        BAD("...\", expected a number")},
    {"UTF-8 surrogate", HEAD "1,2,3,4,5,6,7\xed\xa0\x80\n",
        BAD(":2:7: found byte 0xed")},
    {"tab", HEAD "1,2,3,4,5,6,\t7\n", BAD(":2:7: found byte 0x09")},
    {"nan", HEAD "1,nan,3,4,5,6,7\n", BAD("hits.csv:2:2: found \"nan\"")},
    {"inf", HEAD "1,2,inf,4,5,6,7\n", BAD(":2:3: found \"inf\"")},
    {"-inf", HEAD "1,2,-inf,4,5,6,7\n", BAD(":2:3: found \"-inf\"")},
    {"1e999", HEAD "1,2,3,1e999,5,6,7\n", BAD(":2:4: found \"1e999\"")},
    {"hexadecimal", HEAD "1,0x1p3,3,4,5,6,7\n", BAD(":2:2: found \"0x1p3\"")},
    {"comma for a dot", HEAD "1,1,5,3,4,5,6,7\n",
        BAD(":2:8: the line has 8 cells, expected 7")},
    {"two signs", HEAD "1,--1,3,4,5,6,7\n", BAD(":2:2: found \"--1\"")},
    {"exponent without digits", HEAD "1,1e,3,4,5,6,7\n",
        BAD(":2:2: found \"1e\", expected a number")},
    {"empty cell", HEAD "1,,3,4,5,6,7\n", BAD(":2:2: found \"\"")},
    {"empty last cell", HEAD "1,2,3,4,5,6,\n", BAD(":2:7: found \"\"")},
    {"quotes", HEAD "1,\"2\",3,4,5,6,7\n", BAD(":2:2: found a quote")},
    {"spaces", HEAD "1, 2,3,4,5,6,7\n", BAD(":2:2: found \" 2\"")},
    {"too few cells", HEAD "1,2,3,4,5,6\n", BAD(":2:6: the line has 6 cells")},
    {"empty line", HEAD "1,2,3,4,5,6,7\n\n2,2,3,4,5,6,7\n",
        BAD(":3:1: the line is empty")},
    {"empty line at the end", HEAD "1,2,3,4,5,6,7\n\n", GOOD(1)},
    {"empty lines at the end, CR LF", HEAD "1,2,3,4,5,6,7\r\n\r\n\n\r\n",
        GOOD(1)},
    {"empty line, then one without LF", HEAD "\n1,2,3,4,5,6,7",
        BAD(":2:1: the line is empty")},
    {"only empty lines", "\n\n\n", BAD(":1:1: there is no column hit_id")},
    {"lines of nothing", HEAD "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n",
        GOOD(0)},
    {"real for an integer", HEAD "1,2,3,4,5.0,6,7\n",
        BAD(":2:5: found \"5.0\", expected an integer of 32 bits")},
    {"2^31 as volume", HEAD "1,2,3,4,2147483648,6,7\n",
        BAD(":2:5: found \"2147483648\"")},
    {"2^64 as hit id", HEAD "18446744073709551616,2,3,4,5,6,7\n",
        BAD(":2:1: found \"18446744073709551616\"")},
    {"2^63 - 1 as hit id",
        HEAD "9223372036854775807,2,3,4,5,6,7\n"
             "1,2,3,4,5,6,7\n",
        GOOD(2)},
    {"hit id 0", HEAD "0,2,3,4,5,6,7\n", BAD(":2:1: hit_id 0 is not positive")},
    {"hit id -1", HEAD "-1,2,3,4,5,6,7\n",
        BAD(":2:1: hit_id -1 is not positive")},
    {"hit id twice", HEAD "4,2,3,4,5,6,7\n3,2,3,4,5,6,7\n4,2,3,4,5,6,7\n",
        BAD(":4:1: hit_id 4 occurs twice")},
    {"large hit id twice",
        HEAD "4000000000000,2,3,4,5,6,7\n3,2,3,4,5,6,7\n"
             "4000000000000,2,3,4,5,6,7\n",
        BAD(":4:1: hit_id 4000000000000 occurs twice")},
    {"gaps, not sorted", HEAD "400,2,3,4,5,6,7\n3,2,3,4,5,6,7\n", GOOD(2)},
    {"denormal, -0, 40 digits",
        HEAD "1,1e-45,-0.0,"
             "0.1234567890123456789012345678901234567890,5,6,7\n",
        GOOD(1)},
};

/* As text, and compressed under the name of an event. */
IO_TEST(test_io_csv_hits, .rows = ROWS(hits_rows))
{
    const struct hits_row *row = &hits_rows[_i];
    const size_t size = row->size > 0 ? row->size : strlen(row->text);
    const char *path = io_write("hits.csv", row->text, size);
    size_t n = 0;
    scoped char *data = io_gzip(&n, row->text, size);
    scoped_event *compressed = NULL;
    const int64_t before = etx_heap_in_use();
    etx_event *event = NULL;

    io_expect(row->name,
        etx_event_read_trackml_files(&event, path, NULL, NULL, NULL, NULL),
        row->status, row->piece);
    if (row->status == ETX_OK)
        ck_assert_int_eq(etx_event_n_hits(event), row->n_hits);
    else
        ck_assert_ptr_null(event);
    etx_event_free(event);
    ck_assert_int_eq(etx_heap_in_use(), before);
    (void)io_write("x-hits.csv.gz", data, n);
    io_expect(row->name,
        etx_event_read_trackml(&compressed, io_path("x"), NULL), row->status,
        NULL);
}

IO_TEST(test_io_csv_values)
{
    scoped_event *event = NULL;
    const char *path = io_write_text("hits.csv",
        "z,y,x,module_id,layer_id,volume_id,hit_id\n3,2,1,-4,5,6,70\n"
        "-1.5e3,.25,+1.,-2147483648,0,2147483647,8\n");

    ck_assert_ok(
        etx_event_read_trackml_files(&event, path, NULL, NULL, NULL, NULL));
    ck_assert(event->hit_id[0] == 70 && event->hit_id[1] == 8);
    ck_assert(event->position[0] == 1.0f && event->position[1] == 2.0f &&
              event->position[2] == 3.0f);
    ck_assert(event->position[3] == 1.0f && event->position[4] == 0.25f &&
              event->position[5] == -1500.0f);
    ck_assert(event->module_id[0] == -4 && event->layer_id[0] == 5 &&
              event->volume_id[0] == 6);
    ck_assert(
        event->module_id[1] == INT32_MIN && event->volume_id[1] == INT32_MAX);
    ck_assert_ptr_null(event->particle_id);
}

/* A line of n bytes, and a header of n columns. */
IO_TEST(test_io_csv_long_lines)
{
    const size_t size = (size_t)5 << 20;
    scoped char *text = malloc(size + 1);
    etx_event *event = NULL;

    ck_assert_ptr_nonnull(text);
    memset(text, '1', size);
    memcpy(text, HEAD, strlen(HEAD));
    ck_assert_fails(
        etx_event_read_trackml_files(
            &event, io_write("hits.csv", text, size), NULL, NULL, NULL, NULL),
        ETX_ERR_FORMAT, "hits.csv:2: the line has more than 1048576 bytes");
    memset(text, '1', size);
    ck_assert_fails(
        etx_event_read_trackml_files(
            &event, io_write("hits.csv", text, size), NULL, NULL, NULL, NULL),
        ETX_ERR_FORMAT, "hits.csv:1: the line has more than");
    for (size_t i = 0; i < 1000000; i++)
        text[i] = ',';
    ck_assert_fails(
        etx_event_read_trackml_files(&event,
            io_write("hits.csv", text, 1000000), NULL, NULL, NULL, NULL),
        ETX_ERR_FORMAT, "hits.csv:1: more than 1024 columns");
    ck_assert_fails(etx_event_read_features(&event,
                        io_write("f.csv", text, 1000000), (float[]){1, 1, 1}),
        ETX_ERR_FORMAT, "f.csv:1: 1000001 columns");
}

/* Every number is the one that strtof gives in the C locale. */
IO_TEST(test_io_csv_nearest_float)
{
    static const char *const numbers[] = {"0.1", "1e-45", "1.17549429e-38",
        "1.17549435e-38", "3.4028235e38", "16777217", "16777219", "-0.0",
        "0.1234567890123456789012345678901234567890", "1e-999",
        "9007199791611905", "0.000000000000000000000000000000000000000001",
        "8388608.5000000000000000000000000000000000001", "1E+5", "7.e1"};
    const size_t n = ROWS(numbers);
    char text[4096];
    size_t size = 0;
    float *found = NULL;
    int64_t n_rows = 0;
    int64_t n_columns = 0;

    for (size_t i = 0; i < n; i++)
        size += (size_t)snprintf(
            text + size, sizeof text - size, "%s\n", numbers[i]);
    ck_assert_ok(etx_csv_read_matrix(
        &found, &n_rows, &n_columns, io_write("n.csv", text, size)));
    ck_assert_int_eq(n_rows, (int64_t)n);
    ck_assert_int_eq(n_columns, 1);
    for (size_t i = 0; i < n; i++) {
        const float expected = strtof(numbers[i], NULL);
        ck_assert_msg(memcmp(&found[i], &expected, sizeof expected) == 0,
            "%s read as %.9g", numbers[i], (double)found[i]);
    }
    etx_free(found);
}

/* ------------------------------------------------------------ detector -- */

#define TUBE_HEAD "tube_r,tube_radiation_lengths," DETECTOR_HEAD

static const struct hits_row detector_rows[] = {
    {"header only", DETECTOR_HEAD, GOOD(0)},
    {"two modules", DETECTOR_HEAD "8,2,2" MODULE_TAIL "7,4,1" MODULE_TAIL,
        GOOD(2)},
    {"unnamed index column", "," DETECTOR_HEAD "0,8,2,2" MODULE_TAIL, GOOD(1)},
    {"module twice",
        DETECTOR_HEAD "8,2,2" MODULE_TAIL "7,4,1" MODULE_TAIL
                      "8,2,2" MODULE_TAIL,
        BAD("volume_id 8, layer_id 2, module_id 2 occurs twice")},
    {"no rotation",
        DETECTOR_HEAD "8,2,2,0,0,0,1,0,0,0,2,0,0,0,1,0.15,8,8,36,0.05,0.056\n",
        BAD("d.csv:2:7: rot_xu 1 starts nine numbers that are no rotation")},
    {"rotation beyond float",
        DETECTOR_HEAD
        "8,2,2,0,0,0,3e38,0,0,0,2,0,0,0,1,0.15,8,8,36,0.05,0.056\n",
        BAD("no rotation")},
    {"pitch 0",
        DETECTOR_HEAD "8,2,2,0,0,0,1,0,0,0,1,0,0,0,1,0.15,8,8,36,0,0.056\n",
        BAD("d.csv:2:20: pitch_u 0 is not positive")},
    {"thickness negative",
        DETECTOR_HEAD "8,2,2,0,0,0,1,0,0,0,1,0,0,0,1,-1,8,8,36,0.05,0.056\n",
        BAD("d.csv:2:16: module_t -1 is not positive")},
    {"material negative",
        "radiation_lengths," DETECTOR_HEAD "-0.1,8,2,2" MODULE_TAIL,
        BAD("d.csv:2:1: radiation_lengths -0.1 is negative")},
    {"depth negative", "depth," DETECTOR_HEAD "-0.1,8,2,2" MODULE_TAIL,
        BAD("d.csv:2:1: depth -0.1 is negative")},
    {"tube of negative radius", TUBE_HEAD "-20,0.002,8,2,2" MODULE_TAIL,
        BAD("d.csv:2:1: tube_r -20 is negative")},
    {"tube of negative material", TUBE_HEAD "20,-0.002,8,2,2" MODULE_TAIL,
        BAD("d.csv:2:2: tube_radiation_lengths -0.002 is negative")},
    {"two materials of a tube",
        TUBE_HEAD "20,0.002,8,2,2" MODULE_TAIL "20,0.003,8,2,3" MODULE_TAIL,
        BAD("d.csv:3:2: tube_radiation_lengths 0.003 is not that of the")},
    {"nine tubes",
        TUBE_HEAD
        "1,1,8,2,1" MODULE_TAIL "2,1,8,2,2" MODULE_TAIL "3,1,8,2,3" MODULE_TAIL
        "4,1,8,2,4" MODULE_TAIL "5,1,8,2,5" MODULE_TAIL "6,1,8,2,6" MODULE_TAIL
        "7,1,8,2,7" MODULE_TAIL "8,1,8,2,8" MODULE_TAIL "9,1,8,2,9" MODULE_TAIL,
        BAD("d.csv:10:1: tube_r 9 is one radius too many")},
    {"no pitch_v", "volume_id,layer_id,module_id\n",
        BAD("there is no column cx")},
    {"empty", "", BAD("d.csv:1:1: the file is empty")},
};

IO_TEST(test_io_csv_detector, .rows = ROWS(detector_rows))
{
    const struct hits_row *row = &detector_rows[_i];
    const int64_t before = etx_heap_in_use();
    etx_detector *detector = NULL;
    const etx_status status =
        etx_detector_read(&detector, io_write_text("d.csv", row->text));

    io_expect(row->name, status, row->status, row->piece);
    ck_assert_int_eq(etx_detector_n_modules(detector), row->n_hits);
    if (row->n_hits == 2) {
        ck_assert_int_eq(detector->modules[0].volume_id, 7);
        ck_assert(detector->modules[0].half_thickness == 0.15f);
        ck_assert_ptr_nonnull(etx_detector_find(detector, 8, 2, 2));
        ck_assert_ptr_null(etx_detector_find(detector, 8, 2, 1));
    }
    etx_detector_free(detector);
    ck_assert_int_eq(etx_heap_in_use(), before);
}

/* The columns for fits, and what stands for them; tubes are sorted. */
IO_TEST(test_io_csv_detector_material, .rows = 2)
{
    static const char *const text[] = {DETECTOR_HEAD "8,2,2" MODULE_TAIL,
        "depth,material_offset," TUBE_HEAD
        "0.1,-2.5,200,0.005,8,2,2" MODULE_TAIL
        "0.2,2.5,19,0.002,8,2,3" MODULE_TAIL "0,0,200,0.005,8,2,4" MODULE_TAIL
        "0.2,0,0,0,8,2,5" MODULE_TAIL};
    etx_detector *detector = NULL;

    ck_assert_ok(
        etx_detector_read(&detector, io_write_text("d.csv", text[_i])));
    ck_assert(detector->modules[0].depth == (_i == 0 ? 0.0f : 0.1f));
    ck_assert(detector->modules[0].material_offset == (_i == 0 ? 0.0f : -2.5f));
    ck_assert_int_eq(detector->n_tubes, 2 * _i);
    if (_i == 1) {
        ck_assert(detector->tube[0].radius == 19.0f);
        ck_assert(detector->tube[0].radiation_lengths == 0.002f);
        ck_assert(detector->tube[1].radius == 200.0f);
    }
    etx_detector_free(detector);
}

/* ------------------------------------------------------------ features -- */

static const struct hits_row features_rows[] = {
    {"one", "1,0,2\n", GOOD(1)},
    {"no line feed, more columns", "1,0,2,5\n2,0.5,2,7", GOOD(2)},
    {"empty", "", BAD("f.csv:1:1: the file is empty")},
    {"names", "r,phi,z\n1,2,3\n", BAD("f.csv:1:1: found \"r\"")},
    {"two columns", "1,2\n", BAD("f.csv:1: 2 numbers in a line")},
    {"uneven", "1,2,3\n1,2\n", BAD("f.csv:2:2: the line has 2 cells")},
    {"empty first line", "\n1,2,3\n", BAD("f.csv:1:1: the line is empty")},
    {"far", "1e6,0,-1e7\n", GOOD(1)},
    {"too far", "1.0000001e6,0,0\n", BAD("is no position within +-1e9 mm")},
    {"infinitely far", "3e38,0,0\n", BAD("is no position within +-1e9 mm")},
    {"33 columns",
        "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,"
        "27,28,29,30,31,32,33\n",
        BAD("f.csv:1: 33 numbers in a line, expected r, phi, z and at most 29 "
            "more")},
};

IO_TEST(test_io_csv_features, .rows = ROWS(features_rows))
{
    const struct hits_row *row = &features_rows[_i];
    const int64_t before = etx_heap_in_use();
    const float scales[3] = {1000.0f, 3.0f, 100.0f};
    etx_event *event = NULL;
    const etx_status status = etx_event_read_features(
        &event, io_write_text("f.csv", row->text), scales);

    io_expect(row->name, status, row->status, row->piece);
    ck_assert_int_eq(etx_event_n_hits(event), row->n_hits);
    if (row->n_hits == 2) {
        ck_assert_int_eq(event->n_features, 4);
        ck_assert(event->features[5] == 0.5f && event->features[7] == 7.0f);
        ck_assert_float_eq_tol(event->position[3], 2000.0f * cosf(1.5f), 1e-3f);
        ck_assert_float_eq_tol(event->position[4], 2000.0f * sinf(1.5f), 1e-3f);
        ck_assert(event->position[5] == 200.0f && event->hit_id[1] == 2);
    }
    etx_event_free(event);
    ck_assert_int_eq(etx_heap_in_use(), before);
}

/* ------------------------------------------------------ reference data -- */
