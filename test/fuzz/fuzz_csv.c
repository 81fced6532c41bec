/* fuzz_csv.c -- hostile CSV files of an event; the first byte says which.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_support.h"

#include "base/heap.h"
#include "io/event_csv.h"
#include "io/features_csv.h"
#include "io/tracks_csv.h"

#include <string.h>

static const char hits[] = "hit_id,x,y,z,volume_id,layer_id,module_id\n"
                           "7,1,0,0,8,2,1\n3,0,2,0,8,2,1\n";
static const char truth[] = "hit_id,particle_id,weight\n7,5,0.5\n3,0,0\n";
static const char particles[] = "particle_id,vx,vy,vz,px,py,pz,q,nhits\n"
                                "5,0,0,0,1,1,1,-1,3\n";
static const char detector[] =
    "volume_id,layer_id,module_id,cx,cy,cz,rot_xu,rot_xv,rot_xw,rot_yu,rot_yv,"
    "rot_yw,rot_zu,rot_zv,rot_zw,module_t,pitch_u,pitch_v\n"
    "8,2,1,0,0,0,1,0,0,0,1,0,0,0,1,0.15,0.05,0.05\n";

static const char *file(int32_t slot, const char *text)
{
    return fuzz_text(slot, text, strlen(text));
}

static etx_status read_with_cells(const char *cells)
{
    struct etx_event_paths paths = {.hits = file(1, hits), .cells = cells};
    etx_detector *modules = NULL;
    etx_event *event = NULL;
    etx_status status = etx_detector_read(&modules, file(2, detector));

    if (status == ETX_OK)
        status = etx_event_csv_read(&event, &paths, modules);
    etx_event_free(event);
    etx_detector_free(modules);
    return status;
}

static etx_status read_with_truth(const char *truth_path, const char *path)
{
    const struct etx_event_paths paths = {
        .hits = file(1, hits), .truth = truth_path, .particles = path};
    etx_event *event = NULL;
    const etx_status status = etx_event_csv_read(&event, &paths, NULL);

    etx_event_free(event);
    return status;
}

static etx_status read_hits(const char *path)
{
    const struct etx_event_paths paths = {.hits = path};
    etx_event *event = NULL;
    const etx_status status = etx_event_csv_read(&event, &paths, NULL);

    etx_event_free(event);
    return status;
}

static etx_status read_features(const char *path)
{
    const float scales[3] = {1000.0f, 3.14f, 1000.0f};
    etx_event *event = NULL;
    const etx_status status = etx_features_csv_read(&event, path, scales);

    etx_event_free(event);
    return status;
}

static etx_status read_tracks(const char *path)
{
    const struct etx_event_paths paths = {.hits = file(1, hits)};
    etx_event *event = NULL;
    etx_tracks *tracks = NULL;
    etx_status status = etx_event_csv_read(&event, &paths, NULL);

    if (status == ETX_OK)
        status = etx_tracks_csv_read(&tracks, event, path);
    etx_tracks_free(tracks);
    etx_event_free(event);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int64_t before = etx_heap_in_use();
    etx_status status = ETX_OK;

    if (size == 0)
        return 0;
    const char *path = fuzz_text(0, data + 1, size - 1);
    if (data[0] == 'h')
        status = read_hits(path);
    else if (data[0] == 'c')
        status = read_with_cells(path);
    else if (data[0] == 't')
        status = read_with_truth(path, file(2, particles));
    else if (data[0] == 'p')
        status = read_with_truth(file(2, truth), path);
    else if (data[0] == 'f')
        status = read_features(path);
    else
        status = read_tracks(path);
    fuzz_check(status, before);
    return 0;
}
