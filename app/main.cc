// The command line. Nothing below this room sees argv.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "app/ann/command.h"
#include "app/check/check.h"
#include "app/check/command.h"
#include "app/config/config.h"
#include "app/export/command.h"
#include "app/export/export.h"
#include "app/import/command.h"
#include "app/import/import.h"
#include "app/inspect/command.h"
#include "app/inspect/inspect.h"
#include "app/load/command.h"
#include "app/load/load.h"
#include "app/serve.h"
#include "app/version.h"
#include "base/observe/failure.h"

namespace {

using quiver::Result;

/// What was asked for; filled while parsing, run afterwards.
struct Command {
  quiver::app::Flags flags;
  bool print_config = false;
  bool config_docs = false;
  quiver::app::LoadOptions load;
  quiver::app::AnnOptions ann;
  quiver::app::ImportOptions import_files;
  quiver::app::ExportOptions export_files;
  quiver::app::InspectOptions inspect;
  quiver::app::CheckOptions check;
  quiver::app::RepairOptions repair;
};

int report(const Result<int>& status) {
  if (status) return *status;
  std::fprintf(stderr, "quiver: %s\n", status.error().message().c_str());
  return 1;
}

int report(const Result<>& result) {
  if (result) return 0;
  return report(Result<int>(quiver::fail(result.error())));
}

Result<> run_serve(const Command& command) {
  if (command.config_docs) {
    std::fputs(quiver::app::config_docs().c_str(), stdout);
    return {};
  }
  QV_TRY(const auto config, quiver::app::load_config(command.flags, environ));
  if (command.print_config) {
    std::fputs(quiver::app::print_config(config).c_str(), stdout);
    return {};
  }
  return quiver::app::serve(config.settings());
}

CLI::App* add_serve(CLI::App& app, Command& command) {
  auto* serve = app.add_subcommand("serve", "Run the server until SIGTERM or SIGINT.");
  serve->add_option("--data-dir", command.flags.data_dir,
                    "Directory of the data (storage.data_dir); default ./quiver-data");
  serve->add_option("--http", command.flags.http,
                    "HOST:PORT to listen on; default 127.0.0.1:6333, port 0 is any free one");
  serve->add_option("--config", command.flags.config_file, "Configuration file (TOML)");
  serve->add_option("--set", command.flags.set, "section.key=value; may be repeated")
      ->allow_extra_args(false);
  serve->add_flag("--print-config", command.print_config,
                  "Print every setting in force and where it comes from, and exit");
  serve->add_flag("--config-docs", command.config_docs,
                  "Print the page of all configuration keys (Markdown), and exit");
  serve->footer(
      "Settings come from defaults, --config, the environment (QUIVER__SECTION__KEY) and flags,\n"
      "later ones winning. /readyz answers 200 when every collection can serve.\n"
      "The first SIGTERM or SIGINT finishes what is in flight and exits with 0; the second ends at "
      "once.");
  return serve;
}

/// The application or subcommand that was not told which subcommand; null if that is no problem.
const CLI::App* without_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  if (!chosen.empty()) return without_command(*chosen.front());
  return app.get_require_subcommand_min() > 0 ? &app : nullptr;
}

/// A word that stands where a subcommand was wanted; the parser itself says only that one is
/// missing. "" if there is none.
std::string unknown_command(const CLI::App& app) {
  const CLI::App* at = without_command(app);
  if (at == nullptr || at->remaining().empty()) return "";
  std::string known;
  for (const auto* command : at->get_subcommands([](const CLI::App*) { return true; })) {
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  return at->get_name() + ": there is no command `" + at->remaining().front() +
         "`, wanted one of " + known;
}

int run(int argc, char** argv) {
  Command command;
  CLI::App app("Quiver: durable vector search over HTTP, for dense, sparse and multi-vectors.",
               "quiver");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Print the help of every subcommand");
  app.set_version_flag("--version", quiver::app::version_line);
  auto* serve = add_serve(app, command);
  auto* version = app.add_subcommand("version", "Print version, commit and instruction levels.");
  auto* bench =
      app.add_subcommand("bench", "Measure an index in this process, or a running server.");
  bench->require_subcommand(1);
  auto* ann = quiver::app::add_ann(*bench, command.ann);
  auto* load = quiver::app::add_load(*bench, command.load);
  auto* import_files = quiver::app::add_import(app, command.import_files);
  auto* export_files = quiver::app::add_export(app, command.export_files);
  auto* inspect = quiver::app::add_inspect(app, command.inspect);
  auto* check = quiver::app::add_check(app, command.check);
  auto* repair = quiver::app::add_repair(app, command.repair);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError& error) {
    const std::string unknown = unknown_command(app);
    if (unknown.empty()) app.exit(error);
    if (!unknown.empty()) std::fprintf(stderr, "%s\nRun with --help.\n", unknown.c_str());
    return 2;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }

  if (*serve) return report(run_serve(command));
  if (*ann) return report(quiver::app::run_ann(command.ann));
  if (*load) return report(quiver::app::run_load(command.load));
  if (*import_files) return report(quiver::app::run_import(command.import_files));
  if (*export_files) return report(quiver::app::run_export(command.export_files));
  if (*inspect) return report(quiver::app::run_inspect(command.inspect));
  if (*check) return report(quiver::app::run_check(command.check));
  if (*repair) return report(quiver::app::run_repair(command.repair));
  if (*version) std::puts(quiver::app::version_line().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  quiver::end_process_on_uncaught();
  return run(argc, argv);
} catch (const std::exception& error) {
  std::fprintf(stderr, "quiver: %s\n", error.what());
  return 1;
}
