// A read that several nodes may answer: a late one is not waited for.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "base/threads/executor.h"
#include "cluster/node.h"

namespace quiver::cluster {

/// Asks nodes one after another, and the next one beside the others if the last takes too long
/// (J. Dean, L. Barroso, The Tail at Scale, 2013: hedged requests). At most one read in twenty is
/// sent to one node more, so that slow nodes get no load beyond that. Thread-safe.
class HedgedReads {
 public:
  /// True: the answer counts, and no other is wanted. Keeps its answer itself. Thread-safe; called
  /// from other threads, too, and may go on after `ask` has returned.
  using Ask = std::function<bool(const NodeAddress&)>;

  HedgedReads() : executor_(kThreads, "reads-away") {}

  /// True once the answer of a node counts; false if none does. `patience`: after this time without
  /// an answer the next node is asked, too; nullopt: never. Then no other thread is used, which
  /// takes a tenth of a millisecond less.
  bool ask(const std::vector<NodeAddress>& nodes, std::optional<std::chrono::nanoseconds> patience,
           const Ask& ask);
  /// Waits for what has begun; afterwards nodes are asked on the thread that asks.
  void stop() { executor_.stop(); }

 private:
  class Race;

  static constexpr std::size_t kThreads = 64;
  static constexpr int kReadsForOne = 20;
  static constexpr int kMostSaved = 10 * kReadsForOne;

  /// False: too many reads have asked another node of late.
  bool may_hedge();

  std::atomic<std::size_t> n_busy_ = 0;
  std::atomic<int> saved_ = kMostSaved;  ///< each read adds 1; one more node costs kReadsForOne
  Executor executor_;
};

}  // namespace quiver::cluster
