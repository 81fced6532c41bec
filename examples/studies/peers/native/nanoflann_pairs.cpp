// native/nanoflann_pairs.cpp -- pairs within a radius by nanoflann's k-d tree.
//
// SPDX-License-Identifier: Apache-2.0
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <nanoflann.hpp>
#include <utility>
#include <vector>

namespace {

using Pairs = std::vector<std::pair<int32_t, int32_t>>;

// Points [count, dimensions], row-major, as nanoflann wants to see them.
struct Points {
    const float *value;
    size_t count;
    int dimensions;

    size_t kdtree_get_point_count() const { return count; }
    float kdtree_get_pt(size_t row, size_t column) const
    {
        return value[row * static_cast<size_t>(dimensions) + column];
    }
    template <class Box> bool kdtree_get_bbox(Box &) const { return false; }
};

// Collects what is found around a point and keeps the rows beyond its own, so
// that every pair is found once.
struct Beyond {
    int32_t row;
    float square;
    Pairs *pairs;

    size_t size() const { return pairs->size(); }
    bool empty() const { return pairs->empty(); }
    bool full() const { return true; }
    float worstDist() const { return square; }
    void sort() {}
    bool addPoint(float distance, uint32_t index)
    {
        if (distance < square && static_cast<int32_t>(index) > row)
            pairs->emplace_back(row, static_cast<int32_t>(index));
        return true;
    }
};

template <int DIMENSIONS>
void search(const Points &points, float radius, int n_threads,
    std::vector<Pairs> &found)
{
    using Metric = nanoflann::L2_Simple_Adaptor<float, Points>;
    using Tree = nanoflann::KDTreeSingleIndexAdaptor<Metric, Points,
        DIMENSIONS, uint32_t>;
    Tree tree(points.dimensions, points,
        nanoflann::KDTreeSingleIndexAdaptorParams(20));

    tree.buildIndex();
#pragma omp parallel num_threads(n_threads)
    {
        Pairs &pairs = found[static_cast<size_t>(omp_get_thread_num())];
#pragma omp for schedule(dynamic, 256)
        for (int64_t row = 0; row < static_cast<int64_t>(points.count); row++) {
            Beyond beyond{static_cast<int32_t>(row), radius * radius, &pairs};
            tree.findNeighbors(
                beyond, points.value + row * points.dimensions, {});
        }
    }
}

} // namespace

// Writes up to capacity pairs to out [capacity, 2]; the number that was found.
extern "C" int64_t nanoflann_pairs(int32_t *out, int64_t capacity,
    const float *points, int64_t n_points, int32_t n_dim, float radius,
    int32_t n_threads)
{
    const Points all{points, static_cast<size_t>(n_points), n_dim};
    std::vector<Pairs> found(static_cast<size_t>(n_threads));
    int64_t n_pairs = 0;

    if (n_dim == 8)
        search<8>(all, radius, n_threads, found);
    else
        search<-1>(all, radius, n_threads, found);
    for (const Pairs &pairs : found)
        for (const auto &[row, other] : pairs) {
            if (n_pairs < capacity) {
                out[2 * n_pairs] = row;
                out[2 * n_pairs + 1] = other;
            }
            n_pairs++;
        }
    return n_pairs;
}
