/* test_first_pass.c -- long tracks, before the networks.
 *
 * In the detector of cylinders.h, where every particle is a long track.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cylinders.h"
#include "job.h"

#include "data/event.h"
#include "stage/model.h"
#include "train/trainer.h"

#include <exatrkx/train.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A model that learned both from an event; completed: the one before. */
static etx_model *learned_model(etx_model **completed)
{
    scoped struct sample *sample = new_sample(1);

    return learn_first_pass(sample, completed);
}

/* From collisions around the origin, or 200 mm from it along the beam. */
ETX_TEST(test_first_pass_finds_tracks, .rows = 2)
{
    scoped struct sample *learned = new_sample(1);
    scoped struct sample *sample = new_sample(2);
    scoped_context *context = etx_test_context();
    scoped_tracks *tracks = NULL;
    etx_stage_timing timing = {.struct_size = sizeof timing};

    for (int64_t i = 2; _i == 1 && i < 3 * MAX_HITS; i += 3) {
        learned->position[i] += 200.0f;
        sample->position[i] += 200.0f;
    }
    scoped_model *model = learn_first_pass(learned, NULL);
    scoped_event *event = event_of(sample);
    ck_assert_ok(etx_find_long_tracks(&tracks, context, model, event, NULL));
    assert_found(sample, tracks, 95);
    ck_assert_int_le(etx_tracks_count(tracks), N_PARTICLES);
    ck_assert_ok(etx_context_timing(&timing, context, ETX_STAGE_FIRST_PASS));
    ck_assert_double_gt(timing.seconds, 0.0);
}

/* Tracks that a field along z does not bend: half of them turn the wrong way.
 */
ETX_TEST(test_first_pass_other_field)
{
    scoped struct sample *sample = new_sample(1);
    scoped_model *model = learn_completion(sample);
    etx_model *learned = NULL;

    for (int64_t p = 0; p < N_PARTICLES; p++)
        sample->particle[p].charge = p % 2 == 0 ? 1 : -1;
    scoped_event *event = event_of(sample);
    const etx_event *const events[] = {event};
    ck_assert_refused(
        etx_model_learn_first_pass(&learned, model, 1, events, NULL),
        "true tracks do not agree on a field along z (");
}

/* The event without a field: its particles fly straight on. */
static void straighten(struct sample *sample)
{
    for (int64_t i = 0; i < sample->n_hits; i++) {
        float *const at = sample->position + 3 * i;
        const float r = hypotf(at[0], at[1]);

        if (sample->particle_id[i] == 0)
            continue;
        const etx_particle *const particle =
            &sample->particle[sample->particle_id[i] - 1];
        const float pt = hypotf(particle->momentum[0], particle->momentum[1]);
        const float off = 0.05f * sinf((float)i); /* mm, the resolution */
        at[0] = (r * particle->momentum[0] - off * particle->momentum[1]) / pt;
        at[1] = (r * particle->momentum[1] + off * particle->momentum[0]) / pt;
    }
}

ETX_TEST(test_first_pass_without_field)
{
    scoped struct sample *learned = new_sample(1);
    scoped struct sample *sample = new_sample(2);
    scoped_context *context = etx_test_context();
    scoped_tracks *tracks = NULL;

    straighten(learned);
    straighten(sample);
    scoped_model *model = learn_first_pass(learned, NULL);
    scoped_event *event = event_of(sample);
    ck_assert_ok(etx_find_long_tracks(&tracks, context, model, event, NULL));
    assert_found(sample, tracks, 95);
}

/* Of each particle the hit on one layer is missing, on another layer of the
 * next one. */
static void drop_hits(struct sample *sample)
{
    int64_t n = 0;

    for (int64_t i = 0; i < sample->n_hits; i++) {
        if (sample->particle_id[i] > 0 &&
            sample->particle_id[i] % N_LAYERS == sample->layer[i])
            continue;
        memmove(sample->position + 3 * n, sample->position + 3 * i,
            3 * sizeof *sample->position);
        sample->volume_id[n] = sample->volume_id[i];
        sample->layer_id[n] = sample->layer_id[i];
        sample->module_id[n] = sample->module_id[i];
        sample->particle_id[n] = sample->particle_id[i];
        sample->layer[n++] = sample->layer[i];
    }
    sample->n_hits = n;
}

