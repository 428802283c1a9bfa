// Searches.
#include "service/api/queries.h"
#include "service/handlers/common.h"
#include "service/handlers/handlers.h"
#include "service/json/decode/decode.h"
#include "service/json/encode/encode.h"

namespace quiver::service {
namespace {

using api::Records;
using engine::Query;

/// {"points": […]} or […]: the newer and the older endpoint differ in the envelope.
enum class Envelope : std::uint8_t { kObject, kArray };

/// What an answer tells beside its points; nullptr: it was not asked for.
struct Reports {
  std::shared_ptr<const engine::QueryReport> explain;
  std::shared_ptr<const engine::RecallReport> recall;
};

Reports reports_of(const Query& query) { return {query.report, query.recall}; }

void write_points(json::Writer& out, const Records& records, Envelope envelope,
                  const Reports& reports) {
  if (envelope == Envelope::kArray) return json::write_scored_points(out, records);
  out.begin_object();
  out.key("points");
  json::write_scored_points(out, records);
  if (reports.explain != nullptr) {
    out.key("explain");
    json::write_query_report(out, *reports.explain);
  }
  if (const auto recall = reports.recall != nullptr ? reports.recall->facts() : std::nullopt) {
    out.key("recall");
    json::write_recall_report(out, *recall);
  }
  out.end_object();
}

Decoded<> write_answer(Exchange& x, const Records& records, Envelope envelope,
                       const Reports& reports) {
  auto out = x.begin_result();
  write_points(out, records, envelope, reports);
  x.end_result();
  return {};
}

/// `reports`: one for each answer.
Decoded<> write_answers(Exchange& x, const std::vector<Records>& answers, Envelope envelope,
                        const std::vector<Reports>& reports) {
  auto out = x.begin_result();
  out.begin_array();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (auto running = x.check_cancel(); !running) {
      return fail(x.with_timeout(std::move(running).error()));
    }
    write_points(out, answers[i], envelope, reports[i]);
  }
  out.end_array();
  x.end_result();
  return {};
}

Decoded<> write_explained(Exchange& x, const std::vector<engine::Explanation>& explanations) {
  auto out = x.begin_result();
  json::write_explanations(out, explanations);
  x.end_result();
  return {};
}

using DecodeQuery = Decoded<Query> (*)(std::string&);
using DecodeQueries = Decoded<std::vector<Query>> (*)(std::string&);

template <DecodeQuery decode, Envelope envelope>
Decoded<Answer> run_query(Exchange& x, OpenCollection collection) {
  QV_TRY(read_params(x));
  QV_TRY(auto query, decode(x.request.body));
  auto write = [reports = reports_of(query)](Exchange& exchange, const Records& records) {
    return write_answer(exchange, records, envelope, reports);
  };
  api::query(x, std::move(collection), std::move(query), answer_by<Records>(x, std::move(write)));
  return Answer::kLater;
}

template <DecodeQueries decode, Envelope envelope>
Decoded<Answer> run_batch(Exchange& x, OpenCollection collection) {
  QV_TRY(read_params(x));
  QV_TRY(auto queries, decode(x.request.body));
  std::vector<Reports> reports;
  for (const auto& query : queries) reports.push_back(reports_of(query));
  auto write = [reports = std::move(reports)](Exchange& exchange,
                                              const std::vector<Records>& answers) {
    return write_answers(exchange, answers, envelope, reports);
  };
  api::query_batch(x, std::move(collection), std::move(queries),
                   answer_by<std::vector<Records>>(x, std::move(write)));
  return Answer::kLater;
}

Decoded<Answer> run_explain(Exchange& x, OpenCollection collection) {
  QV_TRY(read_params(x));
  QV_TRY(auto request, json::decode_explain(x.request.body));
  api::explain(x, collection, std::move(request),
               answer_by<std::vector<engine::Explanation>>(x, write_explained));
  return Answer::kLater;
}

}  // namespace

void add_query_routes(Routes& routes) {
  using json::decode_query;
  using json::decode_query_batch;
  using json::decode_search;
  using json::decode_search_batch;
  routes.insert(
      routes.end(),
      {{Method::kPost, "/collections/{collection_name}/points/query", Access::kRead,
        with_body<run_query<decode_query, Envelope::kObject>>},
       {Method::kPost, "/collections/{collection_name}/points/query/batch", Access::kRead,
        with_body<run_batch<decode_query_batch, Envelope::kObject>>},
       {Method::kPost, "/collections/{collection_name}/points/search", Access::kRead,
        with_body<run_query<decode_search, Envelope::kArray>>},
       {Method::kPost, "/collections/{collection_name}/points/search/batch", Access::kRead,
        with_body<run_batch<decode_search_batch, Envelope::kArray>>},
       {Method::kPost, "/collections/{collection_name}/points/recommend", Access::kRead,
        with_body<run_query<json::decode_recommend, Envelope::kArray>>},
       {Method::kPost, "/collections/{collection_name}/points/recommend/batch", Access::kRead,
        with_body<run_batch<json::decode_recommend_batch, Envelope::kArray>>},
       {Method::kPost, "/collections/{collection_name}/points/discover", Access::kRead,
        with_body<run_query<json::decode_discover, Envelope::kArray>>},
       {Method::kPost, "/collections/{collection_name}/points/discover/batch", Access::kRead,
        with_body<run_batch<json::decode_discover_batch, Envelope::kArray>>},
       {Method::kPost, "/v1/collections/{collection_name}/points/explain", Access::kRead,
        with_body<run_explain>}});
}

}  // namespace quiver::service
