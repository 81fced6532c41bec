/* base/threads.h -- a pool of threads for one parallel loop.
 *
 * Work is cut into blocks whose size does not depend on the number of
 * threads; results per block, combined in block order, are therefore the same
 * bits for any number of threads. The pool is owned by one context.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_THREADS_H
#define ETX_BASE_THREADS_H

#include <exatrkx/exatrkx.h>

#include <stdbool.h>

struct etx_pool;

/* Work on block `block`; worker is 0 .. n_threads-1, concurrent calls differ in
 * it (so it can index scratch). */
typedef etx_status (*etx_block_function)(
    void *argument, int64_t block, int32_t worker);

/* n_threads - 1 threads are started, each with all signals blocked and the
 * default floating-point environment (traps off). n_threads 1 starts none.
 * A thread that cannot be started is ETX_ERR_MEMORY. */
etx_status etx_pool_create(struct etx_pool **out, int32_t n_threads);
void etx_pool_free(struct etx_pool *pool);
int32_t etx_pool_n_threads(const struct etx_pool *pool); /* NULL: 1 */

/* The callback of the caller that ends a loop: it is called on the thread of
 * the loop's caller alone, between its blocks and while it waits for others. */
void etx_pool_set_cancel(
    struct etx_pool *pool, int32_t (*cancel)(void *user), void *user);
/* From inside a block function: whether this is another thread than that of the
 * loop's caller, which must not call cancel. pool may be NULL. */
bool etx_pool_is_worker(const struct etx_pool *pool);
/* Tell the threads of this loop that the caller has cancelled it, and whether
 * it has. pool may be NULL. */
void etx_pool_stop(struct etx_pool *pool);
bool etx_pool_is_stopped(const struct etx_pool *pool);

/* Run function for blocks 0 .. n_blocks-1, on all threads; the caller works
 * too, under the default floating-point environment, and finds its own again.
 * Not from inside a block function. Returns when all are done: ETX_OK, or the
 * status and message of the failing block with the lowest number (blocks after
 * a failure may not run), or ETX_ERR_CANCELLED. pool NULL runs serially. In a
 * child after fork the pool's threads are gone: the loop runs serially. */
etx_status etx_parallel_for(struct etx_pool *pool, int64_t n_blocks,
    etx_block_function function, void *argument);

/* Work on the items begin .. end - 1. */
typedef etx_status (*etx_range_function)(
    void *argument, int64_t begin, int64_t end, int32_t worker);

/* The same for n items, in blocks of block_size and a shorter last one. */
etx_status etx_parallel_ranges(struct etx_pool *pool, int64_t n,
    int64_t block_size, etx_range_function function, void *argument);

#endif
