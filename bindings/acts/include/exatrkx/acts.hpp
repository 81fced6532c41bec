// exatrkx/acts.hpp -- the stages of a model as stages of ACTS's GNN pipeline.
//
//   exatrkx::Stages stages({.model = "default.safetensors",
//       .columns = {{"r", 1000}, {"phi", 3.14159274F}, {"z", 1000}}});
//   ActsPlugins::GnnPipeline pipeline(stages.graphConstruction(),
//       stages.edgeClassifiers(), stages.trackBuilding(), std::move(logger));
//
// Threads: GnnPipeline::run may be called by many threads concurrently on the
// same stages; each call borrows a context from a pool, by default of one
// thread. Errors: std::runtime_error with the library's own text; NoEdgesError
// where no edge remains, which the pipeline turns into no tracks. Devices: the
// stages compute where the pipeline does; on a GPU edges and scores stay there.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EXATRKX_ACTS_HPP
#define EXATRKX_ACTS_HPP

#include <exatrkx/exatrkx.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#if __has_include(<ActsPlugins/Gnn/Stages.hpp>)
#include <ActsPlugins/Gnn/Stages.hpp>
namespace exatrkx
{
namespace gnn = ::ActsPlugins;
}
#elif __has_include(<Acts/Plugins/Gnn/Stages.hpp>) // before ACTS 44
#include <Acts/Plugins/Gnn/Stages.hpp>
namespace exatrkx
{
namespace gnn = ::Acts;
}
#else // before ACTS 43.2
#include <Acts/Plugins/ExaTrkX/Stages.hpp>
namespace exatrkx
{
namespace gnn = ::Acts;
}
#endif

namespace exatrkx
{

/// A column of the node features: what it is, and what the algorithm that
/// fills it divides by (its nodeFeatures and featureScales, in their order).
///
/// Positions come from "x", "y", "z" or from "r", "phi", "z" (mm, rad). Other
/// names that are read, where the model wants them: "cell_count" (ACTS:
/// CellCount), "cell_val" (ChargeSum), "leta", "lphi", "lx", "ly", "lz",
/// "geta", "gphi"; "size_u", "size_v" (ClusterLoc0, ClusterLoc1), which give
/// "lx" and "ly" by the pitches; "cluster_x_1" or "cluster_r_1" and the like
/// (Cluster1X, Cluster1R), of both clusters; "volume", "layer" and "module"
/// instead of module ids. Any other name is a column that nobody reads.
struct Column {
    std::string name;
    float scale = 1.0F;
};

/// Lengths of a cell along u and v (ACTS: loc0 and loc1) of the hits within
/// maxR of the beam line and maxZ of the middle; all in mm.
struct Pitch {
    float maxR, maxZ, u, v;
};

/// Where a hit is: numbers of the events that the model learned from.
struct Module {
    std::int32_t volume, layer, module;
};

/// To which hits the module ids belong that come with them.
enum class ModuleIds {
    eSorted, ///< hits are sorted by module id, and ids come in any order: as
             ///< in TrackFindingAlgorithmGnn of every version
    eOfHits, ///< id k is that of hit k
    eNone    ///< they are not read: neither first pass nor completion
};

struct Config {
    std::string model; ///< path of a model file
    std::vector<Column> columns;
    /// Edges leave the last classifier with a score above this (strictly);
    /// default: the cut of the model's labels.
    std::optional<float> cut;
    /// Threads of a call, 1 to 256. The results are the same for any number;
    /// hosts that run many events at the same time want 1.
    std::int32_t threads = 1;
    /// Bytes of scratch memory of a call, as in etx_context_options; 0 = no
    /// limit. What needs more is an error.
    std::int64_t memoryLimit = 0;
    /// For the columns "size_u" and "size_v": the first that holds a hit
    /// counts, and the last for hits that none holds.
    std::vector<Pitch> pitches = {};
    ModuleIds moduleIds = ModuleIds::eSorted;
    /// The module of each id; empty: volume, layer and sensitive number of an
    /// Acts::GeometryIdentifier.
    std::map<std::uint64_t, Module> modules = {};
};

class Model; // loaded once, shared by the stages

/// The first pass of the model, and the candidate edges of the hits that it
/// leaves. Each of its tracks is a chain of edges, too.
class GraphConstruction final : public gnn::GraphConstructionBase
{
  public:
    explicit GraphConstruction(std::shared_ptr<const Model> model);

    /// Node features get two more columns, the last, by which the other stages
    /// find this event: until the same thread begins another. Without
    /// module ids, or columns of modules, there is no first pass.
    gnn::PipelineTensors operator()(std::vector<float> &inputValues,
        std::size_t numNodes, const std::vector<std::uint64_t> &moduleIds,
        const gnn::ExecutionContext &execContext = {}) override;

  private:
    std::shared_ptr<const Model> m_model;
};

/// The filter or the graph neural network of the model. Edges come in any
/// order and leave sorted by target, then source, with their scores;
/// then the edges of the first pass, which no network sees, with the score 1.
class EdgeClassification final : public gnn::EdgeClassificationBase
{
  public:
    enum class Network { eFilter, eGnn };

    EdgeClassification(
        std::shared_ptr<const Model> model, Network network, float cut);

    gnn::PipelineTensors operator()(gnn::PipelineTensors tensors,
        const gnn::ExecutionContext &execContext = {}) override;

  private:
    std::shared_ptr<const Model> m_model;
    Network m_network;
    float m_cut; // a filter has that of the model, too
};

/// The label method of the model, and its completion: with the other stages of
/// the same Stages, the tracks of etx_find_tracks, ordered by first hit.
class TrackBuilding final : public gnn::TrackBuildingBase
{
  public:
    explicit TrackBuilding(std::shared_ptr<const Model> model);

    std::vector<std::vector<int>> operator()(gnn::PipelineTensors tensors,
        std::vector<int> &spacePointIDs,
        const gnn::ExecutionContext &execContext = {}) override;

  private:
    std::shared_ptr<const Model> m_model;
};

/// All stages of a model file. What a stage wants and the columns lack is an
/// error of the constructor, which names both.
class Stages
{
  public:
    explicit Stages(const Config &config);

    /// An error where the model lacks an embedding, or takes its graph from a
    /// map of modules, which are not read.
    std::shared_ptr<gnn::GraphConstructionBase> graphConstruction() const;
    /// The filter and the graph network, as far as the model has them.
    std::vector<std::shared_ptr<gnn::EdgeClassificationBase>>
    edgeClassifiers() const;
    std::shared_ptr<gnn::TrackBuildingBase> trackBuilding() const;

  private:
    std::shared_ptr<const Model> m_model;
    float m_cut;
};

} // namespace exatrkx

#endif
