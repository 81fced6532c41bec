/* checkop/checkop.h -- run an operator on every implementation and compare.
 *
 * A case is an operator with its arguments and outputs. checkop_verify runs it
 * on the reference and on every instruction set of this machine with a version
 * of its own (ETX_CPU=ref: on none; avx2: on that alone), with pools of 1, 2
 * and 4 threads and twice (and on a device, where there is one): outputs must
 * lie within their bounds of the reference, be the same bits for every pool and
 * run, and leave the guard zones around every buffer and the scratch arena as
 * they were. The benchmark times the same cases.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CHECKOP_CHECKOP_H
#define ETX_CHECKOP_CHECKOP_H

#include "base/random.h"
#include "op/op.h"
#include "support.h"

#define CHECKOP_MAX_OUTPUTS         80
#define CHECKOP_MAX_INPUTS          80
#define CHECKOP_N_POOLS             3
#define CHECKOP_MAX_IMPLEMENTATIONS 8

/* Relative distance of neighbouring floats. */
#define CHECKOP_EPS 1.1920929e-7

/* What random values look like. */
enum checkop_values {
    CHECKOP_NORMAL,   /* standard normal */
    CHECKOP_PRODUCTS, /* +-0, denormals, 1e-20 .. 1e15: products fit */
    CHECKOP_EXTREME   /* +-0, denormals, 1e-30 .. 1e30, FLT_MAX */
};

struct checkop_implementation {
    const char *name; /* "ref", "avx2", "avx512", "cuda" */
    struct etx_op_table ops;
    struct etx_stream *stream; /* of a device; NULL: the streams of the check */
};

struct checkop_buffer;

/* Everything a test runs with. */
extern struct checkop {
    struct etx_random random;
    enum checkop_values values; /* how checkop_floats fills */
    int32_t n_implementations;
    struct checkop_implementation
        implementation[CHECKOP_MAX_IMPLEMENTATIONS]; /* [0] the reference;
                                                      * last, uncounted: the
                                                      * device */
    struct etx_stream stream[CHECKOP_N_POOLS];       /* 1, 2, 4 threads */
    struct checkop_buffer *buffers; /* all that were allocated */
    etx_context *device;            /* NULL without one */
} check;

/* An array that the operator writes. */
struct checkop_output {
    const char *name;
    void *data;    /* [n] elements of size bytes, in a guarded buffer */
    void *initial; /* its contents before every run */
    double *bound; /* [n] floats may differ by this; NULL: same bits */
    int64_t n;
    size_t size;
};

/* A float array that the operator reads. */
struct checkop_input {
    float *data; /* [n] */
    int64_t n;
};

struct checkop_case {
    const char *op;
    char label[120]; /* sizes and kind, for messages */
    /* NULL: ops-> `op` (stream, args) */
    etx_status (*run)(const struct etx_op_table *ops, struct etx_stream *stream,
        struct checkop_case *self);
    void *args; /* the argument struct of the operator */
    void *more; /* what else run needs */
    /* Allocate and fill the bounds; called once, after the reference ran and
     * with its outputs in place. NULL: bounds are set or not wanted. */
    void (*set_bounds)(struct checkop_case *self);
    int32_t n_outputs, n_inputs;
    struct checkop_output output[CHECKOP_MAX_OUTPUTS];
    struct checkop_input input[CHECKOP_MAX_INPUTS];
    double flop; /* floating-point operations of one run, for the benchmark */
};

/* 1 in a build with CUDA=1, with or without a device. */
extern const int32_t checkop_is_cuda_build;
/* Memory that the host and a device, where there is one, both reach. */
void *checkop_shared_alloc(size_t bytes);
void checkop_shared_free(void *memory);

/* Ends the program unless ETX_OK: for cases, which the benchmark runs, too. */
void checkop_must(etx_status status);

/* A test (case.h) between checkop_start and checkop_stop, which checks the
 * guard zones of all buffers, then frees everything. */
#define CHECKOP_TEST(...)                                                      \
    ETX_TEST_WITH(checkop_start, checkop_stop, __VA_ARGS__)

