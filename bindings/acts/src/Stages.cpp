// Stages.cpp -- the stages of ACTS's GNN pipeline over the C library.
//
// SPDX-License-Identifier: Apache-2.0
#include "Hits.hpp"

#include <stdexcept>
#include <string>

namespace exatrkx
{

namespace
{

void *streamOf(const gnn::ExecutionContext &context)
{
    return context.stream.value_or(nullptr);
}

template <typename T>
void checkPlace(const char *name, const gnn::Tensor<T> &tensor,
    const gnn::ExecutionContext &context)
{
    if (tensor.device().isCpu() != context.device.isCpu())
        throw std::runtime_error(std::string("exatrkx: ") + name +
                                 " and the stage are not both on a device");
}

/// Node indices of one end of the edges, in the library's type.
std::vector<std::int32_t> narrow(
    const std::int64_t *rows, std::size_t n, std::int64_t n_nodes)
{
    std::vector<std::int32_t> out(n);

    for (std::size_t e = 0; e < n; e++) {
        if (rows[e] < 0 || rows[e] >= n_nodes)
            throw std::runtime_error("exatrkx: edge " + std::to_string(e) +
                                     " has node " + std::to_string(rows[e]) +
                                     " of " + std::to_string(n_nodes));
        out[e] = static_cast<std::int32_t>(rows[e]);
    }
    return out;
}

etx::Graph graphOf(const gnn::PipelineTensors &tensors, std::int64_t n_nodes,
    etx::Context &context, const gnn::ExecutionContext &where)
{
    const std::size_t n = tensors.edgeIndex.shape()[1];
    const std::int64_t *index = tensors.edgeIndex.data();
    etx::Span<const float> scores;

    checkPlace("edges", tensors.edgeIndex, where);
    if (tensors.edgeScores) {
        checkPlace("scores", *tensors.edgeScores, where);
        scores = {tensors.edgeScores->data(), tensors.edgeScores->size()};
    }
    if (!where.device.isCpu())
        return etx::Graph::from_index_device(
            context, n_nodes, {index, 2 * n}, scores, streamOf(where));
    return etx::Graph::from_edges(n_nodes, narrow(index, n, n_nodes),
        narrow(index + n, n, n_nodes), scores);
}

/// The edges of a graph on a device that pass the cut, from there into tensors.
void putEdgesOnDevice(gnn::PipelineTensors &out, const etx::Graph &graph,
    float cut, etx::Context &context, const gnn::ExecutionContext &where)
{
    const std::int64_t n = graph.to_index_device(context, cut);

    if (n == 0)
        return;

    auto index = gnn::Tensor<std::int64_t>::Create(
        {2, static_cast<std::size_t>(n)}, where);

    if (!graph.scores_device().empty())
        out.edgeScores =
            gnn::Tensor<float>::Create({static_cast<std::size_t>(n), 1}, where);
    graph.to_index_device(context, cut, n, index.data(),
        out.edgeScores ? out.edgeScores->data() : nullptr, streamOf(where));
    out.edgeIndex = std::move(index);
}

void putEdgesOnHost(gnn::PipelineTensors &out, const etx::Graph &graph,
    float cut, const gnn::ExecutionContext &host)
{
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

    auto index = gnn::Tensor<std::int64_t>::Create({2, n}, host);
    if (!score.empty())
        out.edgeScores = gnn::Tensor<float>::Create({n, 1}, host);
    for (std::size_t e = 0, to = 0; e < n_all; e++) {
        if (!passes(e))
            continue;
        index.data()[to] = src[e];
        index.data()[n + to] = dst[e];
        if (out.edgeScores)
            out.edgeScores->data()[to] = score[e];
        to++;
    }
    out.edgeIndex = std::move(index);
}

/// The edges of a graph that pass the cut, into tensors; a cut below every
/// score keeps all.
void putEdges(gnn::PipelineTensors &out, const etx::Graph &graph, float cut,
    etx::Context &context, const gnn::ExecutionContext &where)
{
    const gnn::ExecutionContext host{gnn::Device::Cpu(), {}};

    out.edgeIndex = gnn::Tensor<std::int64_t>::Create({2, 0}, host);
    out.edgeScores.reset();
    if (where.device.isCpu())
        putEdgesOnHost(out, graph, cut, where);
    else
        putEdgesOnDevice(out, graph, cut, context, where);
}

constexpr float keepAll = -1.0F; // scores are in [0, 1]

} // namespace

GraphConstruction::GraphConstruction(std::shared_ptr<const Model> model)
    : m_model(std::move(model))
{
}

gnn::PipelineTensors GraphConstruction::operator()(
    std::vector<float> &inputValues, std::size_t numNodes,
    const std::vector<std::uint64_t> &moduleIds,
    const gnn::ExecutionContext &execContext)
{
    if (numNodes == 0)
        throw gnn::NoEdgesError{};

    if (inputValues.size() % numNodes != 0)
        throw std::runtime_error(
            "exatrkx: " + std::to_string(inputValues.size()) +
            " features are no multiple of " + std::to_string(numNodes) +
            " hits");

    const gnn::ExecutionContext host{gnn::Device::Cpu(), {}};
    const NodeFeatures features{
        inputValues.data(), numNodes, inputValues.size() / numNodes};
    Contexts::Loan context(m_model->contexts(), execContext.device);
    const Nodes nodes(std::make_shared<const Hits>(
        *m_model, context.get(), features, moduleIds));
    const etx::Graph graph =
        etx::Graph::build(context.get(), m_model->get(), nodes.hits().left());
    gnn::PipelineTensors out{nodes.remember(features),
        gnn::Tensor<std::int64_t>::Create({2, 0}, host), std::nullopt,
        std::nullopt};

    if (!execContext.device.isCpu())
        out.nodeFeatures = out.nodeFeatures.clone(execContext);
    putEdges(out, graph, keepAll, context.get(), execContext);
    nodes.leave(out, false, execContext);
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
    checkPlace("node features", tensors.nodeFeatures, execContext);

    Contexts::Loan context(m_model->contexts(), execContext.device);
    Nodes nodes(*m_model, tensors.nodeFeatures, execContext);
    const etx::Event &event = nodes.hits().left();

    tensors.edgeFeatures.reset(); // of the edges before
    nodes.enter(tensors, execContext);
    if (tensors.edgeIndex.shape()[1] > 0) {
        etx::Graph graph =
            graphOf(tensors, event.n_hits(), context.get(), execContext);

        if (m_network == Network::eFilter)
            graph = graph.filter(context.get(), m_model->get(), event);
        else
            graph.score(context.get(), m_model->get(), event);
        putEdges(tensors, graph, m_cut, context.get(), execContext);
    }
    nodes.leave(tensors, true, execContext);
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
    checkPlace("node features", tensors.nodeFeatures, execContext);

    Contexts::Loan context(m_model->contexts(), execContext.device);
    Nodes nodes(*m_model, tensors.nodeFeatures, execContext);
    const Hits &hits = nodes.hits();
    const std::vector<int> ids = nodes.ids(spacePointIDs);
    etx::FirstPass found = hits.firstPass;
    std::vector<std::vector<int>> out;

    nodes.enter(tensors, execContext);
    if (tensors.edgeIndex.shape()[1] > 0) {
        const etx::Graph graph =
            graphOf(tensors, hits.left().n_hits(), context.get(), execContext);
        const etx::Tracks tracks =
            etx::build_tracks(
                context.get(), graph, m_model->labels(), &hits.left());

        for (std::size_t t = 0; t < tracks.size(); t++)
            for (const std::int32_t hit : tracks[t])
                found.labels[static_cast<std::size_t>(
                    hits.rows[static_cast<std::size_t>(hit)])] =
                    static_cast<std::int32_t>(found.n_tracks) +
                    static_cast<std::int32_t>(t);
    }
    const etx::Tracks tracks =
        etx::find_tracks_end(context.get(), m_model->get(), hits.event, found);

    for (std::size_t t = 0; t < tracks.size(); t++)
        for (out.emplace_back(); const std::int32_t hit : tracks[t])
            out.back().push_back(ids[static_cast<std::size_t>(hit)]);
    return out;
}

Stages::Stages(const Config &config)
    : m_model(std::make_shared<const Model>(config)),
      m_cut(config.cut.value_or(m_model->labels().cut))
{
}

std::shared_ptr<gnn::GraphConstructionBase> Stages::graphConstruction() const
{
    m_model->checkGraph();
    return std::make_shared<GraphConstruction>(m_model);
}

std::vector<std::shared_ptr<gnn::EdgeClassificationBase>>
Stages::edgeClassifiers() const
{
    using Network = EdgeClassification::Network;
    std::vector<std::shared_ptr<gnn::EdgeClassificationBase>> out;
    const bool hasGnn = m_model->get().has_stage(ETX_STAGE_GNN);

    if (m_model->get().has_stage(ETX_STAGE_FILTER))
        out.push_back(std::make_shared<EdgeClassification>(
            m_model, Network::eFilter, hasGnn ? keepAll : m_cut));
    if (hasGnn)
        out.push_back(std::make_shared<EdgeClassification>(
            m_model, Network::eGnn, m_cut));
    return out;
}

std::shared_ptr<gnn::TrackBuildingBase> Stages::trackBuilding() const
{
    return std::make_shared<TrackBuilding>(m_model);
}

} // namespace exatrkx
