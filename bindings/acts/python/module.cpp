// module.cpp -- the stages of a model file for Python, next to acts.gnn.
//
// SPDX-License-Identifier: Apache-2.0
#include <exatrkx/acts.hpp>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace
{

exatrkx::ModuleIds moduleIdsOf(const std::string &name)
{
    if (name == "sorted")
        return exatrkx::ModuleIds::eSorted;
    if (name == "ofHits")
        return exatrkx::ModuleIds::eOfHits;
    if (name == "none")
        return exatrkx::ModuleIds::eNone;
    throw std::invalid_argument(
        "moduleIds \"" + name + "\" is none of sorted, ofHits, none");
}

exatrkx::Stages load(const std::string &model,
    const std::vector<std::pair<std::string, float>> &columns,
    std::optional<float> cut, std::int32_t threads, std::int64_t memoryLimit,
    const std::vector<std::array<float, 4>> &pitches,
    const std::string &moduleIds,
    const std::map<std::uint64_t, std::array<std::int32_t, 3>> &modules)
{
    exatrkx::Config config{
        model, {}, cut, threads, memoryLimit, {}, moduleIdsOf(moduleIds), {}};

    for (const auto &[name, scale] : columns)
        config.columns.push_back({name, scale});
    for (const auto &[maxR, maxZ, u, v] : pitches)
        config.pitches.push_back({maxR, maxZ, u, v});
    for (const auto &[id, of] : modules)
        config.modules[id] = {of[0], of[1], of[2]};
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
            py::arg("moduleIds") = "sorted",
            py::arg("modules") =
                std::map<std::uint64_t, std::array<std::int32_t, 3>>(),
            "model: path of a model file; columns: (name, scale) of every "
            "node feature in order; cut: scores above it leave the last "
            "classifier; threads and memoryLimit (bytes of scratch, 0 = none) "
            "of a call; pitches: (maxR, maxZ, u, v), mm, for the columns "
            "size_u and size_v; moduleIds: sorted as hits are, ofHits in their "
            "order, none not read; modules: (volume, layer, module) of each id "
            "that is no GeometryIdentifier")
        .def_property_readonly(
            "graphConstruction", &exatrkx::Stages::graphConstruction)
        .def_property_readonly(
            "edgeClassifiers", &exatrkx::Stages::edgeClassifiers)
        .def_property_readonly(
            "trackBuilding", &exatrkx::Stages::trackBuilding);
}
