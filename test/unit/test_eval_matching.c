/* test_eval_matching.c -- tracks against particles.
 *
 * Counts worked out by hand on one small event, and a judge that compares
 * every track with every particle on random ones.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "eval_events.h"

#include <math.h>

#define END     END_OF_TRACK
#define DOUBLE  ETX_MATCH_DOUBLE_MAJORITY
#define ATLAS   ETX_MATCH_ATLAS
#define PERFECT ETX_MATCH_PERFECT

static etx_evaluation_options default_options(void)
{
    etx_evaluation_options options;

    ck_assert_ok(etx_evaluation_options_init(&options, sizeof options));
    return options;
}

/* ------------------------------------------------------------- by hand -- */

struct expected {
    int32_t n_tracks, matched, fake, duplicate;
    int32_t selected, reconstructable; /* matched */
};

struct row {
    const char *name;
    int32_t n_tracks;
    int32_t hits[48];
    int32_t matching;
    float fraction;
    struct expected expected;
    int64_t particle[4]; /* id of each track's particle, 0 for none */
};

#define P10   0, 1, 2, 3, 4, 5
#define P20   6, 7, 8, 9, 10
#define P30   11, 12, 13
#define P40   14, 15, 16, 17, 18
#define NOISE 19, 20, 21, 22, 23, 24

static const struct row rows[] = {
    {"no tracks", 0, {END}, DOUBLE, 0.5f, {0, 0, 0, 0, 0, 0}, {0}},
    {"all, double", 4, {P10, END, P20, END, P30, END, P40, END}, DOUBLE, 0.5f,
        {4, 4, 0, 0, 3, 2}, {10, 20, 30, 40}},
    {"all, atlas", 4, {P10, END, P20, END, P30, END, P40, END}, ATLAS, 0.5f,
        {4, 4, 0, 0, 3, 2}, {10, 20, 30, 40}},
    {"all, perfect", 4, {P10, END, P20, END, P30, END, P40, END}, PERFECT, 0.5f,
        {4, 4, 0, 0, 3, 2}, {10, 20, 30, 40}},
    {"noise only", 2, {NOISE, END, 19, 20, 21, END}, DOUBLE, 0.5f,
        {2, 0, 2, 0, 0, 0}, {0, 0}},
    {"noise only, atlas", 1, {NOISE, END}, ATLAS, 0.5f, {1, 0, 1, 0, 0, 0},
        {0}},
    {"noise only, perfect", 1, {NOISE, END}, PERFECT, 0.5f, {1, 0, 1, 0, 0, 0},
        {0}},
    /* Halves: pure, so not fake, and short of more than half. */
    {"split in halves", 2, {0, 1, 2, END, 3, 4, 5, END}, DOUBLE, 0.5f,
        {2, 0, 0, 0, 0, 0}, {0, 0}},
    {"split in halves, atlas", 2, {0, 1, 2, END, 3, 4, 5, END}, ATLAS, 0.5f,
        {2, 2, 0, 1, 1, 1}, {10, 10}},
    {"split 2 to 1", 2, {0, 1, 2, 3, END, 3, 4, 5, END}, DOUBLE, 0.5f,
        {2, 1, 0, 0, 1, 1}, {10, 0}},
    /* Two tracks can match one particle when they share hits. */
    {"shared", 2, {0, 1, 2, 3, END, 2, 3, 4, 5, END}, DOUBLE, 0.5f,
        {2, 2, 0, 1, 1, 1}, {10, 10}},
    {"twice", 2, {P20, END, P20, END}, PERFECT, 0.5f, {2, 2, 0, 1, 1, 1},
        {20, 20}},
    /* 6 hits of 11 are more than half, 5 of 11 are not. */
    {"merged", 1, {P10, P20, END}, DOUBLE, 0.5f, {1, 1, 0, 0, 1, 1}, {10}},
    {"merged, perfect", 1, {P10, P20, END}, PERFECT, 0.5f, {1, 0, 0, 0, 0, 0},
        {0}},
    {"half and half", 1, {0, 1, 2, 6, 7, 8, END}, ATLAS, 0.5f,
        {1, 0, 1, 0, 0, 0}, {0}},
    {"half noise", 1, {0, 1, 2, 19, 20, 21, END}, DOUBLE, 0.5f,
        {1, 0, 1, 0, 0, 0}, {0}},
    {"much noise", 1, {P10, 19, 20, 21, 22, 23, END}, DOUBLE, 0.5f,
        {1, 1, 0, 0, 1, 1}, {10}},
    {"much noise, perfect", 1, {P10, 19, END}, PERFECT, 0.5f,
        {1, 0, 0, 0, 0, 0}, {0}},
    {"one hit short, perfect", 1, {6, 7, 8, 9, END}, PERFECT, 0.5f,
        {1, 0, 0, 0, 0, 0}, {0}},
    /* Two hits are no track. */
    {"short", 2, {0, 1, END, P20, END}, ATLAS, 0.5f, {1, 1, 0, 0, 1, 1},
        {0, 20}},
    {"empty track", 2, {END, P20, END}, ATLAS, 0.5f, {1, 1, 0, 0, 1, 1},
        {0, 20}},
    /* 5 of 6 are more than 3 quarters, 3 of 4 are not: and then fake. */
    {"three quarters", 2, {0, 1, 2, 3, 4, 19, END, 6, 7, 8, 20, END}, DOUBLE,
        0.75f, {2, 1, 1, 0, 1, 1}, {10, 0}},
    {"three quarters, atlas", 2, {0, 1, 2, 3, 4, 19, END, 6, 7, 8, 20, END},
        ATLAS, 0.75f, {2, 1, 1, 0, 1, 1}, {10, 0}},
    /* Neutral particles are found, but not selected. */
    {"neutral", 1, {P40, END}, DOUBLE, 0.5f, {1, 1, 0, 0, 0, 0}, {40}},
    {"few hits", 1, {P30, END}, DOUBLE, 0.5f, {1, 1, 0, 0, 1, 0}, {30}},
};

