// test_pipeline.cpp -- ACTS's GnnPipeline with the stages of the shipped model,
// under floating-point traps as ACTS sets them.
//
//   test_pipeline EXAMPLES [device]    device: what needs one alone
//
// SPDX-License-Identifier: Apache-2.0
#include "pipeline.hpp"

#include <atomic>
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <numeric>
#include <set>
#include <thread>

namespace
{

void must(etx_status status)
{
    if (status != ETX_OK)
        throw std::runtime_error(etx_last_error());
}

/// A shipped event and what the library itself finds in it without modules.
struct Reference {
    std::vector<float> cartesian; ///< x, y, z [n, 3]
    std::vector<float> polar;     ///< r, phi, z, scaled [n, 3]
    /// x, y, z, cell_count, size_u, size_v [n, 6]
    std::vector<float> sized;
    std::size_t n = 0;
    Tracks tracks;      ///< from positions
    Tracks sizedTracks; ///< from positions and cells
    /// On a device, where the library and ACTS have one.
    std::optional<Tracks> deviceTracks, deviceSizedTracks;
};

constexpr float polarScale[] = {1000.0F, 3.14159274F, 1000.0F};

void fillFeatures(Reference &out, const etx_event *event)
{
    const float *x = etx_event_positions(event);
    const float *cells = etx_event_cell_features(event);

    for (std::size_t i = 0; i < out.n; i++) {
        const float *p = x + 3 * i;
        const auto sizes = sizesOf(p, cells + 9 * i);

        out.cartesian.insert(out.cartesian.end(), {p[0], p[1], p[2]});
        out.sized.insert(
            out.sized.end(), {p[0], p[1], p[2], sizes[0], sizes[1], sizes[2]});
        out.polar.insert(out.polar.end(),
            {std::hypot(p[0], p[1]) / polarScale[0],
                std::atan2(p[1], p[0]) / polarScale[1], p[2] / polarScale[2]});
    }
}

Tracks find(const etx_event *event, const std::string &modelPath,
    bool withCells, std::int32_t device = ETX_DEVICE_CPU)
{
    Tracks out;
    etx_context_options options;
    etx_model *model = nullptr;
    etx_context *context = nullptr;
    etx_tracks *tracks = nullptr;
    etx_event *bare = nullptr;

    must(etx_model_load(&model, modelPath.c_str()));
    must(etx_context_options_init(&options, sizeof options));
    options.device = device;
    must(etx_context_create(&context, &options));
    must(etx_event_create(&bare, etx_event_n_hits(event),
        etx_event_hit_ids(event), etx_event_positions(event)));
    if (withCells)
        must(etx_event_set_cell_features(bare, etx_event_cell_features(event)));
    must(etx_find_tracks(&tracks, context, model, bare));
    const std::int64_t *offset = etx_tracks_offsets(tracks);
    for (std::int64_t t = 0; t < etx_tracks_count(tracks); t++)
        out.emplace_back(etx_tracks_hits(tracks) + offset[t],
            etx_tracks_hits(tracks) + offset[t + 1]);
    etx_tracks_free(tracks);
    etx_event_free(bare);
    etx_context_free(context);
    etx_model_free(model);
    return out;
}

Reference read(const std::string &examples, const std::string &modelPath)
{
    Reference out;
    etx_detector *detector = nullptr;
    etx_event *event = nullptr;
    const std::string data = examples + "/data/";

    must(etx_detector_read(&detector, (data + "detectors.csv.gz").c_str()));
    must(etx_event_read_trackml(
        &event, (data + "event000000001").c_str(), detector));
    out.n = static_cast<std::size_t>(etx_event_n_hits(event));
    fillFeatures(out, event);
    out.tracks = find(event, modelPath, false);
    out.sizedTracks = find(event, modelPath, true);
    if (hasDevice()) {
        out.deviceTracks = find(event, modelPath, false, ETX_DEVICE_CUDA);
        out.deviceSizedTracks = find(event, modelPath, true, ETX_DEVICE_CUDA);
    }
    etx_event_free(event);
    etx_detector_free(detector);
    return out;
}

Tracks run(const GnnPipeline &pipeline, std::vector<float> features,
    std::size_t n, gnn::Device device = gnn::Device::Cpu())
{
    // Of layers that no model knows.
    std::vector<std::uint64_t> modules(n);
    std::vector<int> ids(n);

    std::iota(modules.rbegin(), modules.rend(), 0U);
    std::iota(ids.begin(), ids.end(), 0);
    return pipeline.run(features, modules, ids, device);
}

void testThreads(const GnnPipeline &pipeline, const Reference &event)
{
    constexpr int nThreads = 8;
    constexpr int nEvents = 50;
    std::vector<std::thread> threads;
    std::atomic<int> nSame = 0;

    for (int t = 0; t < nThreads; t++)
        threads.emplace_back([&] {
            for (int k = 0; k < nEvents; k++)
                if (run(pipeline, event.cartesian, event.n) == event.tracks)
                    nSame++;
        });
    for (std::thread &thread : threads)
        thread.join();
    expect(nSame == nThreads * nEvents, "8 threads, 50 events each: the same");
}

void testContexts(const exatrkx::Config &config, const Reference &event)
{
    exatrkx::Config other = config;

    other.threads = 2;
    expect(run(pipelineOf(other), event.cartesian, event.n) == event.tracks,
        "two threads in each call: the same");
    other.memoryLimit = 100000;
    try {
        run(pipelineOf(other), event.cartesian, event.n);
        expect(false, "a memory limit: no error");
    } catch (const std::runtime_error &error) {
        expect(
            std::string(error.what()).find("memory limit") != std::string::npos,
            "too little memory: an error that names the limit");
    }
}

void testPolar(const std::string &model, const Reference &event)
{
    const auto pipeline = pipelineOf({model,
        {{"r", polarScale[0]}, {"phi", polarScale[1]}, {"z", polarScale[2]}},
        std::nullopt});
    const Tracks found = run(pipeline, event.polar, event.n);
    const std::set<std::vector<int>> all(found.begin(), found.end());
    std::size_t nSame = 0;

    for (const auto &track : event.tracks)
        nSame += all.count(track);
    // Positions come back with rounding, which may decide an edge at a cut.
    expect(nSame + event.tracks.size() / 50 >= event.tracks.size(),
        "r, phi, z with scales: the same tracks but for one in fifty");
}

/// The error of stages that cannot be created; empty for the others.
std::string mistake(const exatrkx::Config &config)
{
    try {
        const exatrkx::Stages stages(config);
    } catch (const std::runtime_error &error) {
        return error.what();
    }
    return "";
}

/// Sizes in cells and pitches stand for the extents of the default model, and
/// columns of clusters are positions.
void testSizes(const std::string &model, const Reference &event)
{
    exatrkx::Config config{model,
        {{"x", 1}, {"y", 1}, {"z", 1}, {"cell_count", 1}, {"size_u", 1},
            {"size_v", 1}},
        std::nullopt};

    expect(mistake(config).find("column lx ") != std::string::npos,
        "sizes without pitches: an error that names the extent");
    config.pitches = pitches;
    expect(run(pipelineOf(config), event.sized, event.n) == event.sizedTracks,
        "sizes and pitches: what etx_find_tracks finds with the extents");
    exatrkx::Config alone = config;
    alone.columns.erase(alone.columns.begin() + 3);
    alone.pitches.clear();
    expect(mistake(alone).find("column cell_count ") != std::string::npos,
        "sizes alone: an error that names the count");
    config.columns.push_back({"cluster_x_1", 1});
    expect(
        mistake(config).find("cluster_x_1 and the like") != std::string::npos,
        "a part of a cluster's position: an error that names the columns");
}

/// Tensors on a device: positions that are read there, and columns that are
/// not; several threads on one device.
void testDevice(const std::string &model, const Reference &event)
{
    if (!event.deviceTracks) {
        std::puts("SKIPPED tensors on a device: there is none");
        return;
    }
    const auto pipeline =
        pipelineOf({model, {{"x", 1}, {"y", 1}, {"z", 1}}, std::nullopt});
    const auto sized = pipelineOf({model,
        {{"x", 1}, {"y", 1}, {"z", 1}, {"cell_count", 1}, {"size_u", 1},
            {"size_v", 1}},
        std::nullopt, 1, 0, pitches});
    const auto device = gnn::Device::Cuda();
    std::vector<std::thread> threads;
    std::atomic<int> nSame = 0;

    for (int t = 0; t < 2; t++)
        threads.emplace_back([&] {
            nSame += run(pipeline, event.cartesian, event.n, device) ==
                     event.deviceTracks;
        });
    for (std::thread &thread : threads)
        thread.join();
    expect(nSame == 2, "on a device: what etx_find_tracks finds there");
    expect(run(sized, event.sized, event.n, device) == event.deviceSizedTracks,
        "with cells: what etx_find_tracks finds there");
    expect(run(pipeline, {30, 0, 0, -900, 0, 2000}, 2, device).empty(),
        "no edges on a device: no tracks");
}

/// A filter alone, whose scores are all 0.5.
void writeFilter(const std::string &path)
{
    const std::string header =
        R"({"__metadata__":{"etx.config":"{\"schema\": 1, \"filter\": )"
        R"({\"arch\": \"edge_filter\", \"options\": {\"hidden\": []}, )"
        R"(\"node_features\": [{\"name\": \"r\", \"scale\": 1000.0}], )"
        R"(\"cut\": 0.25}}"},"filter.layers.0.bias":{"dtype":"F32",)"
        R"("shape":[1],"data_offsets":[0,4]},"filter.layers.0.weight":)"
        R"({"dtype":"F32","shape":[1,2],"data_offsets":[4,12]}})";
    const std::uint64_t size = header.size() + (8 - header.size() % 8) % 8;
    std::ofstream out(path, std::ios::binary);

    out.write(reinterpret_cast<const char *>(&size), sizeof size);
    out << header << std::string(size - header.size() + 12, '\0');
}

/// How many edges leave the classifiers, of one between two hits.
std::size_t classify(const exatrkx::Stages &stages)
{
    const gnn::ExecutionContext host{gnn::Device::Cpu(), {}};
    gnn::PipelineTensors tensors{gnn::Tensor<float>::Create({2, 3}, host),
        gnn::Tensor<std::int64_t>::Create({2, 1}, host), std::nullopt,
        std::nullopt};

    std::iota(
        tensors.nodeFeatures.data(), tensors.nodeFeatures.data() + 6, 1.0F);
    std::iota(tensors.edgeIndex.data(), tensors.edgeIndex.data() + 2, 0);
    try {
        for (const auto &stage : stages.edgeClassifiers())
            tensors = (*stage)(std::move(tensors), host);
    } catch (const gnn::NoEdgesError &) {
        return 0;
    }
    return tensors.edgeIndex.shape()[1];
}

/// Models without an embedding, for the graphs of the host.
void testFilterAlone()
{
    const std::string path = "filter.safetensors";
    const std::vector<exatrkx::Column> columns = {{"x", 1}, {"y", 1}, {"z", 1}};

    writeFilter(path);
    expect(mistake({path, columns, std::nullopt}).empty(),
        "a filter alone: no error");
    expect(classify(exatrkx::Stages({path, columns, 0.4F})) == 1 &&
               classify(exatrkx::Stages({path, columns, 0.6F})) == 0,
        "a filter that is the last classifier: the cut is its own");
    std::remove(path.c_str());
}

void testMistakes(const std::string &model)
{
    const std::vector<exatrkx::Column> bare = {
        {"r", 1000}, {"phi", 1}, {"z", 1000}};
    std::vector<exatrkx::Column> counts = bare;
    counts.push_back({"cell_count", 1});
    std::vector<exatrkx::Column> sizes = counts;
    sizes.insert(sizes.end(), {{"lx", 1}, {"ly", 1}});

    const std::string strict = "cells-required.safetensors";

    copyModel(model, strict, "optional", "required");
    std::string text = mistake({strict, bare, std::nullopt});
    std::remove(strict.c_str());
    expect(text.find("log_cell_count") != std::string::npos &&
               text.find("phi (scale 1)") != std::string::npos,
        "a feature that is missing: an error that names both sides");
    text = mistake({model, counts, std::nullopt});
    expect(text.find("column lx ") != std::string::npos &&
               text.find("cell_count (scale 1)") != std::string::npos,
        "some cell columns of those needed: an error that names the first");
    expect(mistake({model, bare, std::nullopt}).empty() &&
               mistake({model, sizes, std::nullopt}).empty(),
        "no cell columns, or all that are needed: none");
    text = mistake({model + ".not", {}, std::nullopt});
    expect(text.find(".not") != std::string::npos, "no such file: its name");
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3) {
        std::fprintf(stderr, "usage: %s EXAMPLES [device]\n", argv[0]);
        return 2;
    }
    const std::string examples = argv[1];
    const std::string model = examples + "/models/default.safetensors";
    const Reference event = read(examples, model);
    const exatrkx::Config config{
        model, {{"x", 1}, {"y", 1}, {"z", 1}}, std::nullopt};
    const auto pipeline = pipelineOf(config);

    testDevice(model, event);
    if (argc == 3)
        return failures == 0 ? 0 : 1;
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    expect(!event.tracks.empty(), "the event has tracks");
    expect(run(pipeline, event.cartesian, event.n) == event.tracks,
        "the pipeline finds what etx_find_tracks finds");
    expect(run(pipeline, {}, 0).empty(), "no hits: no tracks");
    expect(run(pipeline, {30, 0, 0, -900, 0, 2000}, 2).empty(),
        "no edges: no tracks");
    testPolar(model, event);
    testContexts(config, event);
    testMistakes(model);
    testFilterAlone();
    testSizes(model, event);
    testThreads(pipeline, event);
    return failures == 0 ? 0 : 1;
}
