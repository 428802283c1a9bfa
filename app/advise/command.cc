#include "app/advise/command.h"

#include <utility>

#include "app/advise/collection_rows.h"
#include "app/common/usage.h"
#include "app/export/command.h"
#include "base/schema_names.h"

namespace quiver::app {
namespace {

using bench::AdviseOptions;

constexpr const char* kAdviseExamples =
    "Tries row types and indexes on a sample, then the good ones on all rows. Prints those that "
    "no\n"
    "smaller one replaces, the one that suits the limits, and the requests that apply it. With\n"
    "--recall the goal is the fewest bytes, with --max-bytes alone the best recall.\n"
    "docs/embeddings-storage.md explains the output.\n"
    "\n"
    "  quiver advise --base rows.npy --queries queries.npy --recall .97 --svg advice.svg\n"
    "  quiver advise --base rows.npy --metric dot --max-bytes 300 --json advice.json\n"
    "  quiver advise --collection docs --recall .97";

void add_limits(CLI::App& app, AdviseOptions& o) {
  const auto group = "Wanted";
  app.add_option("--recall", o.recall,
                 "Least recall@k, more than 0, at most 1; default .95 without --max-bytes")
      ->group(group);
  app.add_option("--max-bytes", o.max_bytes, "Most bytes of a vector: row and index")->group(group);
  app.add_option("--min-qps", o.min_qps, "Least searches a second on one thread")
      ->capture_default_str()
      ->group(group);
  app.add_option("--k", o.k, "Hits per query")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str()
      ->group(group);
}

void add_source(CLI::App& app, ExportOptions& o) {
  auto* group = app.add_option_group("Rows of a collection", "instead of --base, with its metric");
  add_collection_flags(*group, o);
  auto* collection = group->get_option("--collection");
  collection->excludes(app.get_option("--base"))->excludes(app.get_option("--metric"));
  for (const char* flag : {"--url", "--data-dir"}) group->get_option(flag)->needs(collection);
}

Result<> check_usage(const AdviseCommand& options) {
  if (options.advise.base.empty() && options.from.collection.empty()) {
    return fail(Code::kInvalidArgument, "--base or --collection is required");
  }
  return bench::check_usage(options.advise);
}

}  // namespace

CLI::App* add_advise(CLI::App& parent, AdviseCommand& options) {
  AdviseOptions& o = options.advise;
  auto* app = parent.add_subcommand(
      "advise", "Measure row types and indexes on your vectors and say which suits.");
  app->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app->add_option("--base", o.base, "Dense vectors to search (.npy, .fvecs, .fbin, IDX, …)");
  app->add_option("--queries", o.queries,
                  "Query vectors; default: a tenth of the rows, at most 1,000, is held out");
  app->add_option("--metric", o.metric, "cosine, dot or euclid")
      ->check(CLI::IsMember({"cosine", "dot", "euclid"}))
      ->capture_default_str();
  add_source(*app, options.from);
  add_limits(*app, o);
  app->add_option("--sample", o.sample, "Rows on which all ways are tried")
      ->check(CLI::Range(1'000, 100'000'000))
      ->capture_default_str();
  app->add_option("--seconds", o.seconds,
                  "Time after which no further way is begun; two ways are always measured")
      ->capture_default_str();
  app->add_option("--json", o.json, "File for all figures");
  app->add_option("--svg", o.svg, "File for a plot of bytes against recall");
  app->add_option("--field", o.field,
                  "Vector name in the collection and in the printed requests; default: unnamed, or "
                  "the only one");
  app->add_option("--data", o.data, "Name of the data in reports; default the base's path");
  app->add_option("--cache", o.cache,
                  "Directory for truth and for indexes during the measurement; default "
                  "$XDG_CACHE_HOME/quiver or ~/.cache/quiver");
  app->add_option("--seed", o.seed, "Seed of the sample and of builds")->capture_default_str();
  app->footer(kAdviseExamples);
  app->callback([&options] { throw_if_wrong(check_usage(options)); });
  return app;
}

Result<> run_advise(AdviseCommand options) {
  bench::AdviseOptions& advise = options.advise;
  if (options.from.collection.empty()) return bench::run_advise(advise);
  QV_TRY(auto read, read_rows(options.from, advise.field));
  advise.base = "collection " + options.from.collection;
  advise.field = read.field.name;
  advise.metric = metric_name(read.field.metric);
  return bench::run_advise(advise, std::move(read.rows));
}

}  // namespace quiver::app
