#include "engine/query/joins/map_layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "encoders/transforms/random_bits.h"

namespace quiver::engine {
namespace {

/// Small maps need more rounds until they are at rest, and have the time.
constexpr std::size_t kRowsOfLargeMap = 10'000;
constexpr int kRoundsOfSmallMap = 200;
constexpr int kRoundsOfLargeMap = 100;
/// Rows that repel a row for each neighbour that attracts it (5 in the paper).
constexpr int kRepelling = 5;
/// The start fills so much to each side: many times the distance of neighbours, about 1.
constexpr float kHalfWidth = 10;
/// Keeps the repulsion of rows in one place finite, as does the limit of a step.
constexpr float kSoftening = 0.01F;
constexpr float kMaxStep = 4;
/// Rows that begin in one place cannot repel each other: they are shaken by so much.
constexpr float kShake = 0.01F;
constexpr std::uint32_t kPlacesBetweenChecks = 256;

using Place = std::array<float, 2>;

float limited(float step) { return std::clamp(step, -kMaxStep, kMaxStep); }

class Layout {
 public:
  Layout(const KnnGraph& graph, std::vector<float> places, std::uint64_t seed)
      : graph_(graph), places_(std::move(places)), seed_(seed) {}

  void scale_start();
  [[nodiscard]] int n_rounds() const {
    return graph_.n_rows() < kRowsOfLargeMap ? kRoundsOfSmallMap : kRoundsOfLargeMap;
  }
  /// Moves each row once for each neighbour.
  Result<> round(float rate, const Cancel& cancel);
  [[nodiscard]] std::vector<float> take() { return std::move(places_); }

 private:
  [[nodiscard]] float* at(std::size_t row) { return places_.data() + 2 * row; }
  void attract(float* one, float* other, float rate);
  void repel(float* one, const float* other, float rate);
  std::uint64_t random() { return encoders::random_bits(seed_, n_drawn_++); }
  /// A row, without a division.
  std::size_t random_row(std::uint64_t n) { return ((random() >> 32) * n) >> 32; }

  const KnnGraph& graph_;
  std::vector<float> places_;
  std::uint64_t seed_;
  std::uint64_t n_drawn_ = 0;
};

void Layout::scale_start() {
  float most = 0;
  for (const float value : places_) most = std::max(most, std::abs(value));
  const float factor = most > 0 ? kHalfWidth / most : 0;
  for (float& value : places_) {
    const auto random_unit = static_cast<float>(random() >> 40) * 0x1p-24F;  // 0 to 1
    value = value * factor + kShake * (random_unit - 0.5F);
  }
}

void Layout::attract(float* one, float* other, float rate) {
  const Place to_one = {one[0] - other[0], one[1] - other[1]};
  const float square = to_one[0] * to_one[0] + to_one[1] * to_one[1];
  const float factor = -2 / (1 + square);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const float step = rate * limited(factor * to_one[axis]);
    one[axis] += step;
    other[axis] -= step;
  }
}

void Layout::repel(float* one, const float* other, float rate) {
  const Place to_one = {one[0] - other[0], one[1] - other[1]};
  const float square = to_one[0] * to_one[0] + to_one[1] * to_one[1];
  const float factor = 2 / ((kSoftening + square) * (1 + square));
  for (std::size_t axis = 0; axis < 2; ++axis) {
    one[axis] += rate * limited(factor * to_one[axis]);
  }
}

Result<> Layout::round(float rate, const Cancel& cancel) {
  const auto n = static_cast<std::uint32_t>(graph_.n_rows());
  for (std::uint32_t row = 0; row < n; ++row) {
    if (row % kPlacesBetweenChecks == 0) QV_TRY(cancel.check());
    for (const Neighbour& to : graph_.of(row)) {
      attract(at(row), at(to.position), rate);
      for (int i = 0; i < kRepelling; ++i) {
        const std::size_t other = random_row(n);
        if (other != row) repel(at(row), at(other), rate);
      }
    }
  }
  return {};
}

}  // namespace

Result<std::vector<float>> lay_out(const KnnGraph& graph, std::vector<float> places,
                                   std::uint64_t seed, const Cancel& cancel) {
  Layout layout(graph, std::move(places), seed);
  layout.scale_start();
  const int n_rounds = layout.n_rounds();
  for (int i = 0; i < n_rounds; ++i) {
    QV_TRY(layout.round(1 - static_cast<float>(i) / static_cast<float>(n_rounds), cancel));
  }
  return layout.take();
}

}  // namespace quiver::engine
