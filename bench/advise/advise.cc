#include "bench/advise/advise.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/schema_names.h"
#include "bench/advise/report.h"
#include "bench/ann/built_index.h"

namespace quiver::bench {
namespace {

using namespace advise;

constexpr double kUsualRecall = 0.95;
/// Queries of the sample: enough to compare ways, which all get the same ones.
constexpr std::size_t kSampleQueries = 300;
/// Recall that a larger way must gain on the sample to be measured on all rows.
constexpr double kSampleSlack = 0.002;
/// Recall that a larger row type must gain under exact search.
constexpr double kTypeSlack = 0.0005;
/// A type is left out if its recall under exact search is this much below the wanted one.
constexpr double kHopelessRecall = 0.02;
/// Share of the time for the sample.
constexpr double kSampleShare = 0.45;

Limits limits_of(const AdviseOptions& options) {
  Limits limits{options.recall, options.max_bytes, options.min_qps};
  if (!limits.recall && !limits.bytes) limits.recall = kUsualRecall;
  return limits;
}

/// Reports an unwritable file before long work begins.
Result<> check_writable(const std::string& path) {
  if (path.empty() || std::ofstream(path, std::ios::app)) return {};
  return fail(Code::kInternal, fmt::format("{}: cannot be written", path));
}

Result<> write_file(const std::string& path, const std::string& text) {
  if (path.empty()) return {};
  std::ofstream file(path, std::ios::trunc);
  file << text;
  if (file.flush()) return {};
  return fail(Code::kInternal, fmt::format("{}: cannot be written", path));
}

/// Row types by exact search on the sample, then indexes of the good ones, then the best of all on
/// all rows.
class Advising {
 public:
  explicit Advising(const AdviseOptions& options) : options_(options), executor_(0, "advise") {
    advice_.limits = limits_of(options);
    advice_.k = options.k;
    advice_.data = options.data.empty() ? options.base : options.data;
  }

  Result<Advice> run(std::optional<dataset::Vectors> rows) && {
    QV_TRY(prepare(std::move(rows)));
    QV_TRY(try_sample());
    QV_TRY(measure_all());
    advice_.seconds = watch_.seconds();
    return std::move(advice_);
  }

 private:
  Result<> prepare(std::optional<dataset::Vectors> rows) {
    QV_TRY(const Metric metric, parse_metric(options_.metric));
    QV_TRY(directory_, open_real_directory(cache_path(options_.cache)));
    remove_abandoned_builds(*directory_);
    progress("reading");
    QV_TRY(data_, load_data(options_.base, std::move(rows), options_.queries, metric, options_.k,
                            options_.seed));
    data_.schema.name = options_.field;
    advice_.schema = data_.schema;
    advice_.held_out = data_.held_out;
    advice_.n_rows = data_.rows.size();
    advice_.n_queries = data_.queries.n_rows();
    return {};
  }

  Result<Bench> bench(std::vector<std::uint32_t> rows, std::size_t n_queries) {
    return Bench::prepare(data_, std::move(rows), n_queries, options_.k, executor_, *directory_);
  }

  Result<> try_sample() {
    QV_TRY(auto sample,
           bench(sample_rows(data_.rows, std::max(options_.sample, options_.k), options_.seed),
                 kSampleQueries));
    advice_.n_sample = sample.n_rows();
    QV_TRY(const auto types, try_row_types(sample));
    for (const IndexWay& index : index_ways(data_.schema.dim)) {
      for (const DType dtype : types) QV_TRY(try_index(sample, {dtype, index}));
    }
    return {};
  }

  /// Measures every row type without an index. Returns those that no smaller one replaces and that
  /// can meet the limits: all of them if none can.
  Result<std::vector<DType>> try_row_types(Bench& sample) {
    for (const DType dtype : row_types()) {
      progress(fmt::format("sample: {}", dtype_name(dtype)));
      auto measured = sample.measure({dtype, IndexWay()}, Efforts::kFew, options_.seed);
      if (!measured && measured.error().code() == Code::kInvalidArgument) {
        advice_.refused.push_back({dtype, measured.error().message()});
        continue;
      }
      QV_TRY(advice_.sampled.emplace_back(), std::move(measured));
    }
    auto points = points_of(advice_.sampled);
    for (Point& point : points) point.qps = 0;  // only bytes and recall decide about row types
    auto front = pareto_front(points, kTypeSlack);
    const auto can_meet = [&](std::size_t i) {
      const Limits& limits = advice_.limits;
      return points[i].recall >= limits.recall.value_or(0) - kHopelessRecall &&
             points[i].bytes <= limits.bytes.value_or(points[i].bytes);
    };
    if (std::ranges::any_of(front, can_meet)) std::erase_if(front, std::not_fn(can_meet));
    std::vector<DType> types;
    for (const std::size_t i : front) {
      types.push_back(advice_.sampled[points[i].way].way.dtype);
    }
    std::erase_if(advice_.sampled, [&](const MeasuredWay& way) {
      return std::ranges::find(types, way.way.dtype) == types.end();
    });
    return types;
  }

