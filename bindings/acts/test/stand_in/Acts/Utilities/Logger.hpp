// Logger.hpp -- a logger that says nothing (ActsConfig.cmake).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

namespace Acts
{

namespace Logging
{
enum Level { WARNING };
}

class Logger
{
};

inline std::unique_ptr<const Logger> getDefaultLogger(
    const std::string & /*name*/, Logging::Level /*level*/)
{
    return std::make_unique<const Logger>();
}

} // namespace Acts
