/* cuda_shim/blas.cpp -- products of matrices on the CPU.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cublasLt.h"
#include "dlfcn.h"
#include "shim.h"

extern "C" {
#include "base/float16.h"
}

#include <math.h>

#include <map>
#include <string>
#include <vector>

#define CHAINS 4 /* of a sum, added at the end: not the order of the CPU */

struct shim_blas {
    int unused;
};
struct shim_operation {
    int32_t transposed[2]; /* a, b */
    bool is_tf32;
};
struct shim_layout {
    int64_t rows, columns, leading;
    cudaDataType_t type;
};
struct shim_preference {
    uint64_t workspace;
    uint32_t reductions, alignment;
};

static int32_t refused;
static int64_t n_heuristics;

void shim_refuse_products(int32_t which)
{
    refused = which;
}

int64_t shim_heuristics(void)
{
    return n_heuristics;
}

/* Of this thread, which destroys the handles that it made. */
static thread_local int64_t n_things; /* handles included */
static thread_local int64_t n_handles;

/* Counted with the calls of the runtime, and made to fail like them. */
static cublasStatus_t answer(cublasStatus_t failure)
{
    int unused;

    return cudaGetDevice(&unused) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                                 : failure;
}

template <typename T> static cublasStatus_t make(T **out)
{
    const cublasStatus_t status = answer(CUBLAS_STATUS_ALLOC_FAILED);

    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    *out = new T();
    n_things++;
    return CUBLAS_STATUS_SUCCESS;
}

/* Whether a library takes NULL here is not documented. */
template <typename T> static cublasStatus_t unmake(T *thing)
{
    if (thing == NULL)
        shim_abort("cuBLASLt is told to destroy what is not there");
    delete thing;
    n_things--;
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_ALLOC_FAILED ? "out of memory" : "a failure";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    const cublasStatus_t status = make(handle);

    n_handles += status == CUBLAS_STATUS_SUCCESS;
    return status;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    const cublasStatus_t status = unmake(handle);

    if (n_things != --n_handles)
        shim_abort("descriptions of products are left");
    return status;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out,
    cublasComputeType_t compute, cudaDataType_t scale)
{
    if ((compute != CUBLAS_COMPUTE_32F &&
            compute != CUBLAS_COMPUTE_32F_FAST_TF32) ||
        scale != CUDA_R_32F)
        return CUBLAS_STATUS_INVALID_VALUE;
    const cublasStatus_t status = make(out);

    if (status == CUBLAS_STATUS_SUCCESS)
        (*out)->is_tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    return status;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation)
{
    return unmake(operation);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
    cublasLtMatmulDescAttributes_t attribute, const void *value, size_t bytes)
{
    if (bytes != sizeof(cublasOperation_t))
        return CUBLAS_STATUS_INVALID_VALUE;
    operation->transposed[attribute == CUBLASLT_MATMUL_DESC_TRANSB] =
        *static_cast<const cublasOperation_t *>(value) == CUBLAS_OP_T;
    return answer(CUBLAS_STATUS_INVALID_VALUE);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out,
    cudaDataType_t type, uint64_t rows, uint64_t columns, int64_t leading)
{
    if ((type != CUDA_R_32F && type != CUDA_R_16F) || rows == 0 ||
        columns == 0 || leading < (int64_t)rows)
        return CUBLAS_STATUS_INVALID_VALUE;
    const cublasStatus_t status = make(out);

    if (status == CUBLAS_STATUS_SUCCESS)
        **out = {(int64_t)rows, (int64_t)columns, leading, type};
    return status;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    return unmake(layout);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
    return make(out);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(
    cublasLtMatmulPreference_t preference)
{
    return unmake(preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t bytes)
{
    if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
        if (bytes != sizeof preference->workspace)
            return CUBLAS_STATUS_INVALID_VALUE;
        memcpy(&preference->workspace, value, bytes);
    } else if (bytes != sizeof(uint32_t)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    } else {
        memcpy(attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK
                   ? &preference->reductions
                   : &preference->alignment,
            value, bytes);
    }
    return answer(CUBLAS_STATUS_INVALID_VALUE);
}

/* ------------------------------------------------------------- products -- */

/* The sizes of a product, or false where they do not agree. */
static bool sizes_of(int64_t *m, int64_t *n, int64_t *k,
    const struct shim_operation *operation, const struct shim_layout *a,
    const struct shim_layout *b, const struct shim_layout *d)
{
    *m = operation->transposed[0] ? a->columns : a->rows;
    *k = operation->transposed[0] ? a->rows : a->columns;
    *n = operation->transposed[1] ? b->rows : b->columns;
    return a->type == b->type &&
           (d->type == CUDA_R_32F || a->type == CUDA_R_16F) &&
           !(operation->is_tf32 && a->type == CUDA_R_16F) &&
           *k == (operation->transposed[1] ? b->columns : b->rows) &&
           d->rows == *m && d->columns == *n;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t,
    cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int,
    cublasLtMatmulHeuristicResult_t found[], int *n_found)
{
    int64_t m, n, k;

    const uint32_t element = a->type == CUDA_R_16F ? 2 : 4;

    if (!sizes_of(&m, &n, &k, operation, a, b, d) ||
        preference->alignment < element)
        return CUBLAS_STATUS_INVALID_VALUE;
    /* In place and by the type of the output the order would be open. */
    if (preference->reductions != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE &&
        preference->reductions != CUBLASLT_REDUCTION_SCHEME_NONE)
        shim_abort("sums whose order is open");
    *n_found = 0;
    n_heuristics++;
    const bool is_odd =
        k % 2 != 0 || m == 1 || (d->type == CUDA_R_16F && m % 2 != 0);

    if ((refused & SHIM_ODD_PRODUCTS) != 0 && is_odd &&
        (preference->reductions != CUBLASLT_REDUCTION_SCHEME_NONE ||
            preference->alignment != element))
        return answer(CUBLAS_STATUS_INVALID_VALUE) == CUBLAS_STATUS_SUCCESS
                   ? CUBLAS_STATUS_NOT_SUPPORTED
                   : CUBLAS_STATUS_INVALID_VALUE;
    found->algo = {{(uint64_t)m, (uint64_t)n, (uint64_t)k,
        (uint64_t)operation->transposed[0], (uint64_t)operation->transposed[1],
        preference->alignment, preference->workspace, (uint64_t)a->type,
        (uint64_t)d->type, operation->is_tf32}};
    *n_found = 1;
    return answer(CUBLAS_STATUS_INVALID_VALUE);
}

static float element(const void *x, cudaDataType_t type, int64_t at)
{
    return type == CUDA_R_16F
               ? etx_float16_to_float(static_cast<const uint16_t *>(x)[at])
               : static_cast<const float *>(x)[at];
}

static uint64_t rounding; /* the state of random numbers, or 0 */

void shim_round_at_random(uint64_t seed)
{
    rounding = seed;
}

/* What is added to a number before its 13 lowest bits are cut off: half of the
 * last bit that is left, or any part of it (xorshift64). */
static uint32_t round_up(void)
{
    if (rounding == 0)
        return 0x1000u;
    rounding ^= rounding << 13;
    rounding ^= rounding >> 7;
    rounding ^= rounding << 17;
    return (uint32_t)(rounding >> 20) & 0x1fffu;
}

/* To the 11 bits of TF32, ties away from zero. */
static float to_tf32(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7f800000u) != 0x7f800000u)
        bits = (bits + round_up()) & ~0x1fffu;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* op(x) [rows, columns], row by row. */