static void assert_counts(const char *name, const etx_evaluation_counts *counts,
    const struct expected *expected)
{
    const int64_t found[] = {counts->n_tracks, counts->n_tracks_matched,
        counts->n_tracks_fake, counts->n_tracks_duplicate,
        counts->n_selected_matched, counts->n_reconstructable_matched};
    const int32_t wanted[] = {expected->n_tracks, expected->matched,
        expected->fake, expected->duplicate, expected->selected,
        expected->reconstructable};

    for (size_t k = 0; k < ROWS(wanted); k++)
        ck_assert_msg(found[k] == wanted[k], "%s: count %zu is %d and not %d",
            name, k, (int)found[k], wanted[k]);
}

/* Row of the particle with this id, -1 for 0. */
static int32_t row_of(const etx_event *event, int64_t id)
{
    const etx_particle *particles = etx_event_particles(event);

    for (int32_t p = 0; p < etx_event_n_particles(event); p++)
        if (particles[p].id == id)
            return p;
    return -1;
}

ETX_TEST(test_eval_matching_by_hand, .rows = ROWS(rows))
{
    const struct row *row = &rows[_i];
    scoped_event *event = new_hand_event();
    scoped_tracks *tracks =
        new_track_list(HAND_N_HITS, row->n_tracks, row->hits);
    etx_evaluation_options options = default_options();
    etx_evaluation_counts counts = {.struct_size = sizeof counts};
    int32_t particle[4];
    uint8_t is_matched[6];

    options.matching = row->matching;
    options.matching_fraction = row->fraction;
    ck_assert_ok(etx_evaluate(&counts, event, tracks, &options));
    ck_assert_int_eq(counts.n_events, 1);
    ck_assert_int_eq(counts.n_particles_selected, 4);
    ck_assert_int_eq(counts.n_particles_reconstructable, 2);
    assert_counts(row->name, &counts, &row->expected);

    ck_assert_ok(etx_match(particle, is_matched, event, tracks, &options));
    for (int32_t t = 0; t < row->n_tracks; t++) {
        ck_assert_int_eq(particle[t], row_of(event, row->particle[t]));
        ck_assert(particle[t] < 0 || is_matched[particle[t]] == 1);
    }
    ck_assert_int_eq(is_matched[row_of(event, 50)], 0);
}

