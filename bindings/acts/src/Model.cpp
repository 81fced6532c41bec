// Model.cpp -- a loaded model, the columns and module ids it is fed with, and
// contexts to run it in.
//
// SPDX-License-Identifier: Apache-2.0
#include "Model.hpp"

#include <Acts/Geometry/GeometryIdentifier.hpp>
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

constexpr std::array moduleColumns = {"volume", "layer", "module"};

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
      m_moduleIds(config.moduleIds), m_modules(config.modules),
      m_model(etx::Model::load(config.model)),
      m_labels(m_model.label_options()), m_contexts(config)
{
    checkCellColumns();
    hasModuleColumns();
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
    const etx::Event nothing = event({nullptr, 0, nColumns()}, {});
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
    etx::Event nothing = event({nullptr, 0, nColumns()}, {});

    if (hasModuleColumns() || m_moduleIds != ModuleIds::eNone)
        nothing.set_modules({}, {}, {});
    etx::Graph::build(loan.get(), m_model, nothing);
}

std::optional<std::size_t> Model::column(const std::string &name) const
{
    const auto found = std::find_if(m_columns.begin(), m_columns.end(),
        [&](const Column &column) { return column.name == name; });

    if (found == m_columns.end())
        return std::nullopt;
    return static_cast<std::size_t>(found - m_columns.begin());
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
float Model::value(
    const NodeFeatures &features, std::size_t i, std::size_t k) const
{
    return features.values[i * features.width + k] * m_columns[k].scale;
}

/// x, y, z [n, 3] in mm, of columns whose names have this before and after.
std::vector<float> Model::positions(const NodeFeatures &features,
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
    std::vector<float> out(3 * features.n);

    if (!z || !(isCartesian || (r && phi)))
        throw std::runtime_error("exatrkx: positions need the columns x, y, z "
                                 "or r, phi, z (" +
                                 before + "x" + after + " and the like); " +
                                 "configured are " + describeColumns());
    for (std::size_t i = 0; i < features.n; i++) {
        const auto at = [&](std::size_t k) { return value(features, i, k); };

        out[3 * i] = isCartesian ? at(*x) : at(*r) * std::cos(at(*phi));
        out[3 * i + 1] = isCartesian ? at(*y) : at(*r) * std::sin(at(*phi));
        out[3 * i + 2] = at(*z);
    }
    return out;
}

/// lx and ly of cells [n, 9] in mm, from the sizes in cells and the pitch
/// where the hit is.
void Model::setExtents(std::vector<float> &cells, const NodeFeatures &features,
    const std::vector<float> &position) const
{
    const auto u = column("size_u");
    const auto v = column("size_v");

    if (m_pitches.empty() || (!u && !v))
        return;
    for (std::size_t i = 0; i < features.n; i++) {
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

void Model::setCells(etx::Event &event, const NodeFeatures &features,
    const std::vector<float> &position) const
{
    if (!hasCells())
        return;

    std::vector<float> cells(features.n * cellColumns.size());

    for (std::size_t k = 0; k < cellColumns.size(); k++) {
        const auto from = column(cellColumns[k]);
        for (std::size_t i = 0; from && i < features.n; i++)
            cells[i * cellColumns.size() + k] = value(features, i, *from);
    }
    setExtents(cells, features, position);
    event.set_cell_features(cells);
}

/// Where the columns have the clusters' coordinates.
void Model::setClusters(etx::Event &event, const NodeFeatures &features) const
{
    const auto isOfCluster = [](const Column &column) {
        return column.name.rfind("cluster_", 0) == 0;
    };
    if (std::none_of(m_columns.begin(), m_columns.end(), isOfCluster))
        return;

    const std::vector<float> first = positions(features, "cluster_", "_1");
    const std::vector<float> second = positions(features, "cluster_", "_2");
    std::vector<float> both(2 * first.size());

    for (std::size_t i = 0; i < first.size(); i++) {
        both[6 * (i / 3) + i % 3] = first[i];
        both[6 * (i / 3) + 3 + i % 3] = second[i];
    }
    event.set_cluster_positions(both);
}

/// Whether modules are columns: all three or none.
bool Model::hasModuleColumns() const
{
    const auto n = std::count_if(moduleColumns.begin(), moduleColumns.end(),
        [&](const char *name) { return column(name).has_value(); });

    if (n != 0 && n != 3)
        throw std::runtime_error("exatrkx: modules need the columns volume, "
                                 "layer and module; configured are " +
                                 describeColumns());
    return n == 3;
}

Module Model::moduleOf(std::uint64_t id) const
{
    if (m_modules.empty()) {
        const Acts::GeometryIdentifier fields(id);
        return {static_cast<std::int32_t>(fields.volume()),
            static_cast<std::int32_t>(fields.layer()),
            static_cast<std::int32_t>(fields.sensitive())};
    }

    const auto found = m_modules.find(id);
    if (found == m_modules.end())
        throw std::runtime_error(
            "exatrkx: module id " + std::to_string(id) + " is none of the " +
            std::to_string(m_modules.size()) + " modules of the configuration");
    return found->second;
}

std::vector<Module> Model::modules(
    const NodeFeatures &features, const std::vector<std::uint64_t> &ids) const
{
    std::vector<Module> out;

    out.reserve(features.n);
    if (hasModuleColumns()) {
        const auto at = [&](std::size_t i, std::size_t k) {
            return static_cast<std::int32_t>(
                std::lround(value(features, i, *column(moduleColumns[k]))));
        };
        for (std::size_t i = 0; i < features.n; i++)
            out.push_back({at(i, 0), at(i, 1), at(i, 2)});
        return out;
    }
    if (m_moduleIds == ModuleIds::eNone || ids.empty())
        return out;
    if (ids.size() != features.n)
        throw std::runtime_error("exatrkx: " + std::to_string(ids.size()) +
                                 " module ids came with " +
                                 std::to_string(features.n) + " hits");

    std::vector<std::uint64_t> ofHits = ids;
    if (m_moduleIds == ModuleIds::eSorted)
        std::sort(ofHits.begin(), ofHits.end());
    for (std::size_t i = 0; i < ofHits.size(); i++)
        out.push_back(i > 0 && ofHits[i] == ofHits[i - 1]
                          ? out.back()
                          : moduleOf(ofHits[i]));
    return out;
}

etx::Event Model::event(
    const NodeFeatures &features, const std::vector<Module> &modules) const
{
    if (features.width != nColumns())
        throw std::runtime_error("exatrkx: " + std::to_string(features.width) +
                                 " node features came, " +
                                 std::to_string(nColumns()) +
                                 " are configured: " + describeColumns());

    const std::vector<float> position = positions(features);
    std::vector<std::int32_t> volume, layer, module;
    etx::Event event(position);

    setCells(event, features, position);
    setClusters(event, features);
    if (modules.empty())
        return event;
    for (const Module &of : modules) {
        volume.push_back(of.volume);
        layer.push_back(of.layer);
        module.push_back(of.module);
    }
    event.set_modules(volume, layer, module);
    return event;
}

} // namespace exatrkx
