// The collections of a data directory, open or not.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/io/file.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/threads/executor.h"
#include "base/threads/published.h"
#include "engine/collections/catalog_gate.h"
#include "engine/collections/collection_impl.h"
#include "engine/model/config.h"
#include "engine/model/jobs.h"
#include "engine/shard/shard_context.h"
#include "storage/catalog/catalog.h"
#include "storage/rows/shard_store.h"

namespace quiver::engine {

/// A collection of the catalog, open or not.
struct CollectionEntry {
  using Clock = std::chrono::steady_clock;

  std::string name;
  std::string directory;
  Mutex mutex;  ///< held while opening and closing, which may take long
  bool dropped QV_GUARDED_BY(mutex) = false;
  mutable Mutex open_mutex;  ///< held for a line; taken after `mutex`, or alone
  /// Changed under both.
  std::shared_ptr<CollectionImpl> open QV_GUARDED_BY(open_mutex);
  /// Why the collection cannot serve, by the check at the start or the last opening; null if it
  /// can. Can be read during an opening.
  Published<Error> failure;
  std::atomic<std::uint64_t> last_used = 0;
  // Of the thread that ticks.
  std::uint64_t seen_use = 0;  ///< `last_used` at the last tick
  std::optional<Clock::time_point> idle_since = std::nullopt;

  /// The collection if it is open now. Never waits for an opening.
  [[nodiscard]] std::shared_ptr<CollectionImpl> now() const {
    MutexLock lock(open_mutex);
    return open;
  }
  void note_use(Clock::time_point at) {
    const std::uint64_t used = last_used;
    if (!idle_since || std::exchange(seen_use, used) != used) idle_since = at;
  }
  [[nodiscard]] double idle_s(Clock::time_point at) const {
    return idle_since ? std::chrono::duration<double>(at - *idle_since).count() : 0;
  }
  [[nodiscard]] bool is_at_rest() const {
    const auto collection = now();
    return collection != nullptr && collection->is_at_rest();
  }
  void set(std::shared_ptr<CollectionImpl> collection) QV_REQUIRES(mutex) {
    MutexLock lock(open_mutex);
    open.swap(collection);  // the old one is released outside the lock
  }
};

/// kNotFound, as clients read it.
[[nodiscard]] tl::unexpected<Error> no_such_collection(const std::string& name);

/// Thread-safe after `add_stored`. Locks in this order: an entry's `mutex`, its `open_mutex`; the
/// table's own mutex is held for lines only and never while another is taken.
class CollectionTable {
 public:
  using EntryPtr = std::shared_ptr<CollectionEntry>;

  struct Limits {
    std::uint32_t max_open = 1024;  ///< idle collections beyond it are closed
    double close_idle_s =
        60;  ///< time until idle ones beyond the 64 used last are closed; 0: never
  };
  /// All outlive this.
  CollectionTable(std::string data_dir, const Limits& limits, const ShardContext& context,
                  CatalogGate& gate, Executor& compute, const JobContext& jobs)
      : data_dir_(std::move(data_dir)),
        limits_(limits),
        context_(context),
        gate_(gate),
        compute_(compute),
        jobs_(jobs) {}

  /// Adds what the catalog names and checks its manifests; opens none. `collections`: the directory
  /// of collections; outlives this.
  Result<> add_stored(Directory& collections);

