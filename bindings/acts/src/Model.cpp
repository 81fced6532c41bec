// Model.cpp -- a loaded model, the columns it is fed with, and contexts to run
// it in.
//
// SPDX-License-Identifier: Apache-2.0
#include "Model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

namespace exatrkx {

namespace {

// In the order of etx_event_cell_features.
constexpr std::array cellColumns = {"cell_count", "cell_val", "leta", "lphi",
    "lx", "ly", "lz", "geta", "gphi"};

} // namespace

Contexts::Contexts(const Config &config)
{
    check(etx_context_options_init(&m_options, sizeof m_options));
    m_options.n_threads = config.threads;
    m_options.memory_limit = config.memoryLimit;
}

Contexts::Loan::Loan(Contexts &owner) : m_owner(owner)
{
    {
        const std::lock_guard lock(owner.m_mutex);
        if (!owner.m_idle.empty()) {
            m_context = std::move(owner.m_idle.back());
            owner.m_idle.pop_back();
            return;
        }
    }
    m_context = make<ContextHandle>(etx_context_create, &owner.m_options);
}

Contexts::Loan::~Loan()
{
    const std::lock_guard lock(m_owner.m_mutex);

    try {
        m_owner.m_idle.push_back(std::move(m_context));
    } catch (const std::bad_alloc &) {
        // The context is freed instead of kept.
    }
}

Model::Model(const Config &config)
    : m_columns(config.columns),
      m_model(make<ModelHandle>(etx_model_load, config.model.c_str())),
      m_contexts(config)
{
    check(etx_label_options_init(&m_labels, sizeof m_labels));
    check(etx_model_label_options(&m_labels, get()));
    checkCellColumns();
    checkStages();
}

/// setCells fills columns that are not configured with zeros, so none of them
/// may be among the features of a stage.
void Model::checkCellColumns() const
{
    const std::string config = etx_model_describe(get());

    for (const std::string name : cellColumns)
        for (const std::string &feature : {name, "log_" + name})
            if (!column(name) &&
                config.find('"' + feature + '"') != std::string::npos)
                throw std::runtime_error("exatrkx: the model needs the column " +
                                         name + " for the feature " + feature +
                                         "; configured are " +
                                         describeColumns());
}

/// Run every stage on an event without hits, so that errors in the columns show
/// at construction and not in the first event.
void Model::checkStages() const
{
    const EventHandle nothing = event(nullptr, 0, m_columns.size());
    const Contexts::Loan context(m_contexts);
    const GraphHandle edges = make<GraphHandle>(etx_graph_from_edges,
        std::int64_t{0}, std::int64_t{0}, nullptr, nullptr, nullptr, nullptr);
    const std::string columns = "; configured are " + describeColumns();
    std::int64_t n_dim = 0;
    etx_graph *filtered = nullptr;

    check(etx_embed(&n_dim, nullptr, 0, context.get(), get(), nothing.get()),
        columns);
    if (has(ETX_STAGE_FILTER))
        check(etx_graph_filter(&filtered, edges.get(), context.get(), get(),
                  nothing.get()),
            columns);
    etx_graph_free(filtered);
    if (has(ETX_STAGE_GNN))
        check(etx_graph_score(
                  edges.get(), context.get(), get(), nothing.get()),
            columns);
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

/// x, y, z [n, 3] in mm.
std::vector<float> Model::positions(
    const float *features, std::size_t n) const
{
    const auto x = column("x");
    const auto y = column("y");
    const auto z = column("z");
    const auto r = column("r");
    const auto phi = column("phi");
    const bool isCartesian = x && y;
    std::vector<float> out(3 * n);

    if (!z || !(isCartesian || (r && phi)))
        throw std::runtime_error("exatrkx: positions need the columns x, y, z "
                                 "or r, phi, z; configured are " +
                                 describeColumns());
    for (std::size_t i = 0; i < n; i++) {
        const float *row = features + i * m_columns.size();
        const auto value = [&](std::size_t k) {
            return row[k] * m_columns[k].scale;
        };

        out[3 * i] = isCartesian ? value(*x)
                                 : value(*r) * std::cos(value(*phi));
        out[3 * i + 1] = isCartesian ? value(*y)
                                     : value(*r) * std::sin(value(*phi));
        out[3 * i + 2] = value(*z);
    }
    return out;
}

void Model::setCells(
    etx_event *event, const float *features, std::size_t n) const
{
    std::vector<float> cells(n * cellColumns.size());
    bool hasAny = false;

    for (std::size_t k = 0; k < cellColumns.size(); k++) {
        const auto from = column(cellColumns[k]);
        if (!from)
            continue;
        hasAny = true;
        for (std::size_t i = 0; i < n; i++)
            cells[i * cellColumns.size() + k] =
                features[i * m_columns.size() + *from] *
                m_columns[*from].scale;
    }
    if (hasAny)
        check(etx_event_set_cell_features(event, cells.data()));
}

EventHandle Model::event(
    const float *features, std::size_t n, std::size_t width) const
{
    if (width != m_columns.size())
        throw std::runtime_error("exatrkx: " + std::to_string(width) +
                                 " node features came, " +
                                 std::to_string(m_columns.size()) +
                                 " are configured: " + describeColumns());

    const std::vector<float> position = positions(features, n);
    EventHandle event = make<EventHandle>(etx_event_create,
        static_cast<std::int64_t>(n), nullptr, position.data());

    setCells(event.get(), features, n);
    return event;
}

} // namespace exatrkx
