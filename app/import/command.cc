#include "app/import/command.h"

namespace quiver::app {
namespace {

constexpr const char* kFooter =
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
    "is given again; one that finished says so and does nothing.\n"
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

void add_sources(CLI::App& app, ImportOptions& options) {
  const char* group = "Sources";
  app.add_option("--vectors", options.vectors,
                 "[KIND:][NAME=]SOURCE: vectors of one field. KIND is dense (default), sparse or "
                 "multi; without NAME, the unnamed vector. May be repeated")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--points", options.points,
                 "JSON lines, each a point as the API takes it: {\"id\", \"vector\", \"payload\"}")
      ->group(group);
  app.add_option("--payload", options.payload, "JSON lines: line i is the payload of row i")
      ->group(group);
  app.add_option("--payload-keys", options.payload_keys,
                 "KEY,KEY,…: of each payload, keep only these members")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--from-export", options.from_export,
                 "Directory that `quiver export` wrote: all of it, with ids, payloads and --create")
      ->group(group);
  app.add_option("--ids", options.ids, "Ids: .npy list of integers, or JSON lines, an id each")
      ->group(group);
  app.add_option("--id-column", options.id_column,
                 "Ids (unsigned integers or UUIDs) are this member of the payloads")
      ->group(group);
  app.add_option("--id-offset", options.id_offset, "Ids are row number + this")->group(group);
  app.add_option("--rows", options.rows, "FIRST:END of the sources' rows; default all")
      ->group(group);
  app.add_option("--scale", options.scale,
                 "[NAME=]FACTOR: values are multiplied by it (0.5, 1/127). May be repeated")
      ->allow_extra_args(false)
      ->group(group);
  app.add_flag("--allow-missing-vectors", options.allow_missing_vectors,
               "Sources may end before others: points beyond go without their vectors")
      ->group(group);
}

void add_target(CLI::App& app, ImportOptions& options) {
  const char* group = "Target";
  app.add_option("--url", options.url, "Server; default http://127.0.0.1:6333")->group(group);
  app.add_option("--data-dir", options.data_dir,
                 "Data directory that no server has open: rows go straight into its files")
      ->excludes("--url")
      ->group(group);
  app.add_option("--api-key", options.api_key, "Sent as `api-key`")
      ->envname("QUIVER_API_KEY")
      ->group(group);
  app.add_option("--collection", options.collection, "Collection")->required()->group(group);
  app.add_option("--create", options.create,
                 "[JSON or @FILE]: create the collection unless it is there, from this body of PUT "
                 "/collections/{name}, or without one from the sources and the flags below")
      ->expected(0, 1)
      ->group(group);
  app.add_option("--metric", options.metric,
                 "[NAME=]METRIC for --create: cosine (default), dot, euclid or manhattan")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--dtype", options.dtype,
                 "[NAME=]TYPE for --create: float32, float16 or uint8; default as in the file")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--shards", options.shards, "Shards for --create")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str()
      ->group(group);
}

void add_how(CLI::App& app, ImportOptions& options) {
  const char* group = "How";
  app.add_option("--batch", options.batch, "Points per request; 0: about 1 MiB of JSON")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str()
      ->group(group);
  app.add_option("--connections", options.connections, "Connections to the server")
      ->check(CLI::Range(1, 256))
      ->capture_default_str()
      ->group(group);
  app.add_option("--retry", options.retry_s,
                 "Seconds to go on trying while the server is away or overloaded")
      ->capture_default_str()
      ->group(group);
  app.add_option("--state", options.state,
                 "File that remembers how far the import came; default COLLECTION.SOURCE.import")
      ->group(group);
  app.add_flag("--restart", options.restart, "Begin at the first row, whatever was done before")
      ->group(group);
  app.add_flag("--skip-bad", options.skip_bad,
               "Leave out rows that cannot be imported, and name them at the end")
      ->group(group);
  app.add_flag("--quiet", options.quiet, "No progress")->group(group);
}

}  // namespace

CLI::App* add_import(CLI::App& app, ImportOptions& options) {
  auto* command =
      app.add_subcommand("import", "Read files of vectors and payloads into a collection.");
  add_sources(*command, options);
  add_target(*command, options);
  add_how(*command, options);
  command->footer(kFooter);
  return command;
}

}  // namespace quiver::app
