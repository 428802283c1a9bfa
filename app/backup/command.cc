#include "app/backup/command.h"

#include "app/backup/backup.h"
#include "app/common/usage.h"

namespace quiver::app {

CLI::App* add_backup(CLI::App& app, BackupOptions& options) {
  auto* command = app.add_subcommand(
      "backup", "Add a backup of all collections and aliases to a folder, and print its name.");
  command->add_option("folder", options.folder, "Folder of backups; created if missing")
      ->required();
  command->add_option("--url", options.url, "Server; default http://127.0.0.1:6333");
  command->add_option("--api-key", options.api_key, "Sent as `api-key`; must be allowed to write")
      ->envname("QUIVER_API_KEY");
  command->add_option("--ca", options.ca,
                      "For https: PEM file of the authorities to trust; default: the system's");
  command->add_option("--data-dir", options.data_dir,
                      "Data directory to read; no server may have it open");
  command->add_option("--keep", options.keep, "Remove all but the newest N backups; 0: none")
      ->capture_default_str();
  command->get_option("--url")->excludes("--data-dir");
  command->footer(
      "Each backup is complete by itself: FOLDER/2026-01-31T04-00-00Z. Files that the newest\n"
      "backup has already are hard linked to it, so only new ones are read from the server and\n"
      "take space. The server goes on answering and writing. Safe to run from cron: a second run\n"
      "at the same time is refused, and one that was killed leaves nothing that counts.");
  command->callback([&options] { throw_if_wrong(check_usage(options)); });
  return command;
}

CLI::App* add_restore(CLI::App& app, RestoreOptions& options) {
  auto* command = app.add_subcommand(
      "restore", "Copy the collections and aliases of a backup into a data directory.");
  command->add_option("folder", options.folder, "A backup, or a folder of them: the newest")
      ->required();
  command
      ->add_option("--data-dir", options.data_dir,
                   "Data directory; created if missing; no server may have it open")
      ->required();
  command->footer(
      "Every file is compared with its checksum before anything changes. Collections that exist\n"
      "already are not replaced: then nothing is restored.");
  return command;
}

}  // namespace quiver::app
