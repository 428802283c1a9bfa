// Differentially private sums of a collection. What `service/api/` talks to.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/threads/cancel.h"
#include "engine/model/private_sums.h"

namespace quiver::engine {

/// A ledger of what was spent, and the releases that it was spent on. Thread-safe and durable.
///
/// Neighbouring collections differ in one point that is there or not. A release of (epsilon, delta)
/// is differentially private for them; amounts of releases add up to what is spent. The ledger is
/// on disk before the noise of a release is drawn, so a crash at any moment leaves at least what
/// was answered. Nothing gives an amount back.
///
/// kNotFound if there is no release of a name; kDataLoss, naming the file, if it is damaged. While
/// the ledger is damaged, all calls fail so.
class PrivateSums {
 public:
  virtual ~PrivateSums() = default;

  [[nodiscard]] virtual Result<PrivacyReport> report() const = 0;
  /// Durable on return. A budget below what is spent is taken: nothing more is released then.
  /// kUnimplemented in a cluster.
  virtual Result<> set_budget(const PrivacyAmount& budget, const Cancel& cancel) = 0;

  /// Sums, pays, adds noise and stores: returns when the release is durable. `text`: what the
  /// client sent. One release of a collection is made at a time; others wait.
  /// kPermissionDenied, naming what is asked for, spent and allowed, if the budget is too small;
  /// kAlreadyExists; kInvalidArgument as of `check_features`; kUnimplemented as above;
  /// kResourceExhausted while there are kMaxReleases. Cancelled before it pays, it costs nothing.
  virtual Result<ReleaseDetails> release(const std::string& name, const PrivateSumRequest& request,
                                         const std::string& text, const Cancel& cancel) = 0;
  /// kFailedPrecondition, also below, if a crash lost the release.
  [[nodiscard]] virtual Result<ReleaseDetails> details(const std::string& name) const = 0;
  /// Of as many vectors as are given, each `[dim]`. kInvalidArgument for other dimensions. Costs no
  /// privacy.
  [[nodiscard]] virtual Result<std::vector<PrivateEstimate>> estimate(
      const std::string& name, std::span<const std::vector<float>> vectors,
      const Cancel& cancel) const = 0;
  /// Removes the release. What it cost stays spent.
  virtual Result<> forget(const std::string& name, const Cancel& cancel) = 0;
};

}  // namespace quiver::engine
