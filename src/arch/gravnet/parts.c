/* arch/gravnet/parts.c -- where latents lie, and what the perceptrons read.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/gravnet/network.h"

float *etx_gravnet_latent(const struct etx_gravnet_run *run, int32_t k)
{
    return run->latents + (int64_t)k * run->n * run->state->hidden;
}

void etx_gravnet_parts(
    struct etx_mlp_input *out, int64_t n, const float *h, int32_t width)
{
    *out = (struct etx_mlp_input){.args = {.n_rows = n}};
    etx_mlp_part(out, h, NULL, width);
}

void etx_gravnet_update_parts(struct etx_mlp_input *out,
    const struct etx_gravnet_run *run, const float *h, const float *message)
{
    etx_gravnet_parts(out, run->n, h, run->state->hidden);
    etx_mlp_part(out, message, NULL, run->state->n_flow);
}
