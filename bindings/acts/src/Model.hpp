// Model.hpp -- a loaded model, the columns and module ids it is fed with, and
// contexts to run it in.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EXATRKX_MODEL_HPP
#define EXATRKX_MODEL_HPP

#include <exatrkx/acts.hpp>
#include <exatrkx/exatrkx.hpp>

#include <cstdint>
#include <map>
#include <mutex>

namespace exatrkx
{

/// Equal contexts on each device: as many as calls ever ran there at the same
/// time.
class Contexts
{
  public:
    explicit Contexts(const Config &config);

    /// A context for the time of a call; it goes back when this ends.
    class Loan
    {
      public:
        Loan(Contexts &owner, const gnn::Device &device);
        ~Loan();
        Loan(const Loan &) = delete;
        Loan &operator=(const Loan &) = delete;

        etx::Context &get()
        {
            return m_context;
        }

      private:
        Contexts &m_owner;
        std::vector<etx::Context> &m_idle; ///< of its device, in m_owner
        etx::Context m_context;
    };

  private:
    std::vector<etx::Context> &idleOn(const gnn::Device &device);
    etx::Context take(
        std::vector<etx::Context> &idle, const gnn::Device &device);

    etx_context_options m_options;
    std::mutex m_mutex;
    std::vector<etx::Context> m_idle;
    std::map<std::size_t, std::vector<etx::Context>> m_idleOnDevice;
};

/// Of n hits, [n, width] row-major.
struct NodeFeatures {
    const float *values;
    std::size_t n, width;
};

class Model
{
  public:
    explicit Model(const Config &config);

    const etx::Model &get() const
    {
        return m_model;
    }
    const etx_label_options &labels() const
    {
        return m_labels;
    }
    Contexts &contexts() const
    {
        return m_contexts;
    }

    /// Of node features.
    std::size_t nColumns() const
    {
        return m_columns.size();
    }

    /// Build the graph of an event without hits: an error where the model
    /// cannot make one of what the stages get.
    void checkGraph() const;
    /// The hits of node features, in these modules or in none.
    etx::Event event(
        const NodeFeatures &features, const std::vector<Module> &modules) const;
    /// Of the columns, else of ids as they came with the hits; or none.
    std::vector<Module> modules(const NodeFeatures &features,
        const std::vector<std::uint64_t> &ids) const;

  private:
    std::optional<std::size_t> column(const std::string &name) const;
    std::string describeColumns() const;
    float value(
        const NodeFeatures &features, std::size_t i, std::size_t k) const;
    std::vector<float> positions(const NodeFeatures &features,
        const std::string &before = "", const std::string &after = "") const;
    void setCells(etx::Event &event, const NodeFeatures &features,
        const std::vector<float> &position) const;
    void setExtents(std::vector<float> &cells, const NodeFeatures &features,
        const std::vector<float> &position) const;
    void setClusters(etx::Event &event, const NodeFeatures &features) const;
    bool hasModuleColumns() const;
    Module moduleOf(std::uint64_t id) const;
    bool isGiven(const std::string &cellColumn) const;
    bool hasCells() const;
    void checkCellColumns() const;
    void checkStages() const;

    std::vector<Column> m_columns;
    std::vector<Pitch> m_pitches;
    ModuleIds m_moduleIds;
    std::map<std::uint64_t, Module> m_modules;
    etx::Model m_model;
    etx_label_options m_labels;
    mutable Contexts m_contexts;
};

} // namespace exatrkx

#endif
