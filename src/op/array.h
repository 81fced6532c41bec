/* op/array.h -- arguments of the operators on plain arrays.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_ARRAY_H
#define ETX_OP_ARRAY_H

#include <stdint.h>

/* fill: y[i] = value. */
struct etx_fill_args {
    int64_t n;
    float value;
    float *y; /* [n] */
};

/* columns: y[i, k] = x[i, k] for k < width, with row strides x_stride and
 * y_stride. With centre, the mean of column k (in float64) is subtracted. With
 * add, which excludes centre, y[i, k] += x[i, k]. */
struct etx_columns_args {
    int64_t n_rows;
    int32_t width;
    int32_t centre;
    int64_t x_stride, y_stride; /* at least width */
    const float *x;             /* [n_rows, x_stride] */
    float *y;                   /* [n_rows, y_stride] */
    int32_t add;
};

/* gather: y[i] = x[index[i]]. */
struct etx_gather_args {
    int64_t n_rows;
    int32_t width;
    int32_t add;          /* 1: y += */
    const float *x;       /* [rows, width] */
    const int32_t *index; /* [n_rows] */
    float *y;             /* [n_rows, width] */
};

/* scatter: y[index[i]] = x[i], or += x[i]; the indices are distinct. */
struct etx_scatter_args {
    int64_t n_rows;
    int32_t width;
    int32_t add;          /* 1: y += */
    const float *x;       /* [n_rows, width] */
    const int32_t *index; /* [n_rows] */
    float *y;             /* [rows, width] */
};

/* add: y += alpha * x. */
struct etx_add_args {
    int64_t n;
    float alpha;
    const float *x; /* [n] */
    float *y;       /* [n] */
};

/* row_dot: out[i] = sum_k a[a_index[i], k] * b[b_index[i], k]. */
struct etx_row_dot_args {
    int64_t n_rows;
    int32_t width;
    const float *a;         /* [rows, width] */
    const int32_t *a_index; /* [n_rows] or NULL */
    const float *b;         /* [rows, width] */
    const int32_t *b_index; /* [n_rows] or NULL */
    float *out;             /* [n_rows] */
};

/* gather_edges: edges index[k] of a graph, or of arrays of ends. */
struct etx_gather_edges_args {
    int64_t n;
    const int32_t *index; /* [n] */
    const int32_t *src;   /* [edges] */
    const int32_t *dst;   /* [edges] or NULL */
    const float *score;   /* [edges] or NULL */
    int32_t *src_out;     /* [n] */
    int32_t *dst_out;     /* [n] with dst */
    float *score_out;     /* [n] with score */
};

/* read_edge_index: src[e] = index[0, e] and dst[e] = index[1, e]. *bad is the
 * first e with an end outside 0 .. n_nodes - 1 or a score outside [0, 1], or
 * -1; the ends of such edges are 0. */
struct etx_read_edge_index_args {
    int64_t n_nodes;
    int64_t n_edges;
    const int64_t *index; /* [2, n_edges] */
    const float *score;   /* [n_edges] or NULL */
    int32_t *src;         /* [n_edges] */
    int32_t *dst;         /* [n_edges] */
    int64_t *bad;         /* [1] */
};

/* write_edge_index: index[0, k] = src[e] and index[1, k] = dst[e] of edge
 * e = selected[k]. */
struct etx_write_edge_index_args {
    int64_t n;
    const int32_t *selected; /* [n] or NULL: e = k */
    const int32_t *src;      /* [edges] */
    const int32_t *dst;      /* [edges] */
    const float *score;      /* [edges] or NULL */
    int64_t *index;          /* [2, n] */
    float *score_out;        /* [n] with score */
};

/* find_not_finite: the first i whose x[i] is infinite or not a number. */
struct etx_find_not_finite_args {
    int64_t n;
    const float *x; /* [n] */
    int64_t *index; /* [1]; -1: all are finite */
};

/* scale: y[i] *= factor. */
struct etx_scale_args {
    int64_t n;
    float factor;
    float *y; /* [n] */
};

/* sum_squares: *sum = sum of x[i]^2 in float64; NaN or infinite where an x[i]
 * is. Tolerance n eps of float64. */
struct etx_sum_squares_args {
    int64_t n;
    const float *x; /* [n] */
    double *sum;    /* in host memory */
};

/* 16-bit floating-point formats. */
enum etx_half {
    ETX_HALF_NONE,     /* float32; not for narrow and widen */
    ETX_HALF_BFLOAT16, /* base/bfloat16.h */
    ETX_HALF_FLOAT16,  /* base/float16.h */
    ETX_N_HALVES
};

/* narrow: y[i] = x[i] rounded to nearest, ties to even. Exact, except that a
 * NaN may change its payload. */
struct etx_narrow_args {
    int64_t n;
    int32_t format; /* enum etx_half */
    const float *x; /* [n] */
    uint16_t *y;    /* [n] */
};

/* widen: y[i] = x[i], exactly. */
struct etx_widen_args {
    int64_t n;
    int32_t format;    /* enum etx_half */
    const uint16_t *x; /* [n] */
    float *y;          /* [n] */
};

/* X(name) for every operator of this header. */
#define ETX_ARRAY_OPERATORS(X)                                                 \
    X(fill)                                                                    \
    X(columns)                                                                 \
    X(gather)                                                                  \
    X(scatter)                                                                 \
    X(add)                                                                     \
    X(row_dot)                                                                 \
    X(gather_edges)                                                            \
    X(read_edge_index)                                                         \
    X(write_edge_index)                                                        \
    X(find_not_finite)                                                         \
    X(scale)                                                                   \
    X(sum_squares)                                                             \
    X(narrow)                                                                  \
    X(widen)

#endif