/* A test that verifies the case `one` which make makes, for every _i. */
#define CHECKOP_VERIFY(name, rows_, make)                                      \
    CHECKOP_TEST(name, .rows = rows_)                                          \
    {                                                                          \
        struct checkop_case one;                                               \
                                                                               \
        make;                                                                  \
        checkop_verify(&one);                                                  \
    }

void checkop_start(void);
void checkop_stop(void);

/* Guarded memory, zeroed; n elements, aligned for one element and no more. */
void *checkop_buffer(int64_t n, size_t size);
/* The same with a copy of these values: a device reaches no array of a test. */
void *checkop_copy(const void *values, int64_t n, size_t size);
/* Filled as check.values says. */
float *checkop_floats(int64_t n);
float *checkop_uniform(int64_t n, float low, float high);
/* Uniform in 0 .. bound - 1. */
int32_t *checkop_indices(int64_t n, int32_t bound);
/* A random order of 0 .. n - 1. */
int32_t *checkop_permutation(int64_t n);
/* Offsets [n_segments + 1] of n_values in segments of random lengths: some
 * are empty, one is long. */
int64_t *checkop_offsets(int64_t n_segments, int64_t n_values);

/* Zeroes the case and returns its arguments, args_size zeroed bytes. */
void *checkop_begin(
    struct checkop_case *self, const char *op, size_t args_size);
/* Keeps the present contents of data as the initial ones. */
struct checkop_output *checkop_add_output(struct checkop_case *self,
    const char *name, void *data, int64_t n, size_t size);
/* The same of an array, by its own name and size of elements. */
#define CHECKOP_OUTPUT(self, array, n)                                         \
    ((void)checkop_add_output(self, #array, array, n, sizeof *(array)))
void checkop_add_input(struct checkop_case *self, float *data, int64_t n);
/* Sizes and kind, for messages. */
__attribute__((format(printf, 2, 3))) void checkop_label(
    struct checkop_case *self, const char *format, ...);

/* Bounds [output->n], all of this value. */
void checkop_flat_bound(struct checkop_output *output, double value);
/* 8 eps sqrt(n_terms) magnitude, and what underflow may lose. */
double checkop_sum_bound(int64_t n_terms, double magnitude);
/* For deep computations: every input is moved by relative eps sqrt(n_terms),
 * twice; each output may differ by 16 times the largest change seen in it. */
void checkop_perturbation_bounds(struct checkop_case *self, int64_t n_terms);

/* One run with these operators. */
etx_status checkop_run(const struct etx_op_table *ops,
    struct etx_stream *stream, struct checkop_case *self);
/* Run once on the reference; fails the test unless it answers ETX_OK. */
void checkop_run_reference(struct checkop_case *self);
/* Run with these operators; copy[k] = what output k is then, in new buffers. */
void checkop_run_and_copy(
    float **copy, struct checkop_case *self, const struct etx_op_table *ops);
/* Whether implementation i has a version of the operator of its own. */
int32_t checkop_is_own(int32_t i, const struct checkop_case *self);
void checkop_verify(struct checkop_case *self);
/* Every implementation answers `expected` and gives its scratch back. */
void checkop_verify_failure(struct checkop_case *self, etx_status expected);
/* The same where the host cancels, and in arenas that are too small. */
void checkop_verify_interrupted(struct checkop_case *self);

/* Compare the gradient that a backward operator gave with central differences
 * of objective(user), a function of x [n], at `n_points` random points (all
 * when that is n): |difference| <= relative * |slope| + absolute * scale. */
struct checkop_slope {
    const char *name;
    double (*objective)(void *user);
    void *user;
    float *x;              /* [n] */
    const float *gradient; /* [n] */
    int64_t n, n_points;
    float step; /* of the differences */
    double relative, absolute;
    double scale; /* of slopes; 0: the largest of gradient */
};
void checkop_verify_slope(const struct checkop_slope *slope);
/* sum of a[t] * b[t] in float64: an objective from outputs. */
double checkop_dot(const float *a, const float *b, int64_t n);

#endif
