// GnnPipeline.hpp -- the stages one after the other (ActsConfig.cmake).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Acts/Utilities/Logger.hpp>
#include <ActsPlugins/Gnn/Stages.hpp>

#include <algorithm>
#include <memory>

namespace ActsPlugins
{

class GnnHook
{
  public:
    virtual ~GnnHook() = default;
    virtual void operator()(const PipelineTensors & /*tensors*/,
        const ExecutionContext & /*context*/) const
    {
    }
};

class GnnPipeline
{
  public:
    GnnPipeline(std::shared_ptr<GraphConstructionBase> graphConstructor,
        std::vector<std::shared_ptr<EdgeClassificationBase>> edgeClassifiers,
        std::shared_ptr<TrackBuildingBase> trackBuilder,
        std::unique_ptr<const Acts::Logger> /*logger*/,
        bool shrinkNodes = false)
        : m_graphConstructor(std::move(graphConstructor)),
          m_edgeClassifiers(std::move(edgeClassifiers)),
          m_trackBuilder(std::move(trackBuilder)), m_shrinkNodes(shrinkNodes)
    {
    }

    std::vector<std::vector<int>> run(std::vector<float> &features,
        const std::vector<std::uint64_t> &moduleIds,
        std::vector<int> &spacePointIDs, Device device,
        const GnnHook &hook = {}) const
    {
        ExecutionContext context{device, {}};
#ifdef ACTS_GNN_WITH_CUDA
        struct Stream {
            CUstream_st *stream = nullptr;
            ~Stream()
            {
                if (stream != nullptr)
                    cudaStreamDestroy(stream);
            }
        } own;
        constexpr unsigned nonBlocking = 1;

        if (!device.isCpu()) {
            cudaStreamCreateWithFlags(&own.stream, nonBlocking);
            context.stream = own.stream;
        }
#endif
        try {
            auto tensors = (*m_graphConstructor)(
                features, spacePointIDs.size(), moduleIds, context);
            hook(tensors, context);
            for (const auto &classifier : m_edgeClassifiers) {
                if (m_shrinkNodes)
                    removeUnusedNodes(tensors, spacePointIDs, context);
                tensors = (*classifier)(std::move(tensors), context);
                hook(tensors, context);
            }
            return (*m_trackBuilder)(
                std::move(tensors), spacePointIDs, context);
        } catch (const NoEdgesError &) {
            return {};
        }
    }

  private:
    static void removeUnusedNodes(PipelineTensors &tensors,
        std::vector<int> &spacePointIDs, const ExecutionContext &context)
    {
        const ExecutionContext host{Device::Cpu(), context.stream};
        auto edges = tensors.edgeIndex.clone(host);
        const auto nodes = tensors.nodeFeatures.clone(host);
        const std::size_t width = nodes.shape()[1];
        std::int64_t *const index = edges.data();
        std::vector<std::int64_t> used(index, index + edges.size());
        std::vector<int> ids;

        if (used.empty())
            throw NoEdgesError{};
        std::sort(used.begin(), used.end());
        used.erase(std::unique(used.begin(), used.end()), used.end());
        auto features = Tensor<float>::Create({used.size(), width}, host);
        for (std::size_t k = 0; k < used.size(); k++) {
            const auto node = static_cast<std::size_t>(used[k]);

            ids.push_back(spacePointIDs[node]);
            std::copy_n(nodes.data() + node * width, width,
                features.data() + k * width);
        }
        for (std::size_t e = 0; e < edges.size(); e++)
            index[e] = std::lower_bound(used.begin(), used.end(), index[e]) -
                       used.begin();
        tensors.edgeIndex = edges.clone(context);
        tensors.nodeFeatures = features.clone(context);
        spacePointIDs = std::move(ids);
    }

    std::shared_ptr<GraphConstructionBase> m_graphConstructor;
    std::vector<std::shared_ptr<EdgeClassificationBase>> m_edgeClassifiers;
    std::shared_ptr<TrackBuildingBase> m_trackBuilder;
    bool m_shrinkNodes;
};

} // namespace ActsPlugins
