// Hits.cpp -- an event on its way through the stages, and nodes of tensors as
// its hits.
//
// SPDX-License-Identifier: Apache-2.0
#include "Hits.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>

namespace exatrkx
{

namespace
{

constexpr std::uint32_t maxExact = 1U << 24U; // a float holds integers to here
constexpr std::size_t nAdded = 2; // columns: row and number of the event

/// The last event that each thread began: a pipeline runs its stages one after
/// the other in one thread. Shared by all models, which may be mixed.
class Events
{
  public:
    std::uint32_t put(std::shared_ptr<const Hits> hits)
    {
        const std::lock_guard lock(m_mutex);
        auto &[number, own] = m_events[std::this_thread::get_id()];

        own.swap(hits);
        number = m_next;
        m_next = (m_next + 1) % maxExact;
        return number;
    }
    std::shared_ptr<const Hits> get(float number)
    {
        const std::lock_guard lock(m_mutex);

        for (const auto &[thread, event] : m_events)
            if (static_cast<float>(event.first) == number)
                return event.second;
        throw std::runtime_error("exatrkx: the event of these nodes is over: "
                                 "its thread began another");
    }

  private:
    std::mutex m_mutex;
    std::map<std::thread::id,
        std::pair<std::uint32_t, std::shared_ptr<const Hits>>>
        m_events;
    std::uint32_t m_next = 0;
};

Events &events()
{
    static Events out;
    return out;
}

/// The values of a tensor on the host.
template <typename T> class OnHost
{
  public:
    OnHost(const gnn::Tensor<T> &tensor, const gnn::ExecutionContext &where)
        : m_data(tensor.data())
    {
        if (tensor.device().isCpu())
            return;
        m_copy = tensor.clone({gnn::Device::Cpu(), where.stream});
        m_data = m_copy->data();
    }
    const T &operator[](std::size_t k) const
    {
        return m_data[k];
    }
    const T *data() const
    {
        return m_data;
    }

  private:
    std::optional<gnn::Tensor<T>> m_copy;
    const T *m_data;
};

/// Edges on the host, with scores or without.
struct Edges {
    std::vector<std::int64_t> src, dst;
    std::vector<float> scores;
};

void put(gnn::PipelineTensors &tensors, const Edges &edges,
    const gnn::ExecutionContext &where)
{
    const gnn::ExecutionContext host{gnn::Device::Cpu(), where.stream};
    const bool isUp = !where.device.isCpu() && !edges.src.empty();
    auto index = gnn::Tensor<std::int64_t>::Create({2, edges.src.size()}, host);

    std::copy(edges.dst.begin(), edges.dst.end(),
        std::copy(edges.src.begin(), edges.src.end(), index.data()));
    tensors.edgeIndex = isUp ? index.clone(where) : std::move(index);
    tensors.edgeScores.reset();
    if (edges.scores.empty())
        return;
    auto scores = gnn::Tensor<float>::Create({edges.scores.size(), 1}, host);
    std::copy(edges.scores.begin(), edges.scores.end(), scores.data());
    tensors.edgeScores = isUp ? scores.clone(where) : std::move(scores);
}

/// Some rows of node features.
std::vector<float> select(
    const NodeFeatures &features, const std::vector<std::int32_t> &rows)
{
    std::vector<float> out;

    out.reserve(rows.size() * features.width);
    for (const std::int32_t row : rows) {
        const float *const from =
            features.values + static_cast<std::size_t>(row) * features.width;
        out.insert(out.end(), from, from + features.width);
    }
    return out;
}

} // namespace

Hits::Hits(const Model &model, etx::Context &context,
    const NodeFeatures &features, const std::vector<std::uint64_t> &moduleIds)
{
    const std::vector<Module> modules = model.modules(features, moduleIds);
    std::vector<Module> modulesLeft;

    event = model.event(features, modules);
    canGrow = !modules.empty() && model.get().has_stage(ETX_STAGE_COMPLETION);
    firstPass = etx::find_tracks_begin(context, model.get(), event);
    leftOf.resize(features.n, -1);
    for (std::size_t i = 0; i < features.n; i++) {
        if (firstPass.labels[i] >= 0)
            continue;
        leftOf[i] = static_cast<std::int32_t>(rows.size());
        rows.push_back(static_cast<std::int32_t>(i));
        if (!modules.empty())
            modulesLeft.push_back(modules[i]);
    }
    if (firstPass.n_tracks == 0)
        return;
    selected = model.event(
        {select(features, rows).data(), rows.size(), features.width},
        modulesLeft);
}

Hits::Hits(const Model &model, const NodeFeatures &features)
    : event(model.event(features, model.modules(features, {}))),
      firstPass{std::vector<std::int32_t>(features.n, -1), 0}, rows(features.n),
      canGrow(false)
{
    std::iota(rows.begin(), rows.end(), 0);
    leftOf = rows;
}

/// Each track of the first pass is a chain of edges outward.
Nodes::Nodes(std::shared_ptr<const Hits> hits)
    : m_hits(std::move(hits)), m_rows(m_hits->size())
{
    const auto &labels = m_hits->firstPass.labels;
    const auto x = m_hits->event.positions();
    std::vector<std::tuple<std::int32_t, float, std::int64_t>> found;

    std::iota(m_rows.begin(), m_rows.end(), 0);
    for (std::size_t i = 0; i < labels.size(); i++)
        if (labels[i] >= 0)
            found.emplace_back(labels[i],
                x[3 * i] * x[3 * i] + x[3 * i + 1] * x[3 * i + 1] +
                    x[3 * i + 2] * x[3 * i + 2],
                static_cast<std::int64_t>(i));
    std::sort(found.begin(), found.end());
    for (std::size_t k = 1; k < found.size(); k++) {
        if (std::get<0>(found[k - 1]) != std::get<0>(found[k]))
            continue;
        m_src.push_back(std::get<2>(found[k - 1]));
        m_dst.push_back(std::get<2>(found[k]));
    }
}

Nodes::Nodes(const Model &model, const gnn::Tensor<float> &features,
    const gnn::ExecutionContext &where)
    : m_rows(features.shape()[0])
{
    const auto [n, width] = features.shape();
    const OnHost<float> values(features, where);

    if (width != model.nColumns() + nAdded) {
        m_isOwn = false;
        m_hits = std::make_shared<const Hits>(
            model, NodeFeatures{values.data(), n, width});
        std::iota(m_rows.begin(), m_rows.end(), 0);
        return;
    }
    m_hits = events().get(n == 0 ? -1.0F : values[width - 1]);
    for (std::size_t k = 0; k < n; k++) {
        const float row = values[(k + 1) * width - nAdded];

        if (!(row >= static_cast<float>(k == 0 ? 0 : m_rows[k - 1] + 1) &&
                row < static_cast<float>(m_hits->size())))
            throw std::runtime_error("exatrkx: node " + std::to_string(k) +
                                     " is no hit of its event, or the nodes "
                                     "are not in the order of the hits");
        m_rows[k] = static_cast<std::int32_t>(row);
    }
}

gnn::Tensor<float> Nodes::remember(const NodeFeatures &features) const
{
    const std::size_t width = features.width + nAdded;
    auto out = gnn::Tensor<float>::Create(
        {features.n, width}, {gnn::Device::Cpu(), {}});

    if (features.n > maxExact)
        throw std::runtime_error("exatrkx: " + std::to_string(features.n) +
                                 " hits are more than " +
                                 std::to_string(maxExact));
    const auto number = static_cast<float>(events().put(m_hits));
    for (std::size_t i = 0; i < features.n; i++) {
        float *const to = out.data() + i * width;

        std::copy_n(features.values + i * features.width, features.width, to);
        to[features.width] = static_cast<float>(i);
        to[features.width + 1] = number;
    }
    return out;
}

/// Whether nodes have other numbers than the hits that the networks see.
bool Nodes::isRenumbered() const
{
    return m_isOwn && (m_rows.size() != m_hits->size() ||
                          m_hits->rows.size() != m_hits->size());
}

std::int64_t Nodes::leftOf(std::int64_t node, std::size_t edge) const
{
    if (node < 0 || node >= static_cast<std::int64_t>(m_rows.size()))
        throw std::runtime_error("exatrkx: edge " + std::to_string(edge) +
                                 " has node " + std::to_string(node) + " of " +
                                 std::to_string(m_rows.size()));
    return m_hits->leftOf[static_cast<std::size_t>(
        m_rows[static_cast<std::size_t>(node)])];
}

void Nodes::enter(
    gnn::PipelineTensors &tensors, const gnn::ExecutionContext &where)
{
    const std::size_t n = tensors.edgeIndex.shape()[1];

    // One edge may stand for none.
    if (!isRenumbered() && !(m_isOwn && n == 1))
        return;

    const OnHost<std::int64_t> index(tensors.edgeIndex, where);
    std::optional<OnHost<float>> scores;
    Edges kept;

    if (tensors.edgeScores)
        scores.emplace(*tensors.edgeScores, where);
    for (std::size_t e = 0; e < n; e++) {
        const std::int64_t src = leftOf(index[e], e);
        const std::int64_t dst = leftOf(index[n + e], e);

        if (src < 0 || dst < 0) {
            m_src.push_back(index[e]);
            m_dst.push_back(index[n + e]);
        } else if (src != dst) {
            kept.src.push_back(src);
            kept.dst.push_back(dst);
            if (scores)
                kept.scores.push_back((*scores)[e]);
        }
    }
    put(tensors, kept, where);
}

void Nodes::leave(gnn::PipelineTensors &tensors, bool withScores,
    const gnn::ExecutionContext &where) const
{
    const std::size_t n = tensors.edgeIndex.shape()[1];

    if (n == 0 && m_src.empty() && !m_hits->canGrow)
        throw gnn::NoEdgesError{};
    if (n > 0 && !isRenumbered())
        return;

    const OnHost<std::int64_t> index(tensors.edgeIndex, where);
    std::vector<std::int64_t> node(m_hits->size());
    Edges out;

    for (std::size_t k = 0; k < m_rows.size(); k++)
        node[static_cast<std::size_t>(m_rows[k])] =
            static_cast<std::int64_t>(k);
    const auto nodeOf = [&](std::int64_t left) {
        return node[static_cast<std::size_t>(
            m_hits->rows[static_cast<std::size_t>(left)])];
    };
    for (std::size_t e = 0; e < n; e++) {
        out.src.push_back(nodeOf(index[e]));
        out.dst.push_back(nodeOf(index[n + e]));
    }
    out.src.insert(out.src.end(), m_src.begin(), m_src.end());
    out.dst.insert(out.dst.end(), m_dst.begin(), m_dst.end());
    if (out.src.empty()) // one that is none, so that the pipeline goes on
        out.src = out.dst = {0};
    if (withScores) {
        if (n > 0) {
            const OnHost<float> scores(*tensors.edgeScores, where);
            out.scores.assign(scores.data(), scores.data() + n);
        }
        out.scores.resize(out.src.size(), 1.0F);
    }
    put(tensors, out, where);
}

std::vector<int> Nodes::ids(const std::vector<int> &ofNodes) const
{
    std::vector<int> out(m_hits->size());

    if (ofNodes.size() != m_rows.size())
        throw std::runtime_error("exatrkx: " + std::to_string(ofNodes.size()) +
                                 " space points came with " +
                                 std::to_string(m_rows.size()) + " nodes");
    if (m_rows.size() == m_hits->size())
        return ofNodes;
    std::iota(out.begin(), out.end(), 0);
    for (std::size_t k = 0; k < m_rows.size(); k++)
        if (ofNodes[k] != m_rows[k])
            throw std::runtime_error("exatrkx: nodes were removed "
                                     "(shrinkNodes), whose ids are known "
                                     "only where hit i has id i; hit " +
                                     std::to_string(m_rows[k]) + " has " +
                                     std::to_string(ofNodes[k]));
    return out;
}

} // namespace exatrkx
