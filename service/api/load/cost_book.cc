#include "service/api/load/cost_book.h"

#include <algorithm>
#include <bit>

#include "service/api/load/moving_average.h"

namespace quiver::service::api::load {
namespace {

/// Nanoseconds for each unit of a verb's size, for the first request of its kind. Rounded from runs
/// of bench/aggregates.py and `quiver bench load` on an AMD EPYC; the second request knows better.
double guessed_ns_per_unit(Verb verb) {
  switch (verb) {
    case Verb::kDecode:
      return 2;
    case Verb::kRetrieve:
      return 10'000;
    case Verb::kScroll:
    case Verb::kCount:
      return 10;
    case Verb::kFacet:
    case Verb::kAggregate:
    case Verb::kBatch:
      return 20;
    case Verb::kGroups:
      return 50;
    case Verb::kQuery:
      return 0.2;
    case Verb::kLong:
      break;
  }
  return 0;
}

}  // namespace

std::size_t CostBook::size_class(std::uint64_t size) {
  return static_cast<std::size_t>(std::bit_width(size)) / 2;
}

std::chrono::nanoseconds CostBook::expected(const Work& work) const {
  const auto verb = static_cast<std::size_t>(work.verb);
  double ns = averages_[verb][size_class(work.size)].load(std::memory_order_relaxed);
  if (ns == 0) ns = guessed_ns_per_unit(work.verb) * static_cast<double>(work.size);
  constexpr double kLongest = 1e18;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(ns, kLongest)));
}

WorkClass CostBook::class_of(const Work& work) const {
  if (work.known_class) return *work.known_class;
  const bool is_expensive = work.verb == Verb::kLong || expected(work) > kMaxCheap;
  return is_expensive ? WorkClass::kExpensive : WorkClass::kCheap;
}

void CostBook::note(const Work& work, std::chrono::nanoseconds took) {
  auto& average = averages_[static_cast<std::size_t>(work.verb)][size_class(work.size)];
  const double before = average.load(std::memory_order_relaxed);
  const double ns = std::max(1.0, static_cast<double>(took.count()));
  const double after = before == 0 ? ns : moved_average(before, ns);
  average.store(static_cast<float>(after), std::memory_order_relaxed);
}

}  // namespace quiver::service::api::load