ETX_TEST(test_first_pass_holes)
{
    scoped_model *model = learned_model(NULL);
    scoped_context *context = etx_test_context();
    scoped struct sample *sample = new_sample(2);
    scoped_tracks *tracks = NULL;
    etx_first_pass_options options;

    drop_hits(sample);
    scoped_event *event = event_of(sample);
    ck_assert_ok(etx_first_pass_options_init(&options, sizeof options));
    options.min_layers = N_LAYERS - 2; /* one after a hole is not sure */
    ck_assert_ok(
        etx_find_long_tracks(&tracks, context, model, event, &options));
    assert_found(sample, tracks, 95);
}

/* Hits on one line over the layers: each three of them begin a candidate. */
ETX_TEST(test_first_pass_on_a_line)
{
    enum { N = 2000 };
    scoped_job job = job_make();
    scoped_tracks *tracks = NULL;
    scoped_event *event = NULL;
    scoped float *position = etx_test_alloc(3 * N, sizeof *position);
    scoped int32_t *ids = etx_test_alloc(3 * N, sizeof *ids);
    const int64_t n = etx_event_n_hits(job.event);

    for (int64_t k = 0; k < N; k++) {
        position[3 * k] = 1.0f + 999.0f * (float)k / (N - 1);
        ids[k] = etx_event_volume_ids(job.event)[k % n];
        ids[N + k] = etx_event_layer_ids(job.event)[k % n];
        ids[2 * N + k] = etx_event_module_ids(job.event)[k % n];
    }
    ck_assert_ok(etx_event_create(&event, N, NULL, position));
    ck_assert_ok(etx_event_set_modules(event, ids, ids + N, ids + 2 * N));
    const clock_t begin = clock();
    ck_assert_ok(
        etx_find_long_tracks(&tracks, job.context, job.model, event, NULL));
    ck_assert_int_gt(etx_tracks_count(tracks), 0);
    ck_assert_int_lt((clock() - begin) / CLOCKS_PER_SEC, 8);
}

/* Every option removes tracks when it is at its end. */
static const struct etx_test_change strict_options[] = {
    {CHANGE(etx_first_pass_options, min_layers, 9), ETX_OK, NULL},
    {CHANGE(etx_first_pass_options, min_pt, 100.0f), ETX_OK, NULL},
    {CHANGE(etx_first_pass_options, max_distance, 0.0f), ETX_OK, NULL},
    {CHANGE(etx_first_pass_options, max_random, 0.0f), ETX_OK, NULL},
};

ETX_TEST(test_first_pass_options, .rows = ROWS(strict_options))
{
    scoped_model *model = learned_model(NULL);
    scoped_context *context = etx_test_context();
    scoped struct sample *sample = new_sample(2);
    scoped_event *event = event_of(sample);
    scoped_tracks *tracks = NULL;
    etx_first_pass_options options;

    ck_assert_ok(etx_first_pass_options_init(&options, sizeof options));
    etx_test_set(&options, &strict_options[_i]);
    ck_assert_ok(
        etx_find_long_tracks(&tracks, context, model, event, &options));
    ck_assert_int_eq(etx_tracks_count(tracks), 0);
}

