#include "bench/ann/ann.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/clock.h"
#include "bench/ann/filters.h"
#include "bench/ann/report.h"
#include "bench/common/grid.h"

namespace quiver::bench {
namespace {

MeasureOptions method_of(const AnnOptions& options) {
  return {options.threads, options.batch,       options.repeats,
          options.warmup,  options.min_seconds, options.seed};
}

/// The parsed flags. Parsing comes first, so that a mistake is reported before long work begins.
struct Flags {
  std::vector<KeyValues> grid;
  KeyValues build_params;
  std::vector<index::AnyParams> search_params;  ///< one per point of `grid`
  dataset::RowRange rows, query_rows;
  FieldSchema schema;
  std::optional<FilterSpec> filter;
};

/// Puts the flag and the index in front of an error about index parameters.
template <class T>
Result<T> of_index(Result<T> parsed, const char* flag, const char* what, const std::string& index) {
  if (parsed) return parsed;
  return fail(parsed.error().code(), fmt::format("{}: {} parameters of index `{}`: {}", flag, what,
                                                 index, parsed.error().message()));
}

Result<> check_filter(const Flags& flags, const AnnOptions& options) {
  const auto refuse = [](const char* text) { return fail(Code::kInvalidArgument, text); };
  if (!flags.filter) return {};
  if (flags.schema.kind != FieldKind::kDense) return refuse("--filter is for dense fields");
  if (options.batch != 1) return refuse("--filter: each query has its own, so --batch must be 1");
  if (options.ground_truth.empty()) return {};
  return refuse("--ground-truth is about all rows and --filter allows some; leave one of them out");
}

Result<Flags> parse_flags(const AnnOptions& options) {
  Flags flags;
  QV_TRY(flags.grid, parse_grid(options.sweep));
  QV_TRY(flags.build_params, parse_key_values(options.build));
  QV_TRY(flags.rows, dataset::parse_rows(options.rows));
  QV_TRY(flags.query_rows, dataset::parse_rows(options.query_rows));
  QV_TRY(flags.schema, parse_schema(options.kind, options.metric, options.dtype));
  if (!options.ground_truth.empty() && !options.rows.empty()) {
    return fail(Code::kInvalidArgument,
                "--ground-truth is about the whole base and --rows takes a part of it; leave one "
                "of them out");
  }
  QV_TRY(flags.filter, parse_filter(options.filter));
  QV_TRY(check_filter(flags, options));
  QV_TRY(const auto* type, find_index(options.index));
  QV_TRY(of_index(type->parse_build(flags.build_params), "--build", "build", options.index));
  for (const KeyValues& values : flags.grid) {
    QV_TRY(flags.search_params.emplace_back(),
           of_index(type->parse_search(values), "--sweep", "search", options.index));
  }
  return flags;
}

/// One run: rows, queries, ground truth and measured points.
class Run {
 public:
  static Result<> run(const AnnOptions& options) {
    Run run(options);
    QV_TRY(run.prepare());
    return run.sweep();
  }

 private:
  explicit Run(const AnnOptions& options)
      : options_(options), builders_(options.build_threads, "build"), method_(method_of(options)) {}

  Result<> prepare() {
    QV_TRY(flags_, parse_flags(options_));
    QV_TRY(cache_, open_real_directory(cache_path(options_.cache)));
    remove_abandoned_builds(*cache_);
    QV_TRY(column_, load_column(options_.base, flags_.schema, flags_.rows));
    QV_TRY(auto queries, QuerySet::load(options_.queries, column_.schema, flags_.query_rows));
    queries_.emplace(std::move(queries));
    std::vector<Bitset> filters;
    if (flags_.filter) {
      QV_TRY(filters, make_filters(*flags_.filter, column_, *queries_, options_.seed));
    }
    allowed_.emplace(column_, std::move(filters));
    return check_json();
  }

  Result<> sweep() {
    const Calibrator calibrator(options_.calibration_bytes);
    QV_TRY(auto built, BuiltIndex::build(options_.index, column_, flags_.build_params,
                                         options_.seed, builders_, *cache_));
    QV_TRY(truth_, find_truth());
    facts_ = facts_of(built);
    Calibration before = calibrator.measure();
    std::fputs((head(facts_, before) + "\n").c_str(), stdout);
    Executor searchers(method_.threads, "search");
    const auto& grid = flags_.grid;
    for (std::size_t i = 0; i < grid.size(); ++i) {
      if (on_terminal_) std::fprintf(stderr, "\rmeasuring %zu of %zu ", i + 1, grid.size());
      const SearchSetup setup{built.searcher(), *queries_, *allowed_, flags_.search_params[i],
                              options_.k};
      QV_TRY(auto measurement, measure(setup, method_, searchers));
      MeasuredPoint point = judge(grid[i], measurement);
      point.before = before;
      point.after = before = calibrator.measure();
      points_.push_back(std::move(point));
      mark_disturbed(points_);
      QV_TRY(write_json());
    }
    if (on_terminal_) std::fputs("\r                              \r", stderr);
    print();
    return check_truth();
  }

