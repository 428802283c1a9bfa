#include "app/load/load.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <optional>
#include <vector>

#include "app/load/batch_queue.h"
#include "app/load/bodies.h"
#include "app/load/http.h"
#include "app/load/loop.h"
#include "app/load/npy.h"
#include "app/load/report.h"
#include "base/clock.h"

namespace quiver::app {
namespace {

constexpr double kDefaultDurationS = 10;

/// The same requests in turn, until a number or a time is reached.
class RepeatedRequests final : public RequestSource {
 public:
  RepeatedRequests(const std::vector<RequestText>& requests, std::uint64_t limit, double duration_s)
      : requests_(requests), limit_(limit), duration_s_(duration_s) {}

  State next(RequestText& request) override {
    const bool out_of_time = duration_s_ > 0 && watch_.seconds() >= duration_s_;
    if (out_of_time || (limit_ > 0 && n_taken_ >= limit_)) return State::kEnd;
    request = requests_[n_taken_++ % requests_.size()];
    return State::kReady;
  }

 private:
  const std::vector<RequestText>& requests_;
  const std::uint64_t limit_;
  const double duration_s_;
  std::uint64_t n_taken_ = 0;
  Stopwatch watch_;
};

/// "FIRST:END", either may be missing.
Result<RowRange> parse_rows(const std::string& text, std::size_t n_rows) {
  if (text.empty()) return RowRange{0, n_rows};
  std::size_t first = 0;
  std::size_t end = n_rows;
  int n_read = 0;
  const int size = static_cast<int>(text.size());
  const bool is_range =
      (std::sscanf(text.c_str(), "%zu:%zu%n", &first, &end, &n_read) == 2 && n_read == size) ||
      (std::sscanf(text.c_str(), "%zu:%n", &first, &n_read) == 1 && n_read == size) ||
      (std::sscanf(text.c_str(), ":%zu%n", &end, &n_read) == 1 && n_read == size);
  if (!is_range || first >= end || end > n_rows) {
    return fail(Code::kInvalidArgument,
                fmt::format("--rows {}: wanted FIRST:END within 0:{}", text, n_rows));
  }
  return RowRange{first, end};
}

Result<std::vector<std::string>> read_lines(const std::string& path, std::size_t n_wanted) {
  std::vector<std::string> lines;
  if (path.empty()) return lines;
  std::ifstream file(path);
  if (!file) return fail(Code::kNotFound, "cannot read " + path);
  for (std::string line; lines.size() < n_wanted && std::getline(file, line);) {
    lines.push_back(line);
  }
  if (lines.size() < n_wanted) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} has {} lines, wanted one for each of {} rows", path, lines.size(),
                            n_wanted));
  }
  return lines;
}

std::optional<double> server_cpu_s(const Endpoint& endpoint, const LoadOptions& options) {
  const auto answer =
      fetch(endpoint, request_text("GET", "/metrics", endpoint, options.api_key, ""));
  if (!answer || answer->status != 200) return std::nullopt;
  return cpu_seconds_of(answer->body);
}

/// Runs the loop between two looks at the server's CPU clock.
Result<LoadReport> measure(const Endpoint& endpoint, RequestSource& source,
                           const LoadOptions& options) {
  LoadReport report;
  const auto before = server_cpu_s(endpoint, options);
  QV_TRY(report.loop, run_loop(endpoint, source, {options.connections, options.pipeline}));
  const auto after = server_cpu_s(endpoint, options);
  if (before && after) report.server_cpu_s = *after - *before;
  if (report.loop.latencies_us.empty()) {
    return fail(Code::kUnavailable, "no request succeeded; the first: " + report.loop.first_error);
  }
  return report;
}

Result<std::vector<RequestText>> query_requests(const Endpoint& endpoint,
                                                const LoadOptions& options) {
  QV_TRY(const NpyMatrix queries, NpyMatrix::open(options.queries));
  QV_TRY(const RowRange rows, parse_rows(options.rows, queries.n_rows()));
  const std::string target =
      fmt::format("/collections/{}/points/query", escape_segment(options.collection));
  std::vector<float> vector(queries.dim());
  std::vector<RequestText> requests;
  for (std::size_t i = rows.first; i < rows.second; ++i) {
    queries.row(i, vector);
    requests.push_back(std::make_shared<const std::string>(
        request_text("POST", target, endpoint, options.api_key, query_body(options, vector))));
  }
  if (requests.empty()) return fail(Code::kInvalidArgument, options.queries + " has no rows");
  return requests;
}

Result<LoadReport> run_search(const Endpoint& endpoint, const LoadOptions& options) {
  QV_TRY(const std::vector<RequestText> requests, query_requests(endpoint, options));
  if (options.warmup > 0) {
    RepeatedRequests warmup(requests, options.warmup, 0);
    QV_TRY(run_loop(endpoint, warmup, {options.connections, options.pipeline}));
  }
  const bool is_endless = options.requests == 0 && options.duration_s == 0;
  RepeatedRequests source(requests, options.requests,
                          is_endless ? kDefaultDurationS : options.duration_s);
  return measure(endpoint, source, options);
}

Result<> create_collection(const Endpoint& endpoint, const LoadOptions& options) {
  const std::string target = "/collections/" + escape_segment(options.collection);
  QV_TRY(const Answer answer,
         fetch(endpoint, request_text("PUT", target, endpoint, options.api_key, options.create)));
  if (answer.status == 200) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("cannot create `{}`: status {}: {}", options.collection, answer.status,
                          answer.body));
}

Result<LoadReport> run_ingest(const Endpoint& endpoint, const LoadOptions& options) {
  QV_TRY(const NpyMatrix vectors, NpyMatrix::open(options.ingest));
  QV_TRY(const RowRange rows, parse_rows(options.rows, vectors.n_rows()));
  QV_TRY(const std::vector<std::string> payloads, read_lines(options.payload, rows.second));
  if (!options.create.empty()) QV_TRY(create_collection(endpoint, options));
  BatchQueue batches(endpoint, options, vectors, payloads, rows);
  QV_TRY(LoadReport report, measure(endpoint, batches, options));
  const std::uint64_t n_succeeded = report.loop.latencies_us.size() * std::uint64_t{options.batch};
  report.n_points = std::min<std::uint64_t>(n_succeeded, rows.second - rows.first);
  report.writer_cpu_s = batches.writer_cpu_s();
  report.sent_bytes = batches.sent_bytes();
  return report;
}

}  // namespace

Result<> run_load(const LoadOptions& options) {
  QV_TRY(const Endpoint endpoint, parse_url(options.url));
  const bool is_ingest = !options.ingest.empty();
  QV_TRY(const LoadReport report,
         is_ingest ? run_ingest(endpoint, options) : run_search(endpoint, options));
  const std::string text =
      options.json ? to_json(report, options) + "\n" : to_table(report, options);
  std::fputs(text.c_str(), stdout);
  return {};
}

}  // namespace quiver::app
