/* test_completion.c -- tracks get the hits that they lack.
 *
 * In the detector of cylinders.h, where what completion has to find is known.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cylinders.h"
#include "io_support.h"
#include "job.h"

#include "base/random.h"
#include "stage/model.h"

#include <exatrkx/eval.h>
#include <exatrkx/train.h>
#include <math.h>

/* A model that learned from an event. */
static etx_model *learned_model(void)
{
    scoped struct sample *sample = new_sample(1);

    return learn_completion(sample);
}

/* The labels of truth without the hits of these layers; a particle whose number
 * is a multiple of `split` is two tracks of four layers. */
static etx_tracks *damaged_tracks(
    const struct sample *sample, uint32_t lost_layers, int64_t split)
{
    scoped int32_t *label = etx_test_alloc(sample->n_hits, sizeof *label);
    etx_tracks *tracks = NULL;

    for (int64_t i = 0; i < sample->n_hits; i++) {
        const int64_t id = sample->particle_id[i];
        const int32_t is_lost = (int32_t)(lost_layers >> sample->layer[i] & 1);

        label[i] = id == 0 || is_lost ? -1 : (int32_t)id;
        if (label[i] >= 0 && id % split == 0 &&
            sample->layer[i] >= N_LAYERS / 2)
            label[i] = (int32_t)id + N_PARTICLES;
    }
    ck_assert_ok(etx_tracks_from_labels(&tracks, sample->n_hits, label));
    return tracks;
}

static const struct {
    uint32_t lost_layers;
    int64_t split;
} damages[] = {
    {0x00, N_PARTICLES + 1}, /* nothing is missing */
    {0x01, N_PARTICLES + 1}, /* the innermost hit */
    {0x80, N_PARTICLES + 1}, /* the outermost */
    {0xc3, N_PARTICLES + 1}, /* two at either end */
    {0x50, N_PARTICLES + 1}, /* between others */
    {0x00, 1},               /* all in halves */
    {0x81, 2},
};

ETX_TEST(test_completion_finds_hits, .rows = ROWS(damages))
{
    scoped_model *model = learned_model();
    scoped_context *context = etx_test_context();
    scoped struct sample *sample = new_sample(2);
    scoped_event *event = event_of(sample);
    scoped_tracks *before =
        damaged_tracks(sample, damages[_i].lost_layers, damages[_i].split);
    scoped_tracks *after = NULL;

    ck_assert_ok(
        etx_complete_tracks(&after, before, context, model, event, NULL));
    assert_found(sample, after, 98);
}

/* A track gets the second hit on a layer, where modules overlap. */
ETX_TEST(test_completion_finds_overlaps)
{
    scoped struct sample *learned = new_sample(1);
    scoped struct sample *sample = new_sample(2);
    scoped_context *context = etx_test_context();
    scoped_tracks *after = NULL;

    overlap_modules(learned);
    overlap_modules(sample);
    scoped_model *model = learn_completion(learned);
    scoped int32_t *label = etx_test_alloc(sample->n_hits, sizeof *label);
    for (int64_t i = 0; i < sample->n_hits; i++)
        label[i] = sample->particle_id[i] == 0 || sample->module_id[i] >= 100
                       ? -1
                       : (int32_t)sample->particle_id[i];
    scoped_tracks *before = NULL;
    ck_assert_ok(etx_tracks_from_labels(&before, sample->n_hits, label));
    scoped_event *event = event_of(sample);
    ck_assert_ok(
        etx_complete_tracks(&after, before, context, model, event, NULL));
    assert_found(sample, after, 98);
}

ETX_TEST(test_completion_refuses_other_event)
{
    scoped_model *model = learned_model();
    scoped_context *context = etx_test_context();
    scoped struct sample *sample = new_sample(2);
    scoped_tracks *before = damaged_tracks(sample, 0, N_PARTICLES + 1);
    etx_tracks *after = NULL;

    sample->n_hits = N_PARTICLES * N_LAYERS;
    scoped_event *event = event_of(sample);
    ck_assert_refused(
        etx_complete_tracks(&after, before, context, model, event, NULL),
        "etx_complete_tracks: the tracks are of");
}

/* Tracks stay as they are where no hit is left. */
ETX_TEST(test_completion_no_hit_left)
{
    scoped_model *model = learned_model();
    scoped_context *context = etx_test_context();
    scoped struct sample *sample = new_sample(2);
    scoped_tracks *after = NULL;

    sample->n_hits = N_PARTICLES * N_LAYERS; /* noise is after them */
    scoped_event *event = event_of(sample);
    scoped_tracks *before = damaged_tracks(sample, 0, N_PARTICLES + 1);
    ck_assert_ok(
        etx_complete_tracks(&after, before, context, model, event, NULL));
    job_assert_same_tracks(after, before);
}

