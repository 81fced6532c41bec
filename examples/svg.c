/* examples/svg.c -- an event display: x-y and r-z views in one SVG file.
 *
 * A track is one path per view with markers at its hits, so every hit is
 * written once. Coordinates are whole tenths of a pixel.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <exatrkx/eval.h>

#include "program.h"
#include "table.h"

/* --------------------------------------------------------- what is drawn -- */

#define DISPLAY_NONE (-1)

/* Particles that should be found: charged, with this many hits or more, pT
 * above, |eta| below. */
#define DISPLAY_MIN_HITS 5
#define DISPLAY_MIN_PT   0.5 /* GeV */
#define DISPLAY_MAX_ETA  4.0

/* A hit of a line, and its squared distance from the origin, mm^2. */
struct display_step {
    double distance2;
    int32_t hit;
};

/* What is drawn. */
struct display {
    const etx_event *event;
    const etx_tracks *tracks;
    int64_t n_hits;
    const float *position;     /* [n_hits, 3] mm */
    uint8_t *is_used;          /* [n_hits] on some track */
    struct display_step *path; /* [n_hits] scratch: the hits of one line */
    int32_t *first;     /* [n_particles] a hit of each, or DISPLAY_NONE */
    int32_t *next;      /* [n_hits] the next of its particle */
    uint8_t *is_missed; /* [n_particles] should be found and is not */
    int64_t n_used, n_missed, n_findable;
};

static int is_findable(const struct display *d, int64_t p)
{
    const etx_particle *particle = &etx_event_particles(d->event)[p];
    const double pt =
        hypot((double)particle->momentum[0], (double)particle->momentum[1]);
    int64_t n = 0;

    for (int32_t i = d->first[p]; i != DISPLAY_NONE; i = d->next[i])
        n++;
    return n >= DISPLAY_MIN_HITS && particle->charge != 0 &&
           pt > DISPLAY_MIN_PT &&
           fabs(asinh((double)particle->momentum[2] / pt)) < DISPLAY_MAX_ETA;
}

/* Which particles did no track find? Returns 0, or prints why and 1. */
static int find_missed(struct display *d)
{
    const int64_t n_particles = etx_event_n_particles(d->event);
    const int64_t *ids = etx_event_particle_ids(d->event);

    d->first = program_allocate(n_particles, sizeof *d->first);
    d->next = program_allocate(d->n_hits, sizeof *d->next);
    d->is_missed = program_allocate(n_particles, sizeof *d->is_missed);
    if (ids == NULL)
        return 0;
    if (etx_match(NULL, d->is_missed, d->event, d->tracks, NULL) != ETX_OK)
        return program_failed(NULL);
    for (int64_t p = 0; p < n_particles; p++)
        d->first[p] = DISPLAY_NONE;
    for (int64_t i = d->n_hits - 1; i >= 0; i--) {
        const int64_t p = program_find_particle(d->event, ids[i]);

        d->next[i] = p == DISPLAY_NONE ? DISPLAY_NONE : d->first[p];
        if (p != DISPLAY_NONE)
            d->first[p] = (int32_t)i;
    }
    for (int64_t p = 0; p < n_particles; p++) {
        const int findable = is_findable(d, p);

        d->is_missed[p] = findable && !d->is_missed[p];
        d->n_findable += findable;
        d->n_missed += d->is_missed[p];
    }
    return 0;
}

/* Borrows event and tracks. Returns 0, or prints why and returns
 * PROGRAM_FAILED; release in either case. */
static int display_prepare(
    struct display *d, const etx_event *event, const etx_tracks *tracks)
{
    const int64_t *offsets = etx_tracks_offsets(tracks);

    *d = (struct display){
        .event = event,
        .tracks = tracks,
        .n_hits = etx_event_n_hits(event),
        .position = etx_event_positions(event),
    };
    d->is_used = program_allocate(d->n_hits, sizeof *d->is_used);
    d->path = program_allocate(d->n_hits, sizeof *d->path);
    for (int64_t k = 0; k < offsets[etx_tracks_count(tracks)]; k++)
        d->is_used[etx_tracks_hits(tracks)[k]] = 1;
    for (int64_t i = 0; i < d->n_hits; i++)
        d->n_used += d->is_used[i];
    return find_missed(d);
}

static void display_release(struct display *d)
{
    free(d->is_used);
    free(d->path);
    free(d->first);
    free(d->next);
    free(d->is_missed);
}

/* --------------------------------------------------------------- drawing -- */

