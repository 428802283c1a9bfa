#include "app/check/command.h"

namespace quiver::app {

CLI::App* add_check(CLI::App& app, CheckOptions& options) {
  auto* command = app.add_subcommand(
      "check",
      "Read all rows, logs and segments of a data directory, and say what is damaged or missing.");
  command
      ->add_option("--data-dir", options.data_dir,
                   "Read this data directory, which no server has open")
      ->required();
  command->add_option("--collection", options.collection, "Only this one");
  command->footer("Changes no collection. Exits with 1 if anything is wrong.");
  return command;
}

CLI::App* add_repair(CLI::App& app, RepairOptions& options) {
  auto* command = app.add_subcommand(
      "repair", "Rebuild the rows of a damaged collection from all that can still be read.");
  command
      ->add_option("--data-dir", options.data_dir,
                   "Repair in this data directory, which no server has open")
      ->required();
  command->add_option("--collection", options.collection, "This one")->required();
  command->footer(
      "Of each point the newest version is taken that the rows, their logs and the segments hold.\n"
      "The damaged files stay, under other names, which are printed; so there must be room for a\n"
      "second copy. Does nothing where nothing is wrong.");
  return command;
}

}  // namespace quiver::app