  /// A way with the bytes of an earlier one is the same under another name: a row type may have no
  /// second codes, or the build no graph.
  Result<> try_index(Bench& sample, const Way& way) {
    if (watch_.seconds() > options_.seconds * kSampleShare) {
      ++advice_.n_untried;
      return {};
    }
    progress("sample: " + way_text(way));
    auto measured = sample.measure(way, Efforts::kFew, options_.seed);
    if (!measured && measured.error().code() == Code::kInvalidArgument) return {};
    QV_TRY(auto known, std::move(measured));
    const bool repeats = std::ranges::any_of(advice_.sampled, [&](const MeasuredWay& other) {
      return other.way.dtype == way.dtype && other.way.index.type == way.index.type &&
             other.index_bytes == known.index_bytes;
    });
    if (!repeats) advice_.sampled.push_back(std::move(known));
    return {};
  }

  /// Good ways of the sample, those first that suit the limits.
  [[nodiscard]] std::vector<MeasuredWay> promising() const {
    const auto points = points_of(advice_.sampled);
    std::set<std::size_t> good;
    for (const std::size_t i : pareto_front(points, kSampleSlack)) good.insert(points[i].way);
    std::vector<MeasuredWay> ways;
    for (const std::size_t way : rank_ways(points, advice_.limits)) {
      if (good.contains(way)) ways.push_back(advice_.sampled[way]);
    }
    return ways;
  }

  Result<> measure_all() {
    progress("exact search over all rows");
    QV_TRY(auto all, bench(data_.rows, kMaxQueries));
    const double scale =
        static_cast<double>(all.n_rows() * all.n_queries()) /
        static_cast<double>(advice_.n_sample * std::min(kSampleQueries, all.n_queries()));
    QV_TRY(measure(all, default_way()));
    for (const MeasuredWay& way : promising()) {
      const bool is_known = way_text(way.way) == way_text(default_way());
      if (is_known) continue;
      const bool fits = watch_.seconds() + way.seconds * scale <= options_.seconds;
      if (fits || advice_.ways.size() < 2) {
        QV_TRY(measure(all, way.way));
      } else {
        ++advice_.n_unfinished;
      }
    }
    progress("");
    return {};
  }

  Result<> measure(Bench& all, const Way& way) {
    progress("all rows: " + way_text(way));
    QV_TRY(advice_.ways.emplace_back(), all.measure(way, Efforts::kMany, options_.seed));
    return {};
  }

  void progress(const std::string& text) const {
    if (!on_terminal_) return;
    std::fprintf(stderr, "\r\x1b[K%s", text.c_str());
    if (!text.empty()) std::fprintf(stderr, " (%.0f s)", watch_.seconds());
  }

  const AdviseOptions& options_;
  const Stopwatch watch_;
  Executor executor_;
  std::unique_ptr<Directory> directory_;
  Data data_;
  Advice advice_;
  const bool on_terminal_ = ::isatty(STDERR_FILENO) == 1;
};

Result<> refuse(const char* text) { return fail(Code::kInvalidArgument, text); }

}  // namespace

Result<> check_usage(const AdviseOptions& options) {
  QV_TRY(const Metric metric, parse_metric(options.metric));
  if (metric == Metric::kManhattan) return refuse("--metric manhattan has no index to choose");
  if (options.recall && !(*options.recall > 0 && *options.recall <= 1)) {
    return refuse("--recall: wanted more than 0, at most 1");
  }
  if (options.max_bytes && !(*options.max_bytes > 0))
    return refuse("--max-bytes: wanted a number above 0");
  if (!(options.min_qps >= 0)) return refuse("--min-qps: wanted 0 or more");
  if (!(options.seconds > 0)) return refuse("--seconds: wanted a number above 0");
  return {};
}

Result<> run_advise(const AdviseOptions& options, std::optional<dataset::Vectors> rows) {
  QV_TRY(check_usage(options));
  QV_TRY(check_writable(options.json));
  QV_TRY(check_writable(options.svg));
  QV_TRY(const Advice advice, Advising(options).run(std::move(rows)));
  std::fputs(to_text(advice).c_str(), stdout);
  QV_TRY(write_file(options.json, to_json(advice)));
  return write_file(options.svg, to_svg(advice));
}

}  // namespace quiver::bench
