#include "app/bench/load_command.h"

#include <CLI/CLI.hpp>

#include "app/common/usage.h"

namespace quiver::app {
namespace {

using bench::LoadOptions;

void add_loop(CLI::App& app, LoadOptions& o) {
  const auto group = "Loop";
  app.add_option("--connections", o.connections, "Connections")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str()
      ->group(group);
  app.add_option("--pipeline", o.pipeline, "Requests in flight per connection, at most")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str()
      ->group(group);
  app.add_option("--rate", o.rate,
                 "Open loop: this many requests arrive per second (Poisson), whatever the server "
                 "does; latency counts from the arrival. Default: a closed loop")
      ->check(CLI::Range(0.001, 1e9))
      ->group(group);
  app.add_option("--seed", o.seed, "Seed of the arrival times")
      ->capture_default_str()
      ->group(group);
}

void add_queries(CLI::App& app, LoadOptions& o) {
  const auto group = "Queries";
  app.add_option("--kind", o.kind, "Kind of the query vectors: dense, sparse or multi")
      ->check(CLI::IsMember({"dense", "sparse", "multi"}))
      ->capture_default_str()
      ->group(group);
  app.add_option("--duration", o.duration_s, "Seconds; default 10 unless --requests is given")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_option("--requests", o.requests, "Number of requests; rows are used in turn")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_option("--warmup", o.warmup, "Requests before the measurement")
      ->capture_default_str()
      ->group(group);
  app.add_option("--k", o.k, "Hits per query")->capture_default_str()->group(group);
  app.add_option(
         "--ground-truth", o.ground_truth,
         "Ids of each query's nearest points (.npy, .ivecs, .ibin, HDF5): report the recall of "
         "one more pass over the rows. Points that tie with the last of them count as found")
      ->group(group);
  app.add_option("--params", o.params, "Search parameters (JSON object)")->group(group);
  app.add_option("--filter", o.filter, "Filter (JSON object)")->group(group);
  app.add_flag("--with-payload", o.with_payload, "Ask for payloads")->group(group);
}

void add_ingest(CLI::App& app, LoadOptions& o) {
  const auto group = "Ingest";
  app.add_option("--payload", o.payload, "JSON lines: line i is the payload of row i")
      ->group(group);
  app.add_option("--batch", o.batch, "Points per request")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str()
      ->group(group);
  app.add_option("--wait", o.wait, "Wait until points are visible (true) or durable (false)")
      ->capture_default_str()
      ->group(group);
  app.add_option("--create", o.create, "Create the collection first, from this JSON body")
      ->group(group);
  app.add_option("--queue", o.queue,
                 "Batches prepared ahead; 0: all of them before the measurement starts")
      ->capture_default_str()
      ->group(group);
}

}  // namespace

CLI::App* add_load(CLI::App& parent, LoadOptions& o) {
  auto* app =
      parent.add_subcommand("load", "Send queries or upserts over HTTP: latency and server CPU.");
  app->add_option("--url", o.url, "Server")->capture_default_str();
  app->add_option("--collection", o.collection, "Collection")->required();
  app->add_option("--api-key", o.api_key, "Sent as `api-key`");
  auto* what = app->add_option_group("what", "What to send");
  what->add_option("--queries", o.queries,
                   "Query vectors; file names are written as in `bench ann`");
  what->add_option("--ingest", o.ingest, "Dense vectors to upsert");
  what->require_option(1);
  app->add_option("--rows", o.rows, "FIRST:END of the file's rows; default all");
  app->add_option("--using", o.vector_name, "Vector name; default the unnamed one");
  app->add_option("--data", o.data, "Name of the set in reports; default the collection's");
  app->add_flag("--json", o.json, "Print one JSON line (docs/benchmarks.md) instead of a table");
  add_loop(*app, o);
  add_queries(*app, o);
  add_ingest(*app, o);
  app->callback([&o] { throw_if_wrong(check_usage(o)); });
  return app;
}

}  // namespace quiver::app