#define PAGE_WIDTH  1600
#define PAGE_HEIGHT 830
#define N_COLOURS   24

/* A rectangle of the page, in pixels, and the mm that it shows. */
struct view {
    const char *name, *u_label, *v_label;
    int32_t is_rz;
    double left, top, width, height;
    double u_low, u_high, u_step, v_low, v_high, v_step;
};

/* --------------------------------------------------------------- scales -- */

/* 1, 2 or 5 times a power of ten: about n steps make the range. */
static double nice_step(double range, int n)
{
    const double power = pow(10.0, floor(log10(range / n)));
    const double digit = range / n / power;

    return power * (digit > 5.0      ? 10.0
                       : digit > 2.0 ? 5.0
                       : digit > 1.0 ? 2.0
                                     : 1.0);
}

/* Horizontal and vertical coordinate of a hit, mm. */
static void project(
    double uv[2], const struct view *view, const float *position)
{
    const double x = (double)position[0];
    const double y = (double)position[1];

    uv[0] = view->is_rz ? (double)position[2] : x;
    uv[1] = view->is_rz ? hypot(x, y) : y;
}

static void scale_view(struct view *view, const struct display *d)
{
    double max[2] = {1.0, 1.0};

    for (int64_t i = 0; i < d->n_hits; i++) {
        double uv[2];

        project(uv, view, d->position + 3 * i);
        max[0] = fmax(max[0], fabs(uv[0]));
        max[1] = fmax(max[1], fabs(uv[1]));
    }
    if (!view->is_rz)
        max[0] = max[1] = fmax(max[0], max[1]);
    view->u_step = nice_step(2.0 * max[0], 8);
    view->v_step = nice_step(view->is_rz ? max[1] : 2.0 * max[1], 8);
    view->u_high = 1.04 * max[0];
    view->v_high = 1.04 * max[1];
    view->u_low = -view->u_high;
    view->v_low = view->is_rz ? 0.0 : -view->v_high;
}

/* Tenths of a pixel. */
static long page_u(const struct view *view, double u)
{
    const double share = (u - view->u_low) / (view->u_high - view->u_low);

    return lround(10.0 * (view->left + view->width * share));
}

static long page_v(const struct view *view, double v)
{
    const double share = (view->v_high - v) / (view->v_high - view->v_low);

    return lround(10.0 * (view->top + view->height * share));
}

/* ---------------------------------------------------------------- paths -- */

static int compare_distance(const void *a, const void *b)
{
    const struct display_step *s = a;
    const struct display_step *t = b;

    if (s->distance2 != t->distance2)
        return s->distance2 < t->distance2 ? -1 : 1;
    return (s->hit > t->hit) - (s->hit < t->hit);
}

static struct display_step make_step(const struct display *d, int32_t hit)
{
    struct display_step step = {.distance2 = 0.0, .hit = hit};

    for (int k = 0; k < 3; k++) {
        const double x = (double)d->position[3 * (int64_t)hit + k];

        step.distance2 += x * x;
    }
    return step;
}

/* d="..." through the first n hits of display.path, outward. */
static void write_line(
    FILE *file, const struct view *view, const struct display *d, int64_t n)
{
    qsort(d->path, (size_t)n, sizeof *d->path, compare_distance);
    fputs("d=\"M", file);
    for (int64_t k = 0; k < n; k++) {
        double uv[2];

        project(uv, view, d->position + 3 * (int64_t)d->path[k].hit);
        fprintf(file, "%s%ld %ld", k == 0 ? "" : " ", page_u(view, uv[0]),
            page_v(view, uv[1]));
    }
    fputs("\"", file);
}

static void write_unused(
    FILE *file, const struct view *view, const struct display *d)
{
    fputs("<path class=\"unused\" d=\"", file);
    for (int64_t i = 0; i < d->n_hits; i++) {
        double uv[2];

        if (d->is_used[i])
            continue;
        project(uv, view, d->position + 3 * i);
        fprintf(file, "M%ld %ldh0", page_u(view, uv[0]), page_v(view, uv[1]));
    }
    fputs("\"/>\n", file);
}

