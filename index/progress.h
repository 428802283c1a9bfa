// Progress reports of builds that consist of parts.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "index/index.h"

namespace quiver::index {

/// `context` without progress reports.
[[nodiscard]] inline BuildContext quiet(const BuildContext& context) {
  return {context.executor, context.cancel,      context.seed,   nullptr,
          context.queries,  context.predecessor, context.former, context.devices};
}

/// `context` for a part of a build. The part starts when the share `from` of all rows is done and
/// ends at the share `to`; it reports up to `n_units`. Borrows what `context` borrows.
[[nodiscard]] inline BuildContext part_of(const BuildContext& context, std::uint32_t n_rows,
                                          double from, double to, std::uint64_t n_units) {
  BuildContext part = quiet(context);
  if (context.progress) {
    const double each = n_units == 0 ? 0 : n_rows * (to - from) / static_cast<double>(n_units);
    part.progress = [report = context.progress, start = n_rows * from, each](std::uint64_t n) {
      report(static_cast<std::uint64_t>(start + static_cast<double>(n) * each));
    };
  }
  return part;
}

/// The same for a part that reports rows.
[[nodiscard]] inline BuildContext part_of(const BuildContext& context, std::uint32_t n_rows,
                                          double from, double to) {
  return part_of(context, n_rows, from, to, n_rows);
}

/// Sums the work of several threads and reports it in rows. Borrows `context`.
class BuildProgress {
 public:
  /// `total`: all work, in the unit of `add`.
  BuildProgress(const BuildContext& context, std::uint64_t n_rows, std::uint64_t total)
      : context_(context), n_rows_(n_rows), total_(std::max<std::uint64_t>(total, 1)) {}
  void add(std::uint64_t n) { done_ += n; }
  /// Call it from one thread.
  void report() const {
    if (!context_.progress) return;
    const double share = static_cast<double>(done_.load()) / static_cast<double>(total_);
    context_.progress(static_cast<std::uint64_t>(static_cast<double>(n_rows_) * share));
  }

 private:
  const BuildContext& context_;
  std::uint64_t n_rows_;
  std::uint64_t total_;
  std::atomic<std::uint64_t> done_ = 0;
};

}  // namespace quiver::index
