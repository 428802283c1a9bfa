#include "base/threads/cancel.h"

namespace quiver {

Result<> Cancel::stopped() const {
  if (state_.load(std::memory_order_relaxed) == State::kExpired) {
    return fail(Code::kDeadlineExceeded, "the operation did not finish before its deadline");
  }
  return fail(Code::kCancelled, "the operation was cancelled");
}

}  // namespace quiver
