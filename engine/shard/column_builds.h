// A changed configuration in a shard: fields and columns of payload indexes come and go.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <span>

#include "base/result.h"
#include "engine/model/config.h"
#include "engine/segment/columns.h"
#include "engine/shard/state/segment_table.h"
#include "engine/shard/state/shard_common.h"
#include "engine/shard/work_status.h"
#include "payload/schema.h"

namespace quiver::engine {

/// Lane only, except for `set_config` and the background part. One build runs at a time, since two
/// would write the same files. Columns requested during a build are built after it.
class ColumnBuilds {
 public:
  /// `config_applied` starts what is due under a new configuration.
  ColumnBuilds(ShardCommon& common, SegmentTable& table, WorkStatus& status,
               std::function<void()> config_applied)
      : common_(common),
        table_(table),
        status_(status),
        config_applied_(std::move(config_applied)) {}

  /// Puts a configuration in force. `done` is called once every segment has the columns of its
  /// payload indexes, or with an error. Any thread.
  void set_config(std::shared_ptr<const CollectionConfig> config,
                  std::function<void(Result<>)> done) noexcept;

  /// Makes the segments follow the configuration. If this throws, the next call does the rest.
  void apply_config();
  /// Answers requests whose columns are there, and builds what is missing.
  void build() noexcept;

 private:
  /// A change of the configuration that is answered later.
  struct Waiter {
    std::shared_ptr<const CollectionConfig> config;  ///< its columns are waited for
    std::function<void(Result<>)> done;
  };
  struct Build;

  /// `added`: one waiter, which is answered whatever happens.
  void change_config(std::list<Waiter>& added) noexcept;
  void drop_columns(SegmentState& state, std::span<const payload::FieldIndex> wanted);
  void start();
  void finish(const Build& build, const Result<>& result) noexcept;
  void install(std::uint64_t segment, const ColumnMap& columns);
  [[nodiscard]] bool has_columns_of(const Waiter& waiter);
  void answer_waiters();
  void fail_waiters(const Error& error) noexcept;

  ShardCommon& common_;
  SegmentTable& table_;
  WorkStatus& status_;
  const std::function<void()> config_applied_;

  // Lane only.
  std::list<Waiter> waiters_;
  std::shared_ptr<const Build> running_;
};

}  // namespace quiver::engine
