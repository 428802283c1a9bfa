#include "engine/query/joins/node_vectors.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "base/hash.h"

namespace quiver::engine {
namespace {

/// One in so many numbers of a random vector is not 0 (`s` in the paper).
constexpr std::uint64_t kSparsity = 3;
constexpr std::size_t kAdditionsBetweenChecks = 1024;

class NodeVectors {
 public:
  NodeVectors(const NodeLinks& links, const NodeVectorsJoin& request)
      : links_(links), request_(request), hop_(links.n_nodes() * request.dim) {}

  void start(std::span<const PointId> ids);
  Result<> run(const Cancel& cancel, JoinProgress& progress);
  [[nodiscard]] std::vector<float> take() { return std::move(sum_); }

 private:
  [[nodiscard]] std::span<float> row_of(std::vector<float>& all, std::size_t row) const {
    return std::span(all).subspan(row * request_.dim, request_.dim);
  }
  Result<> hop(const Cancel& cancel, JoinProgress& progress);
  void add(std::uint32_t from, std::uint32_t to);

  const NodeLinks& links_;
  const NodeVectorsJoin& request_;
  std::vector<float> hop_;
  std::vector<float> next_;
  std::vector<float> sum_;
};

void NodeVectors::start(std::span<const PointId> ids) {
  for (std::size_t row = 0; row < ids.size(); ++row) {
    const std::uint64_t key = ids[row].hash();
    const auto values = row_of(hop_, row);
    for (std::uint64_t i = 0; i < values.size(); ++i) {
      const std::uint64_t numbers[] = {key, i};
      const std::uint64_t random = hash_bytes(std::as_bytes(std::span(numbers)), request_.seed);
      const std::uint64_t face = random % (2 * kSparsity);
      values[i] = face == 0 ? 1.0F : face == 1 ? -1.0F : 0.0F;
    }
  }
}

void NodeVectors::add(std::uint32_t from, std::uint32_t to) {
  const auto source = row_of(hop_, from);
  const auto target = row_of(next_, to);
  for (std::size_t i = 0; i < source.size(); ++i) target[i] += source[i];
}

Result<> NodeVectors::hop(const Cancel& cancel, JoinProgress& progress) {
  QV_TRY(cancel.check());
  next_.assign(hop_.size(), 0);
  std::size_t n_added = 0;
  const auto n = static_cast<std::uint32_t>(links_.n_nodes());
  for (std::uint32_t row = 0; row < n; ++row) {
    for (const std::uint32_t other : links_.of(row)) {
      if (++n_added % kAdditionsBetweenChecks == 0) QV_TRY(cancel.check());
      add(other, row);
    }
    ++progress.n_done;
  }
  for (std::uint32_t row = 0; row < n; ++row) {
    const auto values = row_of(next_, row);
    double square = 0;
    for (const float value : values) square += double{value} * value;
    const auto factor = square > 0 ? static_cast<float>(1 / std::sqrt(square)) : 0.0F;
    for (float& value : values) value *= factor;
  }
  hop_.swap(next_);
  return {};
}

Result<> NodeVectors::run(const Cancel& cancel, JoinProgress& progress) {
  sum_.assign(hop_.size(), 0);
  for (const float weight : request_.weights) {
    QV_TRY(hop(cancel, progress));
    for (std::size_t i = 0; i < hop_.size(); ++i) sum_[i] += weight * hop_[i];
  }
  return {};
}

}  // namespace

Result<std::vector<float>> node_vectors(const NodeLinks& links, std::span<const PointId> ids,
                                        const NodeVectorsJoin& request, const Cancel& cancel,
                                        JoinProgress& progress) {
  QV_TRY(check_node_vectors(links.n_nodes(), request));
  NodeVectors vectors(links, request);
  vectors.start(ids);
  QV_TRY(vectors.run(cancel, progress));
  return vectors.take();
}

Result<> check_node_vectors(std::size_t n_nodes, const NodeVectorsJoin& request) {
  if (n_nodes * request.dim > kMaxJoinEntries) {
    return fail(Code::kInvalidArgument,
                fmt::format("vectors of {} dimensions for {} points are too many: at most {} "
                            "numbers are kept",
                            request.dim, n_nodes, kMaxJoinEntries));
  }
  return {};
}

}  // namespace quiver::engine
