// The flags of `quiver doctor`.
#pragma once

#include <CLI/CLI.hpp>

#include "app/doctor/options.h"

namespace quiver::app {

CLI::App* add_doctor(CLI::App& app, DoctorOptions& options);

}  // namespace quiver::app