/* Hits 0..9 are of the first particle, from hit 10 - n_other on also of the
 * second, which has no others. The track is hits [begin, end). */
struct shared_row {
    int32_t n_other, begin, end, matching;
    int32_t matched; /* 0, 1 or -1: none */
};

static const struct shared_row shared_rows[] = {
    {5, 5, 10, PERFECT, 1},
    {5, 5, 10, DOUBLE, 1},
    {5, 5, 10, ATLAS, 1},
    {5, 0, 10, PERFECT, 0},
    {5, 0, 10, DOUBLE, 0},
    {5, 4, 9, PERFECT, -1},
    {5, 4, 9, DOUBLE, 1}, /* 5 of it are of the first, but not most of it */
    {5, 4, 9, ATLAS, 0},
    {6, 4, 10, DOUBLE, 1}, /* both fulfil the condition */
    {6, 3, 10, DOUBLE, 0},
};

ETX_TEST(test_eval_matching_shared_hits, .rows = 2 * ROWS(shared_rows))
{
    const struct shared_row *row = &shared_rows[_i / 2];
    const int64_t id[] = {
        1 + _i % 2, 2 - _i % 2}; /* whose is lower: no matter */
    const etx_particle particles[] = {
        {.id = id[0], .charge = 1}, {.id = id[1], .charge = 1}};
    int64_t first[10], second[10];
    int32_t shared[10], hits[11];
    int64_t n = 0;
    int32_t matched;
    etx_evaluation_options options = default_options();

    for (int32_t i = 0; i < 10; i++) {
        first[i] = id[0];
        second[i] = id[1];
        shared[i] = 10 - row->n_other + i;
    }
    for (int32_t i = row->begin; i < row->end; i++)
        hits[n++] = i;
    hits[n] = END;
    scoped_event *event = new_truth_event(10, first, NULL, 2, particles);
    scoped_tracks *tracks = new_track_list(10, 1, hits);
    ck_assert_ok(
        etx_event_set_shared_hits(event, row->n_other, shared, second));
    options.matching = row->matching;
    ck_assert_ok(etx_match(&matched, NULL, event, tracks, &options));
    ck_assert_int_eq(
        matched, row->matched < 0 ? -1 : row_of(event, id[row->matched]));
}

