// The private sums of one collection: ledger, releases, and the order in which they are written.
//
// One change at a time: budget, release or deletion, each a `Turn`. Only the turn's thread writes
// files and `ledger_`; `mutex_` is held for the assignment alone. Readers copy what they need.
//
// A release: (1) sum, in memory; (2) ledger with the new amount, synced; (3) noise; (4) file of the
// release, synced; (5) answer. So whatever was answered is in the ledger of any later start. A
// crash between 2 and 4 leaves a line without a file: a lost release, which stays spent.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "engine/collections/privacy/ledger_files.h"
#include "engine/private_sums.h"

namespace quiver::engine {

/// What private sums need of their collection.
struct PrivateSumHost {
  /// An error while nothing may be released.
  std::function<Result<>()> check_changes;
  std::function<Result<PrivateFeatures>(const PrivateSumRequest&)> check;
  std::function<Result<FeatureSums>(const PrivateSumRequest&, const PrivateFeatures&,
                                    const Cancel&)>
      sum;
};

class CollectionSums final : public PrivateSums {
 public:
  /// `collection`: its directory.
  CollectionSums(std::unique_ptr<Directory> collection, PrivateSumHost host);

  /// Reads the ledger. If it is damaged, that is told by all later calls. Called once.
  void open() QV_EXCLUDES(mutex_);
  /// Cancels a release that has not paid yet, and waits for one that has. Nothing changes
  /// afterwards.
  void close() QV_EXCLUDES(mutex_);

  [[nodiscard]] Result<PrivacyReport> report() const override QV_EXCLUDES(mutex_);
  Result<> set_budget(const PrivacyAmount& budget, const Cancel& cancel) override
      QV_EXCLUDES(mutex_);
  Result<ReleaseDetails> release(const std::string& name, const PrivateSumRequest& request,
                                 const std::string& text, const Cancel& cancel) override
      QV_EXCLUDES(mutex_);
  [[nodiscard]] Result<ReleaseDetails> details(const std::string& name) const override
      QV_EXCLUDES(mutex_);
  [[nodiscard]] Result<std::vector<PrivateEstimate>> estimate(
      const std::string& name, std::span<const std::vector<float>> vectors,
      const Cancel& cancel) const override QV_EXCLUDES(mutex_);
  Result<> forget(const std::string& name, const Cancel& cancel) override QV_EXCLUDES(mutex_);

 private:
  class Turn;

  Result<Turn> take_turn(const Cancel& cancel) QV_EXCLUDES(mutex_);
  void end_turn() QV_EXCLUDES(mutex_);
  [[nodiscard]] Result<PrivacyLedger> ledger() const QV_EXCLUDES(mutex_);
  void set_ledger(PrivacyLedger ledger) QV_EXCLUDES(mutex_);
  Result<ReleaseInfo> pay(ReleaseInfo info, PrivacyLedger ledger) QV_EXCLUDES(mutex_);
  [[nodiscard]] Result<std::shared_ptr<const ReleaseReader>> reader_of(
      const ReleaseInfo& info) const QV_EXCLUDES(mutex_);

  const PrivateSumHost host_;
  LedgerFiles files_;

  mutable Mutex mutex_;
  CondVar turn_over_;
  Result<> status_ QV_GUARDED_BY(mutex_);  ///< the damage of the ledger
  PrivacyLedger ledger_ QV_GUARDED_BY(mutex_);
  bool is_in_turn_ QV_GUARDED_BY(mutex_) = false;
  bool is_closed_ QV_GUARDED_BY(mutex_) = false;
  const Cancel* in_turn_ QV_GUARDED_BY(mutex_) = nullptr;  ///< of the turn's call
  /// The release that was asked last: its frequencies take a while to draw.
  mutable std::uint64_t cached_number_ QV_GUARDED_BY(mutex_) = 0;
  mutable std::shared_ptr<const ReleaseReader> cached_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::engine
