#include "app/embedded/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

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

std::vector<Query> queries_of(const quiver_request& request, const quiver_vectors& vectors,
                              std::uint64_t n, std::uint64_t k) {
  std::vector<Query> queries(n, request.query);
  for (std::size_t i = 0; i < n; ++i) {
    queries[i].kind = engine::Nearest{vector_at(vectors, i)};
    queries[i].limit = k;
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

Result<> check_ids(const Answers& answers, const HitArrays& out) {
  if (out.high != nullptr) return {};
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

void write(std::span<const Record> records, std::size_t first, std::uint64_t k,
           const HitArrays& out) {
  for (std::size_t i = 0; i < k; ++i) {
    const bool is_hit = i < records.size();
    const bool is_uuid = is_hit && records[i].id.kind() == PointId::Kind::kUuid;
    out.ids[first + i] = is_hit ? records[i].id.low() : kNoId;
    if (out.high != nullptr) out.high[first + i] = is_uuid ? records[i].id.high() : kNoId;
    out.scores[first + i] = is_hit ? records[i].score : std::numeric_limits<float>::quiet_NaN();
  }
}

}  // namespace

Result<> search(quiver_collection& collection, const quiver_request& request,
                const quiver_vectors& queries, std::uint64_t n, std::uint64_t k,
                const HitArrays& out) {
  QV_TRY(check_vectors(queries, n));
  if (n == 0) return {};
  return collection.with([&](engine::Database&, engine::Collection& target) -> Result<> {
    const Cancel cancel(deadline_of(request));
    QV_TRY(const Answers answers, run(target, queries_of(request, queries, n, k), cancel));
    QV_TRY(check_ids(answers, out));
    for (std::size_t i = 0; i < n; ++i) {
      const auto& records = answers[i];
      write(records, i * k, k, out);
      if (out.counts != nullptr) out.counts[i] = std::min<std::uint64_t>(records.size(), k);
    }
    return {};
  });
}

}  // namespace quiver::embedded
