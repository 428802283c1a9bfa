#include "app/manual/command.h"

#include <algorithm>
#include <cstdio>

#include "app/common/version.h"
#include "app/manual/pages.h"

namespace quiver::app {
namespace {

/// Options whose values are paths, by words in their names.
bool names_a_path(const std::string& name) {
  for (const char* word : {"dir", "file", "folder", "path", "config", "ca", "from", "to", "out"}) {
    if (name == word || name.ends_with("-" + std::string(word))) return true;
  }
  return name == "directory" || name == "input" || name == "output" || name == "state";
}

OptionPage page_of(const CLI::Option& option) {
  OptionPage page;
  for (const auto& name : option.get_snames()) page.flags.push_back("-" + name);
  for (const auto& name : option.get_lnames()) page.flags.push_back("--" + name);
  page.name = option.get_single_name();
  page.about = option.get_description();
  const bool takes_value = option.get_items_expected_max() > 0;
  if (takes_value) page.value = option.get_type_name().empty() ? "VALUE" : option.get_type_name();
  std::replace_if(
      page.value.begin(), page.value.end(), [](char c) { return c == ':' || c == '\n'; }, ' ');
  page.is_path = takes_value && names_a_path(page.name);
  return page;
}

CommandPage page_of(const CLI::App& app);

/// A group of options is a subcommand without a name: its options are the command's own.
void add_parts(const CLI::App& app, CommandPage& page) {
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    page.options.push_back(page_of(*option));
  }
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    below->get_name().empty() ? add_parts(*below, page) : page.commands.push_back(page_of(*below));
  }
}

CommandPage page_of(const CLI::App& app) {
  CommandPage page{app.get_name(), app.get_description(), app.get_footer(), {}, {}};
  add_parts(app, page);
  return page;
}

}  // namespace

void add_manual(CLI::App& app, ManualCommands& commands) {
  commands.completions =
      app.add_subcommand("completions", "Print completions of commands and flags for a shell.");
  commands.completions->add_option("shell", commands.shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  commands.completions->footer(
      "bash: quiver completions bash > /usr/share/bash-completion/completions/quiver\n"
      "zsh:  quiver completions zsh > /usr/share/zsh/vendor-completions/_quiver\n"
      "fish: quiver completions fish > ~/.config/fish/completions/quiver.fish");
  commands.manual = app.add_subcommand("manual", "Print the manual page, in roff.");
  commands.manual->footer("Read it with `quiver manual | man -l -`.");
}

void print_completions(const CLI::App& app, const std::string& shell) {
  const CommandPage program = page_of(app);
  const std::string text = shell == "bash"  ? bash_completion(program)
                           : shell == "zsh" ? zsh_completion(program)
                                            : fish_completion(program);
  std::fputs(text.c_str(), stdout);
}

void print_manual(const CLI::App& app) {
  std::fputs(manual_page(page_of(app), kVersion).c_str(), stdout);
}

}  // namespace quiver::app
