// exatrkx/exatrkx.hpp -- the C interface for C++17: objects that free
// themselves, arrays as spans, errors as exceptions.
//
// Only a header: it calls the C library, whose ABI stays the one that counts.
// Every class has get(), the object of the C interface, for whatever is not
// wrapped here; the headers of the C interface document shapes, units and
// threads.
//
//     etx::Context context(etx::with_threads(4));
//     etx::Model model = etx::Model::load("default.safetensors");
//     etx::Event event = etx::Event::read_trackml("event000000001", &detector);
//     etx::Tracks tracks = etx::find_tracks(context, model, event);
//     for (std::int32_t row : tracks[0])
//         std::cout << event.hit_ids()[row] << '\n';
//
// Errors: etx::Error, with the status and the library's own text. Objects can
// be moved, not copied. Spans refer to the memory of the object that returned
// them, and are valid until it changes or ends.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef ETX_EXATRKX_HPP
#define ETX_EXATRKX_HPP

#include <exatrkx/eval.h>
#include <exatrkx/exatrkx.h>
#include <exatrkx/graph.h>
#include <exatrkx/train.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace etx
{

// ---------------------------------------------------------------- errors --

// A call that failed: what() is the library's text, status() an ETX_ERR_.
class Error : public std::runtime_error
{
  public:
    Error(etx_status status, const std::string &text)
        : std::runtime_error(text), m_status(status)
    {
    }

    etx_status status() const noexcept
    {
        return m_status;
    }

  private:
    etx_status m_status;
};

// Throw Error unless status is ETX_OK.
inline void check(etx_status status)
{
    if (status != ETX_OK)
        throw Error(status, etx_last_error());
}

// ----------------------------------------------------------------- spans --

// A view of contiguous values; converts from vectors, arrays and std::span.
template <typename T> class Span
{
  public:
    Span() = default;
    Span(T *data, std::size_t size) : m_data(data), m_size(size)
    {
    }
    template <std::size_t N> Span(T (&values)[N]) : m_data(values), m_size(N)
    {
    }
    template <typename Values,
        typename = std::enable_if_t<std::is_convertible_v<
            decltype(std::declval<Values &>().data()), T *>>>
    Span(Values &&values) : m_data(values.data()), m_size(values.size())
    {
    }

    // NULL when there are no values: for the C interface an array is then
    // absent.
    T *data() const noexcept
    {
        return m_size == 0 ? nullptr : m_data;
    }
    std::size_t size() const noexcept
    {
        return m_size;
    }
    bool empty() const noexcept
    {
        return m_size == 0;
    }
    T *begin() const noexcept
    {
        return m_data;
    }
    T *end() const noexcept
    {
        return m_data + m_size;
    }
    template <typename Index> T &operator[](Index k) const
    {
        return m_data[static_cast<std::size_t>(k)];
    }

  private:
    T *m_data = nullptr;
    std::size_t m_size = 0;
};

// Throw unless values has `wanted` elements: the C interface cannot tell.
template <typename T>
void check_size(const char *name, Span<T> values, std::int64_t wanted)
{
    if (values.size() != static_cast<std::size_t>(wanted))
        throw Error(ETX_ERR_ARGUMENT,
            std::string(name) + " has " + std::to_string(values.size()) +
                " values, expected " + std::to_string(wanted));
}

// --------------------------------------------------------------- handles --

// An object of the C library that frees itself.
template <typename T, void (*release)(T *)> class Handle
{
  public:
    explicit Handle(T *object = nullptr) noexcept : m_object(object)
    {
    }

    T *get() const noexcept
    {
        return m_object.get();
    }

  protected:
    // What `function` of the C interface writes to its first argument.
    template <typename... Parameters, typename... Arguments>
    static T *make(
        etx_status (*function)(T **, Parameters...), Arguments... arguments)
    {
        T *object = nullptr;

        check(function(&object, arguments...));
        return object;
    }

    template <typename Value>
    static Span<const Value> view(const Value *values, std::int64_t n)
    {
        return values == nullptr
                   ? Span<const Value>()
                   : Span<const Value>(values, static_cast<std::size_t>(n));
    }

  private:
    struct Release {
        void operator()(T *object) const noexcept
        {
            release(object);
        }
    };

    std::unique_ptr<T, Release> m_object;
};

// The options struct filled with its defaults.
inline etx_context_options context_options()
{
    etx_context_options options;

    check(etx_context_options_init(&options, sizeof options));
    return options;
}

inline etx_context_options with_threads(std::int32_t n_threads)
{
    etx_context_options options = context_options();

    options.n_threads = n_threads;
    return options;
}

inline etx_graph_options graph_options()
{
    etx_graph_options options;

    check(etx_graph_options_init(&options, sizeof options));
    return options;
}

inline etx_label_options label_options()
{
    etx_label_options options;

    check(etx_label_options_init(&options, sizeof options));
    return options;
}

inline etx_evaluation_options evaluation_options()
{
    etx_evaluation_options options;

    check(etx_evaluation_options_init(&options, sizeof options));
    return options;
}

class Context : public Handle<etx_context, etx_context_free>
{
  public:
    // One thread on the CPU.
    Context() : Handle(make(etx_context_create, nullptr))
    {
    }
    explicit Context(const etx_context_options &options)
        : Handle(make(etx_context_create, &options))
    {
    }

    etx_stage_timing timing(std::int32_t stage) const
    {
        etx_stage_timing out{};

        out.struct_size = sizeof out;
        check(etx_context_timing(&out, get(), stage));
        return out;
    }
};

class Model : public Handle<etx_model, etx_model_free>
{
  public:
    using Handle::Handle;

    static Model load(const std::string &path)
    {
        return Model(make(etx_model_load, path.c_str()));
    }
    static Model from_memory(Span<const char> bytes)
    {
        return Model(make(etx_model_load_memory, bytes.data(), bytes.size()));
    }

    void save(const std::string &path) const
    {
        check(etx_model_save(get(), path.c_str()));
    }
    // The model's etx.config, JSON.
    std::string_view describe() const
    {
        return etx_model_describe(get());
    }
    bool has_stage(std::int32_t stage) const
    {
        return etx_model_has_stage(get(), stage) != 0;
    }
    etx_label_options label_options() const
    {
        etx_label_options out = etx::label_options();

        check(etx_model_label_options(&out, get()));
        return out;
    }
};

class Detector : public Handle<etx_detector, etx_detector_free>
{
  public:
    using Handle::Handle;

    static Detector read(const std::string &path)
    {
        return Detector(make(etx_detector_read, path.c_str()));
    }

    std::int64_t n_modules() const
    {
        return etx_detector_n_modules(get());
    }
};

class Event : public Handle<etx_event, etx_event_free>
{
  public:
    using Handle::Handle;

    // positions [n_hits, 3], mm; hit_ids [n_hits], or none for 1..n_hits.
    explicit Event(
        Span<const float> positions, Span<const std::int64_t> hit_ids = {})
        : Handle(create(positions, hit_ids))
    {
    }
    // positions [n_hits, 3] in memory of the context's device, written on
    // stream (a cudaStream_t); they stay there until the event ends.
    static Event create_device(Context &context, Span<const float> positions,
        Span<const std::int64_t> hit_ids = {}, void *stream = nullptr)
    {
        return Event(make(etx_event_create_device, context.get(),
            n_hits_of(positions, hit_ids), hit_ids.data(), positions.data(),
            stream));
    }
    // detector may be NULL: cells are then not read.
    static Event read_trackml(
        const std::string &prefix, const Detector *detector = nullptr)
    {
        return Event(make(etx_event_read_trackml, prefix.c_str(),
            detector == nullptr ? nullptr : detector->get()));
    }

    // features [n_hits, n_features]
    void set_features(std::int64_t n_features, Span<const float> features)
    {
        check_size("features", features, n_hits() * n_features);
        check(etx_event_set_features(get(), n_features, features.data()));
    }
    // The same in memory of the context's device, until the event ends.
    void set_features_device(Context &context, std::int64_t n_features,
        Span<const float> features, void *stream = nullptr)
    {
        check_size("features", features, n_hits() * n_features);
        check(etx_event_set_features_device(
            get(), context.get(), n_features, features.data(), stream));
    }
    // each [n_hits]
    void set_modules(Span<const std::int32_t> volumes,
        Span<const std::int32_t> layers, Span<const std::int32_t> modules)
    {
        check_size("volumes", volumes, n_hits());
        check_size("layers", layers, n_hits());
        check_size("modules", modules, n_hits());
        check(etx_event_set_modules(
            get(), volumes.data(), layers.data(), modules.data()));
    }
    // each [n_cells]
    void set_cells(Span<const std::int32_t> hit,
        Span<const std::int32_t> channel0, Span<const std::int32_t> channel1,
        Span<const float> value, const Detector &detector)
    {
        const auto n = static_cast<std::int64_t>(hit.size());

        check_size("channel0", channel0, n);
        check_size("channel1", channel1, n);
        check_size("value", value, n);
        check(etx_event_set_cells(get(), n, hit.data(), channel0.data(),
            channel1.data(), value.data(), detector.get()));
    }
    // [n_hits, 9]
    void set_cell_features(Span<const float> features)
    {
        check_size("cell features", features, 9 * n_hits());
        check(etx_event_set_cell_features(get(), features.data()));
    }
    // [n_hits, 2, 3]
    void set_cluster_positions(Span<const float> positions)
    {
        check_size("cluster positions", positions, 6 * n_hits());
        check(etx_event_set_cluster_positions(get(), positions.data()));
    }
    // further particles of hits: rows of hits and particle ids, [n_shared]
    void set_shared_hits(
        Span<const std::int32_t> hits, Span<const std::int64_t> particle_ids)
    {
        const auto n = static_cast<std::int64_t>(hits.size());

        check_size("particle ids", particle_ids, n);
        check(etx_event_set_shared_hits(
            get(), n, hits.data(), particle_ids.data()));
    }
    // particle_ids [n_hits]; weights [n_hits] or none
    void set_truth(Span<const std::int64_t> particle_ids,
        Span<const etx_particle> particles, Span<const float> weights = {})
    {
        check_size("particle_ids", particle_ids, n_hits());
        if (!weights.empty())
            check_size("weights", weights, n_hits());
        check(etx_event_set_truth(get(), particle_ids.data(), weights.data(),
            static_cast<std::int64_t>(particles.size()), particles.data()));
    }

    std::int64_t n_hits() const
    {
        return etx_event_n_hits(get());
    }
    Span<const std::int64_t> hit_ids() const
    {
        return view(etx_event_hit_ids(get()), n_hits());
    }
    // [n_hits, 3]
    Span<const float> positions() const
    {
        return view(etx_event_positions(get()), 3 * n_hits());
    }
    // Empty without truth.
    Span<const std::int64_t> particle_ids() const
    {
        return view(etx_event_particle_ids(get()), n_hits());
    }
    Span<const etx_particle> particles() const
    {
        return view(etx_event_particles(get()), etx_event_n_particles(get()));
    }

  private:
    static std::int64_t n_hits_of(
        Span<const float> positions, Span<const std::int64_t> hit_ids)
    {
        const auto n = static_cast<std::int64_t>(positions.size() / 3);

        check_size("positions", positions, 3 * n);
        if (!hit_ids.empty())
            check_size("hit_ids", hit_ids, n);
        return n;
    }
    static etx_event *create(
        Span<const float> positions, Span<const std::int64_t> hit_ids)
    {
        return make(etx_event_create, n_hits_of(positions, hit_ids),
            hit_ids.data(), positions.data());
    }
};

class Graph : public Handle<etx_graph, etx_graph_free>
{
  public:
    using Handle::Handle;

    // Edges in any order, scores [n_edges] or none.
    static Graph from_edges(std::int64_t n_nodes, Span<const std::int32_t> src,
        Span<const std::int32_t> dst, Span<const float> scores = {})
    {
        const auto n = static_cast<std::int64_t>(src.size());

        check_size("dst", dst, n);
        if (!scores.empty())
            check_size("scores", scores, n);
        return Graph(make(etx_graph_from_edges, n_nodes, n, src.data(),
            dst.data(), scores.data(), nullptr));
    }
    // The same in memory of the context's device, written on stream (a
    // cudaStream_t); copied.
    static Graph from_edges_device(Context &context, std::int64_t n_nodes,
        Span<const std::int32_t> src, Span<const std::int32_t> dst,
        Span<const float> scores = {}, void *stream = nullptr)
    {
        const auto n = static_cast<std::int64_t>(src.size());

        check_size("dst", dst, n);
        if (!scores.empty())
            check_size("scores", scores, n);
        return Graph(make(etx_graph_from_edges_device, context.get(), n_nodes,
            n, src.data(), dst.data(), scores.data(), nullptr, stream));
    }
    // The same from an edge index [2, n_edges]: all sources, then all targets.
    static Graph from_index_device(Context &context, std::int64_t n_nodes,
        Span<const std::int64_t> index, Span<const float> scores = {},
        void *stream = nullptr)
    {
        const auto n = static_cast<std::int64_t>(index.size() / 2);

        check_size("index", index, 2 * n);
        if (!scores.empty())
            check_size("scores", scores, n);
        return Graph(make(etx_graph_from_index_device, context.get(), n_nodes,
            n, index.data(), scores.data(), stream));
    }
    // points [n, n_dim]; event is for ETX_ORIENT_OUTWARD.
    static Graph radius(Context &context, std::int64_t n_dim,
        Span<const float> points, const etx_graph_options &options,
        const Event *event = nullptr)
    {
        const auto n =
            static_cast<std::int64_t>(points.size()) / (n_dim > 0 ? n_dim : 1);

        check_size("points", points, n * n_dim);
        return Graph(
            make(etx_graph_build_radius, context.get(), n, n_dim, points.data(),
                event == nullptr ? nullptr : event->get(), &options));
    }
    // The embedding and the radius graph of a model.
    static Graph build(Context &context, const Model &model, const Event &event)
    {
        return Graph(
            make(etx_graph_build, context.get(), model.get(), event.get()));
    }

    // A new graph of the edges that pass the filter.
    Graph filter(Context &context, const Model &model, const Event &event) const
    {
        return Graph(make(
            etx_graph_filter, get(), context.get(), model.get(), event.get()));
    }
    void score(Context &context, const Model &model, const Event &event)
    {
        check(etx_graph_score(get(), context.get(), model.get(), event.get()));
    }
    void set_scores(Span<const float> scores)
    {
        check_size("scores", scores, n_edges());
        check(etx_graph_set_scores(get(), scores.data()));
    }
    // features [n_edges, n_features] in the order of the graph
    void set_edge_features(std::int64_t n_features, Span<const float> features)
    {
        check_size("edge features", features, n_edges() * n_features);
        check(etx_graph_set_edge_features(get(), n_features, features.data()));
    }

    std::int64_t n_nodes() const
    {
        return etx_graph_n_nodes(get());
    }
    std::int64_t n_edges() const
    {
        return etx_graph_n_edges(get());
    }
    Span<const std::int32_t> src() const
    {
        return view(etx_graph_src(get()), n_edges());
    }
    Span<const std::int32_t> dst() const
    {
        return view(etx_graph_dst(get()), n_edges());
    }
    // [n_nodes + 1]
    Span<const std::int64_t> offsets() const
    {
        return view(etx_graph_offsets(get()), n_nodes() + 1);
    }
    // Empty before the graph is scored.
    Span<const float> scores() const
    {
        return view(etx_graph_scores(get()), n_edges());
    }

    // The number of edges with a score above cut, or of all of a graph without
    // scores; with index, in memory of the context's device for capacity edges,
    // they are written there and, unless null, their scores to scores, after
    // what is queued on stream (a cudaStream_t).
    std::int64_t to_index_device(Context &context, float cut,
        std::int64_t capacity = 0, std::int64_t *index = nullptr,
        float *scores = nullptr, void *stream = nullptr) const
    {
        std::int64_t n = 0;

        check(etx_graph_to_index_device(
            &n, index, scores, capacity, get(), context.get(), cut, stream));
        return n;
    }

    // The copy that a context with keep_graphs has on its device, whose index
    // is -1 without one; spans of its memory, empty without.
    std::int32_t device_index() const
    {
        return etx_graph_device_index(get());
    }
    Span<const std::int32_t> src_device() const
    {
        return view(etx_graph_src_device(get()), n_edges());
    }
    Span<const std::int32_t> dst_device() const
    {
        return view(etx_graph_dst_device(get()), n_edges());
    }
    Span<const std::int64_t> offsets_device() const
    {
        return view(etx_graph_offsets_device(get()), n_nodes() + 1);
    }
    Span<const float> scores_device() const
    {
        return view(etx_graph_scores_device(get()), n_edges());
    }
};

class Tracks : public Handle<etx_tracks, etx_tracks_free>
{
  public:
    using Handle::Handle;

    // labels [n_hits], -1 = none
    static Tracks from_labels(Span<const std::int32_t> labels)
    {
        return Tracks(make(etx_tracks_from_labels,
            static_cast<std::int64_t>(labels.size()), labels.data()));
    }
    // Track t has the rows hits[offsets[t]] .. hits[offsets[t + 1] - 1].
    static Tracks from_lists(std::int64_t n_hits,
        Span<const std::int64_t> offsets, Span<const std::int32_t> hits)
    {
        if (!offsets.empty())
            check_size("hits", hits, offsets[offsets.size() - 1]);
        return Tracks(make(etx_tracks_from_lists, n_hits,
            static_cast<std::int64_t>(offsets.size()) - 1, offsets.data(),
            hits.data()));
    }
    static Tracks read_csv(const Event &event, const std::string &path)
    {
        return Tracks(make(etx_tracks_read_csv, event.get(), path.c_str()));
    }

    void write_csv(const Event &event, const std::string &path) const
    {
        check(etx_tracks_write_csv(get(), event.get(), path.c_str()));
    }
    std::size_t size() const
    {
        return static_cast<std::size_t>(etx_tracks_count(get()));
    }
    // [size()] of the file that they were read from, or set; else empty.
    Span<const std::int64_t> ids() const
    {
        return view(etx_tracks_ids(get()), etx_tracks_count(get()));
    }
    // [size()], not negative, each once; none: 1, 2, ... in a file
    void set_ids(Span<const std::int64_t> ids)
    {
        if (!ids.empty())
            check_size("ids", ids, etx_tracks_count(get()));
        check(etx_tracks_set_ids(get(), ids.data()));
    }
    // The hits of track t, rows of the event.
    Span<const std::int32_t> operator[](std::size_t t) const
    {
        const std::int64_t *offset = etx_tracks_offsets(get());

        return view(
            etx_tracks_hits(get()) + offset[t], offset[t + 1] - offset[t]);
    }
};

// --------------------------------------------------------------- pipeline --

// Points [n_hits, n_dim] of the learned space, row after row.
inline std::vector<float> embed(
    Context &context, const Model &model, const Event &event)
{
    std::int64_t n_dim = 0;

    check(
        etx_embed(&n_dim, nullptr, 0, context.get(), model.get(), event.get()));
    std::vector<float> points(static_cast<std::size_t>(n_dim * event.n_hits()));
    check(etx_embed(&n_dim, points.data(),
        static_cast<std::int64_t>(points.size()), context.get(), model.get(),
        event.get()));
    return points;
}

// Tracks of a scored graph; event is for walkthrough and best first.
inline Tracks build_tracks(Context &context, const Graph &graph,
    const etx_label_options &options, const Event *event = nullptr)
{
    etx_tracks *out = nullptr;

    check(etx_graph_tracks(&out, graph.get(), context.get(),
        event == nullptr ? nullptr : event->get(), &options));
    return Tracks(out);
}

inline Tracks find_tracks(
    Context &context, const Model &model, const Event &event)
{
    etx_tracks *out = nullptr;

    check(etx_find_tracks(&out, context.get(), model.get(), event.get()));
    return Tracks(out);
}

// Tracks as labels [n_hits]: 0 .. n_tracks - 1 are of the first pass, -1 marks
// the hits that are left to the networks.
struct FirstPass {
    std::vector<std::int32_t> labels;
    std::int64_t n_tracks = 0;
};

// find_tracks before its networks, and after them: labels has their tracks,
// too, numbered from n_tracks on.
inline FirstPass find_tracks_begin(
    Context &context, const Model &model, const Event &event)
{
    FirstPass out{
        std::vector<std::int32_t>(static_cast<std::size_t>(event.n_hits())), 0};

    check(etx_find_tracks_begin(out.labels.data(), &out.n_tracks, context.get(),
        model.get(), event.get()));
    return out;
}

inline Tracks find_tracks_end(Context &context, const Model &model,
    const Event &event, const FirstPass &found)
{
    etx_tracks *out = nullptr;

    check_size(
        "labels", Span<const std::int32_t>(found.labels), event.n_hits());
    check(etx_find_tracks_end(&out, found.labels.data(), found.n_tracks,
        context.get(), model.get(), event.get()));
    return Tracks(out);
}

// The tracks of each event; on the CPU a thread runs an event.
inline std::vector<Tracks> find_tracks(
    Context &context, const Model &model, const std::vector<Event> &events)
{
    std::vector<const etx_event *> in;
    std::vector<etx_tracks *> found(events.size(), nullptr);
    std::vector<Tracks> out;

    for (const Event &event : events)
        in.push_back(event.get());
    out.reserve(events.size());
    check(etx_find_tracks_batch(found.data(), context.get(), model.get(),
        static_cast<std::int64_t>(in.size()), in.data()));
    for (etx_tracks *tracks : found)
        out.emplace_back(tracks);
    return out;
}

// Rates of the tracks of one event with truth.
inline etx_evaluation evaluate(const Event &event, const Tracks &tracks,
    const etx_evaluation_options &options = evaluation_options())
{
    etx_evaluation_counts counts{};
    etx_evaluation out{};

    counts.struct_size = sizeof counts;
    out.struct_size = sizeof out;
    check(etx_evaluate(&counts, event.get(), tracks.get(), &options));
    check(etx_evaluation_rates(&out, &counts));
    return out;
}

// --------------------------------------------------------------- training --

class Trainer : public Handle<etx_trainer, etx_trainer_free>
{
  public:
    // config: JSON; start may be NULL. The context must outlive the trainer.
    Trainer(Context &context, const std::string &config,
        const Model *start = nullptr)
        : Handle(make(etx_trainer_create, context.get(), config.c_str(),
              start == nullptr ? nullptr : start->get()))
    {
    }

    // The event must outlive the trainer.
    void add_event(const Event &event, bool is_validation = false)
    {
        check(etx_trainer_add_event(get(), event.get(), is_validation ? 1 : 0));
    }
    bool is_finished() const
    {
        return etx_trainer_is_finished(get()) != 0;
    }
    etx_training_report step()
    {
        return report(etx_trainer_step);
    }
    etx_training_report validate()
    {
        return report(etx_trainer_validate);
    }
    void save_checkpoint(const std::string &path) const
    {
        check(etx_trainer_save_checkpoint(get(), path.c_str()));
    }
    void load_checkpoint(const std::string &path)
    {
        check(etx_trainer_load_checkpoint(get(), path.c_str()));
    }
    Model model() const
    {
        etx_model *out = nullptr;

        check(etx_trainer_model(&out, get()));
        return Model(out);
    }

  private:
    etx_training_report report(
        etx_status (*function)(etx_training_report *, etx_trainer *))
    {
        etx_training_report out{};

        out.struct_size = sizeof out;
        check(function(&out, get()));
        return out;
    }
};

} // namespace etx

#endif
