// Searches. What is small is answered on the thread that read it: a hop to another one would cost
// more than the search.
#include <algorithm>

#include "service/handlers/common.h"
#include "service/handlers/handlers.h"
#include "service/json/decode/decode.h"
#include "service/json/encode/encode.h"

namespace quiver::service {
namespace {

using engine::Collection;
using engine::Query;
using CollectionPtr = std::shared_ptr<Collection>;
using Queries = std::vector<Query>;

bool has_lookup(const Query& query) {
  return query.lookup_from || std::any_of(query.prefetch.begin(), query.prefetch.end(), has_lookup);
}

/// {"points": […]} or […]: the newer and the older endpoint differ in the envelope.
enum class Shape : std::uint8_t { kObject, kArray };

void write_points(json::Writer& out, const std::vector<engine::Record>& records, Shape shape) {
  if (shape == Shape::kArray) return json::write_scored_points(out, records);
  out.begin_object();
  out.key("points");
  json::write_scored_points(out, records);
  out.end_object();
}

template <Shape shape>
void answer_with(Exchange& x, const std::vector<engine::Record>& records) {
  auto out = x.begin_result();
  write_points(out, records, shape);
  x.end_result();
}

template <Shape shape>
Decoded<Answer> answer_query(Exchange& x, const Collection& collection, const Query& query,
                             const Cancel& cancel) {
  QV_TRY(const auto records, collection.query(query, cancel));
  answer_with<shape>(x, records);
  return Answer::kReady;
}

/// The engine says what is wrong, but not with which search. Only of what a client can mend, and
/// at most what the batch itself may cost: the first search that fails alone as the batch did.
ApiError name_search(const Collection& collection, const Queries& queries, const Cancel& cancel,
                     const Error& error) {
  const ApiError unnamed(error);
  if (unnamed.status != 400 && unnamed.status != 404) return unnamed;
  for (std::size_t i = 0; i < queries.size() && cancel.check(); ++i) {
    const auto alone = collection.query(queries[i], cancel);
    if (!alone && alone.error().message() == error.message()) return in_search(i, unnamed);
  }
  return unnamed;
}

Decoded<Answer> answer_batch(Exchange& x, const Collection& collection, const Queries& queries,
                             const Cancel& cancel, Shape shape) {
  const auto answers = collection.query_batch(queries, cancel);
  if (!answers) return fail(name_search(collection, queries, cancel, answers.error()));
  auto out = x.begin_result();
  out.begin_array();
  for (const auto& records : *answers) {
    QV_TRY(cancel.check());
    write_points(out, records, shape);
  }
  out.end_array();
  x.end_result();
  return Answer::kReady;
}

/// On the compute executor, stoppable by the server.
template <class Work>
Answer compute(Exchange& x, Deadline deadline, Work work) {
  auto cancel = std::make_shared<const Cancel>(deadline);
  x.set_cancel(cancel);
  return x.run_on(x.service().database().compute(),
                  [work = std::move(work), cancel](Exchange& exchange) mutable -> Decoded<Answer> {
                    return work(exchange, *cancel);
                  });
}

/// May open other collections.
Decoded<> resolve_lookups(Exchange& x, Query& query) {
  if (!has_lookup(query)) return {};
  QV_TRY(x.service().database().resolve_lookups(x.captures[0], query));
  return {};
}

using DecodeQuery = Decoded<Query> (*)(std::string&);
using DecodeQueries = Decoded<Queries> (*)(std::string&);

template <DecodeQuery decode, Shape shape>
Decoded<Answer> run_query(Exchange& x, CollectionPtr collection) {
  QV_TRY(const Deadline deadline, read_deadline(x, "Search"));
  QV_TRY(auto query, decode(x.request.body));
  if (!has_lookup(query) && collection->is_small(query)) {
    return answer_query<shape>(x, *collection, query, Cancel(deadline));
  }
  if (!has_lookup(query) && collection->shares_passes(query)) {
    return x.service().shared_passes().add(
        x, {std::move(collection), std::move(query), std::make_shared<const Cancel>(deadline),
            answer_with<shape>});
  }
  return compute(x, deadline,
                 [collection = std::move(collection), query = std::move(query)](
                     Exchange& exchange, const Cancel& cancel) mutable -> Decoded<Answer> {
                   QV_TRY(resolve_lookups(exchange, query));
                   return answer_query<shape>(exchange, *collection, query, cancel);
                 });
}

template <DecodeQueries decode, Shape shape>
Decoded<Answer> run_batch(Exchange& x, CollectionPtr collection) {
  QV_TRY(const Deadline deadline, read_deadline(x, "Search"));
  QV_TRY(auto queries, decode(x.request.body));
  return compute(x, deadline,
                 [collection = std::move(collection), queries = std::move(queries)](
                     Exchange& exchange, const Cancel& cancel) mutable -> Decoded<Answer> {
                   for (std::size_t i = 0; i < queries.size(); ++i) {
                     auto resolved = resolve_lookups(exchange, queries[i]);
                     if (!resolved) return fail(in_search(i, std::move(resolved).error()));
                   }
                   return answer_batch(exchange, *collection, queries, cancel, shape);
                 });
}

Decoded<Answer> run_explain(Exchange& x, CollectionPtr collection) {
  QV_TRY(const Deadline deadline, read_deadline(x, "Search"));
  QV_TRY(auto request, json::decode_explain(x.request.body));
  return compute(x, deadline,
                 [collection = std::move(collection), request = std::move(request)](
                     Exchange& exchange, const Cancel& cancel) -> Decoded<Answer> {
                   QV_TRY(const auto explanations, collection->explain(request, cancel));
                   auto out = exchange.begin_result();
                   json::write_explanations(out, explanations);
                   exchange.end_result();
                   return Answer::kReady;
                 });
}

}  // namespace

void add_query_routes(Routes& routes) {
  using json::decode_query;
  using json::decode_query_batch;
  using json::decode_search;
  using json::decode_search_batch;
  routes.insert(routes.end(),
                {{Method::kPost, "/collections/{collection_name}/points/query", Access::kRead,
                  with_body<run_query<decode_query, Shape::kObject>>},
                 {Method::kPost, "/collections/{collection_name}/points/query/batch", Access::kRead,
                  with_body<run_batch<decode_query_batch, Shape::kObject>>},
                 {Method::kPost, "/collections/{collection_name}/points/search", Access::kRead,
                  with_body<run_query<decode_search, Shape::kArray>>},
                 {Method::kPost, "/collections/{collection_name}/points/search/batch",
                  Access::kRead, with_body<run_batch<decode_search_batch, Shape::kArray>>},
                 {Method::kPost, "/v1/collections/{collection_name}/points/explain", Access::kRead,
                  with_body<run_explain>}});
}

}  // namespace quiver::service