static std::vector<float> rows_of(const void *x,
    const struct shim_layout *layout, int32_t is_transposed, int64_t rows,
    int64_t columns, bool is_tf32)
{
    std::vector<float> out((size_t)(rows * columns));

    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            out[(size_t)(i * columns + j)] = element(x, layout->type,
                is_transposed ? j + i * layout->leading
                              : i + j * layout->leading);
    for (float &value : out)
        value = is_tf32 ? to_tf32(value) : value;
    return out;
}

/* Columns of d are rows of the caller; they are summed over, too. */
static bool is_for_size(
    const cublasLtMatmulAlgo_t *algorithm, int64_t m, int64_t n, int64_t k)
{
    const uint64_t *const size = algorithm->data;
    const bool is_exact = size[1] == (uint64_t)n && size[2] == (uint64_t)k;

    return size[0] == (uint64_t)m && size[1] >= (uint64_t)n &&
           size[2] >= (uint64_t)k &&
           (is_exact || (refused & SHIM_ROUNDED_PRODUCTS) == 0);
}

static void check_algorithm(const cublasLtMatmulAlgo_t *algorithm,
    const struct shim_operation *operation, cudaDataType_t type,
    cudaDataType_t result, uintptr_t addresses, size_t workspace_bytes)
{
    const uint64_t *const expected = algorithm->data;

    if (expected[3] != (uint64_t)operation->transposed[0] ||
        expected[4] != (uint64_t)operation->transposed[1] ||
        expected[7] != (uint64_t)type || expected[8] != (uint64_t)result ||
        expected[9] != (uint64_t)operation->is_tf32)
        shim_abort("an algorithm for another product");
    if (addresses % expected[5] != 0 || workspace_bytes < expected[6])
        shim_abort("less alignment or workspace than was said");
}

/* A product that waits in its stream: c [n, m] = left [n, k] right [k, m], and
 * + by c. */
struct product {
    int64_t m, n, k;
    const void *a, *b;
    struct shim_layout layout_a, layout_b, layout_c;
    int32_t transposed[2];
    bool is_tf32;
    float by;
    void *c;
};

