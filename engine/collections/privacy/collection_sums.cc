#include "engine/collections/privacy/collection_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/observe/log.h"

namespace quiver::engine {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks(20);

Result<ReleaseInfo> find_release(const PrivacyLedger& ledger, const std::string& name) {
  const auto found = std::ranges::find(ledger.releases, name, &ReleaseInfo::name);
  if (found != ledger.releases.end()) return *found;
  return fail(Code::kNotFound, fmt::format("there is no private sum `{}`", name));
}

std::string to_text(const PrivacyAmount& amount) {
  return fmt::format("epsilon {} and delta {}", amount.epsilon(), amount.delta());
}

Result<> check_budget(const PrivacyLedger& ledger, const std::string& name,
                      const PrivacyAmount& cost) {
  if (!ledger.budget) {
    return fail(Code::kPermissionDenied,
                fmt::format("private sum `{}` asks for {}, and the collection has no budget: set "
                            "one first",
                            name, to_text(cost)));
  }
  if (ledger.spent.plus(cost).fits(*ledger.budget)) return {};
  return fail(Code::kPermissionDenied,
              fmt::format("private sum `{}` asks for {}; {} are spent of the budget of {}", name,
                          to_text(cost), to_text(ledger.spent), to_text(*ledger.budget)));
}

Result<> check_new(const PrivacyLedger& ledger, const ReleaseInfo& info) {
  if (find_release(ledger, info.name)) {
    return fail(Code::kAlreadyExists,
                fmt::format("private sum `{}` exists already; a new one needs another name, and "
                            "costs as much again",
                            info.name));
  }
  if (ledger.releases.size() >= kMaxReleases) {
    return fail(Code::kResourceExhausted,
                fmt::format("the collection has {} private sums, as many as are kept: delete some "
                            "first",
                            kMaxReleases));
  }
  return check_budget(ledger, info.name, info.cost);
}

ReleaseDetails details_of(ReleaseInfo info, const Release& release) {
  return {std::move(info), release.features, release.count_estimate(), release.count_deviation(),
          release.noise_deviation()};
}

}  // namespace

/// Ends with its scope.
class CollectionSums::Turn {
 public:
  explicit Turn(CollectionSums& sums) : sums_(&sums) {}
  Turn(Turn&& other) noexcept : sums_(std::exchange(other.sums_, nullptr)) {}
  Turn& operator=(Turn&&) = delete;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (sums_ != nullptr) sums_->end_turn();
  }

 private:
  CollectionSums* sums_;
};

CollectionSums::CollectionSums(std::unique_ptr<Directory> collection, PrivateSumHost host)
    : host_(std::move(host)), files_(std::move(collection)) {}

void CollectionSums::open() {
  auto ledger = files_.open();
  MutexLock lock(mutex_);
  if (ledger) {
    for (ReleaseInfo& info : ledger->releases) info.is_lost = !files_.has_release(info.number);
    ledger_ = *std::move(ledger);
    return;
  }
  log_error("nothing is known of private sums: {}", ledger.error().message());
  status_ = fail(std::move(ledger).error());
}

void CollectionSums::close() {
  MutexLock lock(mutex_);
  is_closed_ = true;
  if (in_turn_ != nullptr) in_turn_->cancel();
  while (is_in_turn_) turn_over_.wait(mutex_);
}

Result<CollectionSums::Turn> CollectionSums::take_turn(const Cancel& cancel) {
  QV_TRY(host_.check_changes());
  MutexLock lock(mutex_);
  while (is_in_turn_) {
    QV_TRY(cancel.check());
    turn_over_.wait_for(mutex_, kBetweenLooks);
  }
  if (is_closed_) return fail(Code::kUnavailable, "the collection is closing");
  QV_TRY(status_);
  is_in_turn_ = true;
  in_turn_ = &cancel;
  return Turn(*this);
}

void CollectionSums::end_turn() {
  MutexLock lock(mutex_);
  is_in_turn_ = false;
  in_turn_ = nullptr;
  turn_over_.notify_all();
}

Result<PrivacyLedger> CollectionSums::ledger() const {
  MutexLock lock(mutex_);
  QV_TRY(status_);
  return ledger_;
}

void CollectionSums::set_ledger(PrivacyLedger ledger) {
  MutexLock lock(mutex_);
  ledger_ = std::move(ledger);
}

Result<PrivacyReport> CollectionSums::report() const {
  QV_TRY(auto now, ledger());
  return PrivacyReport{now.budget, now.spent, std::move(now.releases)};
}