ETX_TEST(test_completion_learns_the_detector)
{
    scoped_model *model = learned_model();
    const struct etx_completion *const completion = model->completion;

    etx_completion_options options = {.struct_size = sizeof options};

    ck_assert_int_eq(etx_model_has_stage(model, ETX_STAGE_COMPLETION), 1);
    ck_assert_ok(etx_model_completion_options(&options, model));
    ck_assert_float_eq(options.max_distance, 64.0f);
    ck_assert_int_eq(completion->n_layers, N_LAYERS);
    for (int64_t l = 0; l < N_LAYERS; l++) {
        const int64_t *const layer = completion->layer + l * ETX_LAYER_WIDTH;

        ck_assert_int_eq(layer[ETX_LAYER_VOLUME], 3);
        ck_assert_int_eq(layer[ETX_LAYER_LAYER], 2 * l + 2);
        ck_assert_int_eq(layer[ETX_LAYER_IS_BARREL], 1);
    }
    ck_assert_double_eq_tol((double)completion->field[0], FIELD, 0.02);
    for (int64_t k = 0; k < completion->n_steps; k++) {
        const int64_t *const step = completion->step + k * ETX_STEP_WIDTH;
        const int64_t change = step[ETX_STEP_TO] - step[ETX_STEP_FROM];

        ck_assert_int_eq(change > 0, step[ETX_STEP_DIRECTION] == ETX_OUTWARD);
    }
}

/* Where no particle is, up to the first z with one, the field is as there. */
ETX_TEST(test_completion_learns_the_field_of_one_end)
{
    scoped struct sample *sample = new_sample(1);

    for (int64_t i = 0; i < sample->n_hits; i++) {
        const int64_t id = sample->particle_id[i];

        sample->position[3 * i + 2] += 2000.0f;
        if (id > 0 && sample->particle[id - 1].momentum[2] < 0.0f)
            sample->particle_id[i] = 0; /* flies to where hits are nearer */
    }
    scoped_model *model = learn_completion(sample);
    for (int b = 0; b < ETX_COMPLETION_N_FIELD; b++)
        ck_assert_double_eq_tol(
            (double)model->completion->field[b], FIELD, 0.05);
}

/* No track is found before, so all are new: from the beam line or displaced. */
static etx_tracks *new_tracks(etx_context *context, const struct sample *sample,
    const etx_completion_options *options)
{
    scoped_model *model = learned_model();
    scoped_event *event = event_of(sample);
    scoped int32_t *label = etx_test_alloc(sample->n_hits, sizeof *label);
    scoped_tracks *none = NULL;
    etx_tracks *tracks = NULL;

    memset(label, -1, (size_t)sample->n_hits * sizeof *label);
    ck_assert_ok(etx_tracks_from_labels(&none, sample->n_hits, label));
    ck_assert_ok(
        etx_complete_tracks(&tracks, none, context, model, event, options));
    return tracks;
}

ETX_TEST(test_completion_new_tracks, .rows = 2)
{
    scoped_context *context = etx_test_context();
    scoped struct sample *sample =
        new_displaced_sample(3, _i == 0 ? 0.0f : 10.0f);
    scoped_tracks *tracks = new_tracks(context, sample, NULL);

    assert_found(sample, tracks, 90);
    ck_assert_int_le(etx_tracks_count(tracks), N_PARTICLES + 3);
}

/* All noise, as much as a sample holds, crowded on the second layer. */
static void crowd_layer(struct sample *sample)
{
    struct etx_random random;

    etx_random_init(&random, 1, 1, 0);
    sample->n_hits = MAX_HITS;
    for (int64_t i = N_PARTICLES * N_LAYERS; i < MAX_HITS; i++) {
        const float azimuth = 0.3f * etx_random_uniform(&random);

        sample->position[3 * i] = 72.0f * cosf(azimuth);
        sample->position[3 * i + 1] = 72.0f * sinf(azimuth);
        sample->position[3 * i + 2] =
            160.0f * (etx_random_uniform(&random) - 0.5f);
        sample->volume_id[i] = 3;
        sample->layer_id[i] = 4;
        sample->module_id[i] = (int32_t)(azimuth * 100.0f);
        sample->layer[i] = 1;
    }
}

/* Where more hits than are looked at may be the second of a track, those ahead
 * of its first are. */
ETX_TEST(test_completion_new_tracks_in_a_crowd)
{
    scoped_context *context = etx_test_context();
    scoped struct sample *sample = new_sample(3);
    etx_completion_options options;

    ck_assert_ok(etx_completion_options_init(&options, sizeof options));
    options.min_layers = N_LAYERS;
    crowd_layer(sample);
    scoped_tracks *tracks = new_tracks(context, sample, &options);
    assert_found(sample, tracks, 95);
}

