// A test by betting of "the mean recall is at least what was promised".
//
// Whoever doubts the promise bets on each watched search (Waudby-Smith and Ramdas, "Estimating
// means of bounded random variables by betting", JRSS B 2024). A search of recall x under the
// promise m multiplies a capital by 1 + c (m - x) / (1 - m), 0 < c < 1. If the promise holds, no
// capital grows in expectation, so it reaches 20 times its beginning with probability 1/20 at most,
// at whatever time one looks (Ville's inequality).
//
// The capital is split among several `c`, since the best one depends on how far recall has fallen,
// and among several beginnings, since a capital that was lost in good times takes as long to come
// back. A split of a capital is one, so the sum obeys the same bound.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quiver::engine {

/// One thread.
class RecallBet {
 public:
  /// The promise is broken, at level 1 / kAlarmCapital.
  static constexpr double kAlarmCapital = 20;
  /// Evidence that is worth watching more often.
  static constexpr double kSuspiciousCapital = 2;

  /// `recall`: of a search, [0, 1]. `promised`: the mean of such searches, [0, 1).
  void note(double recall, double promised);
  /// 1 at first.
  [[nodiscard]] double capital() const { return capital_; }

 private:
  /// Shares of the largest possible bet. They suit means that lie from a tenth of the promised loss
  /// below the promise to many times of it.
  static constexpr std::array<double, 6> kShares{0.02, 0.05, 0.1, 0.2, 0.4, 0.7};
  /// Searches between two beginnings, and beginnings that are kept: the poorest are given up.
  static constexpr std::uint64_t kSearchesPerBeginning = 50;
  static constexpr std::size_t kMaxBeginnings = 40;
  using Capitals = std::array<double, kShares.size()>;

  void begin();

  std::uint64_t n_searches_ = 0;
  std::uint64_t n_beginnings_ = 0;
  double reserve_ = 1;  ///< for later beginnings
  double capital_ = 1;
  std::vector<Capitals> beginnings_;
};

}  // namespace quiver::engine