/* n of 10 hits are not more than n tenths. */
ETX_TEST(test_eval_matching_fraction_is_exceeded, .rows = 5)
{
    static const int64_t ids[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const etx_particle particle = {.id = 1, .charge = 1};
    const int32_t n = 5 + _i;
    int32_t hits[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, END};
    etx_evaluation_options options = default_options();
    scoped_event *event = new_truth_event(10, ids, NULL, 1, &particle);

    options.matching_fraction = (float)n / 10.0f;
    for (int32_t more = 0; more < 2; more++) {
        int32_t matched;

        hits[n + more] = END;
        scoped_tracks *tracks = new_track_list(10, 1, hits);
        hits[n + more] = n + more;
        ck_assert_ok(etx_match(&matched, NULL, event, tracks, &options));
        ck_assert_int_eq(matched, more ? 0 : -1);
    }
}

/* ----------------------------------------------------------- selection -- */

struct selection {
    float min_pt, max_eta;
    int32_t min_hits, charged_only;
    int32_t selected, reconstructable;
};

static const struct selection selections[] = {
    {0.1f, 4.0f, 5, 1, 4, 2},
    {0.1f, 4.0f, 5, 0, 5, 3},
    {0.1f, 4.0f, 3, 1, 4, 3},
    {0.0f, 4.0f, 1, 1, 5, 3},
    {0.6f, 4.0f, 1, 1, 3, 2},
    {0.1f, 2.5f, 1, 1, 3, 3},
    {0.1f, 1.0f, 1, 1, 1, 1},
    {0.1f, INFINITY, 1, 0, 5, 4},
    {100.0f, 4.0f, 1, 0, 0, 0},
    {0.1f, 4.0f, 100, 0, 5, 0},
};

ETX_TEST(test_eval_matching_selection, .rows = ROWS(selections))
{
    const struct selection *row = &selections[_i];
    const int32_t none[] = {END};
    scoped_event *event = new_hand_event();
    scoped_tracks *tracks = new_track_list(HAND_N_HITS, 0, none);
    etx_evaluation_options options = default_options();
    etx_evaluation_counts counts = {.struct_size = sizeof counts};

    options.min_pt = row->min_pt;
    options.max_eta = row->max_eta;
    options.min_particle_hits = row->min_hits;
    options.charged_only = row->charged_only;
    ck_assert_ok(etx_evaluate(&counts, event, tracks, &options));
    ck_assert_int_eq(counts.n_particles_selected, row->selected);
    ck_assert_int_eq(counts.n_particles_reconstructable, row->reconstructable);
}

/* A particle at rest, or along the beam, is at infinite eta: never selected,
 * and no floating-point exception. */
ETX_TEST(test_eval_matching_no_pt)
{
    static const int64_t ids[] = {1, 2};
    static const etx_particle particles[] = {
        {.id = 1, .charge = 1}, {.id = 2, .momentum = {0, 0, -5}, .charge = 1}};
    static const int32_t none[] = {END};
    scoped_event *event = new_truth_event(2, ids, NULL, 2, particles);
    scoped_tracks *tracks = new_track_list(2, 0, none);
    etx_evaluation_options options = default_options();
    etx_evaluation_counts counts = {.struct_size = sizeof counts};

    options.min_pt = 0.0f;
    options.max_eta = INFINITY;
    ck_assert_ok(etx_evaluate(&counts, event, tracks, &options));
    ck_assert_int_eq(counts.n_particles_selected, 0);
}

/* ------------------------------------------------------ several events -- */

ETX_TEST(test_eval_matching_sums)
{
    const int32_t hits[] = {P10, END, P20, 19, END, NOISE, END};
    scoped_event *event = new_hand_event();
    scoped_tracks *tracks = new_track_list(HAND_N_HITS, 3, hits);
    etx_evaluation_counts once = {.struct_size = sizeof once};
    etx_evaluation_counts counts = {.struct_size = sizeof counts};
    etx_evaluation rates = {.struct_size = sizeof rates};

    ck_assert_ok(etx_evaluate(&once, event, tracks, NULL));
    for (int k = 0; k < 3; k++)
        ck_assert_ok(etx_evaluate(&counts, event, tracks, NULL));
    ck_assert_int_eq(counts.n_events, 3);
    ck_assert_int_eq(counts.n_particles_selected, 12);
    ck_assert_int_eq(counts.n_particles_reconstructable, 6);
    assert_counts("sum", &counts, &(struct expected){9, 6, 3, 0, 6, 6});
    ck_assert_ok(etx_evaluation_rates(&rates, &counts));
    ck_assert_double_eq(rates.physics_efficiency.value, 0.5);
    ck_assert_double_eq(rates.technical_efficiency.value, 1.0);
    ck_assert_double_eq(rates.purity.value, 2.0 / 3.0);
    ck_assert_double_eq(rates.fake_rate.value, 1.0 / 3.0);
    ck_assert_double_eq(rates.duplicate_rate.value, 0.0);
    ck_assert_double_eq_tol(rates.trackml_score, once.trackml_score_sum, 1e-15);
}

ETX_TEST(test_eval_matching_empty_event)
{
    static const int32_t none[] = {END};
    scoped_event *event = new_truth_event(0, NULL, NULL, 0, NULL);
    scoped_tracks *tracks = new_track_list(0, 0, none);
    etx_evaluation_counts counts = {.struct_size = sizeof counts};
    etx_evaluation rates = {.struct_size = sizeof rates};

    ck_assert_ok(etx_evaluate(&counts, event, tracks, NULL));
    ck_assert_int_eq(counts.n_events, 1);
    ck_assert_int_eq(counts.n_particles_selected, 0);
    ck_assert_int_eq(counts.n_tracks, 0);
    ck_assert_double_eq(counts.trackml_score_sum, 0.0);
    ck_assert_ok(etx_match(NULL, NULL, event, tracks, NULL));
    ck_assert_ok(etx_evaluation_rates(&rates, &counts));
    ck_assert_double_nan(rates.purity.value);
    ck_assert_double_eq(rates.purity.low, 0.0);
    ck_assert_double_eq(rates.purity.high, 1.0);
}

/* ------------------------------------------------------------ the judge -- */

static int64_t count_shared(
    const etx_event *event, const etx_tracks *tracks, int64_t t, int64_t id)
{
    int64_t n = 0;

    for (int64_t i = 0; i < etx_event_n_hits(event); i++)
        n += hit_is_of(event, i, id) && track_has(tracks, t, i);
    return n;
}

static int64_t count_hits(const etx_event *event, int64_t id)
{
    int64_t n = 0;

    for (int64_t i = 0; i < etx_event_n_hits(event); i++)
        n += hit_is_of(event, i, id);
    return n;
}

/* More than quarters / 4 of the whole, in whole numbers. */
static int is_above(int64_t part, int64_t whole, int64_t quarters)
{
    return 4 * part > quarters * whole;
}

/* eta from the angle, another formula than the library's. */
static int is_selected(
    const etx_particle *particle, const etx_evaluation_options *options)
{
    const double px = (double)particle->momentum[0];
    const double py = (double)particle->momentum[1];
    const double pz = (double)particle->momentum[2];
    const double pt = sqrt(px * px + py * py);
    const double eta = -log(tan(0.5 * atan2(pt, pz)));

    return particle->charge != 0 && pt > (double)options->min_pt &&
           fabs(eta) < (double)options->max_eta;
}

struct judged {
    int64_t n_matches; /* pairs of counted track and particle */
    int32_t particle_of_track[64];
    uint8_t matched_particle[64];
    struct expected counts;
    int64_t n_selected, n_reconstructable;
};

static void judge_track(struct judged *out, const etx_event *event,
    const etx_tracks *tracks, int64_t t, int32_t matching, int64_t quarters)
{
    const int64_t *offsets = etx_tracks_offsets(tracks);
    const int64_t size = offsets[t + 1] - offsets[t];
    int is_fake = 1;

    out->particle_of_track[t] = -1;
    if (size < 3)
        return;
    out->counts.n_tracks++;
    for (int32_t p = 0; p < etx_event_n_particles(event); p++) {
        const int64_t id = etx_event_particles(event)[p].id;
        const int64_t n_shared = count_shared(event, tracks, t, id);
        const int64_t n_true = count_hits(event, id);
        const int is_major = is_above(n_shared, size, quarters);

        is_fake = is_fake && !is_major;
        if ((matching == ATLAS && is_major) ||
            (matching == DOUBLE && is_major &&
                is_above(n_shared, n_true, quarters)) ||
            (matching == PERFECT && n_shared == size && n_shared == n_true)) {
            out->n_matches++;
            out->particle_of_track[t] = p;
            out->matched_particle[p] = 1;
        }
    }
    out->counts.fake += is_fake;
}

static void judge_event(struct judged *out, const etx_event *event,
    const etx_tracks *tracks, const etx_evaluation_options *options,
    int64_t quarters)
{
    int32_t n_found = 0;

    *out = (struct judged){.n_matches = 0};
    for (int64_t t = 0; t < etx_tracks_count(tracks); t++)
        judge_track(out, event, tracks, t, options->matching, quarters);
    for (int32_t p = 0; p < etx_event_n_particles(event); p++) {
        const etx_particle *particle = &etx_event_particles(event)[p];
        const int is_found = out->matched_particle[p];

        n_found += is_found;
        if (!is_selected(particle, options))
            continue;
        out->n_selected++;
        out->counts.selected += is_found;
        if (count_hits(event, particle->id) < options->min_particle_hits)
            continue;
        out->n_reconstructable++;
        out->counts.reconstructable += is_found;
    }
    out->counts.matched = (int32_t)out->n_matches;
    out->counts.duplicate = (int32_t)out->n_matches - n_found;
}

ETX_TEST(test_eval_matching_judged, .rows = 60)
{
    const uint32_t seed = (uint32_t)_i;
    const int64_t n_particles = 1 + _i % 12;
    const int64_t n_tracks = _i % 20;
    scoped_event *event = new_random_event(20 + 2 * _i, n_particles, seed);
    scoped_tracks *tracks = new_random_tracks(event, n_tracks, seed);
    etx_evaluation_options options = default_options();
    etx_evaluation_counts counts = {.struct_size = sizeof counts};
    int32_t particle_of_track[64];
    uint8_t matched_particle[64] = {0};
    struct judged judged;

    options.matching = _i % 3;
    options.matching_fraction = _i % 2 ? 0.5f : 0.75f;
    judge_event(&judged, event, tracks, &options, _i % 2 ? 2 : 3);
    ck_assert_ok(etx_evaluate(&counts, event, tracks, &options));
    ck_assert_int_eq(counts.n_particles_selected, judged.n_selected);
    ck_assert_int_eq(
        counts.n_particles_reconstructable, judged.n_reconstructable);
    assert_counts("judged", &counts, &judged.counts);
    ck_assert_ok(etx_match(
        particle_of_track, matched_particle, event, tracks, &options));
    for (int64_t t = 0; t < n_tracks; t++)
        ck_assert_int_eq(particle_of_track[t], judged.particle_of_track[t]);
    ck_assert_mem_eq(
        matched_particle, judged.matched_particle, sizeof matched_particle);
}

/* ---------------------------------------------------------------- bins -- */

ETX_TEST(test_eval_matching_binned)
{
    static const double eta[] = {-1.0, 0.0, 1.0, 1.5};
    static const double radius[] = {0.0, 15.0, 25.0, 35.0};  /* its id in mm */
    static const double nearest[] = {0.45, 0.55, 0.75, 2.5}; /* 40, 40, 10 */
    const int32_t hits[] = {P10, END, 11, 12, 13, END};
    scoped_event *event = new_hand_event();
    scoped_tracks *tracks = new_track_list(HAND_N_HITS, 2, hits);
    etx_evaluation_options options = default_options();
    int64_t total[3] = {100, 0, 0};
    int64_t matched[3] = {50, 0, 0};

    options.min_particle_hits = 3;
    ck_assert_ok(etx_evaluate_binned(total, matched, event, tracks,
        ETX_VARIABLE_PT, 1, (const double[]){1.5, 4.0}, &options));
    ck_assert_int_eq(total[0], 101);
    ck_assert_int_eq(matched[0], 50);
    ck_assert_ok(etx_evaluate_binned(total, matched, event, tracks,
        ETX_VARIABLE_PT, 1, (const double[]){0.1, 1.5}, &options));
    ck_assert_int_eq(total[0], 103);
    ck_assert_int_eq(matched[0], 52);

    total[0] = 0;
    matched[0] = 0;
    ck_assert_ok(etx_evaluate_binned(
        total, matched, event, tracks, ETX_VARIABLE_ETA, 3, eta, &options));
    ck_assert_mem_eq(total, ((const int64_t[]){0, 1, 1}), sizeof total);
    ck_assert_mem_eq(matched, ((const int64_t[]){0, 1, 0}), sizeof matched);
    ck_assert_ok(etx_evaluate_binned(total, matched, event, tracks,
        ETX_VARIABLE_RADIUS, 3, radius, &options));
    ck_assert_mem_eq(total, ((const int64_t[]){1, 2, 2}), sizeof total);
    ck_assert_mem_eq(matched, ((const int64_t[]){1, 1, 1}), sizeof matched);

    memset(total, 0, sizeof total);
    memset(matched, 0, sizeof matched);
    ck_assert_ok(etx_evaluate_binned(total, matched, event, tracks,
        ETX_VARIABLE_NEAREST, 3, nearest, &options));
    ck_assert_mem_eq(total, ((const int64_t[]){1, 1, 1}), sizeof total);
    ck_assert_mem_eq(matched, ((const int64_t[]){1, 0, 1}), sizeof matched);
}

static double angle_of(const etx_particle *particle)
{
    return atan2((double)particle->momentum[1], (double)particle->momentum[0]);
}

static double eta_of(const etx_particle *particle)
{
    return asinh(
        (double)particle->momentum[2] /
        hypot((double)particle->momentum[0], (double)particle->momentum[1]));
}

/* From particle p to the nearest other one with three hits. */
static double distance_to_nearest(
    const etx_event *event, const int64_t *n_hits, int64_t p)
{
    const etx_particle *const particles = etx_event_particles(event);
    double nearest = INFINITY;

    for (int64_t other = 0; other < etx_event_n_particles(event); other++) {
        const double phi =
            angle_of(&particles[other]) - angle_of(&particles[p]);
        const double eta = eta_of(&particles[other]) - eta_of(&particles[p]);

        if (other != p && n_hits[other] >= 3)
            nearest = fmin(nearest, hypot(eta, acos(cos(phi))));
    }
    return nearest;
}

/* Every particle is in the narrow bin around what all pairs give. */
ETX_TEST(test_eval_matching_binned_by_nearest, .rows = 5)
{
    enum { n_particles = 40 };
    scoped_event *event = new_random_event(200, n_particles, (uint32_t)_i);
    scoped_tracks *tracks = new_random_tracks(event, 25, (uint32_t)_i);
    const etx_particle *const particles = etx_event_particles(event);
    etx_evaluation_options options = default_options();
    int64_t n_hits[n_particles] = {0};
    int64_t n_found = 0;

    options.min_particle_hits = 3;
    for (int64_t p = 0; p < n_particles; p++)
        n_hits[p] = count_hits(event, particles[p].id);
    for (int64_t p = 0; p < n_particles; p++) {
        const double nearest = distance_to_nearest(event, n_hits, p);
        const double edges[] = {nearest - 1e-6, nearest + 1e-6};
        int64_t total = 0;
        int64_t matched = 0;

        if (n_hits[p] < 3 || !is_selected(&particles[p], &options))
            continue;
        ck_assert_ok(etx_evaluate_binned(&total, &matched, event, tracks,
            ETX_VARIABLE_NEAREST, 1, edges, &options));
        ck_assert_int_ge(total, 1);
        n_found++;
    }
    ck_assert_int_gt(n_found, 5);
}

/* All bins together are the technical efficiency. */
ETX_TEST(test_eval_matching_bins_add_up, .rows = 5)
{
    double edges[41];
    int64_t total[40] = {0};
    int64_t matched[40] = {0};
    int64_t sum[2] = {0};
    scoped_event *event = new_random_event(200, 20, (uint32_t)_i);
    scoped_tracks *tracks = new_random_tracks(event, 25, (uint32_t)_i);
    etx_evaluation_counts counts = {.struct_size = sizeof counts};

    for (int b = 0; b <= 40; b++)
        edges[b] = -4.0 + 0.2 * b;
    ck_assert_ok(etx_evaluate(&counts, event, tracks, NULL));
    ck_assert_ok(etx_evaluate_binned(
        total, matched, event, tracks, ETX_VARIABLE_ETA, 40, edges, NULL));
    for (int b = 0; b < 40; b++) {
        sum[0] += total[b];
        sum[1] += matched[b];
    }
    ck_assert_int_eq(sum[0], counts.n_particles_reconstructable);
    ck_assert_int_eq(sum[1], counts.n_reconstructable_matched);
}
