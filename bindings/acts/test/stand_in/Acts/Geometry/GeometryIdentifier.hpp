// GeometryIdentifier.hpp -- the fields of a module id in ACTS
// (ActsConfig.cmake).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace Acts
{

class GeometryIdentifier
{
  public:
    explicit constexpr GeometryIdentifier(std::uint64_t value) : m_value(value)
    {
    }
    constexpr std::uint64_t volume() const
    {
        return m_value >> 56U;
    }
    constexpr std::uint64_t layer() const
    {
        return m_value >> 36U & 0xfffU;
    }
    constexpr std::uint64_t sensitive() const
    {
        return m_value >> 8U & 0xfffffU;
    }

  private:
    std::uint64_t m_value;
};

} // namespace Acts
