// test_modules.cpp -- hits with module ids in the pipeline of ACTS: what the
// library finds, with its first pass and completion.
//
//   test_modules EXAMPLES [device]    device: what needs one alone
//
// SPDX-License-Identifier: Apache-2.0
#include "pipeline.hpp"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <functional>
#include <numeric>
#include <set>
#include <sstream>
#include <thread>
#include <tuple>
#include <type_traits>

#if __has_include(<ActsPlugins/Gnn/BoostTrackBuilding.hpp>)
#include <ActsPlugins/Gnn/BoostTrackBuilding.hpp>
#include <ActsPlugins/Gnn/GraphStoreHook.hpp>
#include <ActsPlugins/Gnn/TruthGraphMetricsHook.hpp>
#define HAS_BOOST_AND_HOOKS
#elif __has_include(<Acts/Plugins/Gnn/BoostTrackBuilding.hpp>)
#include <Acts/Plugins/Gnn/BoostTrackBuilding.hpp>
#include <Acts/Plugins/Gnn/GraphStoreHook.hpp>
#include <Acts/Plugins/Gnn/TruthGraphMetricsHook.hpp>
#define HAS_BOOST_AND_HOOKS
#elif __has_include(<Acts/Plugins/ExaTrkX/BoostTrackBuilding.hpp>)
#include <Acts/Plugins/ExaTrkX/BoostTrackBuilding.hpp>
#include <Acts/Plugins/ExaTrkX/GraphStoreHook.hpp>
#include <Acts/Plugins/ExaTrkX/TruthGraphMetricsHook.hpp>
#define HAS_BOOST_AND_HOOKS
#endif

