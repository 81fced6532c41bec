# ActsConfig.cmake -- a stand-in for ACTS and its GNN plugin: the interface that
# the stages include, with as little behind it as their tests need. It lets them
# run where ACTS is not installed, and is no part of ACTS.
foreach(target Acts::Core Acts::PluginGnn)
    if(NOT TARGET ${target})
        add_library(${target} INTERFACE IMPORTED)
        set_target_properties(${target} PROPERTIES
            INTERFACE_INCLUDE_DIRECTORIES ${CMAKE_CURRENT_LIST_DIR})
    endif()
endforeach()
set(Acts_FOUND TRUE)
