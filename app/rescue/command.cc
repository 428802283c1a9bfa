#include "app/rescue/command.h"

namespace quiver::app {

CLI::App* add_rescue(CLI::App& app, RescueOptions& options) {
  auto* command = app.add_subcommand(
      "rescue", "Take what can be read out of a damaged data directory into a new one.");
  command
      ->add_option("from", options.from,
                   "Data directory to read; it is not changed, and no server may have it open")
      ->required();
  command->add_option("to", options.to, "New data directory; must be empty or missing")->required();
  command->add_option("--collection", options.collection, "Take only this collection");
  command->add_flag("--json", options.json, "Print one JSON object");
  command->footer(
      "Takes the newest version of each point that the rows, their logs or the segments hold, all\n"
      "collections and aliases, quotas and the audit log. Lists what could not be taken.\n"
      "Indexes are built again when a server opens the new directory. Snapshots stay where they\n"
      "are. Exit status 1 if something is lost.");
  return command;
}

}  // namespace quiver::app
