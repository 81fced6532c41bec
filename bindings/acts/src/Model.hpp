// Model.hpp -- a loaded model, the columns it is fed with, and contexts to run
// it in.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EXATRKX_MODEL_HPP
#define EXATRKX_MODEL_HPP

#include "Handles.hpp"

#include <exatrkx/acts.hpp>

#include <cstdint>
#include <mutex>

namespace exatrkx {

/// Equal contexts: as many as calls ever ran at the same time.
class Contexts {
  public:
    explicit Contexts(const Config &config);

    /// A context for the time of a call; it goes back when this ends.
    class Loan {
      public:
        explicit Loan(Contexts &owner);
        ~Loan();
        Loan(const Loan &) = delete;
        Loan &operator=(const Loan &) = delete;

        etx_context *get() const
        {
            return m_context.get();
        }

      private:
        Contexts &m_owner;
        ContextHandle m_context;
    };

  private:
    etx_context_options m_options{};
    std::mutex m_mutex;
    std::vector<ContextHandle> m_idle;
};

class Model {
  public:
    explicit Model(const Config &config);

    const etx_model *get() const
    {
        return m_model.get();
    }
    const etx_label_options &labels() const
    {
        return m_labels;
    }
    Contexts &contexts() const
    {
        return m_contexts;
    }
    /// Of the ETX_STAGE_ networks.
    bool has(std::int32_t stage) const
    {
        return etx_model_has_stage(get(), stage) != 0;
    }

    /// The hits of node features [n, width], row-major.
    EventHandle event(
        const float *features, std::size_t n, std::size_t width) const;

  private:
    std::optional<std::size_t> column(const std::string &name) const;
    std::string describeColumns() const;
    std::vector<float> positions(const float *features, std::size_t n) const;
    void setCells(
        etx_event *event, const float *features, std::size_t n) const;
    void checkCellColumns() const;
    void checkStages() const;

    std::vector<Column> m_columns;
    ModelHandle m_model;
    etx_label_options m_labels{};
    mutable Contexts m_contexts;
};

} // namespace exatrkx

#endif
