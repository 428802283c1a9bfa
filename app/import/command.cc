#include "app/import/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/common/usage.h"
#include "app/import/plan/plan.h"
#include "base/schema_names.h"

namespace quiver::app {
namespace {

constexpr const char* kImportExamples =
    "Sources are .npy, .fvecs/.ivecs/.bvecs, .fbin/.u8bin, IDX, FILE.hdf5:DATASET, .csr, or the\n"
    "prefix DIR/NAME of .npy files: NAME.{indptr,indices,values}.npy (sparse),\n"
    "NAME.{indptr,values}.npy (multi). All may be compressed (.zst). JSON lines: .jsonl, "
    ".jsonl.zst.\n"
    "\n"
    "Each row becomes a point: row i of every source and line i of --payload belong together, and "
    "i\n"
    "is the id unless flags say otherwise. A point replaces an existing one of the same id.\n"
    "\n"
    "To continue an interrupted import, give the same command again. With --data-dir or --state,\n"
    "the command does nothing once the import has finished. Without them, the state file is\n"
    "removed at the end, and the command imports everything again.\n"
    "\n"
    "Exit status: 0 done, 1 failed (the message names file and row), 2 wrong command line,\n"
    "130 or 143 stopped by SIGINT or SIGTERM.\n"
    "\n"
    "Examples:\n"
    "  quiver import --vectors dense.npy --payload docs.jsonl \\\n"
    "      --url http://127.0.0.1:6333 --collection docs --create --metric dot\n"
    "  quiver import --vectors dense=DIR/dense.npy --vectors sparse:words=DIR/sparse \\\n"
    "      --vectors multi:tokens=DIR/tokens --data-dir ./quiver-data --collection docs --create\n"
    "  quiver import --points points.jsonl.zst --collection docs";

/// The options under one heading of the help text.
struct Group {
  CLI::App& app;
  const char* heading;

  template <class T>
  CLI::Option* option(const char* name, T& value, const std::string& text) const {
    return app.add_option(name, value, text)->group(heading);
  }
  /// A flag that may be repeated, with one value each time.
  CLI::Option* list(const char* name, std::vector<std::string>& values,
                    const std::string& text) const {
    return option(name, values, text)->allow_extra_args(false);
  }
  CLI::Option* flag(const char* name, bool& value, const char* text) const {
    return app.add_flag(name, value, text)->group(heading);
  }
};

void add_sources(CLI::App& app, ImportOptions& options) {
  const Group group{app, "Sources"};
  group.list("--vectors", options.vectors,
             "[KIND:][NAME=]SOURCE: vectors of one field. KIND is dense (default), sparse or "
             "multi; without NAME, the unnamed vector. May be repeated");
  group.option(
      "--points", options.points,
      "JSON lines, one point each, in the form of the API: {\"id\", \"vector\", \"payload\"}");
  group.option("--payload", options.payload, "JSON lines: line i is the payload of row i");
  group
      .list("--payload-keys", options.payload_keys,
            "KEY,KEY,…: keep only these members of each payload")
      ->delimiter(',');
  group.option(
      "--from-export", options.from_export,
      "Directory that `quiver export` wrote: imports vectors, ids and payloads, implies --create");
  group.option("--faiss", options.faiss,
               "[NAME=]FILE: an index of FAISS, its vectors and ids; implies --create");
  group.option("--ids", options.ids, "Ids: .npy list of integers, or JSON lines with one id each");
  group.option("--id-column", options.id_column,
               "Member of the payloads that holds the id (unsigned integer or UUID)");
  group.option("--id-offset", options.id_offset, "Number added to the row number to give the id");
  group.option("--rows", options.rows, "FIRST:END of the sources' rows; default all");
  group.list("--scale", options.scale,
             "[NAME=]FACTOR: multiply values by it (0.5, 1/127). May be repeated");
  group.flag("--allow-missing-vectors", options.allow_missing_vectors,
             "Let a source end before others: later points have no vector from it");
}

void add_target(CLI::App& app, ImportOptions& options) {
  const Group group{app, "Target"};
  group.option("--url", options.url, "Server; default http://127.0.0.1:6333");
  group
      .option("--data-dir", options.data_dir,
              "Write to this data directory instead; no server may have it open")
      ->excludes("--url");
  group.option("--ca", options.ca,
               "For https: PEM file of the authorities to trust; default: those of the system");
  group.option("--api-key", options.api_key, "Sent as `api-key`")->envname("QUIVER_API_KEY");
  group.option("--collection", options.collection, "Collection")->required();
  group
      .option("--create", options.create,
              "[JSON or @FILE]: create the collection if it does not exist, from this body of PUT "
              "/collections/{name}; without a body, from the sources and the flags below")
      ->expected(0, 1);
  group.list("--metric", options.metric,
             "[NAME=]METRIC for --create: cosine (default), dot, euclid or manhattan");
  group.list("--dtype", options.dtype,
             fmt::format("[NAME=]TYPE for --create: one of {}; default as in the file",
                         fmt::join(kDatatypeNames, ", ")));
  group.option("--shards", options.shards, "Shards for --create")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

void add_how(CLI::App& app, ImportOptions& options) {
  const Group group{app, "How"};
  group
      .option("--batch", options.batch,
              "Points per request; 0: about 1 MiB. With --data-dir, points per chunk; a chunk "
              "always has 16 to 256 MiB")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  group.option("--connections", options.connections, "Connections to the server")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  group
      .option("--retry", options.retry_s,
              "Seconds to keep trying while the server is away or overloaded")
      ->capture_default_str();
  group.option("--state", options.state,
               "File that records the progress of the import, and is kept. Default: "
               "COLLECTION.SOURCE.import, removed when everything is imported");
  group.flag("--restart", options.restart, "Start at the first row, whatever an earlier run did");
  group.flag("--skip-bad", options.skip_bad,
             "Skip rows that cannot be imported, and list them at the end");
  group.flag("--quiet", options.quiet, "No progress");
}

}  // namespace

CLI::App* add_import(CLI::App& app, ImportOptions& options) {
  auto* command =
      app.add_subcommand("import", "Read files of vectors and payloads into a collection.");
  add_sources(*command, options);
  add_target(*command, options);
  add_how(*command, options);
  command->footer(kImportExamples);
  command->callback([&options] { throw_if_wrong(check_usage(options)); });
  return command;
}

}  // namespace quiver::app
