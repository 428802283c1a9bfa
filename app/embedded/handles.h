// What the handles of the C interface hold, and how calls take turns with the closing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <type_traits>
#include <utility>

#include "app/embedded/quiver.h"
#include "base/result.h"
#include "engine/database.h"

namespace quiver::embedded {

/// A database that calls of any thread use until one of them closes it.
///
/// Calls share `mutex_`, closing takes it alone. Invariants:
///  1. `database_` is null once `close` is done, and so are the collections of all handles in
///     `handles_`: a collection must not outlive its database.
///  2. `is_closing_` is set before `close` waits, so that later calls do not keep it waiting.
///  3. `handles_mutex_` guards `handles_`. It is taken after `mutex_` and for a few lines, so that
///     nothing but closing waits for searches.
class OpenDatabase {
 public:
  explicit OpenDatabase(std::unique_ptr<engine::Database> database)
      : database_(std::move(database)) {}
  ~OpenDatabase();
  OpenDatabase(const OpenDatabase&) = delete;
  OpenDatabase& operator=(const OpenDatabase&) = delete;

  /// Returns what `fn`, which takes the database, returns. kFailedPrecondition after `close`.
  template <class F>
  [[nodiscard]] std::invoke_result_t<F, engine::Database&> with(F&& fn) {
    if (is_closing_.load(std::memory_order_relaxed)) return fail(closed());
    const std::shared_lock lock(mutex_);
    if (database_ == nullptr) return fail(closed());
    return std::forward<F>(fn)(*database_);
  }
  /// Opens the collection of `handle`, which calls `remove` before it ends.
  Result<> add(quiver_collection& handle);
  void remove(quiver_collection& handle);
  /// Drops the collection `name`, and marks its handles. False if there was none.
  Result<bool> drop(const std::string& name);
  /// Waits for calls that run. Nothing to do the second time.
  Result<> close();

 private:
  [[nodiscard]] static Error closed();
  /// After a failed `close`: background work still uses all of it.
  void abandon();

  std::atomic<bool> is_closing_ = false;
  std::shared_mutex mutex_;
  std::unique_ptr<engine::Database> database_;
  std::mutex handles_mutex_;
  std::set<quiver_collection*> handles_;
};

}  // namespace quiver::embedded

struct quiver_database {
  std::shared_ptr<quiver::embedded::OpenDatabase> open;
};

struct quiver_collection {
  std::shared_ptr<quiver::embedded::OpenDatabase> open;
  std::string name;
  std::shared_ptr<quiver::engine::Collection> collection;  ///< `open` guards and resets it
  std::atomic<bool> is_dropped = false;

  /// Returns what `fn`, which takes database and collection, returns. kFailedPrecondition once the
  /// database is closed, kNotFound once the collection is dropped.
  template <class F>
  [[nodiscard]] std::invoke_result_t<F, quiver::engine::Database&, quiver::engine::Collection&>
  with(F&& fn) {
    using Outcome = std::invoke_result_t<F, quiver::engine::Database&, quiver::engine::Collection&>;
    return open->with([&](quiver::engine::Database& database) -> Outcome {
      if (is_dropped.load(std::memory_order_relaxed)) return quiver::fail(dropped());
      return std::forward<F>(fn)(database, *collection);
    });
  }

 private:
  [[nodiscard]] quiver::Error dropped() const;
};

struct quiver_request {
  quiver::engine::Query query;  ///< without its vector and limit
  std::uint64_t timeout_ms = 0;
};
