#include "app/inspect/command.h"

namespace quiver::app {

CLI::App* add_inspect(CLI::App& app, InspectOptions& options) {
  auto* command =
      app.add_subcommand("inspect", "Print what a data directory holds: segments and indexes.");
  command
      ->add_option("--data-dir", options.data_dir,
                   "Read this data directory, which no server has open")
      ->required();
  command->add_option("--collection", options.collection, "Only this one");
  command->add_flag("--json", options.json,
                    "As JSON, an object for each collection and line; if there are files below\n"
                    "collections/ that belong to none, a last object names them");
  command->footer(
      "Of a running server: GET /v1/collections/NAME/indexes.\n"
      "Opening a directory finishes what a crash left undone, as the server would.");
  return command;
}

}  // namespace quiver::app
