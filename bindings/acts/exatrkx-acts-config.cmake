# exatrkx-acts-config.cmake -- find_package(exatrkx-acts): the target
# exatrkx::acts, with the library and the plugin of ACTS that it was built for.

include(CMakeFindDependencyMacro)
find_dependency(exatrkx)
# The plugin had another name before ACTS 43.2.
find_package(Acts QUIET COMPONENTS Core PluginGnn)
if(NOT TARGET Acts::PluginGnn)
    find_dependency(Acts COMPONENTS Core PluginExaTrkX)
endif()
include("${CMAKE_CURRENT_LIST_DIR}/exatrkx-acts-targets.cmake")
