#include "engine/collections/jobs/job_writes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "payload/json/escape.h"

namespace quiver::engine {
namespace {

/// Points changed by one request.
constexpr std::size_t kPointsPerRequest = 256;
/// How long a full queue of updates is waited for.
constexpr int kMaxTries = 600;
constexpr auto kTimeBetweenTries = std::chrono::milliseconds(100);

void append_id(std::string& out, const PointId& id) {
  const bool is_number = id.kind() == PointId::Kind::kNumber;
  is_number ? void(out += id.to_string()) : payload::append_string(out, id.to_string());
}

class PointOutcome {
 public:
  PointOutcome(const JoinRequest& request, const JoinTable& table)
      : request_(request), table_(table) {}

  /// What becomes of a point; nullopt: nothing.
  [[nodiscard]] std::optional<Operation> of(std::size_t i) const {
    if (table_.dim != 0) return vector_of(i);
    auto value = value_of(i);
    if (!value) return std::nullopt;
    SetPayload set;
    set.payload = "{";
    payload::append_string(set.payload, request_.into);
    set.payload += ":" + *value + "}";
    set.points = std::vector<PointId>{table_.ids[i]};
    return set;
  }

 private:
  [[nodiscard]] Operation vector_of(std::size_t i) const {
    const auto values = table_.vectors.span().subspan(i * table_.dim, table_.dim);
    UpdateVectors update;
    update.points.push_back(
        {table_.ids[i], {{request_.into, DenseVector(values.begin(), values.end())}}, {}});
    return update;
  }
  [[nodiscard]] std::optional<std::string> value_of(std::size_t i) const {
    std::string value;
    if (std::holds_alternative<KnnJoin>(request_.kind)) return neighbours_of(i);
    const std::uint32_t group = table_.groups[i];
    if (std::holds_alternative<ClustersJoin>(request_.kind)) {
      return group == JoinTable::kNone ? "null" : std::to_string(group);
    }
    if (group == i) return std::nullopt;  // kept
    append_id(value, table_.ids[group]);
    return value;
  }
  [[nodiscard]] std::string neighbours_of(std::size_t i) const {
    std::string list = "[";
    for (std::uint64_t e = table_.offsets[i]; e < table_.offsets[i + 1]; ++e) {
      list += list.size() == 1 ? R"({"id":)" : R"(,{"id":)";
      append_id(list, table_.ids[table_.neighbours[e]]);
      fmt::format_to(std::back_inserter(list), R"(,"score":{}}})", table_.scores[e]);
    }
    return list + "]";
  }

  const JoinRequest& request_;
  const JoinTable& table_;
};

/// As `apply`, but waits while the queue of updates is full.
Result<> apply_patiently(const std::vector<Operation>& operations, const ApplyOperations& apply,
                         const Cancel& cancel) {
  for (int i = 1;; ++i) {
    QV_TRY(cancel.check());
    auto applied = apply(operations);
    const bool is_full = !applied && applied.error().code() == Code::kResourceExhausted;
    if (!is_full || i == kMaxTries) return applied;
    std::this_thread::sleep_for(kTimeBetweenTries);
  }
}

/// One missing point makes its shard refuse the whole request: then each is changed by itself.
Result<> apply_to_present(const std::vector<Operation>& operations, const ApplyOperations& apply,
                          const Cancel& cancel) {
  auto applied = apply_patiently(operations, apply, cancel);
  if (applied || applied.error().code() != Code::kNotFound) return applied;
  for (const Operation& operation : operations) {
    auto one = apply_patiently({operation}, apply, cancel);
    if (!one && one.error().code() != Code::kNotFound) return one;
  }
  return {};
}

}  // namespace

Result<> write_outcome(const JoinRequest& request, const JoinTable& table,
                       const ApplyOperations& apply, const Cancel& cancel, JoinProgress& progress) {
  const PointOutcome outcome(request, table);
  const std::size_t n = table.ids.size();
  progress.n_total += n;
  for (std::size_t first = 0; first < n; first += kPointsPerRequest) {
    QV_TRY(cancel.check());
    const std::size_t end = std::min(n, first + kPointsPerRequest);
    std::vector<Operation> operations;
    for (std::size_t i = first; i < end; ++i) {
      if (auto operation = outcome.of(i)) operations.push_back(*std::move(operation));
    }
    if (!operations.empty()) QV_TRY(apply_to_present(operations, apply, cancel));
    progress.n_done += end - first;
  }
  return {};
}

}  // namespace quiver::engine
