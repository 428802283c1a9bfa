#include "app/embedded/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "app/embedded/handles.h"
#include "app/embedded/points.h"
#include "base/threads/cancel.h"

namespace quiver::embedded {
namespace {

using engine::Query;
using engine::Record;
using Answers = std::vector<std::vector<Record>>;

constexpr std::uint64_t kNoId = std::numeric_limits<std::uint64_t>::max();

Deadline deadline_of(const quiver_request& request) {
  if (request.timeout_ms == 0) return Deadline::none();
  const std::uint64_t max_ms = std::chrono::milliseconds::max().count() / 1'000'000;
  return Deadline::after(std::chrono::milliseconds(std::min(request.timeout_ms, max_ms)));
}

std::vector<Query> queries_of(const quiver_call& call, const quiver_vectors& vectors) {
  std::vector<Query> queries(call.n, call.request->query);
  for (std::size_t i = 0; i < call.n; ++i) {
    queries[i].kind = engine::Nearest{vector_at(vectors, i)};
    queries[i].limit = call.k;
  }
  return queries;
}

/// A query alone is not a batch: the engine then may use several threads for it.
Result<Answers> run(const engine::Collection& collection, std::span<const Query> queries,
                    const Cancel& cancel) {
  if (queries.size() != 1) return collection.query_batch(queries, cancel);
  Answers answers(1);
  QV_TRY(answers.front(), collection.query(queries.front(), cancel));
  return answers;
}

Result<> check_call(const quiver_call& call) {
  if (call.collection == nullptr || call.request == nullptr) {
    return fail(Code::kInvalidArgument, "the collection or the request of a call is NULL");
  }
  if (call.ids == nullptr || call.scores == nullptr) {
    return fail(Code::kInvalidArgument, "ids or scores of a call are NULL");
  }
  if (call.k == 0) return fail(Code::kInvalidArgument, "k is 0, must be 1 or larger");
  return {};
}

Result<> check_ids(const quiver_call& call, const Answers& answers) {
  if (call.high != nullptr) return {};
  for (const auto& records : answers) {
    for (const Record& record : records) {
      if (record.id.kind() == PointId::Kind::kNumber) continue;
      return fail(Code::kFailedPrecondition,
                  fmt::format("hit {} has a UUID as its id, but there is no array for upper halves",
                              record.id.to_string()));
    }
  }
  return {};
}

/// Writes the hits of query `number`.
void write(const quiver_call& call, std::size_t number, std::span<const Record> records) {
  const std::size_t first = number * call.k;
  for (std::size_t i = 0; i < call.k; ++i) {
    const bool is_hit = i < records.size();
    const bool is_uuid = is_hit && records[i].id.kind() == PointId::Kind::kUuid;
    call.ids[first + i] = is_hit ? records[i].id.low() : kNoId;
    if (call.high != nullptr) call.high[first + i] = is_uuid ? records[i].id.high() : kNoId;
    call.scores[first + i] = is_hit ? records[i].score : std::numeric_limits<float>::quiet_NaN();
  }
  if (call.counts != nullptr) call.counts[number] = std::min<std::uint64_t>(records.size(), call.k);
}

}  // namespace

Result<> search(const quiver_call& call, const quiver_vectors& queries) {
  QV_TRY(check_call(call));
  QV_TRY(check_vectors(queries, call.n));
  if (call.n == 0) return {};
  return call.collection->with([&](engine::Database&, engine::Collection& target) -> Result<> {
    const Cancel cancel(deadline_of(*call.request));
    QV_TRY(const Answers answers, run(target, queries_of(call, queries), cancel));
    QV_TRY(check_ids(call, answers));
    for (std::size_t i = 0; i < call.n; ++i) write(call, i, answers[i]);
    return {};
  });
}

}  // namespace quiver::embedded
