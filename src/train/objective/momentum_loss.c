/* train/objective/momentum_loss.c -- the loss of a head that predicts
 * transverse momenta.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/objective/momentum_loss.h"

#include "base/check.h"
#include "base/finite.h"
#include "data/particle.h"
#include "stage/stage.h"
#include "train/ratio.h"

#include <math.h>

/* GeV; softer particles leave no edges, and 1 / pT stays small. */
static const double min_pt = 0.02;

/* The target of a hit's particle; nan without particle or momentum. */
static float target_of_hit(const struct etx_train_loss *options,
    const struct etx_event *event, int32_t hit)
{
    const int32_t row = event->particle_row[hit];
    double pt;

    if (row < 0)
        return NAN;
    pt = etx_particle_pt(event->particles + row);
    if (!(pt > 0.0))
        return NAN;
    pt = pt > min_pt ? pt : min_pt;
    return etx_narrow(options->pt_target == ETX_PT_LOG ? log(pt) : 1.0 / pt);
}

etx_status etx_pt_targets(float **out, struct etx_arena *arena,
    const struct etx_train_loss *options, const struct etx_event *event,
    const int32_t *row, const struct etx_graph *graph,
    const struct etx_step_edges *edges)
{
    float *target = NULL;
    etx_status status;

    ETX_SCRATCH(target, arena, edges->n, "momenta of true edges");
    for (int64_t e = 0; e < edges->n; e++) {
        const int is_counted =
            edges->target[e] > 0.0f && edges->weight[e] > 0.0f;
        const int32_t node = graph->src[e];

        target[e] = is_counted ? target_of_hit(options, event,
                                     row != NULL ? row[node] : node)
                               : NAN;
    }
    *out = target;
done:
    return status;
}

etx_status etx_pt_loss(double *loss, float *d_pt, struct etx_context *context,
    int64_t n, const float *pt, const float *target, double scale,
    double gradient_scale)
{
    double sum = 0.0;
    struct etx_square_loss_args args = {.n = n,
        .x = pt,
        .scale = 2.0 * scale * gradient_scale,
        .d_x = d_pt,
        .sum = &sum};
    etx_status status;

    ETX_CHECK(etx_stage_to_device(
        &args.target, context, target, n, "momenta of edges"));
    ETX_CHECK(context->ops->square_loss(context->stream, &args));
    *loss = scale * sum;
done:
    return status;
}

void etx_pt_totals_add(struct etx_pt_totals *totals, int64_t n, const float *pt,
    const float *target)
{
    for (int64_t e = 0; e < n; e++) {
        const double value = (double)target[e];
        const double error = (double)pt[e] - value;

        if (isnan(value))
            continue;
        totals->n += 1.0;
        totals->squared_error += error * error;
        totals->value += value;
        totals->square += value * value;
    }
}

double etx_pt_totals_error(const struct etx_pt_totals *totals)
{
    return sqrt(etx_ratio(totals->squared_error, totals->n));
}

double etx_pt_totals_spread(const struct etx_pt_totals *totals)
{
    const double mean = etx_ratio(totals->value, totals->n);
    const double variance = etx_ratio(totals->square, totals->n) - mean * mean;

    return variance < 0.0 ? 0.0 : sqrt(variance); /* nan stays nan */
}
