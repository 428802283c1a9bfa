#include "app/inspect/command.h"

namespace quiver::app {

CLI::App* add_inspect(CLI::App& app, InspectOptions& options) {
  auto* command =
      app.add_subcommand("inspect", "Print what a data directory holds: segments and indexes.");
  command
      ->add_option("--data-dir", options.data_dir,
                   "Data directory to read; no server may have it open")
      ->required();
  command->add_option("--collection", options.collection, "Print only this collection");
  command->add_flag("--json", options.json,
                    "Print one JSON object per collection and line; a last object names the files\n"
                    "below collections/ that belong to no collection, if there are any");
  command->footer(
      "For a running server use GET /v1/collections/NAME/indexes.\n"
      "Opening the directory also completes what a crash interrupted, as the server does.");
  return command;
}

}  // namespace quiver::app
