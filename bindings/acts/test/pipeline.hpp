// pipeline.hpp -- the pipeline of whichever ACTS there is, and what the tests
// share.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EXATRKX_TEST_PIPELINE_HPP
#define EXATRKX_TEST_PIPELINE_HPP

#include <exatrkx/acts.hpp>
#include <exatrkx/exatrkx.hpp>

#if __has_include(<ActsPlugins/Gnn/GnnPipeline.hpp>)
#include <ActsPlugins/Gnn/GnnPipeline.hpp>
using ActsPlugins::GnnHook;
using ActsPlugins::GnnPipeline;
#elif __has_include(<Acts/Plugins/Gnn/GnnPipeline.hpp>)
#include <Acts/Plugins/Gnn/GnnPipeline.hpp>
using Acts::GnnHook;
using Acts::GnnPipeline;
#else
#include <Acts/Plugins/ExaTrkX/ExaTrkXPipeline.hpp>
using GnnHook = Acts::ExaTrkXHook;
using GnnPipeline = Acts::ExaTrkXPipeline;
#endif

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace gnn = exatrkx::gnn;
using Tracks = std::vector<std::vector<int>>;

inline int failures = 0;

inline void expect(bool condition, const char *what)
{
    std::printf("%s  %s\n", condition ? "ok  " : "FAIL", what);
    failures += condition ? 0 : 1;
}

inline auto logger()
{
    return Acts::getDefaultLogger("test", Acts::Logging::WARNING);
}

inline GnnPipeline pipelineOf(const exatrkx::Config &config)
{
    const exatrkx::Stages stages(config);

    return GnnPipeline(stages.graphConstruction(), stages.edgeClassifiers(),
        stages.trackBuilding(), logger());
}

/// Whether ACTS makes tensors on a device, and the library computes there.
inline bool hasDevice()
{
#if defined(ACTS_GNN_WITH_CUDA) || defined(ACTS_EXATRKX_WITH_CUDA)
    etx_context_options options = etx::context_options();
    etx_context *context = nullptr;

    options.device = ETX_DEVICE_CUDA;
    const etx_status status = etx_context_create(&context, &options);
    etx_context_free(context);
    return status == ETX_OK;
#else
    return false;
#endif
}

/// The hits of each track.
inline Tracks listsOf(const etx::Tracks &tracks)
{
    Tracks out;

    for (std::size_t t = 0; t < tracks.size(); t++)
        out.emplace_back(tracks[t].begin(), tracks[t].end());
    return out;
}

/// Of the TrackML detector: pixels, short strips, long ones in barrel and
/// endcaps.
inline const std::vector<exatrkx::Pitch> pitches = {
    {200, 4000, 0.05F, 0.05625F}, {720, 4000, 0.08F, 1.2F},
    {1100, 1150, 0.12F, 10.8F}, {1100, 4000, 0.12F, 10.4F}};

/// CellCount, ClusterLoc0 and ClusterLoc1 of a hit.
inline std::array<float, 3> sizesOf(const float *position, const float *cells)
{
    const float r = std::hypot(position[0], position[1]);
    const bool isLong = r > 720;
    const bool isEndcap = std::abs(position[2]) > 1150;
    const exatrkx::Pitch &pitch = pitches[isLong ? 2 + isEndcap : r > 200];

    return {cells[0], std::round(cells[4] / pitch.u),
        std::round(cells[5] / pitch.v)};
}

/// Of a module, as Acts::GeometryIdentifier packs it.
inline std::uint64_t idOf(int volume, int layer, int module)
{
    return static_cast<std::uint64_t>(volume) << 56U |
           static_cast<std::uint64_t>(layer) << 36U |
           static_cast<std::uint64_t>(module) << 8U;
}

/// A copy of a model with another text everywhere, of the same length.
inline void copyModel(const std::string &from, const std::string &to,
    const std::string &text, const std::string &other)
{
    std::ifstream in(from, std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(in), {});

    for (auto at = bytes.find(text); at != std::string::npos;
         at = bytes.find(text))
        bytes.replace(at, text.size(), other);
    std::ofstream(to, std::ios::binary) << bytes;
}

#endif