ETX_TEST(test_first_pass_learns_the_detector)
{
    scoped_model *completed = NULL;
    scoped_model *model = learned_model(&completed);
    scoped_model *again = NULL;
    scoped struct sample *sample = new_sample(1);
    scoped_event *event = event_of(sample);
    const etx_event *const events[] = {event};
    const struct etx_first_pass *const table = model->first_pass;
    static const int64_t seeds[][ETX_SEED_WIDTH] = {
        {0, 1, 2, 0}, {0, 1, 3, 1}, {0, 2, 3, 1}, {1, 2, 3, 1}};
    etx_first_pass_options options = {.struct_size = sizeof options};

    ck_assert_int_eq(etx_model_has_stage(model, ETX_STAGE_FIRST_PASS), 1);
    ck_assert_int_eq(etx_model_has_stage(completed, ETX_STAGE_FIRST_PASS), 0);
    ck_assert_ok(etx_model_first_pass_options(&options, model));
    ck_assert_int_eq(options.min_layers, 7);
    ck_assert_int_eq(options.min_event_hits, 0);
    ck_assert_int_eq(table->n_seeds, 4);
    ck_assert_mem_eq(table->seed, seeds, sizeof seeds);
    ck_assert_float_eq_tol(table->beam[0], 0.0f, 10.0f);
    ck_assert_float_gt(table->beam[1], 60.0f); /* 30 mm is one sigma */
    /* Another completion may have other layers. */
    ck_assert_ok(etx_model_learn_completion(&again, model, 1, events, NULL));
    ck_assert_int_eq(etx_model_has_stage(again, ETX_STAGE_FIRST_PASS), 0);
    ck_assert_ptr_nonnull(strstr(model->config, "first_pass"));
    ck_assert_ptr_null(strstr(again->config, "first_pass"));
}

/* Ten particles without a hit on the second layer are too few for windows of
 * the seed that they begin with, the third in order, which goes. */
ETX_TEST(test_first_pass_drops_seeds_without_windows)
{
    static const int64_t seeds[][ETX_SEED_WIDTH] = {
        {0, 1, 2, 0}, {0, 1, 3, 1}, {1, 2, 3, 1}};
    scoped struct sample *sample = new_sample(1);

    for (int64_t i = 0; i < sample->n_hits; i++)
        if (sample->layer[i] == 1 && sample->particle_id[i] <= 10)
            sample->particle_id[i] = 0;
    scoped_model *model = learn_first_pass(sample, NULL);
    const struct etx_first_pass *const table = model->first_pass;
    ck_assert_int_eq(table->n_seeds, 3);
    ck_assert_mem_eq(table->seed, seeds, sizeof seeds);
    for (int64_t k = 0; k < 3 * ETX_COMPLETION_N_PT; k++)
        ck_assert_float_gt(table->window[k].transverse, 0.0f);
}

/* A third of the particles comes back to its first layer, or to its second,
 * with the fourth hit: the three hits of a seed are on three layers. */
ETX_TEST(test_first_pass_seeds_have_three_layers, .rows = 2)
{
    scoped struct sample *sample = new_sample(1);

    for (int64_t i = 0; i < sample->n_hits; i++)
        if (sample->layer[i] == 3 && sample->particle_id[i] % 3 == 1)
            sample->layer_id[i] = sample->layer_id[_i];
    scoped_model *model = learn_first_pass(sample, NULL);
    const struct etx_first_pass *const table = model->first_pass;
    ck_assert_int_gt(table->n_seeds, 1);
    for (int64_t k = 0; k < table->n_seeds; k++) {
        const int64_t *const seed = table->seed + k * ETX_SEED_WIDTH;

        ck_assert(seed[0] != seed[1] && seed[1] != seed[2]);
        ck_assert_int_ne(seed[0], seed[2]);
    }
}

/* Of 600 tracks the farthest at either end does not count for the length of the
 * beam: two do, and of 300 tracks one. */
static const struct {
    int32_t n_events, n_far; /* tracks, a metre out, of the first event */
    bool count;
} beams[] = {{1, 1, true}, {2, 1, false}, {2, 2, true}};

