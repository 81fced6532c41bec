// Hits.hpp -- an event on its way through the stages, and nodes of tensors as
// its hits.
//
// Networks see the hits that the first pass leaves, as in the library; its
// tracks are edges from hit to hit that no network scores, so that hooks and
// other track buildings see them. Completion needs all hits, also those whose
// nodes the pipeline removes as they have no edges (shrinkNodes). So the event
// stays here, and node features get two columns that say which hit of which
// event a node is.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EXATRKX_HITS_HPP
#define EXATRKX_HITS_HPP

#include "Model.hpp"

namespace exatrkx
{

struct Hits {
    /// After the first pass of the model.
    Hits(const Model &model, etx::Context &context,
        const NodeFeatures &features,
        const std::vector<std::uint64_t> &moduleIds);
    /// Of node features that come from elsewhere: without a first pass.
    Hits(const Model &model, const NodeFeatures &features);

    /// Those that the networks see.
    const etx::Event &left() const
    {
        return selected.get() == nullptr ? event : selected;
    }
    std::size_t size() const
    {
        return firstPass.labels.size();
    }

    etx::Event event;
    etx::FirstPass firstPass;
    etx::Event selected;              ///< the hits left, where there are others
    std::vector<std::int32_t> rows;   ///< of the hits left, in the event
    std::vector<std::int32_t> leftOf; ///< number of a hit among them, or -1
    bool canGrow; ///< completion finds tracks where there are no edges, too
};

/// The nodes of tensors.
class Nodes
{
  public:
    /// Of an event that goes through the stages from here on.
    explicit Nodes(std::shared_ptr<const Hits> hits);
    /// In a later stage.
    Nodes(const Model &model, const gnn::Tensor<float> &features,
        const gnn::ExecutionContext &where);

    const Hits &hits() const
    {
        return *m_hits;
    }

    /// features with the columns by which a later stage finds the event, until
    /// this thread begins another.
    gnn::Tensor<float> remember(const NodeFeatures &features) const;
    /// Leave the edges between hits that the networks see in the tensors, with
    /// nodes numbered as these.
    void enter(
        gnn::PipelineTensors &tensors, const gnn::ExecutionContext &where);
    /// The way back, with the edges of the first pass; NoEdgesError where no
    /// track can come of it.
    void leave(gnn::PipelineTensors &tensors, bool withScores,
        const gnn::ExecutionContext &where) const;
    /// The ids of all hits, from the ids of the nodes.
    std::vector<int> ids(const std::vector<int> &ofNodes) const;

  private:
    bool isRenumbered() const;
    std::int64_t leftOf(std::int64_t node, std::size_t edge) const;

    std::shared_ptr<const Hits> m_hits;
    std::vector<std::int32_t> m_rows; ///< of the nodes in the event, ascending
    bool m_isOwn = true;              ///< the graph is one of this library
    std::vector<std::int64_t> m_src, m_dst; ///< nodes of first pass's edges
};

} // namespace exatrkx

#endif
