// The ways to find the best rows of a dense index, and their estimated costs. A search takes the
// cheapest. If that cannot tell the best rows, it takes the next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace quiver::index::dense {

enum class Way : std::uint8_t {
  kExact,  ///< all allowed rows are compared; always answers
  kSigns,  ///< sign codes of all allowed rows; answers unless values overflow
  kLists,  ///< posting lists near the query
  kGraph,  ///< a walk through the graph
};

[[nodiscard]] constexpr std::string_view name_of(Way way) {
  constexpr std::array<std::string_view, 4> kNames{"exact", "signs", "lists", "graph"};
  return kNames[static_cast<std::size_t>(way)];
}

struct WayCost {
  Way way = Way::kExact;
  double bytes = 0;  ///< estimated time, in bytes of codes (index/cost.h)
};

/// At most one of each, cheapest first.
class Ways {
 public:
  /// Ways that cost the same stay in the order in which they were added.
  void add(Way way, double bytes) {
    std::size_t place = n_++;
    for (; place > 0 && costs_[place - 1].bytes > bytes; --place) costs_[place] = costs_[place - 1];
    costs_[place] = {way, bytes};
  }
  [[nodiscard]] Ways without(Way way) const {
    Ways others;
    for (const auto& cost : all()) {
      if (cost.way != way) others.add(cost.way, cost.bytes);
    }
    return others;
  }
  [[nodiscard]] std::span<const WayCost> all() const { return {costs_.data(), n_}; }
  /// Cost of the cheapest way that answers wherever the rows lie.
  [[nodiscard]] double sure_bytes() const {
    for (const auto& cost : all()) {
      if (cost.way == Way::kExact || cost.way == Way::kSigns) return cost.bytes;
    }
    return std::numeric_limits<double>::infinity();
  }

 private:
  std::array<WayCost, 4> costs_;
  std::size_t n_ = 0;
};

}  // namespace quiver::index::dense