ETX_TEST(test_first_pass_beam_without_its_tail, .rows = ROWS(beams))
{
    scoped struct sample *sample = new_sample(1);
    scoped_model *start = learn_completion(sample);
    scoped_event *event = event_of(sample);
    scoped_model *model = NULL;
    int32_t n_far = 0;

    for (int64_t p = 0; p < N_PARTICLES && n_far < beams[_i].n_far; p++) {
        if (!(sample->particle[p].momentum[2] > 0.0f))
            continue;
        for (int64_t i = 0; i < sample->n_hits; i++)
            if (sample->particle_id[i] == sample->particle[p].id)
                sample->position[3 * i + 2] += 1000.0f;
        n_far++;
    }
    scoped_event *far = event_of(sample);
    const etx_event *const events[] = {far, event};
    ck_assert_ok(etx_model_learn_first_pass(
        &model, start, beams[_i].n_events, events, NULL));
    ck_assert_int_eq(model->first_pass->beam[1] > 500.0f, beams[_i].count);
}

/* In the whole pipeline the hits of a long track stay together, and what is
 * left goes to the networks. */
ETX_TEST(test_first_pass_in_the_pipeline)
{
    scoped_model *model = learned_model(NULL);
    scoped_context *context = etx_test_context();
    scoped struct sample *sample = new_sample(2);
    scoped_event *event = event_of(sample);
    scoped_tracks *tracks = NULL;
    scoped_tracks *all = NULL;
    scoped int32_t *label = etx_test_alloc(sample->n_hits, sizeof *label);
    etx_stage_timing timing = {.struct_size = sizeof timing};

    ck_assert_ok(etx_find_long_tracks(&tracks, context, model, event, NULL));
    ck_assert_ok(etx_find_tracks(&all, context, model, event));
    ck_assert_ok(etx_context_timing(&timing, context, ETX_STAGE_EMBEDDING));
    ck_assert_double_gt(timing.seconds, 0.0);
    for (int64_t t = 0; t < etx_tracks_count(all); t++)
        for (int64_t k = etx_tracks_offsets(all)[t];
             k < etx_tracks_offsets(all)[t + 1]; k++)
            label[etx_tracks_hits(all)[k]] = (int32_t)t;
    for (int64_t t = 0; t < etx_tracks_count(tracks); t++)
        for (int64_t k = etx_tracks_offsets(tracks)[t];
             k < etx_tracks_offsets(tracks)[t + 1]; k++)
            ck_assert_int_eq(label[etx_tracks_hits(tracks)[k]],
                label[etx_tracks_hits(tracks)[etx_tracks_offsets(tracks)[t]]]);
}

/* The hits of event without a label [n_hits]; *rows: which. */
static etx_event *hits_left(
    const etx_event *event, const int32_t *label, int32_t *rows)
{
    const int64_t n_hits = etx_event_n_hits(event);
    scoped float *position = etx_test_alloc(3 * n_hits, sizeof *position);
    scoped float *cells = etx_test_alloc(9 * n_hits, sizeof *cells);
    scoped int32_t *ids = etx_test_alloc(3 * n_hits, sizeof *ids);
    etx_event *out = NULL;
    int64_t n = 0;

    for (int64_t i = 0; i < n_hits; i++) {
        if (label[i] >= 0)
            continue;
        memcpy(position + 3 * n, etx_event_positions(event) + 3 * i,
            3 * sizeof *position);
        memcpy(cells + 9 * n, etx_event_cell_features(event) + 9 * i,
            9 * sizeof *cells);
        ids[n] = etx_event_volume_ids(event)[i];
        ids[n_hits + n] = etx_event_layer_ids(event)[i];
        ids[2 * n_hits + n] = etx_event_module_ids(event)[i];
        rows[n++] = (int32_t)i;
    }
    ck_assert_ok(etx_event_create(&out, n, NULL, position));
    ck_assert_ok(etx_event_set_cell_features(out, cells));
    ck_assert_ok(
        etx_event_set_modules(out, ids, ids + n_hits, ids + 2 * n_hits));
    return out;
}

/* Both halves of the pipeline, and between them the stages of a host, its only
 * pass or the first of two; in this event a second one finds more. */
