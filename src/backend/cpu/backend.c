/* backend/cpu/backend.c -- the CPU: an arena, a thread pool, an operator table.
 *
 * The table starts as the complete reference, whose entries are replaced by the
 * versions for the level of the processor, or the lower one of the options.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "backend/backend.h"

#include "base/check.h"
#include "base/cpu.h"
#include "base/heap.h"
#include "base/status.h"

_Static_assert(sizeof(struct etx_context) < 2048, "a context is small");

/* What the processor lacks is an error. */
static etx_status choose_cpu_level(int32_t *out, int32_t wanted)
{
    *out = wanted == ETX_CPU_BEST ? etx_cpu_level() : wanted;
    if (etx_cpu_has(*out))
        return ETX_OK;
    return etx_fail(ETX_ERR_UNSUPPORTED,
        "cpu_level %d (%s): this processor supports level %d (%s) at most",
        (int)wanted, etx_cpu_level_names[wanted], (int)etx_cpu_level(),
        etx_cpu_level_names[etx_cpu_level()]);
}

/* Without the instructions bfloat16 and int16 would be slower than float32. */
static etx_status check_precision(int32_t precision, int32_t level)
{
    const int32_t has = level == ETX_CPU_REF ||
                        (level == ETX_CPU_AVX512 && etx_cpu_has_bfloat16());

    if (precision == ETX_PRECISION_INT16 &&
        (level == ETX_CPU_NEON ||
            (level == ETX_CPU_AVX512 && !etx_cpu_has_vnni())))
        return etx_fail(ETX_ERR_UNSUPPORTED,
            "precision %d (int16) needs AVX512_VNNI or cpu_level %d (avx2), or "
            "%d (reference)",
            (int)precision, ETX_CPU_AVX2, ETX_CPU_REF);
    if (precision != ETX_PRECISION_BFLOAT16 || has)
        return ETX_OK;
    return etx_fail(ETX_ERR_UNSUPPORTED,
        "precision %d (bfloat16) needs AVX512_BF16, which %s, or cpu_level %d "
        "(reference)",
        (int)precision,
        etx_cpu_has_bfloat16() ? "a lower cpu_level leaves out"
                               : "this processor lacks",
        ETX_CPU_REF);
}

etx_status etx_backend_cpu_open(struct etx_context *context)
{
    etx_status status = ETX_OK;
    struct etx_stream *stream = &context->stream_storage;
    int32_t level = ETX_CPU_REF;

    ETX_CHECK(choose_cpu_level(&level, context->options.cpu_level));
    ETX_CHECK(check_precision(context->options.precision, level));
    ETX_CHECK(etx_arena_create(&stream->arena, context->options.memory_limit));
    ETX_CHECK(etx_pool_create(&stream->pool, context->options.n_threads));
    stream->has_tiles = context->options.precision == ETX_PRECISION_BFLOAT16 &&
                        level == ETX_CPU_AVX512 && etx_cpu_has_tiles();
    stream->cancel = context->options.cancel;
    stream->cancel_user = context->options.cancel_user;
    etx_pool_set_cancel(stream->pool, stream->cancel, stream->cancel_user);
    ETX_CHECK(etx_weight_cache_create(&stream->weight_cache, NULL));
    context->table = etx_op_ref;
    etx_op_simd(&context->table, level);
    context->options.cpu_level = level;
    context->ops = &context->table;
    context->stream = stream;
done:
    if (status != ETX_OK)
        etx_backend_cpu_close(context);
    return status;
}

void etx_backend_cpu_close(struct etx_context *context)
{
    etx_pool_free(context->stream_storage.pool);
    etx_arena_free(context->stream_storage.arena);
    etx_weight_cache_free(context->stream_storage.weight_cache);
    context->stream_storage = (struct etx_stream){0};
}
