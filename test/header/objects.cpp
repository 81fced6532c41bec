// objects.cpp -- exatrkx.hpp: every class and function once, errors, moves.
// Arguments: the folders of the shipped models and events; "device" where the
// library has one.
//
// SPDX-License-Identifier: Apache-2.0
#include <exatrkx/exatrkx.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <type_traits>
#include <unistd.h>
#include <utility>

namespace
{

void require(bool is_true, const char *what)
{
    if (is_true)
        return;
    std::fprintf(stderr, "objects: %s\n", what);
    std::exit(1);
}

// The status and text that work fails with.
template <typename Work>
void require_error(etx_status status, const std::string &text, Work work)
{
    try {
        work();
    } catch (const etx::Error &error) {
        require(error.status() == status, error.what());
        require(std::string(error.what()).find(text) != std::string::npos,
            error.what());
        return;
    }
    require(false, ("no error: " + text).c_str());
}

void test_pipeline(const etx::Model &model, const etx::Event &event)
{
    etx::Context context(etx::with_threads(2));
    const etx::Tracks tracks = etx::find_tracks(context, model, event);
    etx::Graph graph =
        etx::Graph::build(context, model, event).filter(context, model, event);

    require(context.timing(ETX_STAGE_GRAPH).seconds > 0, "timing");
    require(graph.scores().size() == graph.src().size(), "scores of a filter");
    graph.score(context, model, event);
    const etx::Tracks labels =
        etx::build_tracks(context, graph, model.label_options(), &event);
    require(labels.size() >= tracks.size() && tracks.size() > 10, "tracks");
    require(tracks[0].size() >= 3 && tracks[0][0] < event.n_hits(), "a track");
    require(graph.offsets()[graph.n_nodes()] == graph.n_edges(), "offsets");
    require(etx::embed(context, model, event).size() %
                    static_cast<std::size_t>(event.n_hits()) ==
                0,
        "points");
    std::vector<etx::Event> events;

    for (int e = 0; e < 2; e++)
        events.push_back(
            etx::Event::read_trackml("examples/data/event000000001"));
    require(etx::find_tracks(context, model, std::vector<etx::Event>()).empty(),
        "tracks of no events");
    for (const etx::Tracks &each : etx::find_tracks(context,
             etx::Model::load("examples/models/accurate.safetensors"), events))
        require(each.size() > 10, "tracks of several events");
    etx::FirstPass found = etx::find_tracks_begin(context, model, event);
    require(found.n_tracks > 10 &&
                found.labels.size() == event.positions().size() / 3,
        "a first pass");
    require(etx::find_tracks_end(context, model, event, found).size() > 10,
        "its end");
    found.labels.pop_back();
    require_error(ETX_ERR_ARGUMENT, "labels has ",
        [&] { etx::find_tracks_end(context, model, event, found); });
    const etx_evaluation rates = etx::evaluate(event, tracks);
    require(rates.technical_efficiency.value > 0.8, "efficiency");
}

void test_arrays()
{
    const float positions[] = {30, 0, 0, 60, 0, 0, 90, 0, 0, 0, 500, 0};
    const std::vector<std::int64_t> ids = {4, 3, 2, 1};
    const std::vector<std::int32_t> zeros(4);
    etx::Event event(positions, ids);
    etx::Context context;
    etx_graph_options options = etx::graph_options();

    event.set_modules(zeros, zeros, zeros);
    event.set_cell_features(std::vector<float>(36));
    event.set_cluster_positions(std::vector<float>(24));
    event.set_features(1, std::vector<float>(4));
    const std::vector<etx_particle> particles = {{7, {}, {1, 0, 0}, 1, 4}};
    event.set_truth(std::vector<std::int64_t>{7, 7, 7, 0}, particles);
    event.set_shared_hits(
        std::vector<std::int32_t>{}, std::vector<std::int64_t>{});
    require(event.hit_ids()[0] == 4 && event.particles()[0].id == 7, "arrays");
    require(event.positions().size() == 12, "positions");
    options.radius = 31;
    etx::Graph graph =
        etx::Graph::radius(context, 3, event.positions(), options);
    require(graph.n_edges() == 2 && graph.scores().empty(), "radius graph");
    graph.set_scores(std::vector<float>{0.9F, 0.8F});
    graph.set_edge_features(3, std::vector<float>(6));
    require(etx_graph_n_edge_features(graph.get()) == 3, "edge features");
    require_error(ETX_ERR_ARGUMENT, "edge features has 5 values, expected 6",
        [&] { graph.set_edge_features(3, std::vector<float>(5)); });
    const etx::Tracks tracks =
        etx::build_tracks(context, graph, etx::label_options());
    require(tracks.size() == 1 && tracks[0].size() == 3, "one track");
    const etx::Graph own =
        etx::Graph::from_edges(4, graph.src(), graph.dst(), graph.scores());
    require(own.dst()[1] == graph.dst()[1], "edges");
    std::vector<float> no_scores = {1, 2};
    no_scores.clear(); // its memory stays
    require(etx::Graph::from_edges(4, graph.src(), graph.dst(), no_scores)
                .scores()
                .empty(),
        "no scores");
    require_error(ETX_ERR_ARGUMENT, "hits has 2 values, expected 1000", [] {
        etx::Tracks::from_lists(2000, std::vector<std::int64_t>{0, 1000},
            std::vector<std::int32_t>{0, 1});
    });
    require(etx::Tracks::from_labels(std::vector<std::int32_t>{0, 0, -1, 1})
                    .size() == 2,
        "labels");
    require(etx::Tracks::from_lists(4, std::vector<std::int64_t>{0, 2, 4},
                std::vector<std::int32_t>{3, 0, 3, 1})[1][0] == 3,
        "shared hit");
    require_error(ETX_ERR_ARGUMENT, "layers has 3 values, expected 4",
        [&] { event.set_modules(zeros, std::vector<std::int32_t>(3), zeros); });
    require_error(ETX_ERR_ARGUMENT, "positions has 4 values, expected 3",
        [] { etx::Event(std::vector<float>(4)); });
}

// Tracks as a file, whose numbers they keep.
void test_tracks_file(const etx::Event &event)
{
    const std::string path = (std::filesystem::temp_directory_path() /
                              ("objects-" + std::to_string(getpid())))
                                 .string();
    std::vector<std::int32_t> labels(
        static_cast<std::size_t>(event.n_hits()), -1);

    std::ofstream(path) << "hit_id,track_id\n"
                        << event.hit_ids()[0] << ",7\n"
                        << event.hit_ids()[1] << ",5\n";
    const etx::Tracks tracks = etx::Tracks::read_csv(event, path);
    require(tracks.ids().size() == 2 && tracks.ids()[0] == 7 &&
                tracks.ids()[1] == 5,
        "numbers of a file");
    labels[0] = 0;
    etx::Tracks own = etx::Tracks::from_labels(labels);
    require(own.ids().empty(), "no file, no numbers");
    own.set_ids(std::vector<std::int64_t>{9});
    require(own.ids()[0] == 9, "set numbers");
    require_error(ETX_ERR_ARGUMENT, "ids has 2 values, expected 1",
        [&] { own.set_ids(std::vector<std::int64_t>{1, 2}); });
    own.set_ids({});
    own.write_csv(event, path);
    require(etx::Tracks::read_csv(event, path).ids()[0] == 1, "the first is 1");
    std::remove(path.c_str());
}

void test_training(const etx::Event &event)
{
    etx::Context context;
    etx::Trainer trainer(context,
        R"({"stage": "embedding", "schedule": {"steps": 1}, "model":
            {"arch": "mlp", "options": {"hidden": [8], "n_out": 2}, "graph": {"radius":
            0.3}, "node_features": [{"name": "r", "scale": 1000}]}})");

