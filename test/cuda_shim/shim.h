/* cuda_shim/shim.h -- control and counters of the CPU emulation of CUDA.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_SHIM_SHIM_H
#define ETX_SHIM_SHIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Devices, and shared memory of a block by default and with opt-in: of consumer
 * and data centre devices. A process begins with ETX_SHIM_SHARED KiB, or the
 * second. */
#define SHIM_DEVICES       4
#define SHIM_SHARED_ALWAYS (48 << 10)
#define SHIM_SHARED_BYTES  (99 << 10)
#define SHIM_MAX_SHARED    (227 << 10)
size_t shim_shared_memory(void);

/* Make the call of the runtime with this number (from 0, counted from here)
 * and only that one fail; -1: none. Calls that free do not count. */
void shim_fail_call(int64_t number);
/* Calls since then. */
int64_t shim_calls(void);

/* Calls of the device since the process began that did not fail. */
struct shim_counts {
    int64_t kernels;  /* started, without kernels of libraries */
    int64_t products; /* of cuBLASLt */
    int64_t sorts;    /* calls of CUB, of which some start several kernels */
    int64_t sets;     /* of memory to a value */
    int64_t copies_in, bytes_in;   /* from the host to the device */
    int64_t copies_out, bytes_out; /* and back */
    int64_t waits;                 /* of the host for work that is queued */
    int64_t spins;                 /* of these, on a processor to the end */
    int64_t allocations;
};
struct shim_counts shim_count(void);

/* Work that is queued and has not run. */
int64_t shim_queued(void);

/* Bytes that pools hold, in use or kept. */
size_t shim_pool_bytes(void);

/* Allocations, streams, events, pools and handles that are not freed. */
int64_t shim_live(void);

/* 1: device memory can be touched by kernels and copies only; a test that
 * does so crashes. Costs time at every call. */
void shim_close_memory(int32_t is_closed);

/* 1 while a kernel or a copy may touch memory of the device: called by
 * emulations of other libraries. */
void shim_enter(void);
void shim_leave(void);

/* Memory of a device, of another library, in which its stream there writes
 * values once somebody waits for it; for shim_reclaim. */
void *shim_lend(int32_t device, const void *values, size_t bytes);
/* The same on the legacy default stream of the device. */
void *shim_lend_by_default(int32_t device, const void *values, size_t bytes);
void shim_reclaim(void *memory);
void *shim_lender(int32_t device);
/* Wait for all that it writes. */
void shim_finish_lending(void);

/* The device that is current in this thread, and its mode of captures. */
int32_t shim_device(void);
int32_t shim_capture_mode(void);
void shim_set_device(int32_t device);
/* Whether the process has a context of CUDA on the device. */
int32_t shim_is_active(int32_t device);
/* References to it that the library has. */
int32_t shim_retained(int32_t device);

/* Operands of products in TF32 are rounded up or down by chance, so that their
 * mean is right: random numbers from seed on. 0: to the nearest. */
void shim_round_at_random(uint64_t seed);

/* What cuBLASLt refuses: products of odd depth or one column, unless reductions
 * are off and alignment is that of an element; algorithms that were chosen for
 * more rows. */
#define SHIM_ODD_PRODUCTS     1
#define SHIM_ROUNDED_PRODUCTS 2
void shim_refuse_products(int32_t which);
/* 1: there is no cuBLASLt to be loaded. */
void shim_hide_blas(int32_t is_hidden);
/* Times that an algorithm was looked for. */
int64_t shim_heuristics(void);

/* Give up with this text: the sources did what no device allows. */
#ifdef __GNUC__
__attribute__((noreturn))
#endif
void shim_abort(const char *what);

#ifdef __cplusplus
}

/* Fails the test unless a device reaches these bytes. */
void shim_check_reach(const void *memory, size_t bytes);

/* Calls of several threads come one after the other. */
struct shim_turn {
    shim_turn();
    ~shim_turn();
    shim_turn(const shim_turn &) = delete;
    shim_turn &operator=(const shim_turn &) = delete;
};
#endif

#endif
