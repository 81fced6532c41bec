// find_tracks.cpp -- the tracks of a TrackML event as a host with ACTS gets
// them: hits sorted by module, node features, module ids, the pipeline.
//
//   find_tracks MODEL xyz|polar|cells with|without EVENT DETECTORS OUT.csv
//
// xyz: positions; polar: r, phi, z with the scales of ACTS's examples; cells:
// positions, CellCount, ClusterLoc0 and ClusterLoc1; with module ids or
// without.
//
// SPDX-License-Identifier: Apache-2.0
#include "pipeline.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace
{

exatrkx::Config configOf(const std::string &model, const std::string &kind)
{
    exatrkx::Config out;

    out.model = model;
    if (kind == "polar")
        out.columns = {{"r", 1000}, {"phi", 3.14159274F}, {"z", 1000}};
    else
        out.columns = {{"x", 1}, {"y", 1}, {"z", 1}};
    if (kind == "cells") {
        out.columns.insert(out.columns.end(),
            {{"cell_count", 1}, {"size_u", 1}, {"size_v", 1}});
        out.pitches = pitches;
    }
    return out;
}

void addFeatures(std::vector<float> &out, const std::string &kind,
    const float *p, const float *cells)
{
    if (kind == "polar") {
        out.insert(
            out.end(), {std::hypot(p[0], p[1]) / 1000,
                           std::atan2(p[1], p[0]) / 3.14159274F, p[2] / 1000});
        return;
    }
    out.insert(out.end(), {p[0], p[1], p[2]});
    if (kind == "cells") {
        const auto sizes = sizesOf(p, cells);
        out.insert(out.end(), sizes.begin(), sizes.end());
    }
}

void findTracks(char **argument)
{
    const std::string kind = argument[2];
    const auto detector = etx::Detector::read(argument[5]);
    const auto event = etx::Event::read_trackml(argument[4], &detector);
    const auto n = static_cast<std::size_t>(event.n_hits());
    const float *cells = etx_event_cell_features(event.get());
    std::vector<std::uint64_t> ids;
    std::vector<std::int32_t> rows(n);
    std::vector<float> features;
    std::vector<std::int64_t> offsets = {0};
    std::vector<std::int32_t> hits;
    std::vector<int> spacePoints(n);

    for (std::size_t i = 0; i < n; i++)
        ids.push_back(idOf(etx_event_volume_ids(event.get())[i],
            etx_event_layer_ids(event.get())[i],
            etx_event_module_ids(event.get())[i]));
    std::iota(rows.begin(), rows.end(), 0);
    std::iota(spacePoints.begin(), spacePoints.end(), 0);
    std::stable_sort(
        rows.begin(), rows.end(), [&](std::int32_t a, std::int32_t b) {
            return ids[static_cast<std::size_t>(a)] <
                   ids[static_cast<std::size_t>(b)];
        });
    for (const std::int32_t row : rows)
        addFeatures(features, kind, event.positions().data() + 3 * row,
            cells + 9 * row);
    if (std::strcmp(argument[3], "without") == 0)
        ids.clear();
    for (const auto &track :
        pipelineOf(configOf(argument[1], kind))
            .run(features, ids, spacePoints, gnn::Device::Cpu())) {
        for (const int hit : track)
            hits.push_back(rows[static_cast<std::size_t>(hit)]);
        offsets.push_back(static_cast<std::int64_t>(hits.size()));
    }
    etx::Tracks::from_lists(event.n_hits(), offsets, hits)
        .write_csv(event, argument[6]);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 7) {
        std::fprintf(stderr,
            "usage: %s MODEL xyz|polar|cells with|without EVENT DETECTORS "
            "OUT.csv\n",
            argv[0]);
        return 2;
    }
    findTracks(argv);
    return 0;
}
