#include "app/check/command.h"

namespace quiver::app {

CLI::App* add_check(CLI::App& app, CheckOptions& options) {
  auto* command = app.add_subcommand(
      "check", "Read everything in a data directory and print what is damaged or missing.");
  command
      ->add_option("directory,--data-dir", options.data_dir,
                   "Data directory to read; no server may have it open")
      ->required();
  command->add_option("--collection", options.collection,
                      "Check only this collection, and nothing beside the collections");
  command->add_flag("--json", options.json, "Print one JSON object");
  command->add_flag("--repair", options.repair,
                    "Repair what is lost: take the catalog from its copy, rebuild damaged rows");
  command->footer(
      "Verifies the catalog, every byte of rows, logs, segments, payload columns and indexes, "
      "each\n"
      "row against the segments, and the files of snapshots. Lists files that belong to nothing.\n"
      "Changes nothing without --repair, and never removes what is damaged.\n"
      "Exit status 1 if there is damage.");
  return command;
}

CLI::App* add_repair(CLI::App& app, RepairOptions& options) {
  auto* command = app.add_subcommand(
      "repair", "Rebuild the rows of a damaged collection from all that can still be read.");
  command
      ->add_option("--data-dir", options.data_dir,
                   "Data directory to repair; no server may have it open")
      ->required();
  command->add_option("--collection", options.collection, "Collection to repair")->required();
  command->add_flag(
      "--leave-cluster", options.leaves_cluster,
      "Take the collection out of its cluster first; the last resort if no other node "
      "has its points");
  command->footer(
      "Takes the newest version of each point that the rows, their logs or the segments hold.\n"
      "Keeps the damaged files under other names and prints these, so the disk must have room for\n"
      "a second copy. Does nothing if there is no damage.");
  return command;
}

}  // namespace quiver::app
