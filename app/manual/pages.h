// Shell completions and the manual page, from the command line's own tables of options.
#pragma once

#include <string>
#include <vector>

namespace quiver::app {

struct OptionPage {
  std::vector<std::string> flags;  ///< "--json", "-h"; empty: a positional
  std::string name;                ///< of a positional
  std::string value;               ///< "TEXT"; empty: a flag without a value
  std::string about;
  bool is_path = false;  ///< the value names a file or a directory
};

struct CommandPage {
  std::string name;
  std::string about;
  std::string footer;
  std::vector<OptionPage> options;
  std::vector<CommandPage> commands;
};

[[nodiscard]] std::string bash_completion(const CommandPage& program);
[[nodiscard]] std::string zsh_completion(const CommandPage& program);
[[nodiscard]] std::string fish_completion(const CommandPage& program);
/// In roff, section 1. `version`: "0.1.0".
[[nodiscard]] std::string manual_page(const CommandPage& program, const std::string& version);

}  // namespace quiver::app