/* Every hit turns about the beam line by an angle of its own. */
static void turn_hits(struct sample *sample)
{
    struct etx_random random;

    etx_random_init(&random, 1, 1, 0);
    for (int64_t i = 0; i < sample->n_hits; i++) {
        float *const at = sample->position + 3 * i;
        const float radius = hypotf(at[0], at[1]);
        const float azimuth = 6.2831853f * etx_random_uniform(&random);

        at[0] = radius * cosf(azimuth);
        at[1] = radius * sinf(azimuth);
    }
}

/* Of unrelated hits few lie on one helix, even where a third hit is near that
 * of most pairs. */
ETX_TEST(test_completion_no_new_tracks_of_noise)
{
    scoped_model *model = learned_model();
    scoped_context *context = etx_test_context();
    scoped struct sample *sample = new_sample(4);
    scoped int32_t *label = etx_test_alloc(sample->n_hits, sizeof *label);
    scoped_tracks *none = NULL;
    scoped_tracks *tracks = NULL;

    turn_hits(sample);
    scoped_event *event = event_of(sample);
    for (int64_t k = 0;
         k < model->completion->n_steps * ETX_COMPLETION_N_WINDOWS; k++) {
        model->completion->window[k].transverse *= 6.0f;
        model->completion->window[k].longitudinal *= 6.0f;
    }
    memset(label, -1, (size_t)sample->n_hits * sizeof *label);
    ck_assert_ok(etx_tracks_from_labels(&none, sample->n_hits, label));
    ck_assert_ok(
        etx_complete_tracks(&tracks, none, context, model, event, NULL));
    ck_assert_int_le(etx_tracks_count(tracks), 3);
}

/* At these ends the options find none. */
static const struct etx_test_change no_tracks[] = {
    {CHANGE(etx_completion_options, min_layers, 0), ETX_OK, NULL},
    {CHANGE(etx_completion_options, min_layers, 9), ETX_OK, NULL},
    {CHANGE(etx_completion_options, min_pt, 100.0f), ETX_OK, NULL},
};

ETX_TEST(test_completion_no_new_tracks, .rows = ROWS(no_tracks))
{
    scoped_context *context = etx_test_context();
    scoped struct sample *sample = new_displaced_sample(3, 10.0f);
    etx_completion_options options;

    ck_assert_ok(etx_completion_options_init(&options, sizeof options));
    etx_test_set(&options, &no_tracks[_i]);
    scoped_tracks *tracks = new_tracks(context, sample, &options);
    ck_assert_int_eq(etx_tracks_count(tracks), 0);
}

/* A second pass of the networks finds a track that the first one did not, and
 * takes none away; of a batch, too. */
ETX_TEST(test_completion_second_pass)
{
    scoped_context *context = etx_test_context();
    scoped_model *model = NULL;
    scoped_event *event = NULL;
    scoped_tracks *once = NULL, *twice = NULL, *batched = NULL;
    etx_evaluation_counts first = {.struct_size = sizeof first};
    etx_evaluation_counts second = {.struct_size = sizeof second};

    etx_test_open_example(&model, &event, "event000000002");
    ck_assert_ok(etx_find_tracks(&once, context, model, event));
    model->completion_options.passes = 2;
    ck_assert_ok(etx_find_tracks(&twice, context, model, event));
    ck_assert_ok(etx_find_tracks_batch(
        &batched, context, model, 1, (const etx_event *const[]){event}));
    etx_test_same_tracks(batched, twice);
    ck_assert_ok(etx_evaluate(&first, event, once, NULL));
    ck_assert_ok(etx_evaluate(&second, event, twice, NULL));
    ck_assert_int_gt(
        second.n_reconstructable_matched, first.n_reconstructable_matched);
    ck_assert_int_le(second.n_tracks_fake, first.n_tracks_fake);
}

/* At these ends no hit is added, and no track is joined. */
static const struct {
    struct etx_test_change change;
    uint32_t lost_layers;
    int64_t split;
} idle[] = {
    {{CHANGE(etx_completion_options, max_distance, 0.0f), ETX_OK, NULL}, 0x81,
        N_PARTICLES + 1},
    {{CHANGE(etx_completion_options, max_random, 0.0f), ETX_OK, NULL}, 0x81,
        N_PARTICLES + 1},
    {{CHANGE(etx_completion_options, max_join, 0.0f), ETX_OK, NULL}, 0, 1},
};

