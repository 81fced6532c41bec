// Stages.hpp -- tensors, and the stages of the GNN pipeline (ActsConfig.cmake).
// With ACTS_GNN_WITH_CUDA tensors may be on a device, as the emulation of CUDA
// has it.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

struct CUstream_st;

namespace ActsPlugins
{

struct Device {
    enum class Type { eCPU, eCUDA };
    Type type = Type::eCPU;
    std::size_t index = 0;

    static Device Cpu()
    {
        return {};
    }
    static Device Cuda(std::size_t index = 0)
    {
        return {Type::eCUDA, index};
    }
    bool isCpu() const
    {
        return type == Type::eCPU;
    }
};

struct ExecutionContext {
    Device device;
    std::optional<CUstream_st *> stream;
};

#ifdef ACTS_GNN_WITH_CUDA
extern "C" {
int cudaMalloc(void **out, std::size_t size);
int cudaFree(void *memory);
int cudaMemcpyAsync(void *to, const void *from, std::size_t size, int kind,
    CUstream_st *stream);
int cudaStreamCreateWithFlags(CUstream_st **out, unsigned flags);
int cudaStreamSynchronize(CUstream_st *stream);
int cudaStreamDestroy(CUstream_st *stream);
}
#endif

/// Bytes on the host or on a device; not initialised.
class Memory
{
  public:
    Memory(std::size_t size, const ExecutionContext &where)
        : m_size(size), m_device(where.device)
    {
#ifdef ACTS_GNN_WITH_CUDA
        if (!m_device.isCpu()) {
            void *memory = nullptr;
            if (cudaMalloc(&memory, size) != 0)
                throw std::bad_alloc();
            m_memory = {memory, [](void *old) { cudaFree(old); }};
            return;
        }
#endif
        m_memory = {
            ::operator new(size), [](void *old) { ::operator delete(old); }};
    }
    Memory copy(const ExecutionContext &to) const
    {
        Memory out(m_size, to);

#ifdef ACTS_GNN_WITH_CUDA
        // cudaMemcpyHostToDevice, DeviceToHost, DeviceToDevice
        const int kind = m_device.isCpu() ? 1 : to.device.isCpu() ? 2 : 3;

        if (!m_device.isCpu() || !to.device.isCpu()) {
            if (m_size > 0 &&
                (cudaMemcpyAsync(
                     out.get(), get(), m_size, kind, to.stream.value()) != 0 ||
                    cudaStreamSynchronize(to.stream.value()) != 0))
                throw std::runtime_error("a copy between devices");
            return out;
        }
#endif
        if (m_size > 0)
            std::memcpy(out.get(), get(), m_size);
        return out;
    }
    void *get() const
    {
        return m_memory.get();
    }
    Device device() const
    {
        return m_device;
    }

  private:
    std::unique_ptr<void, void (*)(void *)> m_memory{nullptr, nullptr};
    std::size_t m_size;
    Device m_device;
};

template <typename T> class Tensor
{
  public:
    using Shape = std::array<std::size_t, 2>;

    static Tensor Create(Shape shape, const ExecutionContext &where)
    {
        return Tensor(shape, Memory(shape[0] * shape[1] * sizeof(T), where));
    }
    Tensor clone(const ExecutionContext &to) const
    {
        return Tensor(m_shape, m_memory.copy(to));
    }
    T *data()
    {
        return static_cast<T *>(m_memory.get());
    }
    const T *data() const
    {
        return static_cast<const T *>(m_memory.get());
    }
    Shape shape() const
    {
        return m_shape;
    }
    std::size_t size() const
    {
        return m_shape[0] * m_shape[1];
    }
    Device device() const
    {
        return m_memory.device();
    }

  private:
    Tensor(Shape shape, Memory memory)
        : m_shape(shape), m_memory(std::move(memory))
    {
    }

    Shape m_shape;
    Memory m_memory;
};

struct NoEdgesError : std::exception {
};

struct PipelineTensors {
    Tensor<float> nodeFeatures;
    Tensor<std::int64_t> edgeIndex;
    std::optional<Tensor<float>> edgeFeatures;
    std::optional<Tensor<float>> edgeScores;
};

class GraphConstructionBase
{
  public:
    virtual ~GraphConstructionBase() = default;
    virtual PipelineTensors operator()(std::vector<float> &inputValues,
        std::size_t numNodes, const std::vector<std::uint64_t> &moduleIds,
        const ExecutionContext &execContext = {}) = 0;
};

class EdgeClassificationBase
{
  public:
    virtual ~EdgeClassificationBase() = default;
    virtual PipelineTensors operator()(
        PipelineTensors tensors, const ExecutionContext &execContext = {}) = 0;
};

class TrackBuildingBase
{
  public:
    virtual ~TrackBuildingBase() = default;
    virtual std::vector<std::vector<int>> operator()(PipelineTensors tensors,
        std::vector<int> &spacePointIDs,
        const ExecutionContext &execContext = {}) = 0;
};

} // namespace ActsPlugins
