#include "encoders/osq/cells.h"

#include <algorithm>
#include <cmath>

namespace quiver::encoders::osq {
namespace {

/// Sums over runs of sorted values in constant time.
class SortedValues {
 public:
  explicit SortedValues(std::span<const float> sorted) : sorted_(sorted), sums_{0}, squares_{0} {
    for (const float value : sorted) {
      sums_.push_back(sums_.back() + value);
      squares_.push_back(squares_.back() + double{value} * value);
    }
  }

  [[nodiscard]] std::size_t n() const { return sorted_.size(); }
  /// Number of values below `limit`.
  [[nodiscard]] std::size_t n_below(double limit) const {
    const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), limit,
                                     [](float value, double other) { return value < other; });
    return static_cast<std::size_t>(at - sorted_.begin());
  }
  [[nodiscard]] double sum(std::size_t first, std::size_t end) const {
    return sums_[end] - sums_[first];
  }
  [[nodiscard]] double squares(std::size_t first, std::size_t end) const {
    return squares_[end] - squares_[first];
  }
  /// The value below which the share `share` of all values lies, interpolated.
  [[nodiscard]] double quantile(double share) const {
    const double at = share * static_cast<double>(n() - 1);
    const auto i = std::min(static_cast<std::size_t>(at), n() - 1);
    const double next = sorted_[std::min(i + 1, n() - 1)];
    return sorted_[i] + (next - sorted_[i]) * (at - static_cast<double>(i));
  }

 private:
  std::span<const float> sorted_;
  std::vector<double> sums_;
  std::vector<double> squares_;
};

/// Means of the cells, and the sum of squared differences of the values from them. An empty cell is
/// represented by its middle.
struct Means {
  std::vector<double> of_cell;
  double error = 0;
};

Means means_of(const SortedValues& values, const std::vector<double>& limits) {
  Means means;
  std::size_t first = 0;
  for (std::size_t cell = 0; cell + 1 < limits.size(); ++cell) {
    const bool is_last = cell + 2 == limits.size();
    const std::size_t end = is_last ? values.n() : values.n_below(limits[cell + 1]);
    const auto n = static_cast<double>(end - first);
    const double sum = values.sum(first, end);
    means.of_cell.push_back(n == 0 ? (limits[cell] + limits[cell + 1]) / 2 : sum / n);
    if (n != 0) means.error += std::max(0.0, values.squares(first, end) - sum * sum / n);
    first = end;
  }
  return means;
}

}  // namespace

std::vector<std::uint8_t> allocate_bits(std::span<const double> variances, std::uint64_t budget) {
  std::vector<double> errors(variances.begin(), variances.end());
  std::vector<std::uint8_t> bits(errors.size(), 0);
  for (; budget != 0; --budget) {
    const auto largest = std::max_element(errors.begin(), errors.end());
    if (largest == errors.end() || *largest <= 0) break;
    std::uint8_t& chosen = bits[static_cast<std::size_t>(largest - errors.begin())];
    *largest = ++chosen == kMaxBits ? 0 : *largest / 4;
  }
  return bits;
}

std::vector<float> cell_limits(std::span<const float> sorted, std::uint32_t n_cells,
                               const LloydRule& rule) {
  const SortedValues values(sorted);
  std::vector<double> limits;
  for (std::uint32_t i = 0; i <= n_cells; ++i) {
    limits.push_back(values.quantile(static_cast<double>(i) / n_cells));
  }
  Means means = means_of(values, limits);
  for (std::uint32_t i = 0; i < rule.max_iterations && n_cells > 1; ++i) {
    for (std::uint32_t cell = 1; cell < n_cells; ++cell) {
      limits[cell] = (means.of_cell[cell - 1] + means.of_cell[cell]) / 2;
    }
    Means next = means_of(values, limits);
    const double gain = means.error - next.error;
    const bool is_done = gain <= rule.tolerance * means.error;
    means = std::move(next);
    if (is_done) break;
  }
  return {limits.begin(), limits.end()};
}

std::uint8_t cell_of(std::span<const float> limits, float value) {
  const auto inner = limits.subspan(1, limits.size() - 2);
  const auto after = std::upper_bound(inner.begin(), inner.end(), value);
  return static_cast<std::uint8_t>(after - inner.begin());
}

}  // namespace quiver::encoders::osq
