// Stages.cpp -- the stages of ACTS's GNN pipeline over the C library.
//
// SPDX-License-Identifier: Apache-2.0
#include "Model.hpp"

#include <cstring>

namespace exatrkx {

namespace {

template <typename T>
gnn::Tensor<T> onHost(
    const gnn::Tensor<T> &tensor, const gnn::ExecutionContext &context)
{
    return tensor.clone({gnn::Device::Cpu(), context.stream});
}

template <typename T>
gnn::Tensor<T> onDevice(
    gnn::Tensor<T> tensor, const gnn::ExecutionContext &context)
{
    if (context.device.isCpu())
        return tensor;
    return tensor.clone(context);
}

/// Tensors that lie on the host, without a copy where they do already.
template <typename T> class HostView {
  public:
    HostView(
        const gnn::Tensor<T> &tensor, const gnn::ExecutionContext &context)
    {
        if (!tensor.device().isCpu())
            m_copy = onHost(tensor, context);
        m_tensor = m_copy ? &*m_copy : &tensor;
    }

    const T *data() const
    {
        return m_tensor->data();
    }
    std::size_t size(std::size_t dimension) const
    {
        return m_tensor->shape()[dimension];
    }

  private:
    std::optional<gnn::Tensor<T>> m_copy;
    const gnn::Tensor<T> *m_tensor = nullptr;
};

EventHandle eventOf(const Model &model, const gnn::Tensor<float> &features,
    const gnn::ExecutionContext &context)
{
    const HostView<float> host(features, context);

    return model.event(host.data(), host.size(0), host.size(1));
}

/// Node indices of one end of the edges, in the library's type.
std::vector<std::int32_t> narrow(
    const std::int64_t *rows, std::size_t n, std::size_t n_nodes)
{
    std::vector<std::int32_t> out(n);

    for (std::size_t e = 0; e < n; e++) {
        if (rows[e] < 0 || rows[e] >= static_cast<std::int64_t>(n_nodes))
            throw std::runtime_error("exatrkx: edge " + std::to_string(e) +
                                     " has node " + std::to_string(rows[e]) +
                                     " of " + std::to_string(n_nodes));
        out[e] = static_cast<std::int32_t>(rows[e]);
    }
    return out;
}

GraphHandle graphOf(const gnn::PipelineTensors &tensors,
    const gnn::ExecutionContext &context)
{
    const HostView<std::int64_t> index(tensors.edgeIndex, context);
    const std::size_t n_nodes = tensors.nodeFeatures.shape()[0];
    const std::size_t n = index.size(1);

    if (n == 0)
        throw gnn::NoEdgesError{};

    const std::vector<std::int32_t> src = narrow(index.data(), n, n_nodes);
    const std::vector<std::int32_t> dst = narrow(index.data() + n, n, n_nodes);
    std::optional<HostView<float>> scores;

    if (tensors.edgeScores)
        scores.emplace(*tensors.edgeScores, context);
    return make<GraphHandle>(etx_graph_from_edges,
        static_cast<std::int64_t>(n_nodes), static_cast<std::int64_t>(n),
        src.data(), dst.data(), scores ? scores->data() : nullptr, nullptr);
}

/// The edges of a graph that pass the cut, into tensors; a cut below every
/// score keeps all.
void putEdges(gnn::PipelineTensors &out, const etx_graph *graph, float cut,
    const gnn::ExecutionContext &context)
{
    const gnn::ExecutionContext host{gnn::Device::Cpu(), {}};
    const auto n_all = static_cast<std::size_t>(etx_graph_n_edges(graph));
    const std::int32_t *src = etx_graph_src(graph);
    const std::int32_t *dst = etx_graph_dst(graph);
    const float *score = etx_graph_scores(graph);
    const auto passes = [&](std::size_t e) {
        return score == nullptr || score[e] > cut;
    };
    std::size_t n = 0;

    for (std::size_t e = 0; e < n_all; e++)
        n += passes(e) ? 1 : 0;
    if (n == 0)
        throw gnn::NoEdgesError{};

    auto index = gnn::Tensor<std::int64_t>::Create({2, n}, host);
    std::optional<gnn::Tensor<float>> scores;
    if (score != nullptr)
        scores = gnn::Tensor<float>::Create({n, 1}, host);
    for (std::size_t e = 0, to = 0; e < n_all; e++) {
        if (!passes(e))
            continue;
        index.data()[to] = src[e];
        index.data()[n + to] = dst[e];
        if (scores)
            scores->data()[to] = score[e];
        to++;
    }
    out.edgeIndex = onDevice(std::move(index), context);
    out.edgeFeatures.reset(); // of the edges before
    out.edgeScores.reset();
    if (scores)
        out.edgeScores = onDevice(std::move(*scores), context);
}

constexpr float keepAll = -1.0F; // scores are in [0, 1]

} // namespace

GraphConstruction::GraphConstruction(std::shared_ptr<const Model> model)
    : m_model(std::move(model))
{
}

gnn::PipelineTensors GraphConstruction::operator()(
    std::vector<float> &inputValues, std::size_t numNodes,
    const std::vector<std::uint64_t> & /*moduleIds*/,
    const gnn::ExecutionContext &execContext)
{
    if (numNodes == 0)
        throw gnn::NoEdgesError{};

    const gnn::ExecutionContext host{gnn::Device::Cpu(), {}};
    const std::size_t width = inputValues.size() / numNodes;
    const EventHandle event =
        m_model->event(inputValues.data(), numNodes, width);
    const Contexts::Loan context(m_model->contexts());
    const GraphHandle graph = make<GraphHandle>(
        etx_graph_build, context.get(), m_model->get(), event.get());
    auto features = gnn::Tensor<float>::Create({numNodes, width}, host);

    std::memcpy(features.data(), inputValues.data(), features.nbytes());
    gnn::PipelineTensors out{onDevice(std::move(features), execContext),
        gnn::Tensor<std::int64_t>::Create({2, 0}, host), std::nullopt,
        std::nullopt};
    putEdges(out, graph.get(), keepAll, execContext);
    return out;
}

EdgeClassification::EdgeClassification(
    std::shared_ptr<const Model> model, Network network, float cut)
    : m_model(std::move(model)), m_network(network), m_cut(cut)
{
}

gnn::PipelineTensors EdgeClassification::operator()(
    gnn::PipelineTensors tensors, const gnn::ExecutionContext &execContext)
{
    const EventHandle event =
        eventOf(*m_model, tensors.nodeFeatures, execContext);
    GraphHandle graph = graphOf(tensors, execContext);
    const Contexts::Loan context(m_model->contexts());

    if (m_network == Network::eFilter)
        graph = make<GraphHandle>(etx_graph_filter, graph.get(), context.get(),
            m_model->get(), event.get());
    else
        check(etx_graph_score(
            graph.get(), context.get(), m_model->get(), event.get()));
    putEdges(tensors, graph.get(),
        m_network == Network::eFilter ? keepAll : m_cut, execContext);
    return tensors;
}

TrackBuilding::TrackBuilding(std::shared_ptr<const Model> model)
    : m_model(std::move(model))
{
}

std::vector<std::vector<int>> TrackBuilding::operator()(
    gnn::PipelineTensors tensors, std::vector<int> &spacePointIDs,
    const gnn::ExecutionContext &execContext)
{
    const EventHandle event =
        eventOf(*m_model, tensors.nodeFeatures, execContext);
    const GraphHandle graph = graphOf(tensors, execContext);
    const Contexts::Loan context(m_model->contexts());
    const TracksHandle tracks = make<TracksHandle>(etx_graph_tracks,
        graph.get(), context.get(), event.get(), &m_model->labels());
    const std::int64_t *offset = etx_tracks_offsets(tracks.get());
    const std::int32_t *hit = etx_tracks_hits(tracks.get());
    std::vector<std::vector<int>> out(
        static_cast<std::size_t>(etx_tracks_count(tracks.get())));

    if (spacePointIDs.size() != tensors.nodeFeatures.shape()[0])
        throw std::runtime_error("exatrkx: " +
                                 std::to_string(spacePointIDs.size()) +
                                 " space points came with " +
                                 std::to_string(
                                     tensors.nodeFeatures.shape()[0]) +
                                 " nodes");
    for (std::size_t t = 0; t < out.size(); t++)
        for (std::int64_t k = offset[t]; k < offset[t + 1]; k++)
            out[t].push_back(
                spacePointIDs[static_cast<std::size_t>(hit[k])]);
    return out;
}

Stages::Stages(const Config &config)
    : m_model(std::make_shared<const Model>(config)),
      m_cut(config.cut.value_or(m_model->labels().cut))
{
}

std::shared_ptr<gnn::GraphConstructionBase> Stages::graphConstruction() const
{
    return std::make_shared<GraphConstruction>(m_model);
}

std::vector<std::shared_ptr<gnn::EdgeClassificationBase>>
Stages::edgeClassifiers() const
{
    using Network = EdgeClassification::Network;
    std::vector<std::shared_ptr<gnn::EdgeClassificationBase>> out;

    if (m_model->has(ETX_STAGE_FILTER))
        out.push_back(std::make_shared<EdgeClassification>(
            m_model, Network::eFilter, keepAll));
    if (m_model->has(ETX_STAGE_GNN))
        out.push_back(std::make_shared<EdgeClassification>(
            m_model, Network::eGnn, m_cut));
    return out;
}

std::shared_ptr<gnn::TrackBuildingBase> Stages::trackBuilding() const
{
    return std::make_shared<TrackBuilding>(m_model);
}

} // namespace exatrkx