namespace
{

using Ids = std::vector<std::uint64_t>;

const std::vector<exatrkx::Column> position = {{"x", 1}, {"y", 1}, {"z", 1}};

/// Hits of a shipped event in some order.
struct Sample {
    std::vector<float> x;      ///< x, y, z [n, 3]
    std::vector<float> sized;  ///< x, y, z, cell_count, size_u, size_v [n, 6]
    std::vector<float> placed; ///< x, y, z, volume, layer, module / 10 [n, 6]
    Ids ids;                   ///< of the hits
    etx::Event bare, full;     ///< the same without cells, and with them
    std::size_t n = 0;
};

Sample take(const etx::Event &event, const std::vector<std::int32_t> &rows)
{
    const float *cells = etx_event_cell_features(event.get());
    std::vector<float> cellsOut;
    std::vector<std::int32_t> volume, layer, module;
    Sample out;

    out.n = rows.size();
    for (const std::int32_t row : rows) {
        const float *p = event.positions().data() + 3 * row;
        const auto sizes = sizesOf(p, cells + 9 * row);

        volume.push_back(etx_event_volume_ids(event.get())[row]);
        layer.push_back(etx_event_layer_ids(event.get())[row]);
        module.push_back(etx_event_module_ids(event.get())[row]);
        out.ids.push_back(idOf(volume.back(), layer.back(), module.back()));
        out.x.insert(out.x.end(), p, p + 3);
        cellsOut.insert(cellsOut.end(), cells + 9 * row, cells + 9 * row + 9);
        out.sized.insert(
            out.sized.end(), {p[0], p[1], p[2], sizes[0], sizes[1], sizes[2]});
        out.placed.insert(out.placed.end(),
            {p[0], p[1], p[2], static_cast<float>(volume.back()),
                static_cast<float>(layer.back()),
                static_cast<float>(module.back()) / 10});
    }
    out.bare = etx::Event(out.x);
    out.full = etx::Event(out.x);
    out.full.set_cell_features(cellsOut);
    for (etx::Event *const to : {&out.bare, &out.full})
        to->set_modules(volume, layer, module);
    return out;
}

etx::Event readEvent(const std::string &examples, const std::string &name)
{
    const auto detector =
        etx::Detector::read(examples + "/data/detectors.csv.gz");

    return etx::Event::read_trackml(examples + "/data/" + name, &detector);
}

/// All hits in an order that no one chose.
Sample mixed(const etx::Event &event)
{
    const auto n = static_cast<std::int32_t>(event.n_hits());
    std::vector<std::int32_t> rows(static_cast<std::size_t>(n));

    std::iota(rows.begin(), rows.end(), 0);
    std::sort(rows.begin(), rows.end(), [](std::int32_t a, std::int32_t b) {
        return std::tuple(a % 97, a) < std::tuple(b % 97, b);
    });
    return take(event, rows);
}

/// Sorted by module id, as TrackFindingAlgorithmGnn hands them over.
Sample sorted(const etx::Event &event)
{
    const Sample before = mixed(event);
    std::vector<std::int32_t> rows(before.n);

    std::iota(rows.begin(), rows.end(), 0);
    std::stable_sort(
        rows.begin(), rows.end(), [&](std::int32_t a, std::int32_t b) {
            return before.ids[static_cast<std::size_t>(a)] <
                   before.ids[static_cast<std::size_t>(b)];
        });
    return take(before.full, rows);
}

Tracks libraryTracks(const std::string &model, const etx::Event &event,
    std::int32_t device = ETX_DEVICE_CPU)
{
    etx_context_options options = etx::context_options();

    options.device = device;
    etx::Context context(options);
    return listsOf(etx::find_tracks(context, etx::Model::load(model), event));
}

std::vector<int> numbers(std::size_t n)
{
    std::vector<int> out(n);

    std::iota(out.begin(), out.end(), 0);
    return out;
}

Tracks run(const GnnPipeline &pipeline, std::vector<float> features,
    const Ids &ids, std::size_t n, const GnnHook &hook = {})
{
    std::vector<int> spacePoints = numbers(n);

    return pipeline.run(features, ids, spacePoints, gnn::Device::Cpu(), hook);
}

/// The error of work; empty without.
std::string errorOf(const std::function<void()> &work)
{
    try {
        work();
    } catch (const std::runtime_error &error) {
        return error.what();
    }
    return "";
}

bool contains(const std::string &text, const std::string &part)
{
    return text.find(part) != std::string::npos;
}

exatrkx::Config configOf(
    const std::string &model, const std::vector<exatrkx::Column> &columns)
{
    exatrkx::Config out;

    out.model = model;
    out.columns = columns;
    return out;
}

std::vector<exatrkx::Column> with(const std::vector<exatrkx::Column> &more)
{
    std::vector<exatrkx::Column> out = position;

    out.insert(out.end(), more.begin(), more.end());
    return out;
}

/// Every way in which modules come.
void testWays(const std::string &model, const etx::Event &event)
{
    const Sample unsorted = mixed(event);
    const Sample hits = sorted(event);
    const Ids &before = unsorted.ids;
    const Tracks wanted = libraryTracks(model, hits.bare);
    exatrkx::Config config = configOf(model, position);

    expect(run(pipelineOf(config), hits.x, before, hits.n) == wanted &&
               run(pipelineOf(config), hits.x, hits.ids, hits.n) == wanted,
        "sorted hits, module ids in any order: what etx_find_tracks finds");
    config.moduleIds = exatrkx::ModuleIds::eOfHits;
    expect(run(pipelineOf(config), unsorted.x, unsorted.ids, unsorted.n) ==
               libraryTracks(model, unsorted.bare),
        "ids in the order of the hits: the same");
    config.moduleIds = exatrkx::ModuleIds::eNone;
    const Tracks without = run(pipelineOf(config), hits.x, hits.ids, hits.n);
    expect(without == libraryTracks(model, etx::Event(hits.x)) &&
               without != wanted,
        "ids that are not read: what it finds without modules");
    config.columns = with({{"volume", 1}, {"layer", 1}, {"module", 10}});
    expect(run(pipelineOf(config), hits.placed, {}, hits.n) == wanted,
        "columns of modules: the same");
    config = configOf(
        model, with({{"cell_count", 1}, {"size_u", 1}, {"size_v", 1}}));
    config.pitches = pitches;
    expect(run(pipelineOf(config), hits.sized, before, hits.n) ==
               libraryTracks(model, hits.full),
        "with cells: the same");
}

/// Ids of other kinds than ACTS's own.
void testTable(const std::string &model, const etx::Event &event)
{
    const Sample hits = sorted(event);
    exatrkx::Config config = configOf(model, position);
    std::vector<std::uint64_t> known = hits.ids;
    Ids other;

    known.erase(std::unique(known.begin(), known.end()), known.end());
    for (const std::uint64_t id : hits.ids)
        other.push_back(static_cast<std::uint64_t>(
            std::lower_bound(known.begin(), known.end(), id) - known.begin()));
    for (std::size_t k = 0; k < known.size(); k++)
        config.modules[k] = {static_cast<std::int32_t>(known[k] >> 56U),
            static_cast<std::int32_t>(known[k] >> 36U & 0xfffU),
            static_cast<std::int32_t>(known[k] >> 8U & 0xfffffU)};
    expect(run(pipelineOf(config), hits.x, other, hits.n) ==
               libraryTracks(model, hits.bare),
        "a table of module ids: the same");
    config.modules.erase(other.back());
    expect(contains(
               errorOf([&] { run(pipelineOf(config), hits.x, other, hits.n); }),
               "module id " + std::to_string(other.back()) + " is none of the"),
        "an id that the table lacks: an error that names it");
}

/// The pipeline that drops nodes without edges, where this ACTS has it.
template <typename Pipeline>
void testShrink(
    const std::string &model, const etx::Event &event, const Pipeline *)
{
    if constexpr (std::is_constructible_v<Pipeline,
                      std::shared_ptr<gnn::GraphConstructionBase>,
                      std::vector<std::shared_ptr<gnn::EdgeClassificationBase>>,
                      std::shared_ptr<gnn::TrackBuildingBase>,
                      std::unique_ptr<const Acts::Logger>, bool>) {
        const Sample hits = sorted(event);
        const exatrkx::Stages stages(configOf(model, position));
        const Pipeline pipeline(stages.graphConstruction(),
            stages.edgeClassifiers(), stages.trackBuilding(), logger(), true);
        std::vector<float> x = hits.x;
        std::vector<int> ids = numbers(hits.n);

        expect(pipeline.run(x, hits.ids, ids, gnn::Device::Cpu()) ==
                       libraryTracks(model, hits.bare) &&
                   ids.size() < hits.n,
            "shrinkNodes removes nodes and changes nothing");
        ids = numbers(hits.n);
        expect(pipeline.run(x, {}, ids, gnn::Device::Cpu()) ==
                   libraryTracks(model, etx::Event(hits.x)),
            "neither without modules");
        ids = numbers(hits.n);
        std::reverse(ids.begin(), ids.end());
        expect(contains(errorOf([&] {
            pipeline.run(x, hits.ids, ids, gnn::Device::Cpu());
        }),
                   "nodes were removed (shrinkNodes)"),
            "other space point ids with it: an error");
    } else {
        std::puts("SKIPPED shrinkNodes: this ACTS does not have it");
    }
}

using Edges = std::set<std::pair<std::int64_t, std::int64_t>>;

/// Edges and least score after each stage.
struct Recorder : public GnnHook {
    mutable std::vector<Edges> edges;
    mutable std::vector<float> least;

