#include "app/manual/pages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <string_view>

namespace quiver::app {
namespace {

using Visit = std::function<void(const std::vector<std::string>&, const CommandPage&)>;

/// Calls `visit(words, command)` for the program (no words) and every command below it.
void for_each_command(const CommandPage& command, std::vector<std::string>& words,
                      const Visit& visit) {
  visit(words, command);
  for (const auto& below : command.commands) {
    words.push_back(below.name);
    for_each_command(below, words, visit);
    words.pop_back();
  }
}
void for_each_command(const CommandPage& program, const Visit& visit) {
  std::vector<std::string> words;
  for_each_command(program, words, visit);
}

std::string first_sentence(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  const auto end = text.find(". ");
  if (end != std::string::npos) text.resize(end);
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.pop_back();
  return text;
}

/// `text` with a backslash before each character of `special`.
std::string escape(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// For use between single quotes of a shell.
std::string single_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out;
}

std::string words_of(const CommandPage& command) {
  std::vector<std::string> words;
  for (const auto& below : command.commands) words.push_back(below.name);
  for (const auto& option : command.options) {
    words.insert(words.end(), option.flags.begin(), option.flags.end());
  }
  return fmt::format("{}", fmt::join(words, " "));
}

std::string function_name(const std::vector<std::string>& words) {
  std::string name = "_quiver";
  for (const auto& word : words) name += "_" + word;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// --- zsh

std::string zsh_argument(const OptionPage& option) {
  const std::string about = single_quoted(escape(first_sentence(option.about), "[]:\\"));
  const std::string value = option.value.empty() ? "" : fmt::format(":{}:", option.value);
  const std::string action = option.is_path ? "_files" : "";
  if (option.flags.empty()) return fmt::format("    '*:{}:{}' \\\n", option.name, "_files");
  std::string lines;
  for (const auto& flag : option.flags) {
    lines += fmt::format("    '{}[{}]{}{}' \\\n", flag, about, value,
                         option.value.empty() ? "" : action);
  }
  return lines;
}

std::string zsh_function(const std::vector<std::string>& words, const CommandPage& command) {
  std::string text = fmt::format("{}() {{\n", function_name(words));
  std::string arguments;
  for (const auto& option : command.options) {
    if (option.flags.empty() && !command.commands.empty()) continue;
    arguments += zsh_argument(option);
  }
  if (command.commands.empty()) {
    return text + "  _arguments \\\n" + arguments + "    && return\n}\n\n";
  }
  text += "  local line state\n  _arguments -C \\\n" + arguments +
          "    '1: :->command' '*::argument:->argument'\n";
  text += "  case $state in\n    command)\n      local -a commands=(\n";
  for (const auto& below : command.commands) {
    text += fmt::format("        '{}:{}'\n", below.name,
                        single_quoted(escape(first_sentence(below.about), ":\\")));
  }
  text += "      )\n      _describe command commands ;;\n    argument)\n      case $line[1] in\n";
  for (const auto& below : command.commands) {
    auto path = words;
    path.push_back(below.name);
    text += fmt::format("        {}) {} ;;\n", below.name, function_name(path));
  }
  return text + "      esac ;;\n  esac\n}\n\n";
}

// --- fish

/// True in fish when the words so far name this command.
std::string fish_condition(const std::vector<std::string>& words, const CommandPage& command) {
  if (words.empty()) return "__fish_use_subcommand";
  std::string condition;
  for (const auto& word : words) {
    condition +=
        fmt::format("{}__fish_seen_subcommand_from {}", condition.empty() ? "" : "; and ", word);
  }
  if (command.commands.empty()) return condition;
  std::string below;
  for (const auto& sub : command.commands) below += " " + sub.name;
  return condition + "; and not __fish_seen_subcommand_from" + below;
}

std::string fish_option(const std::string& condition, const OptionPage& option) {
  if (option.flags.empty()) return "";
  std::string line = fmt::format("complete -c quiver -n '{}'", condition);
  for (const auto& flag : option.flags) {
    const bool is_long = flag.starts_with("--");
    line += fmt::format(" {} {}", is_long ? "-l" : "-s", flag.substr(is_long ? 2 : 1));
  }
  if (!option.value.empty()) line += option.is_path ? " -r -F" : " -x";
  return line + fmt::format(" -d '{}'\n", escape(first_sentence(option.about), "'\\"));
}

// --- man

std::string roff(std::string_view text) {
  std::string out;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\' || c == '-') out += '\\';
    out += c;
    begins_line = c == '\n';
  }
  return out;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string manual_option(const OptionPage& option) {
  std::string head;
  for (const auto& flag : option.flags) {
    head += fmt::format("{}\\fB{}\\fR", head.empty() ? "" : ", ", roff(flag));
  }
  if (option.flags.empty()) head = fmt::format("\\fI{}\\fR", roff(upper(option.name)));
  if (!option.value.empty() && !option.flags.empty()) {
    head += fmt::format(" \\fI{}\\fR", roff(option.value));
  }
  return fmt::format(".TP\n{}\n{}\n", head, roff(option.about));
}

std::string manual_command(const std::vector<std::string>& words, const CommandPage& command) {
  std::string text =
      words.empty() ? ".SH OPTIONS\n" : fmt::format(".SS quiver {}\n", fmt::join(words, " "));
  if (!words.empty()) text += roff(command.about) + "\n";
  for (const auto& option : command.options) text += manual_option(option);
  if (!command.footer.empty()) text += ".PP\n.nf\n" + roff(command.footer) + "\n.fi\n";
  return text;
}

}  // namespace

std::string bash_completion(const CommandPage& program) {
  std::string text =
      "# bash completion for quiver. Made by `quiver completions bash`.\n"
      "_quiver() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} path= word words=\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case \"$path $word\" in\n";
  std::string commands;
  std::string cases;
  std::string paths;
  for_each_command(program, [&](const std::vector<std::string>& words, const CommandPage& command) {
    const std::string path = fmt::format("{}", fmt::join(words, " "));
    if (!words.empty()) {
      const std::string above = fmt::format(
          "{}", fmt::join(std::vector<std::string>(words.begin(), words.end() - 1), " "));
      commands += fmt::format("      \"{} {}\") path=\"{}\" ;;\n", above, words.back(), path);
    }
    cases += fmt::format("    \"{}\") words=\"{}\" ;;\n", path, words_of(command));
    for (const auto& option : command.options) {
      if (!option.is_path) continue;
      for (const auto& flag : option.flags) {
        if (paths.find("|" + flag + "|") == std::string::npos) paths += "|" + flag + "|";
      }
    }
  });
  text += commands + "    esac\n  done\n  case \"$path\" in\n" + cases + "  esac\n";
  text +=
      "  case \"" + paths +
      "\" in\n"
      "    *\"|${COMP_WORDS[COMP_CWORD-1]}|\"*) COMPREPLY=($(compgen -f -- \"$current\")) ;;\n"
      "    *) COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "       [[ $current != -* && -n $path ]] && COMPREPLY+=($(compgen -f -- \"$current\")) ;;\n"
      "  esac\n"
      "}\n"
      "complete -o filenames -F _quiver quiver\n";
  return text;
}

std::string zsh_completion(const CommandPage& program) {
  std::string text = "#compdef quiver\n# Made by `quiver completions zsh`.\n\n";
  for_each_command(program, [&](const std::vector<std::string>& words, const CommandPage& command) {
    text += zsh_function(words, command);
  });
  return text + "_quiver \"$@\"\n";
}

std::string fish_completion(const CommandPage& program) {
  std::string text = "# Made by `quiver completions fish`.\n";
  for_each_command(program, [&](const std::vector<std::string>& words, const CommandPage& command) {
    const std::string condition = fish_condition(words, command);
    for (const auto& below : command.commands) {
      text += fmt::format("complete -c quiver -n '{}' -f -a {} -d '{}'\n", condition, below.name,
                          escape(first_sentence(below.about), "'\\"));
    }
    for (const auto& option : command.options) text += fish_option(condition, option);
  });
  return text;
}

std::string manual_page(const CommandPage& program, const std::string& version) {
  std::string text = fmt::format(
      ".TH QUIVER 1 \"\" \"quiver {}\" \"User Commands\"\n.SH NAME\nquiver \\- {}\n"
      ".SH SYNOPSIS\n.B quiver\n.I COMMAND\n.RI [ OPTIONS ]\n",
      version, roff(first_sentence(program.about)));
  std::string commands;
  for_each_command(program, [&](const std::vector<std::string>& words, const CommandPage& command) {
    (words.empty() ? text : commands) += manual_command(words, command);
  });
  return text + ".SH COMMANDS\n" + commands +
         ".SH ENVIRONMENT\nEach setting of the server is also a variable: "
         "\\fBQUIVER__SECTION__KEY\\fR.\n"
         ".SH EXIT STATUS\n0: done. 1: an error, or damage that was found. 2: wrong usage.\n";
}

}  // namespace quiver::app
