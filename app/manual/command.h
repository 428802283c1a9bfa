// `quiver completions SHELL` and `quiver manual`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace quiver::app {

struct ManualCommands {
  CLI::App* completions = nullptr;
  CLI::App* manual = nullptr;
  std::string shell;
};

void add_manual(CLI::App& app, ManualCommands& commands);
/// Prints the completions of `app`, or its manual page.
void print_completions(const CLI::App& app, const std::string& shell);
void print_manual(const CLI::App& app);

}  // namespace quiver::app
