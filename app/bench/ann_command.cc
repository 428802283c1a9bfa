#include "app/bench/ann_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "app/common/usage.h"
#include "app/common/version.h"
#include "base/schema_names.h"

namespace quiver::app {
namespace {

using bench::AnnOptions;

constexpr const char* kAnnExamples =
    "A file is named by its path, with or without .zst; a CSR or ragged set by the prefix of its\n"
    "files: DIR/sparse stands for DIR/sparse.indptr.npy, .indices.npy and .values.npy.\n"
    "Pin the process for stable figures: taskset -c 1 quiver bench ann …\n\n"
    "  quiver bench ann --base dense.npy.zst --queries queries.npy --query-rows 1000:2000 \\\n"
    "      --index flat --json flat.jsonl\n"
    "  quiver bench ann … --index NAME --build a=16,b=200 --sweep x=1,2,4,8 --sweep y=10,20 \\\n"
    "      --recall .90,.95,.98,.99";

void add_data(CLI::App& app, AnnOptions& o) {
  const auto group = "Data";
  app.add_option("--base", o.base, "Vectors to search")->required()->group(group);
  app.add_option("--queries", o.queries, "Query vectors")->required()->group(group);
  app.add_option("--ground-truth", o.ground_truth,
                 "Ids of each query's best rows, [n, k' >= k] (.npy, .ivecs, .ibin, HDF5); "
                 "default: computed exactly and cached")
      ->group(group);
  app.add_option("--rows", o.rows, "FIRST:END of the base; default all")->group(group);
  app.add_option("--query-rows", o.query_rows, "FIRST:END of the queries; default all")
      ->group(group);
  app.add_option(
         "--filter", o.filter,
         "Ranges of four attributes for each query: uniform:S, near:S or far:S, S the "
         "share of rows in (0, 1]. Attributes are random, or follow the vectors and suit the "
         "query or not. Or rows:SOURCE, where row i of a sparse set (--kind sparse) has the "
         "numbers "
         "of the rows that query i allows as its indices. Default none")
      ->group(group);
  app.add_option("--data", o.data, "Name of the set in reports; default the base's path")
      ->group(group);
  app.add_option("--cache", o.cache,
                 "Directory for computed truth and for indexes during the "
                 "measurement; default $XDG_CACHE_HOME/quiver or ~/.cache/quiver")
      ->group(group);
}

void add_field(CLI::App& app, AnnOptions& o) {
  const auto group = "Field and index";
  app.add_option("--kind", o.kind, "dense, sparse or multi")
      ->check(CLI::IsMember({"dense", "sparse", "multi"}))
      ->capture_default_str()
      ->group(group);
  app.add_option("--metric", o.metric, "dot, cosine, euclid or manhattan; sparse: dot")
      ->check(CLI::IsMember({"dot", "cosine", "euclid", "manhattan"}))
      ->capture_default_str()
      ->group(group);
  app.add_option("--dtype", o.dtype,
                 fmt::format("Type of the stored values: one of {}; sparse: f32",
                             fmt::join(kDTypeNames, ", ")))
      ->check(CLI::IsMember(std::vector<std::string>(kDTypeNames.begin(), kDTypeNames.end())))
      ->capture_default_str()
      ->group(group);
  app.add_option("--index", o.index, "Type of index")->capture_default_str()->group(group);
  app.add_option("--build", o.build, "Build parameters: key=value,…")->group(group);
  app.add_option("--sweep", o.sweep,
                 "A search parameter and its values: key=a,b,c. May be "
                 "repeated: every combination is measured")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->group(group);
}

void add_method(CLI::App& app, AnnOptions& o) {
  const auto group = "Method";
  const auto number = [&](const char* name, std::uint32_t& value, int min, int max,
                          const char* text) {
    app.add_option(name, value, text)
        ->check(CLI::Range(min, max))
        ->capture_default_str()
        ->group(group);
  };
  number("--k", o.k, 1, 1'000'000, "Hits per query");
  number("--threads", o.threads, 1, 1024, "Search threads; each takes queries of its own");
  number("--batch", o.batch, 1, 1'000'000, "Queries per call");
  number("--repeats", o.repeats, 1, 1000, "Measured repeats; the median is reported");
  number("--warmup", o.warmup, 0, 1000, "Passes over the queries before measuring");
  number("--build-threads", o.build_threads, 0, 1024, "Threads that build; 0: all");
  app.add_option("--min-seconds", o.min_seconds,
                 "Shortest repeat; a repeat consists of whole passes")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str()
      ->group(group);
  app.add_option("--seed", o.seed, "Seed of the build and of the order of queries")
      ->capture_default_str()
      ->group(group);
}

}  // namespace

CLI::App* add_ann(CLI::App& parent, AnnOptions& options) {
  options.commit = kCommit;
  auto* app = parent.add_subcommand(
      "ann",
      "Measure an index in this process: recall, rate, latency, build and memory over a sweep.");
  // A later flag overrides an earlier one, so that scripts can append to a list of flags.
  app->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_data(*app, options);
  add_field(*app, options);
  add_method(*app, options);
  app->add_option("--recall", options.recall_targets,
                  "Recall targets, as .90,.95: prints the fastest point that reaches each")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->delimiter(',')
      ->check(CLI::Range(0.0, 1.0))
      ->group("Report");
  app->add_option("--json", options.json, "File for one JSON line per point")->group("Report");
  app->footer(kAnnExamples);
  app->callback([&options] { throw_if_wrong(check_usage(options)); });
  return app;
}

}  // namespace quiver::app
