/* examples/small/find_tracks.c -- find the tracks of an event.
 *
 *     find_tracks MODEL EVENT DETECTOR
 *
 * MODEL is a model file, EVENT the prefix of an event in TrackML form, DETECTOR
 * its detectors.csv. Prints one line per track: its number and its hit ids.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <exatrkx/exatrkx.h>

static void print_tracks(const etx_tracks *tracks, const etx_event *event)
{
    const int64_t *offsets = etx_tracks_offsets(tracks);
    const int32_t *hits = etx_tracks_hits(tracks);
    const int64_t *ids = etx_event_hit_ids(event);

    for (int64_t t = 0; t < etx_tracks_count(tracks); t++) {
        printf("%lld:", (long long)t);
        for (int64_t k = offsets[t]; k < offsets[t + 1]; k++)
            printf(" %lld", (long long)ids[hits[k]]);
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    etx_context *context = NULL; /* one CPU thread */
    etx_model *model = NULL;
    etx_detector *detector = NULL;
    etx_event *event = NULL;
    etx_tracks *tracks = NULL;
    int result = 1;

    if (argc != 4)
        fprintf(stderr, "usage: find_tracks MODEL EVENT DETECTOR\n");
    else if (etx_context_create(&context, NULL) ||
             etx_model_load(&model, argv[1]) ||
             etx_detector_read(&detector, argv[3]) ||
             etx_event_read_trackml(&event, argv[2], detector) ||
             etx_find_tracks(&tracks, context, model, event))
        fprintf(stderr, "%s\n", etx_last_error());
    else {
        print_tracks(tracks, event);
        result = 0;
    }
    etx_tracks_free(tracks);
    etx_event_free(event);
    etx_detector_free(detector);
    etx_model_free(model);
    etx_context_free(context);
    return result;
}