  /// Only after measuring: a given truth is not compared with an exact search.
  Result<> check_truth() const {
    std::size_t n_better = 0;
    for (const auto& point : points_) n_better = std::max(n_better, point.n_better_than_truth);
    if (n_better == 0) return {};
    return fail(Code::kInvalidArgument,
                fmt::format("the ground truth {} is wrong: {} queries were answered better than by "
                            "it, so the recall above means nothing. Other rows, another metric?",
                            options_.ground_truth, n_better));
  }

  Result<Truth> find_truth() {
    if (!options_.ground_truth.empty()) {
      return given_truth(options_.ground_truth, column_, *queries_, options_.k);
    }
    return exact_truth(column_, *queries_, *allowed_, options_.k, builders_, *cache_);
  }

  [[nodiscard]] RunFacts facts_of(const BuiltIndex& built) const {
    RunFacts facts;
    facts.data = options_.data.empty() ? options_.base : options_.data;
    facts.commit = options_.commit;
    facts.index = options_.index;
    facts.schema = column_.schema;
    facts.build_params = flags_.build_params;
    facts.n_rows = column_.n_rows;
    facts.n_queries = queries_->size();
    facts.first_query = queries_->first_row();
    facts.exact_bytes = column_bytes(column_);
    facts.k = options_.k;
    facts.method = method_;
    facts.cost = built.cost();
    facts.truth_seconds = truth_.seconds;
    facts.truth_cached = truth_.cached;
    facts.filter = options_.filter;
    facts.selectivity = allowed_->selectivity(column_);
    facts.truth_given = !options_.ground_truth.empty();
    return facts;
  }

  MeasuredPoint judge(const KeyValues& params, Measurement& measurement) const {
    for (std::size_t q = 0; q < measurement.hits.size(); ++q) {
      score_exactly(column_, queries_->prepare(q), measurement.hits[q]);
    }
    MeasuredPoint point = make_point(
        params, measurement, summarise_recall(truth_.perfect, options_.k, measurement.hits));
    point.n_better_than_truth = count_better_than_truth(truth_.perfect, measurement.hits);
    point.unix_seconds = unix_time_ms() / 1000;
    return point;
  }

  /// Reports an unwritable file before long work begins. Keeps the file's old content until there
  /// is a point to write.
  Result<> check_json() const {
    if (options_.json.empty() || std::ofstream(options_.json, std::ios::app)) return {};
    return cannot_write_json();
  }

  Result<> write_json() const {
    if (options_.json.empty()) return {};
    std::ofstream file(options_.json, std::ios::trunc);
    for (const auto& point : points_) file << to_json(facts_, point) << '\n';
    if (file.flush()) return {};
    return cannot_write_json();
  }

  [[nodiscard]] Result<> cannot_write_json() const {
    return fail(Code::kInternal, fmt::format("{}: cannot be written", options_.json));
  }

  void print() const {
    std::fputs(to_table(facts_, points_).c_str(), stdout);
    const auto targets = targets_table(points_, options_.recall_targets);
    if (!targets.empty()) std::fprintf(stdout, "\n%s", targets.c_str());
    std::fputs(notes(points_).c_str(), stdout);
  }

  const AnnOptions& options_;
  Executor builders_;
  MeasureOptions method_;
  Flags flags_;
  std::unique_ptr<Directory> cache_;
  index::FieldColumn column_;
  std::optional<QuerySet> queries_;
  std::optional<Allowed> allowed_;
  Truth truth_;
  RunFacts facts_;
  std::vector<MeasuredPoint> points_;
  const bool on_terminal_ = ::isatty(STDERR_FILENO) == 1;
};

}  // namespace

Result<> check_usage(const AnnOptions& options) {
  QV_TRY(parse_flags(options));
  return {};
}

Result<> run_ann(const AnnOptions& options) { return Run::run(options); }

}  // namespace quiver::bench
