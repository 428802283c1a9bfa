// Parses the command line and runs the chosen subcommand. No other room sees argv.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "app/advise/command.h"
#include "app/backup/backup.h"
#include "app/backup/command.h"
#include "app/bench/ann_command.h"
#include "app/bench/load_command.h"
#include "app/check/check.h"
#include "app/check/command.h"
#include "app/cluster/adoption.h"
#include "app/cluster/balance.h"
#include "app/cluster/command.h"
#include "app/cluster/comparison.h"
#include "app/cluster/nodes.h"
#include "app/cluster/status.h"
#include "app/common/version.h"
#include "app/doctor/command.h"
#include "app/doctor/doctor.h"
#include "app/export/command.h"
#include "app/export/export.h"
#include "app/import/command.h"
#include "app/import/import.h"
#include "app/inspect/command.h"
#include "app/inspect/inspect.h"
#include "app/manual/command.h"
#include "app/rescue/command.h"
#include "app/rescue/rescue.h"
#include "app/serve/command.h"
#include "base/observe/failure.h"

namespace {

using quiver::Result;

/// The options of every subcommand: parsing fills them, then the chosen one runs.
struct Options {
  quiver::app::ServeOptions serve;
  quiver::bench::LoadOptions load;
  quiver::bench::AnnOptions ann;
  quiver::app::AdviseCommand advise;
  quiver::app::ImportOptions import_files;
  quiver::app::ExportOptions export_files;
  quiver::app::InspectOptions inspect;
  quiver::app::CheckOptions check;
  quiver::app::RepairOptions repair;
  quiver::app::RescueOptions rescue;
  quiver::app::DoctorOptions doctor;
  quiver::app::ManualCommands manual;
  quiver::app::BackupOptions backup;
  quiver::app::RestoreOptions restore;
  quiver::app::ClusterStatusOptions cluster_status;
};

/// Prints the error, if any; returns the exit status.
int report(const Result<int>& status) {
  if (status) return *status;
  std::fprintf(stderr, "quiver: %s\n", status.error().message().c_str());
  return 1;
}

int report(const Result<>& result) {
  if (result) return 0;
  return report(Result<int>(quiver::fail(result.error())));
}

/// The (sub)command that lacks a required subcommand; null if none does.
const CLI::App* without_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  if (!chosen.empty()) return without_command(*chosen.front());
  return app.get_require_subcommand_min() > 0 ? &app : nullptr;
}

/// The error for a word that is no subcommand where one is required; "" if there is no such word.
/// CLI11 itself would only say that a subcommand is missing.
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
  Options options;
  CLI::App app("Quiver: durable vector search over HTTP, for dense, sparse and multi-vectors.",
               "quiver");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Print the help of every subcommand");
  app.set_version_flag("--version", quiver::app::version_line);
  auto* serve = quiver::app::add_serve(app, options.serve);
  auto* version = app.add_subcommand("version", "Print version, commit and instruction levels.");
  auto* bench =
      app.add_subcommand("bench", "Measure an index in this process, or a running server.");
  bench->require_subcommand(1);
  auto* ann = quiver::app::add_ann(*bench, options.ann);
  auto* load = quiver::app::add_load(*bench, options.load);
  auto* advise = quiver::app::add_advise(app, options.advise);
  auto* import_files = quiver::app::add_import(app, options.import_files);
  auto* export_files = quiver::app::add_export(app, options.export_files);
  auto* inspect = quiver::app::add_inspect(app, options.inspect);
  auto* check = quiver::app::add_check(app, options.check);
  auto* repair = quiver::app::add_repair(app, options.repair);
  auto* rescue = quiver::app::add_rescue(app, options.rescue);
  auto* backup = quiver::app::add_backup(app, options.backup);
  auto* restore = quiver::app::add_restore(app, options.restore);
  const auto cluster = quiver::app::add_cluster(app, options.cluster_status);
  auto* doctor = quiver::app::add_doctor(app, options.doctor);
  quiver::app::add_manual(app, options.manual);
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

  if (*serve) return report(quiver::app::run_serve(options.serve));
  if (*ann) return report(quiver::bench::run_ann(options.ann));
  if (*advise) return report(quiver::app::run_advise(options.advise));
  if (*load) return report(quiver::bench::run_load(options.load));
  if (*import_files) return report(quiver::app::run_import(options.import_files));
  if (*export_files) return report(quiver::app::run_export(options.export_files));
  if (*inspect) return report(quiver::app::run_inspect(options.inspect));
  if (*check) return report(quiver::app::run_check(options.check));
  if (*repair) return report(quiver::app::run_repair(options.repair));
  if (*rescue) return report(quiver::app::run_rescue(options.rescue));
  if (*backup) return report(quiver::app::run_backup(options.backup));
  if (*restore) return report(quiver::app::run_restore(options.restore));
  if (*cluster.status) {
    return report(quiver::app::run_cluster_status(options.cluster_status));
  }
  if (*cluster.adopt) return report(quiver::app::run_cluster_adopt(options.cluster_status));
  if (*cluster.drain) return report(quiver::app::run_cluster_drain(options.cluster_status));
  if (*cluster.remove) return report(quiver::app::run_cluster_remove(options.cluster_status));
  if (*cluster.balance) return report(quiver::app::run_cluster_balance(options.cluster_status));
  if (*cluster.check) return report(quiver::app::run_cluster_check(options.cluster_status));
  if (*doctor) return report(quiver::app::run_doctor(options.doctor));
  if (*options.manual.completions) quiver::app::print_completions(app, options.manual.shell);
  if (*options.manual.manual) quiver::app::print_manual(app);
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