    void operator()(const gnn::PipelineTensors &tensors,
        const gnn::ExecutionContext & /*context*/) const override
    {
        const std::size_t n = tensors.edgeIndex.shape()[1];
        const std::int64_t *index = tensors.edgeIndex.data();

        edges.emplace_back();
        for (std::size_t e = 0; e < n; e++)
            edges.back().emplace(index[e], index[n + e]);
        least.push_back(tensors.edgeScores
                            ? *std::min_element(tensors.edgeScores->data(),
                                  tensors.edgeScores->data() + n)
                            : -1);
    }
};

/// Consecutive hits outward of the tracks of the first pass.
Edges chainsOf(const std::string &model, const Sample &hits)
{
    etx::Context context;
    const etx::FirstPass found =
        etx::find_tracks_begin(context, etx::Model::load(model), hits.bare);
    std::vector<std::tuple<std::int32_t, float, std::int64_t>> rows;
    Edges out;

    for (std::size_t i = 0; i < hits.n; i++)
        rows.emplace_back(found.labels[i],
            hits.x[3 * i] * hits.x[3 * i] +
                hits.x[3 * i + 1] * hits.x[3 * i + 1] +
                hits.x[3 * i + 2] * hits.x[3 * i + 2],
            static_cast<std::int64_t>(i));
    std::sort(rows.begin(), rows.end());
    for (std::size_t k = 1; k < rows.size(); k++)
        if (std::get<0>(rows[k]) >= 0 &&
            std::get<0>(rows[k]) == std::get<0>(rows[k - 1]))
            out.emplace(std::get<2>(rows[k - 1]), std::get<2>(rows[k]));
    return out;
}

/// What hooks see: the tracks of the first pass in every stage.
void testHooks(const std::string &model, const etx::Event &event)
{
    const Sample hits = sorted(event);
    const Edges chains = chainsOf(model, hits);
    const Recorder seen;

    run(pipelineOf(configOf(model, position)), hits.x, hits.ids, hits.n, seen);
    expect(seen.edges.size() == 3 && chains.size() > 1000 &&
               std::all_of(seen.edges.begin(), seen.edges.end(),
                   [&](const Edges &edges) {
                       return edges.size() > chains.size() &&
                              std::includes(edges.begin(), edges.end(),
                                  chains.begin(), chains.end());
                   }),
        "hooks see the first pass, and more edges, after each stage");
    expect(seen.least[0] == -1 && seen.least[1] > 0 && seen.least[2] > 0,
        "with scores after each network");
}

#ifdef HAS_BOOST_AND_HOOKS
/// ACTS's own hooks and track building.
void testOfActs(const std::string &model, const etx::Event &event)
{
    const Sample hits = sorted(event);
    const Edges chains = chainsOf(model, hits);
    exatrkx::Config config = configOf(model, position);
    config.cut = 0.5F;
    const exatrkx::Stages stages(config);
    const GnnPipeline pipeline(stages.graphConstruction(),
        stages.edgeClassifiers(),
        std::make_shared<gnn::BoostTrackBuilding>(
            gnn::BoostTrackBuilding::Config{}, logger()),
        logger());
    const gnn::GraphStoreHook stored;
    std::vector<std::int64_t> truth;

    const Tracks found = run(pipeline, hits.x, hits.ids, hits.n, stored);
    const auto &[edges, scores] = stored.storedGraph();
    expect(scores.size() > chains.size() && edges.size() > 2 * scores.size(),
        "GraphStoreHook stores the graphs");
    std::vector<int> trackOf(hits.n, -1);
    for (std::size_t t = 0; t < found.size(); t++)
        for (const int hit : found[t])
            trackOf[static_cast<std::size_t>(hit)] = static_cast<int>(t);
    expect(std::all_of(chains.begin(), chains.end(),
               [&](const auto &edge) {
                   return trackOf[static_cast<std::size_t>(edge.first)] ==
                          trackOf[static_cast<std::size_t>(edge.second)];
               }),
        "BoostTrackBuilding keeps the tracks of the first pass");
    for (const auto &[src, dst] : chains)
        truth.insert(truth.end(), {src, dst});
    std::ostringstream log;
    run(pipeline, hits.x, hits.ids, hits.n,
        gnn::TruthGraphMetricsHook(
            truth, Acts::getDefaultLogger("truth", Acts::Logging::INFO, &log)));
    expect(contains(log.str(), "Efficiency=1,"),
        "TruthGraphMetricsHook finds them in the graph");
}
#endif

/// The hits that the first pass leaves, again and again until it finds no more.
Sample leftBehind(const std::string &model, const Sample &hits)
{
    etx::Context context;
    const etx::FirstPass found =
        etx::find_tracks_begin(context, etx::Model::load(model), hits.bare);
    std::vector<std::int32_t> rows;

    for (std::size_t i = 0; i < hits.n; i++)
        if (found.labels[i] < 0)
            rows.push_back(static_cast<std::int32_t>(i));
    Sample left = take(hits.full, rows);
    return found.n_tracks == 0 ? std::move(left) : leftBehind(model, left);
}

/// A model whose networks see no edges: what first pass and completion find.
template <typename Pipeline>
void testWithoutEdges(
    const std::string &model, const etx::Event &event, const Pipeline *)
{
    const std::string path = "no-edges.safetensors";

    copyModel(model, path, R"(radius\": 0.42)", R"(radius\": 1e-9)");
    const exatrkx::Stages stages(configOf(path, position));
    const Sample hits = sorted(event);
    const Sample left = leftBehind(path, hits);
    const Tracks wanted = libraryTracks(path, left.bare);
    const Sample none = take(left.full, {0, 1});

    expect(run(pipelineOf(configOf(path, position)), hits.x, hits.ids,
               hits.n) == libraryTracks(path, hits.bare),
        "no edges: the tracks of the first pass, and new ones");
    expect(!wanted.empty() && run(pipelineOf(configOf(path, position)), left.x,
                                  left.ids, left.n) == wanted,
        "neither a first pass: new tracks");
    expect(run(pipelineOf(configOf(path, position)), none.x, none.ids, none.n)
               .empty(),
        "nor those: no tracks");
    if constexpr (std::is_constructible_v<Pipeline,
                      std::shared_ptr<gnn::GraphConstructionBase>,
                      std::vector<std::shared_ptr<gnn::EdgeClassificationBase>>,
                      std::shared_ptr<gnn::TrackBuildingBase>,
                      std::unique_ptr<const Acts::Logger>, bool>) {
        const Pipeline pipeline(stages.graphConstruction(),
            stages.edgeClassifiers(), stages.trackBuilding(), logger(), true);

        expect(run(pipeline, left.x, left.ids, left.n) == wanted,
            "the same with shrinkNodes");
    }
    std::remove(path.c_str());
}

/// A graph of modules in place of an embedding.
void testModuleMap(const std::string &modelPath, const etx::Event &event)
{
    const std::string path = "map.safetensors";
    const etx::Model model = etx::Model::load(modelPath);
    const etx_event *const events[] = {event.get()};
    etx_model *learned = nullptr;

    etx::check(
        etx_model_learn_module_map(&learned, model.get(), 1, events, nullptr));
    etx::Model(learned).save(path);

    const Sample hits = sorted(event);
    exatrkx::Config config = configOf(path, position);
    expect(run(pipelineOf(config), hits.x, hits.ids, hits.n) ==
               libraryTracks(path, hits.bare),
        "a graph of a module map: what etx_find_tracks finds");
    config.moduleIds = exatrkx::ModuleIds::eNone;
    expect(contains(errorOf([&] { pipelineOf(config); }), "modules"),
        "the same without module ids: an error that says so");
    std::remove(path.c_str());
}

void testMistakes(const std::string &model, const etx::Event &event)
{
    const Sample hits = sorted(event);
    const exatrkx::Stages stages(configOf(model, position));
    const auto pipeline = pipelineOf(configOf(model, position));
    const gnn::ExecutionContext host{gnn::Device::Cpu(), {}};
    std::vector<float> x = hits.x;
    const auto begin = [&] {
        return (*stages.graphConstruction())(x, hits.n, hits.ids, host);
    };

    expect(contains(errorOf([&] {
        run(pipeline, hits.x, {1, 2}, hits.n);
    }),
               "2 module ids came with " + std::to_string(hits.n) + " hits"),
        "too few module ids: an error that has both numbers");
    expect(contains(errorOf([&] {
        pipelineOf(configOf(model, with({{"layer", 1}})));
    }),
               "modules need the columns volume, layer and module"),
        "one column of modules: an error that names the others");
    gnn::PipelineTensors first = begin();
    begin();
    expect(contains(errorOf([&] {
        (*stages.edgeClassifiers()[0])(std::move(first), host);
    }),
               "its thread began another"),
        "nodes of an event that is over: an error");
    gnn::PipelineTensors turned = begin();
    float *const nodes = turned.nodeFeatures.data();
    std::swap_ranges(nodes, nodes + 5, nodes + 5);
    expect(contains(errorOf([&] {
        (*stages.edgeClassifiers()[0])(std::move(turned), host);
    }),
               "node 1 is no hit of its event"),
        "nodes in another order: an error");
}

/// Each stage of an event in its own thread, and events in many threads.
void testThreads(const std::string &model, const etx::Event &event)
{
    const Sample hits = sorted(event);
    const exatrkx::Stages stages(configOf(model, position));
    const auto pipeline = pipelineOf(configOf(model, position));
    const Tracks wanted = libraryTracks(model, hits.bare);
    const gnn::ExecutionContext host{gnn::Device::Cpu(), {}};
    std::vector<std::thread> threads;
    std::atomic<int> nSame = 0;
    std::vector<float> x = hits.x;
    std::vector<int> ids = numbers(hits.n);
    Tracks found;

    gnn::PipelineTensors tensors =
        (*stages.graphConstruction())(x, hits.n, hits.ids, host);
    std::thread([&] {
        for (const auto &stage : stages.edgeClassifiers())
            tensors = (*stage)(std::move(tensors), host);
    }).join();
    std::thread([&] {
        found = (*stages.trackBuilding())(std::move(tensors), ids, host);
    }).join();
    expect(found == wanted, "each stage in a thread of its own: the same");
    for (int t = 0; t < 8; t++)
        threads.emplace_back([&] {
            for (int k = 0; k < 20; k++)
                nSame += run(pipeline, hits.x, hits.ids, hits.n) == wanted;
        });
    for (std::thread &thread : threads)
        thread.join();
    expect(nSame == 8 * 20, "8 threads, 20 events each: the same");
}

/// The networks on a device, between first pass and completion on the host.
template <typename Pipeline>
void testDevice(
    const std::string &model, const etx::Event &event, const Pipeline *)
{
    if (!hasDevice()) {
        std::puts("SKIPPED modules with tensors on a device: there is none");
        return;
    }
    const Sample hits = sorted(event);
    const Tracks wanted = libraryTracks(model, hits.bare, ETX_DEVICE_CUDA);
    const auto pipeline = pipelineOf(configOf(model, position));
    const auto find = [&](const Pipeline &with) {
        std::vector<float> x = hits.x;
        std::vector<int> ids = numbers(hits.n);

        return with.run(x, hits.ids, ids, gnn::Device::Cuda());
    };

    expect(find(pipeline) == wanted,
        "on a device: what etx_find_tracks finds there");
    if constexpr (std::is_constructible_v<Pipeline,
                      std::shared_ptr<gnn::GraphConstructionBase>,
                      std::vector<std::shared_ptr<gnn::EdgeClassificationBase>>,
                      std::shared_ptr<gnn::TrackBuildingBase>,
                      std::unique_ptr<const Acts::Logger>, bool>) {
        const exatrkx::Stages stages(configOf(model, position));
        const Pipeline shrinking(stages.graphConstruction(),
            stages.edgeClassifiers(), stages.trackBuilding(), logger(), true);

        expect(find(shrinking) == wanted, "the same with shrinkNodes");
    }
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
    const etx::Event small = readEvent(examples, "event000000001");
    const etx::Event event = readEvent(examples, "event000000002");
    const GnnPipeline *const kind = nullptr;

    testDevice(model, small, kind);
    if (argc == 3)
        return failures == 0 ? 0 : 1;
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    testWays(model, event);
    testTable(model, event);
    testShrink(model, event, kind);
    testHooks(model, event);
#ifdef HAS_BOOST_AND_HOOKS
    testOfActs(model, event);
#endif
    testWithoutEdges(model, event, kind);
    testModuleMap(model, small);
    testMistakes(model, small);
    testThreads(model, small);
    return failures == 0 ? 0 : 1;
}
