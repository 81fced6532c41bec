// module.cpp -- the stages of a model file for Python, next to acts.gnn.
//
// SPDX-License-Identifier: Apache-2.0
#include <exatrkx/acts.hpp>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace
{

exatrkx::Stages load(const std::string &model,
    const std::vector<std::pair<std::string, float>> &columns,
    std::optional<float> cut, std::int32_t threads, std::int64_t memoryLimit,
    const std::vector<std::array<float, 4>> &pitches)
{
    exatrkx::Config config{model, {}, cut, threads, memoryLimit, {}};

    for (const auto &[name, scale] : columns)
        config.columns.push_back({name, scale});
    for (const auto &[maxR, maxZ, u, v] : pitches)
        config.pitches.push_back({maxR, maxZ, u, v});
    return exatrkx::Stages(config);
}

} // namespace

PYBIND11_MODULE(exatrkx_acts, module)
{
    module.doc() = "Stages of a libexatrkx model for acts.gnn.GnnPipeline";
    py::module_::import("acts.gnn"); // registers the base classes
    py::class_<exatrkx::Stages>(module, "Stages")
        .def(py::init(&load), py::arg("model"), py::arg("columns"),
            py::arg("cut") = py::none(), py::arg("threads") = 1,
            py::arg("memoryLimit") = 0,
            py::arg("pitches") = std::vector<std::array<float, 4>>(),
            "model: path of a model file; columns: (name, scale) of every "
            "node feature in order; cut: scores above it leave the last "
            "classifier; threads and memoryLimit (bytes of scratch, 0 = none) "
            "of a call; pitches: (maxR, maxZ, u, v), mm, for the columns "
            "size_u and "
            "size_v")
        .def_property_readonly(
            "graphConstruction", &exatrkx::Stages::graphConstruction)
        .def_property_readonly(
            "edgeClassifiers", &exatrkx::Stages::edgeClassifiers)
        .def_property_readonly(
            "trackBuilding", &exatrkx::Stages::trackBuilding);
}
