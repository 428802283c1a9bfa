#include "app/import/command.h"

#include "app/import/plan/plan.h"
#include "app/usage.h"

namespace quiver::app {
namespace {

constexpr const char* kImportExamples =
    "Sources are .npy, .fvecs/.ivecs/.bvecs, .fbin/.u8bin, IDX, FILE.hdf5:DATASET, .csr, or a "
    "prefix\n"
    "DIR/NAME of .npy files: NAME.{indptr,indices,values}.npy (sparse), NAME.{indptr,values}.npy\n"
    "(multi); any may be compressed (.zst). JSON lines: .jsonl, .jsonl.zst.\n"
    "\n"
    "A row becomes a point: row i of every source and line i of --payload belong together, and i "
    "is\n"
    "the id unless flags say otherwise. Points with an id that exists are replaced.\n"
    "\n"
    "An import that was interrupted, in whatever way, goes on where it stopped when the same "
    "command\n"
    "is given again. With --data-dir or --state, one that finished says so and does nothing; else\n"
    "its file is removed, and the command imports again.\n"
    "\n"
    "Exit status: 0 done, 1 failed (the text names file and row), 2 wrong command line,\n"
    "130 or 143 stopped by SIGINT or SIGTERM.\n"
    "\n"
    "Examples:\n"
    "  quiver import --vectors dense.npy --payload docs.jsonl \\\n"
    "      --url http://127.0.0.1:6333 --collection docs --create --metric dot\n"
    "  quiver import --vectors dense=DIR/dense.npy --vectors sparse:words=DIR/sparse \\\n"
    "      --vectors multi:tokens=DIR/tokens --data-dir ./quiver-data --collection docs --create\n"
    "  quiver import --points points.jsonl.zst --collection docs";

/// The options below one heading of the help.
struct Group {
  CLI::App& app;
  const char* heading;

  template <class T>
  CLI::Option* option(const char* name, T& value, const char* text) const {
    return app.add_option(name, value, text)->group(heading);
  }
  /// One value per flag, which may be repeated.
  CLI::Option* list(const char* name, std::vector<std::string>& values, const char* text) const {
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
  group.option("--points", options.points,
               "JSON lines, each a point as the API takes it: {\"id\", \"vector\", \"payload\"}");
  group.option("--payload", options.payload, "JSON lines: line i is the payload of row i");
  group
      .list("--payload-keys", options.payload_keys,
            "KEY,KEY,…: of each payload, keep only these members")
      ->delimiter(',');
  group.option("--from-export", options.from_export,
               "Directory that `quiver export` wrote: all of it, with ids, payloads and --create");
  group.option("--ids", options.ids, "Ids: .npy list of integers, or JSON lines, an id each");
  group.option("--id-column", options.id_column,
               "Ids (unsigned integers or UUIDs) are this member of the payloads");
  group.option("--id-offset", options.id_offset, "Ids are row number + this");
  group.option("--rows", options.rows, "FIRST:END of the sources' rows; default all");
  group.list("--scale", options.scale,
             "[NAME=]FACTOR: values are multiplied by it (0.5, 1/127). May be repeated");
  group.flag("--allow-missing-vectors", options.allow_missing_vectors,
             "Sources may end before others: points beyond go without their vectors");
}

void add_target(CLI::App& app, ImportOptions& options) {
  const Group group{app, "Target"};
  group.option("--url", options.url, "Server; default http://127.0.0.1:6333");
  group
      .option("--data-dir", options.data_dir,
              "Data directory that no server has open: rows go straight into its files")
      ->excludes("--url");
  group.option("--api-key", options.api_key, "Sent as `api-key`")->envname("QUIVER_API_KEY");
  group.option("--collection", options.collection, "Collection")->required();
  group
      .option("--create", options.create,
              "[JSON or @FILE]: create the collection unless it is there, from this body of PUT "
              "/collections/{name}, or without one from the sources and the flags below")
      ->expected(0, 1);
  group.list("--metric", options.metric,
             "[NAME=]METRIC for --create: cosine (default), dot, euclid or manhattan");
  group.list("--dtype", options.dtype,
             "[NAME=]TYPE for --create: float32, float16 or uint8; default as in the file");
  group.option("--shards", options.shards, "Shards for --create")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

void add_how(CLI::App& app, ImportOptions& options) {
  const Group group{app, "How"};
  group
      .option("--batch", options.batch,
              "Points per request; 0: about 1 MiB. With --data-dir, points per chunk, of 16 "
              "to 256 MiB whatever is given")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  group.option("--connections", options.connections, "Connections to the server")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  group
      .option("--retry", options.retry_s,
              "Seconds to go on trying while the server is away or overloaded")
      ->capture_default_str();
  group.option("--state", options.state,
               "File that remembers how far the import came, and stays; default "
               "COLLECTION.SOURCE.import, removed when all is imported");
  group.flag("--restart", options.restart, "Begin at the first row, whatever was done before");
  group.flag("--skip-bad", options.skip_bad,
             "Leave out rows that cannot be imported, and name them at the end");
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
