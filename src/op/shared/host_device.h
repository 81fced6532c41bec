/* op/shared/host_device.h -- functions of the reference and of CUDA.
 *
 * A formula of this folder is written once, in the part of the language that
 * C11 and C++17 have in common. The reference compiles it as C, the kernels of
 * cuda/op as device code. Both round every operation: no fused multiply-add.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SHARED_HOST_DEVICE_H
#define ETX_OP_SHARED_HOST_DEVICE_H

#ifdef __CUDACC__
#define ETX_HOST_DEVICE static inline __host__ __device__
#else
#define ETX_HOST_DEVICE static inline
#endif

#endif