static void write_tracks(
    FILE *file, const struct view *view, const struct display *d)
{
    const int64_t *offsets = etx_tracks_offsets(d->tracks);

    for (int64_t t = 0; t < etx_tracks_count(d->tracks); t++) {
        const int64_t n = offsets[t + 1] - offsets[t];

        if (n == 0)
            continue;
        for (int64_t k = 0; k < n; k++)
            d->path[k] =
                make_step(d, etx_tracks_hits(d->tracks)[offsets[t] + k]);
        fprintf(file, "<path class=\"track c%d\" ", (int)(t % N_COLOURS));
        write_line(file, view, d, n);
        fprintf(file, "><title>track %lld: %lld hits</title></path>\n",
            (long long)t + 1, (long long)n);
    }
}

static void write_missed(
    FILE *file, const struct view *view, const struct display *d)
{
    const etx_particle *particles = etx_event_particles(d->event);

    for (int64_t p = 0; p < etx_event_n_particles(d->event); p++) {
        int64_t n = 0;

        if (!d->is_missed[p])
            continue;
        for (int32_t i = d->first[p]; i != DISPLAY_NONE; i = d->next[i])
            d->path[n++] = make_step(d, i);
        fputs("<path class=\"missed\" ", file);
        write_line(file, view, d, n);
        fprintf(file,
            "><title>particle %lld, not found: %lld hits, pT %.2f GeV"
            "</title></path>\n",
            (long long)particles[p].id, (long long)n,
            hypot((double)particles[p].momentum[0],
                (double)particles[p].momentum[1]));
    }
}

/* ----------------------------------------------------------------- page -- */

/* Colours of tracks: hues a golden angle apart, dark enough for white and
 * away from the dark red of what was missed. */
static void write_colour(FILE *file, int k)
{
    static const int lightness[] = {42, 55, 34};
    static const int saturation[] = {85, 70, 60};
    const int hue = 30 + (k * 137) % 300;

    fprintf(
        file, "hsl(%d,%d%%,%d%%)", hue, saturation[k % 3], lightness[k % 3]);
}

/* Styles, and a marker for the hits of every colour. */
static void write_styles(FILE *file, const struct display *d)
{
    const double dot = d->n_hits > 6000 ? 10.0 : d->n_hits > 2000 ? 14.0 : 20.0;

    fprintf(file,
        "<style>\n"
        "text{font:13px sans-serif;fill:#333}\n"
        ".title{font-size:20px;font-weight:bold}\n"
        ".name{font-size:15px;font-weight:bold}\n"
        ".frame{fill:none;stroke:#555}\n"
        ".grid{stroke:#e8e8e8}\n"
        "path{fill:none;stroke-linejoin:round;stroke-linecap:round}\n"
        ".unused{stroke:#a8a8a8;stroke-width:%g}\n"
        ".track{stroke-width:%g;stroke-opacity:.75}\n"
        ".missed{stroke:#8b0000;stroke-width:%g;stroke-dasharray:40 30;"
        "stroke-linecap:butt;marker:url(#missed)}\n",
        1.4 * dot, 0.5 * dot, 0.9 * dot);
    for (int k = 0; k < N_COLOURS; k++) {
        fprintf(file, ".c%d{marker:url(#m%d);stroke:", k, k);
        write_colour(file, k);
        fputs("}\n", file);
    }
    fputs("</style>\n<defs>\n", file);
    for (int k = 0; k < N_COLOURS; k++) {
        fprintf(file,
            "<marker id=\"m%d\" markerUnits=\"userSpaceOnUse\" "
            "overflow=\"visible\"><circle r=\"%g\" fill=\"",
            k, dot);
        write_colour(file, k);
        fputs("\"/></marker>\n", file);
    }
    fprintf(file,
        "<marker id=\"missed\" markerUnits=\"userSpaceOnUse\" "
        "overflow=\"visible\"><circle r=\"%g\" fill=\"none\" "
        "stroke=\"#8b0000\" stroke-width=\"%g\"/></marker>\n</defs>\n",
        1.8 * dot, 0.5 * dot);
}