ETX_TEST(test_first_pass_halves, .rows = 2)
{
    scoped_job job = {.context = etx_test_context()};
    etx_test_open_example(&job.model, &job.event, "event000000002");
    const int64_t n = etx_event_n_hits(job.event);
    scoped int32_t *label = etx_test_alloc(n, sizeof *label);
    scoped int32_t *rows = etx_test_alloc(n, sizeof *rows);
    scoped int32_t *found = etx_test_alloc(n, sizeof *found);
    scoped_graph *all = NULL;
    scoped_graph *graph = NULL;
    scoped_tracks *tracks = NULL;
    etx_label_options options = {.struct_size = sizeof options};
    int64_t n_tracks = 0;

    job.model->completion_options.passes = _i + 1;
    job_find(&job);
    ck_assert_ok(etx_model_label_options(&options, job.model));
    ck_assert_ok(etx_find_tracks_begin(
        label, &n_tracks, job.context, job.model, job.event));
    ck_assert_int_gt(n_tracks, 10);
    scoped_event *left = hits_left(job.event, label, rows);
    ck_assert_int_gt(etx_event_n_hits(left), 10);
    ck_assert_ok(etx_graph_build(&all, job.context, job.model, left));
    ck_assert_ok(etx_graph_filter(&graph, all, job.context, job.model, left));
    ck_assert_ok(etx_graph_score(graph, job.context, job.model, left));
    ck_assert_ok(etx_graph_label(found, graph, job.context, left, &options));
    for (int64_t k = 0; k < etx_event_n_hits(left); k++)
        if (found[k] >= 0)
            label[rows[k]] = found[k] + (int32_t)n_tracks;
    ck_assert_ok(etx_find_tracks_end(
        &tracks, label, n_tracks, job.context, job.model, job.event));
    job_assert_same_tracks(tracks, job.tracks);
}

/* Without modules all hits are left, and tracks stay as they are. */
ETX_TEST(test_first_pass_halves_without_modules)
{
    scoped_job job = job_make();
    const int64_t n = etx_event_n_hits(job.event);
    scoped_event *bare = etx_test_event(n, etx_event_positions(job.event));
    scoped int32_t *label = etx_test_alloc(n, sizeof *label);
    scoped_tracks *tracks = NULL;
    int64_t n_tracks = -1;

    ck_assert_ok(
        etx_find_tracks_begin(label, &n_tracks, job.context, job.model, bare));
    ck_assert_int_eq(n_tracks, 0);
    for (int64_t i = 0; i < n; i++)
        ck_assert_int_eq(label[i], -1);
    label[3] = label[n - 1] = 0;
    ck_assert_ok(etx_find_tracks_end(
        &tracks, label, n_tracks, job.context, job.model, bare));
    ck_assert_int_eq(etx_tracks_count(tracks), 1);
    ck_assert_int_eq(etx_tracks_hits(tracks)[1], n - 1);
}

/* The host may drop tracks of the first pass: here all, or the last. */
ETX_TEST(test_first_pass_halves_dropped, .rows = 2)
{
    scoped_job job = job_make();
    const int64_t n = etx_event_n_hits(job.event);
    scoped int32_t *label = etx_test_alloc(n, sizeof *label);
    scoped_tracks *tracks = NULL;
    scoped_tracks *again = NULL;
    int64_t n_tracks = 0;

    ck_assert_ok(etx_find_tracks_begin(
        label, &n_tracks, job.context, job.model, job.event));
    ck_assert_int_gt(n_tracks, 10);
    for (int64_t i = 0; i < n; i++)
        if (_i == 0 || label[i] == n_tracks - 1)
            label[i] = -1;
    ck_assert_ok(etx_find_tracks_end(
        &tracks, label, n_tracks, job.context, job.model, job.event));
    n_tracks -= _i == 0 ? n_tracks : 1;
    ck_assert_ok(etx_find_tracks_end(
        &again, label, n_tracks, job.context, job.model, job.event));
    job_assert_same_tracks(tracks, again);
}

