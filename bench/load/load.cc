#include "bench/load/load.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <vector>

#include "base/clock.h"
#include "base/schema_names.h"
#include "bench/common/machine.h"
#include "bench/load/batch_queue.h"
#include "bench/load/bodies.h"
#include "bench/load/loop.h"
#include "bench/load/recall.h"
#include "bench/load/report.h"
#include "bench/load/server.h"
#include "dataset/streams/lines.h"
#include "dataset/vectors.h"
#include "service/client/server_connection.h"

namespace quiver::bench {
namespace {

constexpr double kDefaultDurationS = 10;
constexpr const char* kBackgroundWarning =
    "warning: the server was building or merging segments of this collection: its CPU per query "
    "contains that work. Wait until the collection is green and measure again.\n";

/// Cycles through the requests until a count or a time is reached.
class RepeatedRequests final : public RequestSource {
 public:
  RepeatedRequests(const std::vector<RequestText>& requests, std::uint64_t limit, double duration_s)
      : requests_(requests), limit_(limit), duration_s_(duration_s) {}

  State next(RequestText& request) override {
    if (duration_s_ > 0 && watch_.seconds() >= duration_s_) return State::kOutOfTime;
    if (limit_ > 0 && n_taken_ >= limit_) return State::kEnd;
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

/// Reads lines [first, first + n) of a file; none if `path` is empty.
Result<std::vector<std::string>> read_lines(const std::string& path, std::uint64_t first,
                                            std::size_t n) {
  std::vector<std::string> lines;
  if (path.empty()) return lines;
  QV_TRY(auto reader, dataset::LineReader::open(path));
  QV_TRY(reader.skip_to(first));
  while (lines.size() < n) {
    QV_TRY(const auto line, reader.next());
    if (!line) {
      return fail(Code::kInvalidArgument,
                  fmt::format("{} has {} lines, wanted one for each row up to {}", path,
                              reader.line(), first + n));
    }
    lines.emplace_back(*line);
  }
  return lines;
}

/// Calibrates the machine before a measurement, while this process is idle.
struct MachineBefore {
  explicit MachineBefore(const LoadOptions& options)
      : calibrator(options.calibration_bytes), calibration(calibrator.measure()) {}
  const Calibrator calibrator;
  const Calibration calibration;
};

/// Runs the loop. Reads the state of the server before and after it, calibrates again after it.
Result<LoadReport> measure(const client::Endpoint& endpoint, RequestSource& source,
                           const MachineBefore& machine, const LoadOptions& options) {
  LoadReport report;
  report.unix_seconds = unix_time_ms() / 1000;
  report.calibration_before = machine.calibration;
  const ServerLook before = look_at_server(endpoint, options);
  QV_TRY(report.loop,
         run_loop(endpoint, source,
                  {options.connections, options.pipeline, options.rate, options.seed}));
  const ServerLook after = look_at_server(endpoint, options);
  report.calibration_after = machine.calibrator.measure();
  if (before.cpu_s && after.cpu_s) report.server_cpu_s = *after.cpu_s - *before.cpu_s;
  report.background = before.background || after.background;
  report.commit = after.commit;
  if (report.loop.latencies_us.empty()) {
    return fail(Code::kUnavailable, "no request succeeded; the first: " + report.loop.first_error);
  }
  return report;
}

Result<dataset::Vectors> load_rows(const std::string& source, FieldKind kind,
                                   const LoadOptions& options) {
  QV_TRY(const auto rows, dataset::parse_rows(options.rows));
  QV_TRY(auto vectors, dataset::load_vectors(source, kind, rows));
  if (vectors.n_rows() == 0) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} has no rows{}", source,
                            options.rows.empty() ? "" : " within --rows " + options.rows));
  }
  return vectors;
}

std::vector<RequestText> query_requests(const client::Endpoint& endpoint,
                                        const dataset::Vectors& queries,
                                        const LoadOptions& options) {
  std::vector<RequestText> requests;
  requests.reserve(queries.n_rows());
  for (std::size_t i = 0; i < queries.n_rows(); ++i) {
    requests.push_back(
        std::make_shared<const std::string>(query_request(endpoint, options, queries, i)));
  }
  return requests;
}

Result<LoadReport> run_search(const client::Endpoint& endpoint, const LoadOptions& options) {
  QV_TRY(const FieldKind kind, parse_kind(options.kind));
  QV_TRY(const auto queries, load_rows(options.queries, kind, options));
  const auto requests = query_requests(endpoint, queries, options);
  if (options.warmup > 0) {
    RepeatedRequests warmup(requests, options.warmup, 0);
    QV_TRY(run_loop(endpoint, warmup, {options.connections, options.pipeline}));
  }
  const bool is_endless = options.requests == 0 && options.duration_s == 0;
  const MachineBefore machine(options);
  RepeatedRequests source(requests, options.requests,
                          is_endless ? kDefaultDurationS : options.duration_s);
  QV_TRY(auto report, measure(endpoint, source, machine, options));
  if (!options.ground_truth.empty()) {
    QV_TRY(report.recall, recall_over_network(endpoint, options, queries));
  }
  return report;
}

Result<> create_collection(const client::Endpoint& endpoint, const LoadOptions& options) {
  const std::string target = "/collections/" + client::escape_segment(options.collection);
  QV_TRY(const client::HttpResponse answer,
         client::fetch(endpoint, client::request_text("PUT", target, endpoint, options.api_key,
                                                      options.create)));
  if (answer.status == 200) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("cannot create `{}`: status {}: {}", options.collection, answer.status,
                          answer.body));
}

Result<LoadReport> run_ingest(const client::Endpoint& endpoint, const LoadOptions& options) {
  QV_TRY(const auto vectors, load_rows(options.ingest, FieldKind::kDense, options));
  QV_TRY(const auto payloads,
         read_lines(options.payload, vectors.batch.first_row, vectors.n_rows()));
  if (!options.create.empty()) QV_TRY(create_collection(endpoint, options));
  const MachineBefore machine(options);
  BatchQueue batches(endpoint, options, vectors, payloads);
  QV_TRY(LoadReport report, measure(endpoint, batches, machine, options));
  const std::uint64_t n_succeeded = report.loop.latencies_us.size() * std::uint64_t{options.batch};
  report.n_points = std::min<std::uint64_t>(n_succeeded, vectors.n_rows());
  report.writer_cpu_s = batches.writer_cpu_s();
  report.sent_bytes = batches.sent_bytes();
  return report;
}

}  // namespace

Result<> check_usage(const LoadOptions& options) {
  QV_TRY(const client::Endpoint endpoint, client::parse_url(options.url));
  if (endpoint.is_tls) {
    return fail(Code::kInvalidArgument, options.url + ": bench load speaks http:// only");
  }
  QV_TRY(dataset::parse_rows(options.rows));
  QV_TRY(parse_kind(options.kind));
  return {};
}

Result<> run_load(const LoadOptions& options) {
  QV_TRY(const client::Endpoint endpoint, client::parse_url(options.url));
  const bool is_ingest = !options.ingest.empty();
  QV_TRY(const LoadReport report,
         is_ingest ? run_ingest(endpoint, options) : run_search(endpoint, options));
  const std::string text =
      options.json ? to_json(report, options) + "\n" : to_table(report, options);
  std::fputs(text.c_str(), stdout);
  if (report.background && !is_ingest) std::fputs(kBackgroundWarning, stderr);
  return {};
}

}  // namespace quiver::bench
