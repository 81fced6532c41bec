/* cuda/backend/packed.h -- weights in the form that a kernel reads, kept.
 *
 * Of weights that stay as they are (etx_memory.settle) the packed form is made
 * once and kept until one of the networks that the context keeps goes: then all
 * of them are made anew when they are asked for.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_BACKEND_PACKED_H
#define ETX_CUDA_BACKEND_PACKED_H

#include "cuda/backend/device.cuh"

#define ETX_CUDA_MAX_PACKED 256
#define ETX_CUDA_MAX_SLABS  16
#define ETX_CUDA_SLAB       ((size_t)1 << 20) /* bytes */

/* Layers whose weights are packed together, and in which form. */
enum etx_cuda_form {
    ETX_CUDA_TILES, /* as mlp_fused.cu wants them */
    ETX_CUDA_HALVES /* float16, as they lie */
};

struct etx_cuda_packed_key {
    int32_t form; /* enum etx_cuda_form */
    int32_t n_layers;
    struct {
        const float *weight;
        int32_t n_in, n_out;
    } layer[ETX_MAX_LAYERS];
};

/* What a context keeps packed; zeroed: nothing. */
struct etx_cuda_packed {
    int32_t n;
    struct {
        struct etx_cuda_packed_key key;
        void *memory; /* in a slab */
    } entry[ETX_CUDA_MAX_PACKED];
    int32_t n_slabs;
    struct {
        char *memory; /* from the place, owned */
        size_t bytes, taken;
    } slab[ETX_CUDA_MAX_SLABS];
};

/* The key of these layers. */
struct etx_cuda_packed_key etx_cuda_packed_key_of(
    enum etx_cuda_form form, const struct etx_layer *layer, int32_t n_layers);

/* What was packed before, or NULL. */
void *etx_cuda_packed_find(
    const struct etx_cuda *cuda, const struct etx_cuda_packed_key *key);

/* Room for it, aligned to 256 bytes, which is found under its key from now on:
 * the caller queues what fills it, or gives it up. NULL: weights may change, or
 * there is no room. */
void *etx_cuda_packed_open(
    struct etx_cuda *cuda, const struct etx_cuda_packed_key *key, size_t bytes);
/* The one opened last was not filled. */
void etx_cuda_packed_give_up(struct etx_cuda *cuda);

/* Keep nothing any more. */
void etx_cuda_packed_drop(struct etx_cuda *cuda);

#endif
