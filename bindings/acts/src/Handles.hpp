// Handles.hpp -- objects of the C library that free themselves.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EXATRKX_HANDLES_HPP
#define EXATRKX_HANDLES_HPP

#include <exatrkx/exatrkx.h>
#include <exatrkx/graph.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace exatrkx {

template <auto release> struct Release {
    template <typename T> void operator()(T *object) const
    {
        release(object);
    }
};

using ContextHandle = std::unique_ptr<etx_context, Release<etx_context_free>>;
using ModelHandle = std::unique_ptr<etx_model, Release<etx_model_free>>;
using EventHandle = std::unique_ptr<etx_event, Release<etx_event_free>>;
using GraphHandle = std::unique_ptr<etx_graph, Release<etx_graph_free>>;
using TracksHandle = std::unique_ptr<etx_tracks, Release<etx_tracks_free>>;

inline void check(etx_status status, const std::string &also = {})
{
    if (status != ETX_OK)
        throw std::runtime_error(std::string("exatrkx: ") + etx_last_error() +
                                 also);
}

/// What a function of the library makes: Handle(function(&out, arguments...)).
template <typename Handle, typename... Parameters, typename... Arguments>
Handle make(etx_status (*function)(Parameters...), Arguments... arguments)
{
    typename Handle::pointer object = nullptr;

    check(function(&object, arguments...));
    return Handle(object);
}

} // namespace exatrkx

#endif