    trainer.add_event(event);
    require(trainer.step().step == 1 && trainer.is_finished(), "a step");
    require(trainer.model().has_stage(ETX_STAGE_EMBEDDING), "trained model");
    require_error(ETX_ERR_FORMAT, "unknown key",
        [&] { etx::Trainer(context, R"({"stage": "gnn", "no": 1})"); });
}

// Three edges as an index, in memory of a graph that nobody needs, and back.
void test_index(etx::Context &context, const etx::Graph &graph)
{
    const etx::Graph spare = etx::Graph::from_edges_device(
        context, graph.n_nodes(), graph.src_device(), graph.dst_device());
    auto *const index =
        const_cast<std::int64_t *>(spare.offsets_device().data());
    const etx::Graph few = etx::Graph::from_edges_device(context,
        graph.n_nodes(), etx::Span<const int>(graph.src_device().data(), 3),
        etx::Span<const int>(graph.dst_device().data(), 3));

    require(few.to_index_device(context, 0.5F) == 3, "all without scores");
    require(few.to_index_device(context, 0.5F, 3, index) == 3, "an index");
    const etx::Graph same = etx::Graph::from_index_device(
        context, graph.n_nodes(), etx::Span<const std::int64_t>(index, 6));
    require(std::equal(few.src().begin(), few.src().end(), same.src().begin()),
        "edges of an index");
    require_error(ETX_ERR_ARGUMENT, "index has 5 values, expected 4", [&] {
        etx::Graph::from_index_device(
            context, graph.n_nodes(), etx::Span<const std::int64_t>(index, 5));
    });
}

