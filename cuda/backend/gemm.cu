/* cuda/backend/gemm.cu -- products of matrices through cuBLASLt.
 *
 * cuBLASLt is column-major: it computes c^T = b^T a^T. The algorithm for a
 * shape, its rows rounded up, is chosen once and cached. Reductions by atomic
 * additions are not allowed, so that equal inputs give equal bits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/device.cuh"
#include "cuda/backend/gemm.h"

#include <stdint.h>

etx_status etx_cuda_check_blas(cublasStatus_t error, const char *what)
{
    if (error == CUBLAS_STATUS_SUCCESS)
        return ETX_OK;
    return etx_fail(
        error == CUBLAS_STATUS_ALLOC_FAILED ? ETX_ERR_MEMORY : ETX_ERR_DEVICE,
        "device cuda: %s: %s", what, etx_blas.cublasLtGetStatusString(error));
}

#define ETX_BLAS(call) ETX_TRY(etx_cuda_check_blas(etx_blas.call, #call))

/* Descriptors of a call of cuBLASLt, destroyed with this. */
struct product {
    cublasLtMatmulDesc_t operation = NULL;
    cublasLtMatrixLayout_t first = NULL, second = NULL, result = NULL;
    cublasLtMatmulPreference_t preference = NULL;

    product() = default;
    ~product()
    {
        if (preference != NULL)
            (void)etx_blas.cublasLtMatmulPreferenceDestroy(preference);
        if (result != NULL)
            (void)etx_blas.cublasLtMatrixLayoutDestroy(result);
        if (second != NULL)
            (void)etx_blas.cublasLtMatrixLayoutDestroy(second);
        if (first != NULL)
            (void)etx_blas.cublasLtMatrixLayoutDestroy(first);
        if (operation != NULL)
            (void)etx_blas.cublasLtMatmulDescDestroy(operation);
    }
    product(const product &) = delete;
    product &operator=(const product &) = delete;
};

template <typename T>
static etx_status set_operation(
    struct product *out, cublasLtMatmulDescAttributes_t which, T value)
{
    ETX_BLAS(cublasLtMatmulDescSetAttribute(
        out->operation, which, &value, sizeof value));
    return ETX_OK;
}

template <typename T>
static etx_status set_preference(
    struct product *out, cublasLtMatmulPreferenceAttributes_t which, T value)
{
    ETX_BLAS(cublasLtMatmulPreferenceSetAttribute(
        out->preference, which, &value, sizeof value));
    return ETX_OK;
}

/* A row-major [rows, columns] array, as a column-major one. */
static etx_status describe_matrix(cublasLtMatrixLayout_t *out,
    cudaDataType_t type, int64_t rows, int64_t columns)
{
    ETX_BLAS(cublasLtMatrixLayoutCreate(
        out, type, (uint64_t)columns, (uint64_t)rows, columns));
    return ETX_OK;
}

