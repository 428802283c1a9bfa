#include "engine/recall/recall_bet.h"

#include <algorithm>
#include <numeric>

namespace quiver::engine {
namespace {

template <class Capitals>
double total_of(const Capitals& capitals) {
  return std::accumulate(capitals.begin(), capitals.end(), 0.0);
}

}  // namespace

/// Beginning i gets 1 / ((i + 1) (i + 2)): half for the first, and all together 1.
void RecallBet::begin() {
  const auto i = static_cast<double>(n_beginnings_++);
  const double share = 1 / ((i + 1) * (i + 2));
  reserve_ -= share;
  if (beginnings_.size() == kMaxBeginnings) {
    beginnings_.erase(std::min_element(
        beginnings_.begin(), beginnings_.end(),
        [](const Capitals& a, const Capitals& b) { return total_of(a) < total_of(b); }));
  }
  Capitals& capitals = beginnings_.emplace_back();
  capitals.fill(share / static_cast<double>(capitals.size()));
}

void RecallBet::note(double recall, double promised) {
  if (n_searches_++ % kSearchesPerBeginning == 0) begin();
  const double win = (promised - recall) / (1 - promised);
  capital_ = std::max(0.0, reserve_);
  for (Capitals& capitals : beginnings_) {
    for (std::size_t i = 0; i < capitals.size(); ++i) capitals[i] *= 1 + kShares[i] * win;
    capital_ += total_of(capitals);
  }
}

}  // namespace quiver::engine
