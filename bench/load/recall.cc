#include "bench/load/recall.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "bench/common/statistics.h"
#include "bench/load/bodies.h"
#include "payload/json/document.h"
#include "service/client/server_connection.h"

namespace quiver::bench {
namespace {

double number_of(const payload::Value& value) {
  if (const auto* number = value.as_double()) return *number;
  if (const auto* integer = value.as_i64()) return static_cast<double>(*integer);
  return 0;
}

ScoredId hit_of(const payload::Value& point) {
  ScoredId hit;
  const payload::Value* id = point.find("id");
  const payload::Value* score = point.find("score");
  if (id != nullptr && id->as_i64() != nullptr) hit.id = *id->as_i64();
  if (score != nullptr) hit.score = number_of(*score);
  return hit;
}

Result<dataset::GroundTruth> load_truth(const LoadOptions& options, std::uint64_t n_queries) {
  QV_TRY(auto truth, dataset::load_neighbours(options.ground_truth));
  if (truth.n_queries >= n_queries && truth.k >= options.k) return truth;
  return fail(Code::kInvalidArgument,
              fmt::format("{} holds {} queries with {} neighbours, wanted {} with {}",
                          options.ground_truth, truth.n_queries, truth.k, n_queries, options.k));
}

/// Options for answers with ids and scores only.
LoadOptions without_payload(LoadOptions options) {
  options.with_payload = false;
  return options;
}

/// Sends single queries over one connection.
class Asker {
 public:
  Asker(const client::Endpoint& endpoint, const LoadOptions& options,
        const dataset::Vectors& queries)
      : endpoint_(endpoint),
        options_(without_payload(options)),
        queries_(queries),
        connection_(endpoint, "") {}

  Result<std::vector<ScoredId>> ask(std::size_t i) {
    QV_TRY(const auto answer, send(i, options_));
    if (answer.status == 200) return hits_of(answer.body);
    return fail(Code::kUnavailable,
                fmt::format("the server answered with status {}: {}", answer.status, answer.body));
  }
  /// Exact score of point `id` for query `i`; nullopt if the server does not return it.
  Result<std::optional<double>> score_of(std::size_t i, std::int64_t id) {
    LoadOptions one = options_;
    one.k = 1;
    one.filter = fmt::format(R"({{"must":[{{"has_id":[{}]}}]}})", id);
    one.params = R"({"exact":true})";
    QV_TRY(const auto answer, send(i, one));
    const auto hits = hits_of(answer.body);
    if (answer.status != 200 || hits.size() != 1 || hits[0].id != id) return std::nullopt;
    return hits[0].score;
  }

 private:
  Result<client::HttpResponse> send(std::size_t i, const LoadOptions& options) {
    return connection_.exchange(query_request(endpoint_, options, queries_, i));
  }

  const client::Endpoint& endpoint_;
  const LoadOptions options_;
  const dataset::Vectors& queries_;
  client::ServerConnection connection_;
};

}  // namespace

std::vector<ScoredId> hits_of(std::string_view answer) {
  std::vector<ScoredId> hits;
  const auto value = payload::parse_json(answer);
  const payload::Value* result = value ? value->find("result") : nullptr;
  const payload::Value* points = result == nullptr ? nullptr : result->find("points");
  if (points == nullptr || points->as_array() == nullptr) return hits;
  for (const payload::Value& point : *points->as_array()) hits.push_back(hit_of(point));
  return hits;
}

std::span<const std::int64_t> matches(std::span<const std::int64_t> truth) {
  const auto end = std::find(truth.begin(), truth.end(), -1);
  return truth.first(static_cast<std::size_t>(end - truth.begin()));
}

double recall_of(std::span<const ScoredId> hits, std::span<const std::int64_t> truth,
                 std::optional<double> last_score) {
  if (truth.empty()) return 1;
  double largest = last_score ? std::abs(*last_score) : 0;
  for (const auto& hit : hits) largest = std::max(largest, std::abs(hit.score));
  std::set<std::int64_t> found;
  for (const auto& hit : hits) {
    const bool ties = last_score && std::abs(hit.score - *last_score) <= 1e-6 * largest;
    if (ties || std::find(truth.begin(), truth.end(), hit.id) != truth.end()) found.insert(hit.id);
  }
  return std::min(1.0, static_cast<double>(found.size()) / static_cast<double>(truth.size()));
}

Result<NetworkRecall> recall_over_network(const client::Endpoint& endpoint,
                                          const LoadOptions& options,
                                          const dataset::Vectors& queries) {
  const std::uint64_t first = queries.batch.first_row;
  QV_TRY(const auto truth, load_truth(options, first + queries.n_rows()));
  Asker asker(endpoint, options, queries);
  NetworkRecall recall;
  std::vector<double> recalls;
  for (std::size_t i = 0; i < queries.n_rows(); ++i) {
    const auto wanted =
        matches(std::span(truth.ids).subspan((first + i) * truth.k).first(options.k));
    QV_TRY(const auto hits, asker.ask(i));
    recalls.push_back(recall_of(hits, wanted, std::nullopt));
    if (recalls.back() < 1) {
      QV_TRY(const auto last_score, asker.score_of(i, wanted.back()));
      recalls.back() = recall_of(hits, wanted, last_score);
    }
    recall.n_short += hits.size() < wanted.size() ? 1 : 0;
  }
  recall.n_queries = recalls.size();
  recall.mean =
      std::accumulate(recalls.begin(), recalls.end(), 0.0) / static_cast<double>(recalls.size());
  recall.p5 = percentile(std::move(recalls), 0.05);
  return recall;
}

}  // namespace quiver::bench