static void multiply(const struct product &p)
{
    const std::vector<float> left =
        rows_of(p.b, &p.layout_b, !p.transposed[1], p.n, p.k, p.is_tf32);
    const std::vector<float> right =
        rows_of(p.a, &p.layout_a, !p.transposed[0], p.k, p.m, p.is_tf32);
    std::vector<float> sum((size_t)(CHAINS * p.m));

    for (int64_t j = 0; j < p.n; j++) {
        for (float &s : sum)
            s = 0.0f;
        for (int64_t t = 0; t < p.k; t++)
            for (int64_t i = 0; i < p.m; i++)
                sum[(size_t)(t % CHAINS * p.m + i)] +=
                    left[(size_t)(j * p.k + t)] * right[(size_t)(t * p.m + i)];
        for (int64_t i = 0; i < p.m; i++) {
            const int64_t at = j * p.layout_c.leading + i;
            float total =
                p.by == 0.0f ? 0.0f : p.by * element(p.c, p.layout_c.type, at);

            for (int64_t c = 0; c < CHAINS; c++)
                total += sum[(size_t)(c * p.m + i)];
            if (p.layout_c.type == CUDA_R_16F)
                static_cast<uint16_t *>(p.c)[at] =
                    etx_float16_from_float(total);
            else
                static_cast<float *>(p.c)[at] = total;
        }
    }
}

static size_t bytes_of(const struct shim_layout *layout)
{
    return (size_t)((layout->columns - 1) * layout->leading + layout->rows) *
           (layout->type == CUDA_R_16F ? 2 : 4);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
    const void *alpha, const void *a, cublasLtMatrixLayout_t layout_a,
    const void *b, cublasLtMatrixLayout_t layout_b, const void *beta,
    const void *c, cublasLtMatrixLayout_t, void *d,
    cublasLtMatrixLayout_t layout_d, const cublasLtMatmulAlgo_t *algorithm,
    void *, size_t workspace_bytes, cudaStream_t stream)
{
    const shim_turn turn;
    struct product p = {0, 0, 0, a, b, *layout_a, *layout_b, *layout_d,
        {operation->transposed[0], operation->transposed[1]},
        operation->is_tf32, *static_cast<const float *>(beta), d};

    if (!sizes_of(&p.m, &p.n, &p.k, operation, layout_a, layout_b, layout_d) ||
        *static_cast<const float *>(alpha) != 1.0f || c != d)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!is_for_size(algorithm, p.m, p.n, p.k))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    check_algorithm(algorithm, operation, layout_a->type, layout_d->type,
        (uintptr_t)a | (uintptr_t)b | (uintptr_t)d, workspace_bytes);
    shim_check_reach(a, bytes_of(layout_a));
    shim_check_reach(b, bytes_of(layout_b));
    shim_check_reach(d, bytes_of(layout_d));
    if (shim_begin(SHIM_PRODUCT, stream) != cudaSuccess)
        return CUBLAS_STATUS_EXECUTION_FAILED;
    shim_queue(stream, [p]() {
        shim_enter();
        multiply(p);
        shim_leave();
    });
    return CUBLAS_STATUS_SUCCESS;
}

/* --------------------------------------------------------------- loading -- */

static int32_t is_hidden;

void shim_hide_blas(int32_t hide)
{
    is_hidden = hide;
}

void *shim_dlopen(const char *file, int)
{
    if (file != std::string("libcublasLt.so.13"))
        shim_abort("a library loaded that no device needs");
    return is_hidden ? NULL : &is_hidden;
}

const char *shim_dlerror(void)
{
    return "libcublasLt.so.13: cannot open shared object file";
}

#define FUNCTION(name)                                                         \
    {                                                                          \
#name, reinterpret_cast < void *>(name)                                \
    }

void *shim_dlsym(void *, const char *name)
{
    static const std::map<std::string, void *> functions = {
        FUNCTION(cublasLtGetStatusString), FUNCTION(cublasLtCreate),
        FUNCTION(cublasLtDestroy), FUNCTION(cublasLtMatmulDescCreate),
        FUNCTION(cublasLtMatmulDescDestroy),
        FUNCTION(cublasLtMatmulDescSetAttribute),
        FUNCTION(cublasLtMatrixLayoutCreate),
        FUNCTION(cublasLtMatrixLayoutDestroy),
        FUNCTION(cublasLtMatmulPreferenceCreate),
        FUNCTION(cublasLtMatmulPreferenceDestroy),
        FUNCTION(cublasLtMatmulPreferenceSetAttribute),
        FUNCTION(cublasLtMatmulAlgoGetHeuristic), FUNCTION(cublasLtMatmul)};
    const auto found = functions.find(name);

    return found == functions.end() ? NULL : found->second;
}