Result<> CollectionSums::set_budget(const PrivacyAmount& budget, const Cancel& cancel) {
  QV_TRY(const Turn turn, take_turn(cancel));
  QV_TRY(auto next, ledger());
  next.budget = budget;
  QV_TRY(files_.save(next));
  set_ledger(std::move(next));
  return {};
}

/// After an error the disk may have the old ledger or the new one. In memory the amount counts as
/// spent.
Result<ReleaseInfo> CollectionSums::pay(ReleaseInfo info, PrivacyLedger ledger) {
  info.number = ++ledger.last_number;
  info.created_at_ms = static_cast<std::uint64_t>(unix_time_ms());
  info.is_lost = true;  // until its numbers are stored
  ledger.spent = ledger.spent.plus(info.cost);
  const auto after = std::ranges::lower_bound(ledger.releases, info.name, {}, &ReleaseInfo::name);
  ledger.releases.insert(after, info);
  set_ledger(ledger);
  QV_TRY(files_.save(ledger));
  return info;
}

Result<ReleaseDetails> CollectionSums::release(const std::string& name,
                                               const PrivateSumRequest& request,
                                               const std::string& text, const Cancel& cancel) {
  QV_TRY(const Turn turn, take_turn(cancel));
  QV_TRY(const PrivateFeatures features, host_.check(request));
  QV_TRY(auto now, ledger());
  ReleaseInfo info;
  info.name = name;
  info.request = text;
  info.cost = request.cost;
  QV_TRY(check_new(now, info));
  QV_TRY(auto sums, host_.sum(request, features, cancel));
  QV_TRY(cancel.check());
  QV_TRY(info, pay(std::move(info), std::move(now)));
  SecureWords random;
  const Release made = make_release(features, info.cost, std::move(sums), random);
  QV_TRY(files_.save_release(info.number, made));
  QV_TRY(auto next, ledger());
  info.is_lost = false;
  *std::ranges::find(next.releases, name, &ReleaseInfo::name) = info;
  set_ledger(std::move(next));
  return details_of(std::move(info), made);
}

Result<std::shared_ptr<const ReleaseReader>> CollectionSums::reader_of(
    const ReleaseInfo& info) const {
  if (info.is_lost) {
    return fail(Code::kFailedPrecondition,
                fmt::format("private sum `{}` was lost: the server stopped before its numbers were "
                            "stored. What it cost stays spent",
                            info.name));
  }
  {
    MutexLock lock(mutex_);
    if (cached_ != nullptr && cached_number_ == info.number) return cached_;
  }
  QV_TRY(auto release, files_.load_release(info.number));
  auto reader = std::make_shared<const ReleaseReader>(std::move(release));
  MutexLock lock(mutex_);
  cached_number_ = info.number;
  cached_ = reader;
  return reader;
}

Result<ReleaseDetails> CollectionSums::details(const std::string& name) const {
  QV_TRY(const auto now, ledger());
  QV_TRY(auto info, find_release(now, name));
  QV_TRY(const auto reader, reader_of(info));
  return details_of(std::move(info), reader->release());
}

Result<std::vector<PrivateEstimate>> CollectionSums::estimate(
    const std::string& name, std::span<const std::vector<float>> vectors,
    const Cancel& cancel) const {
  QV_TRY(const auto now, ledger());
  QV_TRY(const auto info, find_release(now, name));
  QV_TRY(const auto reader, reader_of(info));
  const std::uint32_t dim = reader->release().features.dim;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    if (vectors[i].size() == dim) continue;
    return fail(Code::kInvalidArgument,
                fmt::format("vectors[{}] has {} dimensions, private sum `{}` is of {}", i,
                            vectors[i].size(), name, dim));
  }
  std::vector<PrivateEstimate> estimates;
  for (const auto& vector : vectors) {
    QV_TRY(cancel.check());
    estimates.push_back(reader->estimate(vector));
  }
  return estimates;
}

/// The ledger first: a file that it does not list is removed at the next opening.
Result<> CollectionSums::forget(const std::string& name, const Cancel& cancel) {
  QV_TRY(const Turn turn, take_turn(cancel));
  QV_TRY(auto next, ledger());
  QV_TRY(const auto info, find_release(next, name));
  std::erase_if(next.releases, [&](const ReleaseInfo& other) { return other.name == name; });
  QV_TRY(files_.save(next));
  set_ledger(std::move(next));
  return files_.remove_release(info.number);
}

}  // namespace quiver::engine