static cublasOperation_t transposition(int32_t is_transposed)
{
    return is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

static etx_status describe(
    struct product *out, const struct etx_cuda_plan *plan)
{
    const cudaDataType_t type = plan->is_half ? CUDA_R_16F : CUDA_R_32F;
    const int32_t a_is_transposed = plan->is_transposed & 1;
    const int32_t b_is_transposed = plan->is_transposed >> 1;

    ETX_BLAS(cublasLtMatmulDescCreate(&out->operation,
        plan->is_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
        CUDA_R_32F));
    ETX_TRY(set_operation(
        out, CUBLASLT_MATMUL_DESC_TRANSA, transposition(b_is_transposed)));
    ETX_TRY(set_operation(
        out, CUBLASLT_MATMUL_DESC_TRANSB, transposition(a_is_transposed)));
    ETX_TRY(
        describe_matrix(&out->first, type, b_is_transposed ? plan->n : plan->k,
            b_is_transposed ? plan->k : plan->n));
    ETX_TRY(
        describe_matrix(&out->second, type, a_is_transposed ? plan->k : plan->m,
            a_is_transposed ? plan->m : plan->k));
    return describe_matrix(&out->result,
        plan->c_is_half ? CUDA_R_16F : CUDA_R_32F, plan->m, plan->n);
}

/* The largest power of two up to 256 that divides all addresses. */
static int32_t alignment_of(const struct etx_cuda_gemm *gemm)
{
    const uintptr_t bits = reinterpret_cast<uintptr_t>(gemm->a) |
                           reinterpret_cast<uintptr_t>(gemm->b) |
                           reinterpret_cast<uintptr_t>(gemm->c) | 256;

    return (int32_t)(bits & (~bits + 1));
}

/* Query the heuristic once; *n_found is 0 where the library has no algorithm.
 */
static etx_status query(cublasLtMatmulHeuristicResult_t *found, int *n_found,
    struct etx_cuda *cuda, struct product *product, uint32_t reductions,
    uint32_t alignment)
{
    static const cublasLtMatmulPreferenceAttributes_t alignments[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};

    ETX_TRY(set_preference(product, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
        (uint64_t)ETX_CUDA_WORKSPACE));
    ETX_TRY(set_preference(
        product, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions));
    for (const cublasLtMatmulPreferenceAttributes_t which : alignments)
        ETX_TRY(set_preference(product, which, alignment));
    const cublasStatus_t status =
        etx_blas.cublasLtMatmulAlgoGetHeuristic(cuda->blas, product->operation,
            product->first, product->second, product->result, product->result,
            product->preference, 1, found, n_found);

    if (status != CUBLAS_STATUS_NOT_SUPPORTED)
        return etx_cuda_check_blas(status, "cublasLtMatmulAlgoGetHeuristic");
    *n_found = 0;
    return ETX_OK;
}

/* The algorithm for the sizes of the plan, with the alignment of an element and
 * without reductions where there is none with more. */
static etx_status choose(struct etx_cuda_plan *plan, struct etx_cuda *cuda)
{
    cublasLtMatmulHeuristicResult_t found;
    struct product product;
    int n_found = 0;

    ETX_TRY(describe(&product, plan));
    ETX_BLAS(cublasLtMatmulPreferenceCreate(&product.preference));
    ETX_TRY(query(&found, &n_found, cuda, &product,
        CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, (uint32_t)plan->alignment));
    if (n_found == 0)
        ETX_TRY(query(&found, &n_found, cuda, &product,
            CUBLASLT_REDUCTION_SCHEME_NONE, plan->is_half ? 2 : 4));
    if (n_found == 0)
        return etx_fail(ETX_ERR_DEVICE,
            "device cuda: cuBLASLt has no algorithm for a product of [%lld, "
            "%lld] and [%lld, %lld]",
            (long long)plan->m, (long long)plan->k, (long long)plan->k,
            (long long)plan->n);
    plan->algorithm = found.algo;
    plan->is_used = 1;
    return ETX_OK;
}

static int32_t is_for(
    const struct etx_cuda_plan *plan, const struct etx_cuda_plan *wanted)
{
    return plan->is_used && plan->m == wanted->m && plan->n == wanted->n &&
           plan->k == wanted->k && plan->alignment == wanted->alignment &&
           plan->is_transposed == wanted->is_transposed &&
           plan->is_half == wanted->is_half &&
           plan->c_is_half == wanted->c_is_half &&
           plan->is_tf32 == wanted->is_tf32;
}

/* Products of fewer rows are planned as of these: the bits of a row do not
 * depend on how many others there are, as on the CPU. */
#define PLAN_ROWS ((int64_t)1 << 20)

/* The least number from n on with three significant bits: an algorithm for
 * these rows or terms also does for fewer. */
static int64_t round_rows(int64_t n)
{
    int64_t step = 1;

    while (n > 8 * step)
        step *= 2;
    return (n + step - 1) / step * step;
}

/* The sizes that a product of this one's is planned with. */
static struct etx_cuda_plan sizes_of(const struct etx_cuda_gemm *gemm,
    const struct etx_stream *stream, int32_t is_rounded)
{
    struct etx_cuda_plan out = {};

    out.m = !is_rounded || gemm->a_is_transposed ? gemm->m
            : gemm->m > PLAN_ROWS                ? round_rows(gemm->m)
                                                 : PLAN_ROWS;
    out.n = gemm->n;
    out.k = is_rounded && gemm->a_is_transposed ? round_rows(gemm->k) : gemm->k;
    out.is_transposed = gemm->a_is_transposed + 2 * gemm->b_is_transposed;
    out.is_half = gemm->is_half;
    out.c_is_half = gemm->c_is_half;
    out.is_tf32 = stream->is_tf32 && !gemm->is_half;
    out.alignment = alignment_of(gemm);
    return out;
}

/* The plan for these sizes, from the cache or new; the oldest is replaced. */
static etx_status find_plan(const struct etx_cuda_plan **out,
    struct etx_cuda *cuda, struct etx_cuda_plan wanted)
{
    for (int32_t p = 0; p < ETX_CUDA_MAX_PLANS; p++)
        if (is_for(&cuda->plan[p], &wanted)) {
            *out = &cuda->plan[p];
            return ETX_OK;
        }
    ETX_TRY(choose(&wanted, cuda));
    cuda->plan[cuda->next_plan] = wanted;
    *out = &cuda->plan[cuda->next_plan];
    cuda->next_plan = (cuda->next_plan + 1) % ETX_CUDA_MAX_PLANS;
    return ETX_OK;
}

/* Queue the product with an algorithm. */
static cublasStatus_t multiply(struct etx_cuda *cuda,
    const struct product *product, const struct etx_cuda_gemm *gemm,
    const struct etx_cuda_plan *plan)
{
    const float one = 1.0f;
    const float beta = gemm->add ? 1.0f : 0.0f;

    return etx_blas.cublasLtMatmul(cuda->blas, product->operation, &one,
        gemm->b, product->first, gemm->a, product->second, &beta, gemm->c,
        product->result, gemm->c, product->result, &plan->algorithm,
        cuda->workspace, ETX_CUDA_WORKSPACE, cuda->stream);
}

/* That an algorithm does for fewer rows is not documented. */
etx_status etx_cuda_gemm(
    struct etx_stream *stream, const struct etx_cuda_gemm *gemm)
{
    struct etx_cuda *cuda = etx_cuda_of(stream);
    const struct etx_cuda_plan exact = sizes_of(gemm, stream, 0);
    const struct etx_cuda_plan *plan = NULL;
    struct product product;

    ETX_TRY(describe(&product, &exact));
    ETX_TRY(find_plan(&plan, cuda, sizes_of(gemm, stream, 1)));
    cublasStatus_t status = multiply(cuda, &product, gemm, plan);

    if (status == CUBLAS_STATUS_NOT_SUPPORTED ||
        status == CUBLAS_STATUS_INVALID_VALUE) {
        ETX_TRY(find_plan(&plan, cuda, exact));
        status = multiply(cuda, &product, gemm, plan);
    }
    return etx_cuda_check_blas(status, "cublasLtMatmul");
}
