// Model.cpp -- a loaded model, the columns it is fed with, and contexts to run
// it in.
//
// SPDX-License-Identifier: Apache-2.0
#include "Model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

namespace exatrkx
{

namespace
{

// In the order of etx_event_cell_features.
constexpr std::array cellColumns = {
    "cell_count", "cell_val", "leta", "lphi", "lx", "ly", "lz", "geta", "gphi"};

} // namespace

Contexts::Contexts(const Config &config) : m_options(etx::context_options())
{
    m_options.n_threads = config.threads;
    m_options.memory_limit = config.memoryLimit;
}

std::vector<etx::Context> &Contexts::idleOn(const gnn::Device &device)
{
    const std::lock_guard lock(m_mutex);

    return device.isCpu() ? m_idle : m_idleOnDevice[device.index];
}

etx::Context Contexts::take(
    std::vector<etx::Context> &idle, const gnn::Device &device)
{
    etx_context_options options = m_options;

    {
        const std::lock_guard lock(m_mutex);
        if (!idle.empty()) {
            etx::Context context = std::move(idle.back());
            idle.pop_back();
            return context;
        }
    }
    if (!device.isCpu()) {
        options.device = ETX_DEVICE_CUDA;
        options.device_index = static_cast<std::int32_t>(device.index);
        options.keep_graphs = 2; // edges go from tensor to tensor
    }
    return etx::Context(options);
}

Contexts::Loan::Loan(Contexts &owner, const gnn::Device &device)
    : m_owner(owner), m_idle(owner.idleOn(device)),
      m_context(owner.take(m_idle, device))
{
}

Contexts::Loan::~Loan()
{
    const std::lock_guard lock(m_owner.m_mutex);

    try {
        m_idle.push_back(std::move(m_context));
    } catch (const std::bad_alloc &) {
        // The context is freed instead of kept.
    }
}

Model::Model(const Config &config)
    : m_columns(config.columns), m_pitches(config.pitches),
      m_model(etx::Model::load(config.model)),
      m_labels(m_model.label_options()), m_contexts(config)
{
    checkCellColumns();
    checkStages();
}

/// Extents are also the sizes times the pitches.
bool Model::isGiven(const std::string &cellColumn) const
{
    const std::string size = cellColumn == "lx"   ? "size_u"
                             : cellColumn == "ly" ? "size_v"
                                                  : "";

    return column(cellColumn) || (column(size) && !m_pitches.empty());
}

bool Model::hasCells() const
{
    return column("size_u") || column("size_v") ||
           std::any_of(cellColumns.begin(), cellColumns.end(),
               [&](const char *name) { return isGiven(name); });
}

/// setCells fills columns that are not configured with zeros, so none of them
/// may be among the features of a stage. Where all are absent, so are the cells
/// of the event.
void Model::checkCellColumns() const
{
    if (!hasCells())
        return;

    const std::string_view config = m_model.describe();

    for (const std::string name : cellColumns)
        for (const std::string &feature : {name, "log_" + name})
            if (!isGiven(name) &&
                config.find('"' + feature + '"') != std::string_view::npos)
                throw std::runtime_error(
                    "exatrkx: the model needs the column " + name +
                    " for the feature " + feature + "; configured are " +
                    describeColumns());
}

/// Run every stage on an event without hits, so that errors in the columns show
/// at construction and not in the first event.
void Model::checkStages() const
{
    const etx::Event nothing = event(nullptr, 0, m_columns.size());
    Contexts::Loan loan(m_contexts, gnn::Device::Cpu());
    const std::vector<std::int32_t> none;

    try {
        etx::Graph edges = etx::Graph::from_edges(0, none, none);

        if (m_model.has_stage(ETX_STAGE_EMBEDDING))
            etx::embed(loan.get(), m_model, nothing);
        if (m_model.has_stage(ETX_STAGE_FILTER))
            edges.filter(loan.get(), m_model, nothing);
        if (m_model.has_stage(ETX_STAGE_GNN))
            edges.score(loan.get(), m_model, nothing);
    } catch (const etx::Error &error) {
        throw etx::Error(error.status(), std::string(error.what()) +
                                             "; configured are " +
                                             describeColumns());
    }
}

void Model::checkGraph() const
{
    Contexts::Loan loan(m_contexts, gnn::Device::Cpu());

    etx::Graph::build(loan.get(), m_model, event(nullptr, 0, m_columns.size()));
}

std::optional<std::size_t> Model::column(const std::string &name) const
{
    const auto found = std::find_if(m_columns.begin(), m_columns.end(),
        [&](const Column &column) { return column.name == name; });

    if (found == m_columns.end())
        return std::nullopt;
    return static_cast<std::size_t>(found - m_columns.begin());
}

bool Model::isPositions() const
{
    const std::array names = {"x", "y", "z"};

    return std::equal(m_columns.begin(), m_columns.end(), names.begin(),
        names.end(), [](const Column &column, const char *name) {
            return column.name == name && column.scale == 1.0F;
        });
}

std::string Model::describeColumns() const
{
    std::ostringstream text;

    for (const Column &column : m_columns)
        text << (&column == m_columns.data() ? "" : ", ") << column.name
             << " (scale " << column.scale << ")";
    return text.str();
}

/// Of column k of hit i, as it was before the algorithm scaled it.
float Model::value(const float *features, std::size_t i, std::size_t k) const
{
    return features[i * m_columns.size() + k] * m_columns[k].scale;
}

/// x, y, z [n, 3] in mm, of columns whose names have this before and after.
std::vector<float> Model::positions(const float *features, std::size_t n,
    const std::string &before, const std::string &after) const
{
    const auto find = [&](const char *name) {
        return column(before + name + after);
    };
    const auto x = find("x");
    const auto y = find("y");
    const auto z = find("z");
    const auto r = find("r");
    const auto phi = find("phi");
    const bool isCartesian = x && y;
    std::vector<float> out(3 * n);

    if (!z || !(isCartesian || (r && phi)))
        throw std::runtime_error("exatrkx: positions need the columns x, y, z "
                                 "or r, phi, z (" +
                                 before + "x" + after + " and the like); " +
                                 "configured are " + describeColumns());
    for (std::size_t i = 0; i < n; i++) {
        const auto at = [&](std::size_t k) { return value(features, i, k); };

        out[3 * i] = isCartesian ? at(*x) : at(*r) * std::cos(at(*phi));
        out[3 * i + 1] = isCartesian ? at(*y) : at(*r) * std::sin(at(*phi));
        out[3 * i + 2] = at(*z);
    }
    return out;
}

/// lx and ly of cells [n, 9] in mm, from the sizes in cells and the pitch
/// where the hit is.
void Model::setExtents(std::vector<float> &cells, const float *features,
    std::size_t n, const std::vector<float> &position) const
{
    const auto u = column("size_u");
    const auto v = column("size_v");

    if (m_pitches.empty() || (!u && !v))
        return;
    for (std::size_t i = 0; i < n; i++) {
        const float r = std::hypot(position[3 * i], position[3 * i + 1]);
        const float z = std::abs(position[3 * i + 2]);
        const auto found = std::find_if(
            m_pitches.begin(), m_pitches.end() - 1, [&](const Pitch &pitch) {
                return r < pitch.maxR && z < pitch.maxZ;
            });

        if (u)
            cells[9 * i + 4] = value(features, i, *u) * found->u;
        if (v)
            cells[9 * i + 5] = value(features, i, *v) * found->v;
    }
}

void Model::setCells(etx::Event &event, const float *features, std::size_t n,
    const std::vector<float> &position) const
{
    if (!hasCells())
        return;

    std::vector<float> cells(n * cellColumns.size());

    for (std::size_t k = 0; k < cellColumns.size(); k++) {
        const auto from = column(cellColumns[k]);
        for (std::size_t i = 0; from && i < n; i++)
            cells[i * cellColumns.size() + k] = value(features, i, *from);
    }
    setExtents(cells, features, n, position);
    event.set_cell_features(cells);
}

/// Where the columns have the clusters' coordinates.
void Model::setClusters(
    etx::Event &event, const float *features, std::size_t n) const
{
    const auto isOfCluster = [](const Column &column) {
        return column.name.rfind("cluster_", 0) == 0;
    };
    if (std::none_of(m_columns.begin(), m_columns.end(), isOfCluster))
        return;

    const std::vector<float> first = positions(features, n, "cluster_", "_1");
    const std::vector<float> second = positions(features, n, "cluster_", "_2");
    std::vector<float> both(6 * n);

    for (std::size_t i = 0; i < 3 * n; i++) {
        both[6 * (i / 3) + i % 3] = first[i];
        both[6 * (i / 3) + 3 + i % 3] = second[i];
    }
    event.set_cluster_positions(both);
}

etx::Event Model::event(
    const float *features, std::size_t n, std::size_t width) const
{
    if (width != m_columns.size())
        throw std::runtime_error("exatrkx: " + std::to_string(width) +
                                 " node features came, " +
                                 std::to_string(m_columns.size()) +
                                 " are configured: " + describeColumns());

    const std::vector<float> position = positions(features, n);
    etx::Event event(position);

    setCells(event, features, n, position);
    setClusters(event, features, n);
    return event;
}

} // namespace exatrkx
