#include "engine/write/replicated_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/observe/failure.h"
#include "storage/rows/row_batch.h"

namespace quiver::engine {
namespace {

constexpr std::string_view kAppliedKey = "log/applied";
constexpr std::string_view kBodyPrefix = "log/body/";

/// Ascending in byte order as the numbers are. The hash is a part of it: two leaders may have sent
/// different bodies for one number, and the ledger says which of them counts.
std::string body_key(const EntryId& id) {
  return fmt::format("{}{:016x}{}", kBodyPrefix, id.number, id.hash);
}

std::optional<EntryNumber> number_of(std::string_view text, int base) {
  EntryNumber number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Result<> begin_log_anew(storage::ShardStore& store) {
  constexpr std::string_view kLogPrefix = "log/";
  storage::RowBatch batch;
  QV_TRY(store.scan_meta(kLogPrefix, [&](std::string_view key, std::string_view) {
    batch.delete_meta(key);
    return true;
  }));
  batch.put_meta(kAppliedKey, "1");
  return store.write(batch);
}

Result<> ReplicatedLog::load() {
  QV_TRY(const auto stored, store_.meta(kAppliedKey));
  if (!stored) return {};
  const auto applied = number_of(*stored, 10);
  if (!applied) {
    return fail(Code::kDataLoss,
                fmt::format("the number of the last entry is damaged: `{}`", *stored));
  }
  applied_ = *applied;
  visible_ = *applied;  // nobody reads before the shard is open
  return {};
}

void ReplicatedLog::append(const Staging& group, const Committed& committed) noexcept {
  set_busy(true);
  const auto begun = guarded([&] { return begin(group, committed); });
  if (begun) return;
  set_busy(false);
  committed(begun);
}

Result<> ReplicatedLog::begin(const Staging& group, const Committed& committed) {
  QV_TRY(replication_.check_leads(name_.collection));
  auto entry = std::make_shared<Entry>();
  entry->body = encode_entry(group.changes());
  entry->id = {applied_ + 1, entry_hash(entry->body)};
  const auto [first, last] = std::ranges::minmax(
      group.changes(), {}, [](const Staging::Change& change) { return to_number(change.seq); });
  entry->first = first.seq;
  entry->last = last.seq;
  QV_TRY(store_body(entry->id, entry->body));
  const EntryNumber number = entry->id.number;
  replication_.commit(name_, std::move(entry),
                      [this, &group, &committed, number](const Result<>& outcome) {
                        lane_.post([this, &group, &committed, number, outcome] {
                          end(group, number, committed, outcome);
                        });
                      });
  return {};
}

/// In the lane. An entry that counts and cannot be written comes back by `append_entries`.
void ReplicatedLog::end(const Staging& group, EntryNumber number, const Committed& committed,
                        const Result<>& outcome) noexcept {
  const auto written = guarded([&]() -> Result<> {
    QV_TRY(outcome);
    return write(group, number);
  });
  set_busy(false);
  committed(written);
}

/// A node that does not lead any more may lack what another leader has changed since.
void ReplicatedLog::confirm(const Committed& committed) noexcept {
  set_busy(true);
  replication_.confirm_leads(name_.collection, [this, &committed](const Result<>& outcome) {
    lane_.post([this, &committed, outcome] {
      set_busy(false);
      committed(outcome);
    });
  });
}

void ReplicatedLog::append_entries(const Staging& group, EntryNumber last,
                                   const Committed& committed) noexcept {
  committed(guarded([&] { return write(group, last); }));
}

Result<> ReplicatedLog::write(const Staging& group, EntryNumber number) {
  storage::RowBatch batch;
  add_changes(group, batch);
  batch.put_meta(kAppliedKey, std::to_string(number));
  // The bodies are synced: what a power cut takes is applied again.
  QV_TRY(store_.write(batch, storage::Sync::kNo));
  applied_ = number;
  return {};
}

Result<> ReplicatedLog::store_body(const EntryId& id, std::string_view body) {
  if (entry_hash(body) != id.hash) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("entry {} of shard {}: the body has another hash", id.number, name_.shard));
  }
  storage::RowBatch batch;
  batch.put_meta(body_key(id), body);
  return store_.write(batch);
}

Result<std::optional<std::string>> ReplicatedLog::body(const EntryId& id) const {
  QV_TRY(auto body, store_.meta(body_key(id)));
  if (body && entry_hash(*body) != id.hash) {
    return fail(Code::kDataLoss,
                fmt::format("entry {} of shard {}: the body is damaged", id.number, name_.shard));
  }
  return body;
}

Result<> ReplicatedLog::trim(EntryNumber first_kept) {
  storage::RowBatch batch;
  QV_TRY(store_.scan_meta(kBodyPrefix, [&](std::string_view key, std::string_view) {
    const auto number = number_of(key.substr(kBodyPrefix.size(), 16), 16);
    if (number && *number >= first_kept) return false;
    batch.delete_meta(key);
    return true;
  }));
  if (batch.empty()) return {};
  return store_.write(batch, storage::Sync::kNo);
}

void ReplicatedLog::set_busy(bool is_busy) {
  MutexLock lock(mutex_);
  is_busy_ = is_busy;
  if (!is_busy) idle_.notify_all();
}

bool ReplicatedLog::wait_until_idle(std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  MutexLock lock(mutex_);
  while (is_busy_) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    idle_.wait_for(mutex_, left);
  }
  return true;
}

}  // namespace quiver::engine
