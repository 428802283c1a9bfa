#include "app/export/command.h"

#include "app/common/usage.h"

namespace quiver::app {
namespace {

constexpr const char* kExportExamples =
    "--out FILE.jsonl (or .jsonl.zst): one point per line, {\"id\", \"payload\", \"vector\"}, and\n"
    "FILE.create.json, the body that creates the collection. `quiver import --points` reads it.\n"
    "\n"
    "--out DIR: export.json, ids.npy (ids.jsonl if there are UUIDs), payload.jsonl, and for each\n"
    "vector field vectors.NAME.npy in the field's type (dense), vectors.NAME.{indptr,indices,\n"
    "values}.npy (sparse) or vectors.NAME.{indptr,values}.npy (multi); present.NAME.npy holds 0\n"
    "for points without the vector, if there are any. `quiver import --from-export DIR` and NumPy\n"
    "read these files. Other endings (.csv, .npy, …) are refused.\n"
    "\n"
    "Points are ordered by id. Over HTTP, a point that changes during the export is written as it\n"
    "is when its page is read.\n"
    "\n"
    "Examples:\n"
    "  quiver export --url http://127.0.0.1:6333 --collection docs --out docs.jsonl.zst\n"
    "  quiver export --data-dir ./quiver-data --collection docs --out docs-export";

}  // namespace

void add_collection_flags(CLI::App& command, ExportOptions& options) {
  command.add_option("--url", options.url, "Server; default http://127.0.0.1:6333");
  command.add_option(
      "--ca", options.ca,
      "For https: PEM file of the authorities to trust; default: those of the system");
  command.add_option("--api-key", options.api_key, "Sent as `api-key`")->envname("QUIVER_API_KEY");
  command.add_option("--data-dir", options.data_dir,
                     "Data directory to read; no server may have it open");
  command.add_option("--collection", options.collection, "Collection");
  command.get_option("--url")->excludes("--data-dir");
}

CLI::App* add_export(CLI::App& app, ExportOptions& options) {
  auto* command = app.add_subcommand("export", "Write a collection to JSON lines or .npy files.");
  add_collection_flags(*command, options);
  command->get_option("--collection")->required();
  command
      ->add_option("--out", options.out,
                   "FILE.jsonl, FILE.jsonl.zst, or a directory; a new directory with a dot in its "
                   "name ends in /")
      ->required();
  command->add_option("--faiss", options.faiss,
                      "FACTORY: write an index of FAISS over the vectors to the file --out, as "
                      "\"Flat\", \"IVF1024,Flat\"");
  command->add_option("--vectors", options.vectors, "With --faiss: the name of the vectors");
  command->add_flag("--row-numbers", options.row_numbers,
                    "With --faiss: number the rows in place of their ids; UUIDs need it");
  command->add_option("--page", options.page, "Points read at a time; 0: about 8 MB")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  command->add_flag("--force", options.force, "Replace existing files");
  command->add_flag("--quiet", options.quiet, "No progress");
  command->footer(kExportExamples);
  command->callback([&options] { throw_if_wrong(check_usage(options)); });
  return command;
}

}  // namespace quiver::app
