/* arch/latents.h -- latents of the iterations of a network, and which are kept.
 *
 * A forward makes the latents 0 .. n_iterations one after the other; the
 * backward wants them again in the reverse order. What is kept for it is a
 * choice (struct etx_tape): all of them, or only those of every stride-th
 * iteration and of the segment between two of these that the walk is in, from
 * which the backward makes the others again (Chen et al., arXiv:1604.06174);
 * as float32 or in half the bits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_LATENTS_H
#define ETX_ARCH_LATENTS_H

#include "arch/arch.h"

/* What the steps of a network need, whatever is kept. */
struct etx_latents_shape {
    int64_t n_values; /* of one latent */
    int32_t n_iterations;
    int32_t n_turns;       /* latents that an iteration uses at once: 1 or 2 */
    int32_t has_first;     /* every iteration uses latent 0, too */
    int32_t can_recompute; /* the backward can make latents between strides */
    int32_t is_float16;    /* of inference: float16 in place of float32 */
};

#define ETX_LATENTS_MAX_TURNS 3

struct etx_latents {
    struct etx_latents_shape shape; /* n_values padded to 64 bytes */
    int32_t keeps;                  /* 0: inference */
    int32_t half;    /* enum etx_half; kept as that, they are used in the places
                      * of turns */
    int32_t stride;  /* between those that are always kept */
    int32_t segment; /* k / stride of the others that are there */
    int32_t held[ETX_LATENTS_MAX_TURNS]; /* of half: k in a place, or -1 */
    char *value;    /* [n_places] of n_values that are used */
    uint16_t *kept; /* [n_kept, n_values] of half */
};

/* Describe; tape NULL: inference. */
void etx_latents_open(struct etx_latents *latents,
    const struct etx_latents_shape *shape, const struct etx_tape *tape);

/* Bytes that they need, a multiple of 64; and memory [bytes] to lie in, which
 * keeps what an earlier run of the same shape and tape kept there. */
int64_t etx_latents_bytes(const struct etx_latents *latents);
void etx_latents_place(struct etx_latents *latents, void *memory);

/* The place of latent k, float32 or float16 [n_values]: its own, or one that
 * latents use in turns. */
void *etx_latents_at(const struct etx_latents *latents, int32_t k);

/* Latent k has been written to its place: keep it. */
etx_status etx_latents_keep(
    struct etx_latents *latents, struct etx_context *context, int32_t k);

/* Bring latent k, which is there, to its place. */
etx_status etx_latents_load(
    struct etx_latents *latents, struct etx_context *context, int32_t k);

/* Whether latent k is there. If not, those from the border on are to be made
 * and kept again, which drops those of other segments. */
int32_t etx_latents_has(const struct etx_latents *latents, int32_t k);
int32_t etx_latents_border(const struct etx_latents *latents, int32_t k);

#endif
