#include "app/doctor/command.h"

namespace quiver::app {

CLI::App* add_doctor(CLI::App& app, DoctorOptions& options) {
  auto* command = app.add_subcommand(
      "doctor", "Look at this machine: one line for each thing, and what to change.");
  command
      ->add_option("--data-dir", options.data_dir,
                   "Measure the disk of this data directory; if it is missing, of the next "
                   "directory above it")
      ->capture_default_str();
  command->add_flag("--json", options.json, "Print one JSON object");
  command->footer(
      "Writes and removes a file of 4 KiB in the data directory, 32 times, to time its disk.\n"
      "Exit status 1 if something is bad: durability or the start of a server is at risk.");
  return command;
}

}  // namespace quiver::app
