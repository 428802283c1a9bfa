// The log of a shard: the order of its changes, and the step that makes them count.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "engine/write/staging.h"
#include "storage/rows/row_batch.h"
#include "storage/rows/shard_store.h"

namespace quiver::engine {

/// One change in the log. The row itself is in the store.
struct LoggedOp {
  bool is_put = false;
  PointId id;
  bool operator==(const LoggedOp&) const = default;
};
/// Kind and id of a change: docs/formats/shard-store.md.
[[nodiscard]] std::string encode_op(bool is_put, const PointId& id);
[[nodiscard]] Result<LoggedOp> decode_op(std::string_view bytes);

/// Adds the rows and the log entries of `group` to `batch`.
void add_changes(const Staging& group, storage::RowBatch& batch);

/// Used by the apply lane and by recovery, one call at a time. A committed group is never undone. A
/// group that is not committed is never visible, not even in part.
class ShardLog {
 public:
  using Committed = std::function<void(const Result<>&)>;
  using Visit = std::function<void(const LoggedOp&)>;

  virtual ~ShardLog() = default;

  /// Commits the changes of `group`, all or none, and calls `committed` once, in the lane: before
  /// this returns or later. Success means that they are durable. `group` and `committed` stay valid
  /// until then, and no other group is appended.
  virtual void append(const Staging& group, const Committed& committed) noexcept = 0;
  /// As `append`, for a group that changes nothing: `committed` says that it may be acknowledged.
  virtual void confirm(const Committed& committed) noexcept { committed({}); }
  /// Writes entries that the cluster has committed, up to number `last`; otherwise as `append`.
  virtual void append_entries(const Staging& group, std::uint64_t last,
                              const Committed& committed) noexcept {
    (void)group, (void)last;
    committed(fail(Code::kUnimplemented, "entries for a shard that is on this node only"));
  }
  /// The number of the last entry written; 0: none, or the shard is not replicated.
  [[nodiscard]] virtual std::uint64_t applied() const { return 0; }
  /// Called in the lane once readers see all that was written.
  virtual void set_visible() noexcept {}
  /// False if a group is still on its way after `patience`.
  virtual bool wait_until_idle(std::chrono::milliseconds patience) {
    (void)patience;
    return true;
  }
  /// The newest change in the log; nullopt if it is empty.
  [[nodiscard]] virtual Result<std::optional<Seq>> last() const = 0;
  /// Visits the changes from `from` on, ascending. kDataLoss if one is damaged.
  [[nodiscard]] virtual Result<> replay(Seq from, const Visit& visit) const = 0;
};

/// The log in the shard's own store. Rows and log entries of a group are one synced batch. Entries
/// that the sealed segments hold are trimmed together with the manifest (ManifestWriter).
class LocalLog final : public ShardLog {
 public:
  /// `store` outlives the log.
  explicit LocalLog(storage::ShardStore& store) : store_(store) {}

  /// Calls `committed` before it returns.
  void append(const Staging& group, const Committed& committed) noexcept override;
  [[nodiscard]] Result<std::optional<Seq>> last() const override { return store_.last_op(); }
  [[nodiscard]] Result<> replay(Seq from, const Visit& visit) const override;

 private:
  Result<> write(const Staging& group);

  storage::ShardStore& store_;
};

}  // namespace quiver::engine