ETX_TEST(test_completion_idle, .rows = ROWS(idle))
{
    scoped_model *model = learned_model();
    scoped_context *context = etx_test_context();
    scoped struct sample *sample = new_sample(2);
    scoped_tracks *after = NULL;
    etx_completion_options options;

    sample->n_hits = N_PARTICLES * N_LAYERS; /* noise is after them */
    scoped_event *event = event_of(sample);
    scoped_tracks *before =
        damaged_tracks(sample, idle[_i].lost_layers, idle[_i].split);
    ck_assert_ok(etx_completion_options_init(&options, sizeof options));
    etx_test_set(&options, &idle[_i].change);
    ck_assert_ok(
        etx_complete_tracks(&after, before, context, model, event, &options));
    job_assert_same_tracks(after, before);
}

/* With windows that are ten times narrower distances are a hundred times as
 * large: few halves are joined at the default, nearly all at a bound that is as
 * large, too. */
ETX_TEST(test_completion_max_join, .rows = 2)
{
    scoped_model *model = learned_model();
    scoped_context *context = etx_test_context();
    scoped struct sample *sample = new_sample(2);
    scoped_tracks *after = NULL;
    struct etx_completion *const table = model->completion;
    etx_completion_options options;

    for (int64_t k = 0; k < table->n_steps * ETX_COMPLETION_N_WINDOWS; k++) {
        table->window[k].transverse *= 0.1f;
        table->window[k].longitudinal *= 0.1f;
    }
    sample->n_hits = N_PARTICLES * N_LAYERS;
    scoped_event *event = event_of(sample);
    scoped_tracks *before = damaged_tracks(sample, 0, 1);
    ck_assert_ok(etx_completion_options_init(&options, sizeof options));
    options.max_distance = 6400.0f;
    if (_i == 1)
        options.max_join = 2500.0f;
    ck_assert_ok(
        etx_complete_tracks(&after, before, context, model, event, &options));
    const int64_t n_joined = 2 * N_PARTICLES - etx_tracks_count(after);
    ck_assert_int_ge(n_joined, _i == 0 ? 1 : N_PARTICLES * 98 / 100);
    ck_assert_int_le(n_joined, _i == 0 ? N_PARTICLES / 5 : N_PARTICLES);
}

/* Without a bound, or with the least momentum, also in the model. */
IO_TEST(test_completion_options_at_their_ends)
{
    scoped_model *start = io_model_make(io_model_small);
    scoped struct sample *sample = new_sample(5);
    scoped_event *event = event_of(sample);
    const etx_event *const events[] = {event};
    scoped_model *model = NULL;
    scoped_model *again = NULL;
    etx_completion_options options;

    ck_assert_ok(etx_completion_options_init(&options, sizeof options));
    options.max_distance = options.max_join = options.max_random = INFINITY;
    options.min_pt = 0.01f;
    ck_assert_ok(
        etx_model_learn_completion(&model, start, 1, events, &options));
    ck_assert_ok(etx_model_completion_options(&options, model));
    ck_assert_float_eq(options.min_pt, 0.01f);
    ck_assert_float_ge(options.max_distance, 1e30f);
    ck_assert_ok(etx_model_save(model, io_path("m")));
    ck_assert_ok(etx_model_load(&again, io_path("m")));
    etx_model_free(again);
    again = NULL;
    ck_assert_ok(
        etx_model_learn_completion(&again, model, 1, events, &options));
}

/* Whether the table has a step. */
static bool has_step(
    const etx_model *model, int64_t direction, int64_t from, int64_t to)
{
    const struct etx_completion *const table = model->completion;
    const int64_t wanted[ETX_STEP_WIDTH] = {[ETX_STEP_DIRECTION] = direction,
        [ETX_STEP_FROM] = from,
        [ETX_STEP_TO] = to};
    bool is_found = false;

    for (int64_t k = 0; k < table->n_steps; k++)
        is_found |= memcmp(table->step + k * ETX_STEP_WIDTH, wanted,
                        sizeof wanted) == 0;
    return is_found;
}

/* Particles that turn back to the innermost layer, one of thirty, make no step
 * on from it, as nothing else comes to it from inside. */
ETX_TEST(test_completion_turned_back)
{
    scoped struct sample *sample = new_sample(7);

    overlap_modules(sample);
    for (int64_t id = 1; id <= N_PARTICLES / 30; id++)
        for (int32_t k = 0; k < 2; k++) {
            const int64_t i = sample->n_hits++;
            const float at[3] = {32.0f, 0.0f, 1500.0f + 3.0f * (float)k};

            memcpy(sample->position + 3 * i, at, sizeof at);
            sample->volume_id[i] = 3;
            sample->layer_id[i] = 2;
            sample->module_id[i] = 200 + k;
            sample->particle_id[i] = id;
        }
    scoped_model *model = learn_completion(sample);
    ck_assert(!has_step(model, ETX_OUTWARD, 0, 0));
    ck_assert(has_step(model, ETX_INWARD, 0, 0));
    ck_assert(has_step(model, ETX_OUTWARD, 3, 3));
    ck_assert(has_step(model, ETX_OUTWARD, 3, 4));
}
