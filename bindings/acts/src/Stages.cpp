// Stages.cpp -- the stages of ACTS's GNN pipeline over the C library.
//
// SPDX-License-Identifier: Apache-2.0
#include "Model.hpp"

#include <cstring>

namespace exatrkx
{

namespace
{

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
template <typename T> class HostView
{
  public:
    HostView(const gnn::Tensor<T> &tensor, const gnn::ExecutionContext &context)
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

etx::Event eventOf(const Model &model, const gnn::Tensor<float> &features,
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

etx::Graph graphOf(
    const gnn::PipelineTensors &tensors, const gnn::ExecutionContext &context)
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
    return etx::Graph::from_edges(static_cast<std::int64_t>(n_nodes), src, dst,
        scores ? etx::Span<const float>(scores->data(), n)
               : etx::Span<const float>());
}

/// The edges of a graph that pass the cut, into tensors; a cut below every
/// score keeps all.
void putEdges(gnn::PipelineTensors &out, const etx::Graph &graph, float cut,
    const gnn::ExecutionContext &context)
{
    const gnn::ExecutionContext host{gnn::Device::Cpu(), {}};
    const auto n_all = static_cast<std::size_t>(graph.n_edges());
    const auto src = graph.src();
    const auto dst = graph.dst();
    const auto score = graph.scores();
    const auto passes = [&](std::size_t e) {
        return score.empty() || score[e] > cut;
    };
    std::size_t n = 0;

    for (std::size_t e = 0; e < n_all; e++)
        n += passes(e) ? 1 : 0;
    if (n == 0)
        throw gnn::NoEdgesError{};

    auto index = gnn::Tensor<std::int64_t>::Create({2, n}, host);
    std::optional<gnn::Tensor<float>> scores;
    if (!score.empty())
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
    const etx::Event event =
        m_model->event(inputValues.data(), numNodes, width);
    Contexts::Loan context(m_model->contexts());
    const etx::Graph graph =
        etx::Graph::build(context.get(), m_model->get(), event);
    auto features = gnn::Tensor<float>::Create({numNodes, width}, host);

    std::memcpy(features.data(), inputValues.data(), features.nbytes());
    gnn::PipelineTensors out{onDevice(std::move(features), execContext),
        gnn::Tensor<std::int64_t>::Create({2, 0}, host), std::nullopt,
        std::nullopt};
    putEdges(out, graph, keepAll, execContext);
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
    const etx::Event event =
        eventOf(*m_model, tensors.nodeFeatures, execContext);
    etx::Graph graph = graphOf(tensors, execContext);
    Contexts::Loan context(m_model->contexts());

    if (m_network == Network::eFilter)
        graph = graph.filter(context.get(), m_model->get(), event);
    else
        graph.score(context.get(), m_model->get(), event);
    putEdges(tensors, graph, m_network == Network::eFilter ? keepAll : m_cut,
        execContext);
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
    const etx::Event event =
        eventOf(*m_model, tensors.nodeFeatures, execContext);
    const etx::Graph graph = graphOf(tensors, execContext);
    Contexts::Loan context(m_model->contexts());
    const etx::Tracks tracks =
        etx::label(context.get(), graph, m_model->labels(), &event);
    std::vector<std::vector<int>> out(tracks.size());

    if (spacePointIDs.size() != tensors.nodeFeatures.shape()[0])
        throw std::runtime_error(
            "exatrkx: " + std::to_string(spacePointIDs.size()) +
            " space points came with " +
            std::to_string(tensors.nodeFeatures.shape()[0]) + " nodes");
    for (std::size_t t = 0; t < out.size(); t++)
        for (const std::int32_t hit : tracks[t])
            out[t].push_back(spacePointIDs[static_cast<std::size_t>(hit)]);
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

    if (m_model->get().has_stage(ETX_STAGE_FILTER))
        out.push_back(std::make_shared<EdgeClassification>(
            m_model, Network::eFilter, keepAll));
    if (m_model->get().has_stage(ETX_STAGE_GNN))
        out.push_back(std::make_shared<EdgeClassification>(
            m_model, Network::eGnn, m_cut));
    return out;
}

std::shared_ptr<gnn::TrackBuildingBase> Stages::trackBuilding() const
{
    return std::make_shared<TrackBuilding>(m_model);
}

} // namespace exatrkx