static void write_axes(FILE *file, const struct view *view)
{
    const double right = view->left + view->width;
    const double bottom = view->top + view->height;
    const double first_u = ceil(view->u_low / view->u_step);
    const double first_v = ceil(view->v_low / view->v_step);

    for (double k = first_u; k * view->u_step <= view->u_high; k += 1.0) {
        const double u = 0.1 * (double)page_u(view, k * view->u_step);

        fprintf(file,
            "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>"
            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g</text>\n",
            u, view->top, bottom, u, bottom + 18.0, k * view->u_step);
    }
    for (double k = first_v; k * view->v_step <= view->v_high; k += 1.0) {
        const double v = 0.1 * (double)page_v(view, k * view->v_step);

        fprintf(file,
            "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>"
            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
            view->left, v, right, view->left - 6.0, v + 4.0, k * view->v_step);
    }
    fprintf(file,
        "<rect class=\"frame\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/>"
        "<text class=\"name\" x=\"%g\" y=\"%g\">%s</text>\n"
        "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">%s</text>"
        "<text transform=\"translate(%g %g) rotate(-90)\" "
        "text-anchor=\"middle\">%s</text>\n",
        view->left, view->top, view->width, view->height, view->left,
        view->top - 8.0, view->name, view->left + 0.5 * view->width,
        bottom + 38.0, view->u_label, view->left - 52.0,
        view->top + 0.5 * view->height, view->v_label);
}

static void write_view(FILE *file, struct view *view, const struct display *d)
{
    scale_view(view, d);
    write_axes(file, view);
    fputs("<g transform=\"scale(.1)\">\n", file);
    write_unused(file, view, d);
    write_tracks(file, view, d);
    write_missed(file, view, d);
    fputs("</g>\n", file);
}

static void write_escaped(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '&')
            fputs("&amp;", file);
        else if (*text == '<')
            fputs("&lt;", file);
        else if ((unsigned char)*text >= ' ')
            fputc(*text, file);
    }
}

static void write_title(FILE *file, const char *title, const struct display *d)
{
    fputs("<text class=\"title\" x=\"70\" y=\"34\">", file);
    write_escaped(file, title);
    fprintf(file, ": %lld hits, %lld tracks", (long long)d->n_hits,
        (long long)etx_tracks_count(d->tracks));
    if (d->n_findable > 0)
        fprintf(file, ", %lld of %lld particles found",
            (long long)(d->n_findable - d->n_missed), (long long)d->n_findable);
    fputs("</text>\n", file);
}

/* One line below the views. */
static void write_legend(FILE *file, const struct display *d)
{
    const int y = PAGE_HEIGHT - 20;

    fprintf(file, "<g transform=\"translate(70 %d)\">\n", y);
    for (int k = 0; k < 4; k++)
        fprintf(file,
            "<path class=\"track c%d\" transform=\"translate(%d -5) "
            "scale(.1)\" d=\"M0 0 120 0\"/>\n",
            k, 16 * k);
    fprintf(file,
        "<text x=\"70\">tracks (%lld hits)</text>"
        "<circle cx=\"230\" cy=\"-5\" r=\"3\" fill=\"#a8a8a8\"/>"
        "<text x=\"242\">hits without a track (%lld)</text>\n",
        (long long)d->n_used, (long long)(d->n_hits - d->n_used));
    if (etx_event_particle_ids(d->event) != NULL)
        fprintf(file,
            "<path class=\"missed\" transform=\"translate(450 -5) "
            "scale(.1)\" d=\"M0 0 300 0\"/>\n"
            "<text x=\"492\">particles not found (%lld), of pT &gt; %g GeV, "
            "|eta| &lt; %g, %d hits or more</text>\n",
            (long long)d->n_missed, DISPLAY_MIN_PT, DISPLAY_MAX_ETA,
            DISPLAY_MIN_HITS);
    fputs("</g>\n", file);
}

int svg_write(const char *path, const char *title, const etx_event *event,
    const etx_tracks *tracks)
{
    struct view views[] = {
        {.name = "x-y view",
            .u_label = "x [mm]",
            .v_label = "y [mm]",
            .left = 70,
            .top = 70,
            .width = 680,
            .height = 680},
        {.name = "r-z view",
            .u_label = "z [mm]",
            .v_label = "r [mm]",
            .is_rz = 1,
            .left = 840,
            .top = 70,
            .width = 740,
            .height = 680},
    };
    struct display d;
    FILE *file = NULL;
    int result = display_prepare(&d, event, tracks);

    if (result == 0) {
        file = table_open(path);
        result = file == NULL ? PROGRAM_FAILED : 0;
    }
    if (result == 0) {
        fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" viewBox=\"0 0 %d %d\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            PAGE_WIDTH, PAGE_HEIGHT, PAGE_WIDTH, PAGE_HEIGHT);
        write_styles(file, &d);
        write_title(file, title, &d);
        for (size_t k = 0; k < sizeof views / sizeof *views; k++)
            write_view(file, &views[k], &d);
        write_legend(file, &d);
        fputs("</svg>\n", file);
        result = table_close(file, path);
    }
    display_release(&d);
    return result;
}