  /// nullptr if there is none of this name. Aliases are not looked up.
  [[nodiscard]] EntryPtr find(const std::string& name) const QV_EXCLUDES(mutex_);
  /// By name or alias; nullptr unless it is open now. Never waits for an opening or a closing.
  [[nodiscard]] std::shared_ptr<CollectionImpl> find_open(const std::string& name_or_alias)
      QV_EXCLUDES(mutex_);
  /// By name, ascending.
  [[nodiscard]] std::vector<EntryPtr> all() const QV_EXCLUDES(mutex_);
  /// By name or alias; opens it at first touch.
  Result<std::shared_ptr<CollectionImpl>> open(const std::string& name_or_alias);
  /// Creates the shards of a collection that the catalog has just taken. After an error nothing of
  /// it is left.
  Result<> create(const storage::CatalogEntry& stored);
  /// A new directory for the files of a collection to come; `path`: where it is. If no `replace`
  /// follows, the next start removes it, or `give_up`.
  struct Reserved {
    std::string directory;
    std::string path;
  };
  Result<Reserved> reserve();
  void give_up(const Reserved& reserved);
  /// Called while the collection to be replaced is closed, with its path, "" if there is none.
  /// Returns the configuration of the new one.
  using Prepare = std::function<Result<CollectionConfig>(const std::string& old)>;
  /// Makes the files in a reserved directory the collection `name`, in one durable step, and
  /// removes the one that it replaces, which is closed first. After an error nothing has changed.
  /// kDeadlineExceeded if that one does not close in time: it takes no updates until it has.
  Result<> replace(const std::string& name, const Reserved& reserved, const Prepare& prepare);
  /// False if it is gone already.
  Result<bool> drop(const EntryPtr& entry);
  struct StoredConfig {
    std::shared_ptr<const CollectionConfig> config;
    storage::Opening opening = storage::Opening::kMustExist;
  };
  /// kNotFound if there is no collection of this name.
  Result<StoredConfig> current_config(const std::string& name) const;
  /// Calls `fn(entry, config, path)` with a collection that stays closed meanwhile.
  template <class F>
  auto while_closed(const std::string& name, F fn)
      -> std::invoke_result_t<F, CollectionEntry&, const CollectionConfig&, const std::string&>;

  /// A collection that cannot be opened is known before somebody asks for it.
  void check_manifests_of(CollectionEntry& entry);
  /// Reads the logs of all collections, which takes long. A collection that is opened meanwhile is
  /// checked by that. Not for the executors: it waits for openings, which may wait for them.
  void check_all_logs();
  /// For all open collections. What fails in one is logged, and the others have their turn.
  void tick() noexcept;
  /// Opens none from now on, and ends `check_all_logs` early.
  void refuse_openings() { closed_ = true; }
  /// Closes all collections. kDeadlineExceeded at once if one does not end in time.
  Result<> close_all();

 private:
  void add(EntryPtr entry) QV_EXCLUDES(mutex_);
  /// The next one by name, nullptr after the last; the first after nullptr. Allocates nothing, so
  /// that ticks reach every shard without memory.
  [[nodiscard]] EntryPtr after(const EntryPtr& entry) const QV_EXCLUDES(mutex_);
  void tick(CollectionEntry& entry);
  [[nodiscard]] EntryPtr find_named(const std::string& name_or_alias) const QV_EXCLUDES(mutex_);
  [[nodiscard]] std::string path_of(const CollectionEntry& entry) const;
  /// kAborted if the collection was dropped or replaced meanwhile: look again.
  Result<std::shared_ptr<CollectionImpl>> open_once(const std::string& name_or_alias);
  Result<std::shared_ptr<CollectionImpl>> open_shards(CollectionEntry& entry)
      QV_REQUIRES(entry.mutex);
  Result<> open_new(CollectionEntry& entry);
  void close_dropped(CollectionEntry& entry);
  Result<> adopt(const EntryPtr& old, const EntryPtr& fresh, const Prepare& prepare);
  void remove_garbage(const std::string& directory);
  void close_least_used();
  /// Closes some of those that nobody has used for a while, and that have no work.
  void close_idle();
  bool close_if_unused(CollectionEntry& entry);
  void finish_closing(CollectionEntry& entry);

  const std::string data_dir_;
  const Limits limits_;
  const ShardContext& context_;
  CatalogGate& gate_;
  Executor& compute_;
  const JobContext& jobs_;
  Directory* collections_ = nullptr;
  std::atomic<std::uint64_t> clock_ = 0;  ///< counts openings and look-ups: `last_used`
  std::atomic<bool> closed_ = false;

  mutable Mutex mutex_;
  std::map<std::string, EntryPtr> entries_ QV_GUARDED_BY(mutex_);
};

template <class F>
auto CollectionTable::while_closed(const std::string& name, F fn)
    -> std::invoke_result_t<F, CollectionEntry&, const CollectionConfig&, const std::string&> {
  const EntryPtr entry = find(name);
  if (entry == nullptr) return no_such_collection(name);
  MutexLock lock(entry->mutex);
  if (entry->dropped) return no_such_collection(name);
  if (entry->now() != nullptr) {
    return fail(Code::kFailedPrecondition, "collection `" + name + "` is open");
  }
  QV_TRY(const auto stored, current_config(name));
  return fn(*entry, *stored.config, path_of(*entry));
}

}  // namespace quiver::engine
