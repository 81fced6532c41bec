/* cuda/backend/packed.cu -- weights in the form that a kernel reads, kept.
 *
 * Packed weights are many and small: they share slabs, of which a context has
 * few, as it may have few pieces of memory.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/packed.h"

#define ALIGNMENT ((size_t)256)

struct etx_cuda_packed_key etx_cuda_packed_key_of(
    enum etx_cuda_form form, const struct etx_layer *layer, int32_t n_layers)
{
    struct etx_cuda_packed_key key = {};

    key.form = form;
    key.n_layers = n_layers;
    for (int32_t l = 0; l < n_layers; l++) {
        key.layer[l].weight = layer[l].weight;
        key.layer[l].n_in = layer[l].n_in;
        key.layer[l].n_out = layer[l].n_out;
    }
    return key;
}

static bool are_equal(
    const struct etx_cuda_packed_key *a, const struct etx_cuda_packed_key *b)
{
    if (a->form != b->form || a->n_layers != b->n_layers)
        return false;
    for (int32_t l = 0; l < a->n_layers; l++)
        if (a->layer[l].weight != b->layer[l].weight ||
            a->layer[l].n_in != b->layer[l].n_in ||
            a->layer[l].n_out != b->layer[l].n_out)
            return false;
    return true;
}

void *etx_cuda_packed_find(
    const struct etx_cuda *cuda, const struct etx_cuda_packed_key *key)
{
    const struct etx_cuda_packed *packed = cuda->packed;

    for (int32_t e = 0; e < packed->n; e++)
        if (are_equal(&packed->entry[e].key, key))
            return packed->entry[e].memory;
    return NULL;
}

/* Whether none of the weights will change; one without columns has none. */
static bool may_stay(
    const struct etx_cuda *cuda, const struct etx_cuda_packed_key *key)
{
    for (int32_t l = 0; l < key->n_layers; l++)
        if (key->layer[l].n_in > 0 &&
            !etx_cuda_is_immutable(cuda, key->layer[l].weight))
            return false;
    return true;
}

/* A slab more, of at least so many bytes. */
static bool add_slab(struct etx_cuda *cuda, size_t bytes)
{
    struct etx_cuda_packed *packed = cuda->packed;
    const size_t wanted = bytes > ETX_CUDA_SLAB ? bytes : ETX_CUDA_SLAB;
    void *memory = NULL;

    if (packed->n_slabs == ETX_CUDA_MAX_SLABS ||
        cuda->memory.alloc(&memory, &cuda->memory, wanted, "packed weights") !=
            ETX_OK)
        return false;
    packed->slab[packed->n_slabs++] = {static_cast<char *>(memory), wanted, 0};
    return true;
}

void *etx_cuda_packed_open(
    struct etx_cuda *cuda, const struct etx_cuda_packed_key *key, size_t bytes)
{
    struct etx_cuda_packed *packed = cuda->packed;
    const size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const int32_t last = packed->n_slabs - 1;

    if (packed->n == ETX_CUDA_MAX_PACKED || !may_stay(cuda, key))
        return NULL;
    if ((last < 0 ||
            packed->slab[last].bytes - packed->slab[last].taken < rounded) &&
        !add_slab(cuda, rounded))
        return NULL;
    auto *slab = &packed->slab[packed->n_slabs - 1];
    void *const memory = slab->memory + slab->taken;

    slab->taken += rounded;
    packed->entry[packed->n].key = *key;
    packed->entry[packed->n++].memory = memory;
    return memory;
}

void etx_cuda_packed_give_up(struct etx_cuda *cuda)
{
    cuda->packed->n--;
}

void etx_cuda_packed_drop(struct etx_cuda *cuda)
{
    struct etx_cuda_packed *packed = cuda->packed;

    if (packed == NULL)
        return;
    for (int32_t s = 0; s < packed->n_slabs; s++)
        cuda->memory.free(&cuda->memory, packed->slab[s].memory);
    packed->n_slabs = 0;
    packed->n = 0;
}
