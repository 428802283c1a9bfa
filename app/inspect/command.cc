#include "app/inspect/command.h"

#include "app/common/usage.h"
#include "app/inspect/inspect.h"

namespace quiver::app {

CLI::App* add_inspect(CLI::App& app, InspectOptions& options) {
  auto* command = app.add_subcommand(
      "inspect", "Explain the files of a data directory, or print its segments and indexes.");
  command->add_option("path", options.path,
                      "File or directory: print what each file is, its format, version, counts "
                      "and size");
  command->add_option("--data-dir", options.data_dir,
                      "Print the collections of this data directory, with their segments and "
                      "indexes; no server may have it open");
  command->add_option("--collection", options.collection, "Print only this collection");
  command->add_flag("--json", options.json,
                    "With a path: one JSON object for each file and line. With --data-dir: one\n"
                    "for each collection and line; a last object names the files below\n"
                    "collections/ that belong to no collection, if there are any");
  command->get_option("path")->excludes("--data-dir");
  command->get_option("--collection")->needs("--data-dir");
  command->callback([&options] { throw_if_wrong(check_usage(options)); });
  command->footer(
      "With a path it only reads, and a server may have the files open.\n"
      "For the collections of a running server use GET /v1/collections/NAME/indexes.\n"
      "Opening a data directory also completes what a crash interrupted, as the server does.");
  return command;
}

}  // namespace quiver::app
