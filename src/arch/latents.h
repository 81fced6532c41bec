/* arch/latents.h -- latents of the iterations of a network, and which are kept.
 *
 * A forward computes the latents 0 .. n_iterations; the backward reads them in
 * the reverse order. struct etx_tape says which are kept for it: all of them,
 * or every stride-th and one segment between two of these, from which the
 * backward recomputes the others (gradient checkpointing: Chen et al.,
 * arXiv:1604.06174); as float32, or with half the bits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_LATENTS_H
#define ETX_ARCH_LATENTS_H

#include "arch/arch.h"

/* What the steps of a network need, however latents are kept. */
struct etx_latents_shape {
    int64_t n_rows; /* of one latent, width columns each */
    int32_t width;
    int32_t n_iterations;
    int32_t n_slots;       /* latents that an iteration uses: 1 or 2 */
    int32_t has_first;     /* every iteration uses latent 0, too */
    int32_t can_recompute; /* the backward can compute a segment again */
    int32_t is_float16;    /* in inference float16 in place of float32 */
    int32_t is_of_nodes;   /* one row per node of the graph */
    int32_t has_gradient;
};

#define ETX_LATENTS_MAX_SLOTS 3

/* Each kept latent has its own memory:
 *
 *     stride 3, 7 iterations:  | 0 | 3 | 6 | 1, 4 or 7 | 2 or 5 |
 *
 * Others, and those kept in half the bits, are used in slots:
 *
 *     n_slots 2, has_first:    | 0 | 1, 3, 5, 7 | 2, 4, 6 |  */
struct etx_latents {
    struct etx_latents_shape shape;
    int64_t n_values; /* of one latent, padded to 64 bytes */
    int32_t keeps;    /* 0: inference */
    int32_t half;     /* enum etx_half: what they are kept as */
    int32_t stride;   /* every stride-th is always kept: it begins a segment */
    int32_t segment;  /* k / stride of the others that are kept */
    int32_t loaded[ETX_LATENTS_MAX_SLOTS]; /* with half: k in a slot, or -1 */
    char *value;    /* [n] of n_values, to compute with */
    uint16_t *kept; /* [n_kept, n_values] of half */
};

/* The choices of a tape (or NULL) that the network supports. */
struct etx_tape etx_tape_of(
    const struct etx_network *network, const struct etx_tape *tape);

/* Describe; tape NULL: inference. */
void etx_latents_open(struct etx_latents *latents,
    const struct etx_latents_shape *shape, const struct etx_tape *tape);

/* Bytes that they need, a multiple of 64; and their memory [bytes], which
 * holds what an earlier run of the same shape and tape kept in it. */
int64_t etx_latents_bytes(const struct etx_latents *latents);
void etx_latents_set_memory(struct etx_latents *latents, void *memory);

/* Where latent k is computed with, float32 or float16 [n_rows, width]: its own
 * memory or its slot. */
void *etx_latents_at(const struct etx_latents *latents, int32_t k);

/* Latent k has been written: keep it. */
etx_status etx_latents_keep(
    struct etx_latents *latents, struct etx_context *context, int32_t k);

/* Latent k, which is kept, into its slot. */
etx_status etx_latents_load(
    struct etx_latents *latents, struct etx_context *context, int32_t k);

/* Is latent k kept? If not, compute and keep the latents after the begin of its
 * segment again, which overwrites latents of other segments. */
int32_t etx_latents_has(const struct etx_latents *latents, int32_t k);
int32_t etx_latents_segment_begin(const struct etx_latents *latents, int32_t k);

#endif