/* A label or a number that cannot be. */
static const struct {
    int32_t label;
    int64_t n_tracks;
    const char *text;
} bad_labels[] = {
    {-2, 0, "label 1 is -2 and not in -1..3"},
    {4, 0, "label 1 is 4 and not in -1..3"},
    {0, -1, "n_tracks -1 is not in 0..4"},
    {0, 5, "n_tracks 5 is not in 0..4"},
};

ETX_TEST(test_first_pass_halves_refused, .rows = ROWS(bad_labels))
{
    scoped_job job = job_make();
    const float position[12] = {1.0f};
    const int32_t label[] = {-1, bad_labels[_i].label, -1, -1};
    scoped_event *event = etx_test_event(4, position);
    etx_tracks *tracks = NULL;

    ck_assert_fails(etx_find_tracks_end(&tracks, label, bad_labels[_i].n_tracks,
                        job.context, job.model, event),
        ETX_ERR_ARGUMENT, bad_labels[_i].text);
}

/* A trainer of the embedding on an event, without the hits that the first pass
 * finds in this share of events. */
static etx_status open_trainer(etx_trainer **out, etx_context *context,
    const etx_model *model, const etx_event *event, const char *share)
{
    char config[200];
    etx_status status;

    (void)snprintf(config, sizeof config,
        "{\"stage\": \"embedding\", \"augmentation\": {\"first_pass\": %s}}",
        share);
    status = etx_trainer_create(out, context, config, model);
    return status == ETX_OK ? etx_trainer_add_event(*out, event, 0) : status;
}

/* The networks can be trained on the hits that they will see. */
ETX_TEST(test_first_pass_before_training, .rows = 2)
{
    scoped_model *completed = NULL;
    scoped_model *model = learned_model(&completed);
    scoped_context *context = etx_test_context();
    scoped struct sample *sample = new_sample(2);
    scoped_event *event = event_of(sample);
    scoped_tracks *found = NULL;
    scoped_tracks *whole = NULL;
    etx_trainer *trainer = NULL;
    etx_completion_options options = {.struct_size = sizeof options};

    ck_assert_fails(open_trainer(&trainer, context, completed, event, "1"),
        ETX_ERR_FORMAT, "augmentation.first_pass 1 without a start model");
    ck_assert_ok(open_trainer(&trainer, context, model, event, _i ? "1" : "0"));
    const struct etx_event *const seen = trainer->training.event[0]->event;

    ck_assert_ok(etx_find_long_tracks(&found, context, model, event, NULL));
    ck_assert_ok(etx_model_completion_options(&options, model));
    options.min_layers = 0; /* new tracks are for the networks to find */
    ck_assert_ok(
        etx_complete_tracks(&whole, found, context, model, event, &options));
    ck_assert_int_eq(seen->n_hits,
        event->n_hits -
            (_i ? etx_tracks_offsets(whole)[etx_tracks_count(whole)] : 0));
    for (int64_t k = 0; k < seen->n_hits; k++) {
        const int64_t row = seen->hit_id[k] - event->hit_id[0];

        ck_assert_int_eq(seen->hit_id[k], event->hit_id[row]);
        ck_assert_int_eq(seen->particle_id[k], event->particle_id[row]);
    }
    etx_trainer_free(trainer);
}

/* Smaller events than min_event_hits are left to the networks. */
ETX_TEST(test_first_pass_of_dense_events)
{
    scoped_model *model = learned_model(NULL);
    scoped_context *context = etx_test_context();
    scoped struct sample *sample = new_sample(2);
    scoped_event *event = event_of(sample);
    etx_stage_timing timing = {.struct_size = sizeof timing};

    for (int32_t more = 0; more < 2; more++) {
        scoped_tracks *tracks = NULL;

        model->first_pass_options.min_event_hits =
            (int32_t)sample->n_hits + more;
        ck_assert_ok(etx_find_tracks(&tracks, context, model, event));
        ck_assert_ok(
            etx_context_timing(&timing, context, ETX_STAGE_FIRST_PASS));
        ck_assert_int_eq(timing.seconds > 0.0, more == 0);
    }
}