// Arrays in memory of a device: here of a graph that is kept there.
void test_device(const etx::Model &model, const etx::Event &event)
{
    etx_context_options options = etx::context_options();

    options.device = ETX_DEVICE_CUDA;
    options.keep_graphs = 1;
    etx::Context context(options);
    const etx::Graph graph =
        etx::Graph::build(context, model, event).filter(context, model, event);
    const auto n = static_cast<std::size_t>(graph.n_edges()) / 3;
    require(graph.device_index() == 0 && n > 100, "a graph on the device");
    require(graph.offsets_device().size() == graph.offsets().size(), "offsets");
    const etx::Graph same =
        etx::Graph::from_edges_device(context, graph.n_nodes(),
            graph.src_device(), graph.dst_device(), graph.scores_device());
    require(
        std::equal(same.src().begin(), same.src().end(), graph.src().begin()) &&
            std::equal(same.scores().begin(), same.scores().end(),
                graph.scores().begin()),
        "edges of a device");
    test_index(context, graph);
    const etx::Span<const float> values(graph.scores_device().data(), 3 * n);
    etx::Event hits = etx::Event::create_device(context, values);
    require(std::equal(hits.positions().begin(), hits.positions().end(),
                graph.scores().begin()),
        "positions of a device");
    hits.set_features_device(context, 3, values);
    require_error(ETX_ERR_ARGUMENT, "features has 5 values, expected", [&] {
        hits.set_features_device(
            context, 3, etx::Span<const float>(values.data(), 5));
    });
    require_error(ETX_ERR_ARGUMENT, "memory of the host",
        [&] { etx::Event::create_device(context, event.positions()); });
}

} // namespace

int main(int argc, char **argv)
{
    require(argc == 3 || argc == 4, "give two folders");
    const std::string models = argv[1];
    const std::string data = argv[2];

    static_assert(!std::is_copy_constructible_v<etx::Event>);
    static_assert(std::is_nothrow_move_constructible_v<etx::Event>);
    require_error(
        ETX_ERR_IO, "nowhere", [] { etx::Model::load("nowhere.safetensors"); });
    const etx::Detector detector =
        etx::Detector::read(data + "/detectors.csv.gz");
    etx::Event event =
        etx::Event::read_trackml(data + "/event000000001", &detector);
    const etx::Event moved = std::move(event);
    const etx::Model model = etx::Model::load(models + "/default.safetensors");
    require(event.get() == nullptr && moved.n_hits() > 0, "move");
    require(model.describe().find("schema") != model.describe().npos, "config");
    require(detector.n_modules() > 1000, "modules");
    test_pipeline(model, moved);
    test_arrays();
    test_tracks_file(moved);
    test_training(moved);
    if (argc == 4) {
        test_device(model, moved);
        return 0;
    }
    etx::Context context;
    require_error(ETX_ERR_ARGUMENT, "device",
        [&] { etx::Event::create_device(context, moved.positions()); });
    require_error(ETX_ERR_ARGUMENT, "device",
        [&] { etx::Graph::from_edges_device(context, 1, {}, {}); });
    require_error(ETX_ERR_ARGUMENT, "device",
        [&] { etx::Graph::from_index_device(context, 1, {}); });
    return 0;
}
