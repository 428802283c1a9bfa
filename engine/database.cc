#include "engine/database.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "base/observe/memory.h"
#include "base/threads/published.h"
#include "engine/collection_impl.h"
#include "storage/catalog/catalog.h"
#include "storage/catalog/lock_file.h"
#include "storage/rows/runtime.h"

namespace quiver::engine {
namespace {

constexpr auto kTickInterval = std::chrono::milliseconds(200);
constexpr int kBackgroundNice = 5;

std::size_t thread_count(std::uint32_t wanted, std::size_t at_least) {
  const std::size_t n = wanted != 0 ? wanted : std::thread::hardware_concurrency();
  return std::max(n, at_least);
}

tl::unexpected<Error> no_such_collection(const std::string& name) {
  return fail(Code::kNotFound, Subject::kCollection, name,
              fmt::format("collection `{}` does not exist", name));
}

/// A collection of the catalog, open or not.
struct Entry {
  std::string name;
  std::string directory;
  Mutex mutex;  ///< held while opening and closing, which may take long
  bool dropped QV_GUARDED_BY(mutex) = false;
  mutable Mutex open_mutex;  ///< held for a line; taken after `mutex`, or alone
  /// Changed under both.
  std::shared_ptr<CollectionImpl> open QV_GUARDED_BY(open_mutex);
  /// Of the start's check, or the last opening; null if that went well. Read without waiting for
  /// an opening.
  Published<Error> failure;
  std::atomic<std::uint64_t> last_used = 0;

  /// The collection if it is open now. Never waits for an opening.
  [[nodiscard]] std::shared_ptr<CollectionImpl> now() const {
    MutexLock lock(open_mutex);
    return open;
  }
  void set(std::shared_ptr<CollectionImpl> collection) QV_REQUIRES(mutex) {
    MutexLock lock(open_mutex);
    open.swap(collection);  // the old one is released outside the lock
  }
};

class DatabaseImpl final : public Database {
 public:
  explicit DatabaseImpl(DatabaseOptions options)
      : options_(std::move(options)),
        compute_(thread_count(options_.compute_threads, 1), "compute"),
        lanes_(thread_count(0, 2), "lane"),
        background_(thread_count(options_.background_threads, 2), "background", kBackgroundNice) {}

  ~DatabaseImpl() override {
    if (auto closed = close(); !closed) log_error("closing: {}", closed.error().message());
  }

  Result<> start() {
    QV_TRY(directory_, options_.open_data_directory(options_.data_dir));
    QV_TRY(lock_, storage::LockFile::acquire(options_.data_dir + "/LOCK"));
    QV_TRY(catalog_, storage::Catalog::open(*directory_));
    QV_TRY(collections_, directory_->subdirectory(storage::Catalog::kCollectionsDirectory));
    storage::RuntimeOptions runtime;
    runtime.block_cache_bytes = options_.block_cache_bytes;
    runtime.write_buffer_bytes = options_.write_buffer_bytes;
    if (options_.store_file_system) runtime.file_system = options_.store_file_system;
    QV_TRY(context_.runtime, storage::Runtime::create(runtime));
    context_.lanes = &lanes_;
    context_.background = &background_;
    context_.max_queued_bytes = options_.max_queued_bytes;
    context_.choose_index = options_.choose_index;
    context_.record_queries = options_.record_queries ? RecordQueries::kYes : RecordQueries::kNo;
    if (options_.open_directory) context_.open_directory = options_.open_directory;
    context_.write_gate = writes_;
    context_.close_patience = options_.close_patience;
    for (const auto& garbage : catalog_->garbage()) remove_garbage(garbage);
    for (const auto& name : catalog_->strangers()) {
      log_warning("`{}/{}` belongs to no collection; it is left as it is", collections_->path(),
                  name);
    }
    for (const auto& stored : catalog_->entries()) {
      QV_TRY(parse_config(stored.config));
      add_entry(new_entry(stored));
    }
    for (const auto& entry : all_entries()) check_manifests(*entry);
    log_check_ = std::thread([this] { run_logged("reading logs", [this] { check_all_logs(); }); });
    ticker_ = std::thread([this] { tick_until_closed(); });
    return {};
  }

  std::vector<std::string> collection_names() const override {
    std::vector<std::string> names;
    MutexLock lock(mutex_);
    for (const auto& [name, entry] : entries_) names.push_back(name);
    return names;
  }

  Result<std::shared_ptr<Collection>> collection(const std::string& name) override {
    QV_TRY(auto impl, open_collection(name));
    return std::static_pointer_cast<Collection>(std::move(impl));
  }

  std::vector<std::pair<std::string, std::shared_ptr<Collection>>> open_collections()
      const override {
    std::vector<std::pair<std::string, std::shared_ptr<Collection>>> open;
    for (const auto& entry : all_entries()) {
      if (auto now = entry->now()) open.emplace_back(entry->name, std::move(now));
    }
    return open;
  }

  StoreMemory store_memory() const override {
    return {context_.runtime->cache_bytes(), context_.runtime->memtable_bytes()};
  }

  std::vector<std::string> strangers() const override { return catalog_->strangers(); }

  bool exists(const std::string& name_or_alias) const override {
    const auto name = catalog_->resolve(name_or_alias);
    return name && find_entry(*name) != nullptr;
  }

  Result<> create_collection(const std::string& name, CollectionConfig config) override {
    if (const auto collection = catalog_->resolve(name); collection && *collection != name) {
      return fail(Code::kInvalidArgument, Subject::kAlias, name,
                  fmt::format("a collection cannot be called `{}`: an alias has that name", name));
    }
    QV_TRY(writes_->check());
    auto created = checked(catalog_->create(name, to_json(config)));
    if (!created) {
      if (created.error().code() != Code::kAlreadyExists) return fail(created.error());
      return fail(Code::kAlreadyExists, Subject::kCollection, name,
                  fmt::format("collection `{}` exists already", name));
    }
    const EntryPtr entry = new_entry(*created);
    auto opened = open_new(entry);
    if (opened) {
      add_entry(entry);
      close_least_used();
      return {};
    }
    if (auto dropped = drop_entry(entry); !dropped) {
      log_error("undoing the creation of `{}`: {}", name, dropped.error().message());
    }
    return fail(opened.error());
  }

  Result<std::vector<ShardFindings>> check(const std::string& name) override {
    return while_closed(name, [this](const Entry& entry, const CollectionConfig& config) {
      return CollectionImpl::read_all(path_of(entry), config, context_);
    });
  }

  Result<std::vector<std::optional<ShardRepair>>> repair(const std::string& name) override {
    return while_closed(name, [this](Entry& entry, const CollectionConfig& config) {
      auto repaired = CollectionImpl::repair(path_of(entry), config, context_);
      entry.failure.store(nullptr);
      check_manifests(entry);
      return repaired;
    });
  }

  Result<bool> drop_collection(const std::string& name) override {
    if (catalog_->resolve(name) != name) return false;  // not there, or an alias
    const auto entry = find_entry(name);
    if (entry == nullptr) return false;
    QV_TRY(writes_->check());
    return drop_entry(entry);
  }

  Result<> update_config(const std::string& name,
                         const std::function<Result<>(CollectionConfig&)>& change) override {
    QV_TRY(auto impl, open_collection(name));
    return impl->change_config(change);
  }

  Result<> update_aliases(const std::vector<AliasAction>& actions) override {
    std::vector<storage::AliasChange> changes;
    using Kind = storage::AliasChange::Kind;
    for (const auto& action : actions) {
      if (const auto* create = std::get_if<CreateAlias>(&action)) {
        changes.push_back({Kind::kCreate, create->alias, create->collection});
      } else if (const auto* rename = std::get_if<RenameAlias>(&action)) {
        changes.push_back({Kind::kRename, rename->old_alias, rename->new_alias});
      } else {
        changes.push_back({Kind::kDelete, std::get<DeleteAlias>(action).alias, {}});
      }
    }
    QV_TRY(writes_->check());
    return checked(catalog_->apply_aliases(changes));
  }

  std::vector<Alias> aliases() const override { return catalog_->aliases(); }

  Result<> resolve_lookups(const std::string& name, Query& query) override {
    for (auto& prefetch : query.prefetch) QV_TRY(resolve_lookups(name, prefetch));
    if (!query.lookup_from) return {};
    const auto& from = *query.lookup_from;
    if (!exists(from.collection)) {
      return fail(Code::kNotFound, fmt::format("Collection {} not found", from.collection));
    }
    auto* nearest = std::get_if<Nearest>(&query.kind);
    const auto* id = nearest == nullptr ? nullptr : std::get_if<PointId>(&nearest->vector);
    if (id == nullptr) return {};
    QV_TRY(const auto other, collection(from.collection));
    const std::string field = from.vector.value_or(query.using_field);
    RetrieveRequest request{{*id}, payload::Selector::none(), {false, {field}}};
    QV_TRY(const auto records, other->retrieve(request));
    if (records.empty()) {
      return fail(Code::kNotFound, fmt::format("No point with id {} found", id->to_string()));
    }
    if (records[0].vectors->empty()) {
      return fail(Code::kNotFound,
                  fmt::format("Point with id {} of collection {} has no vector `{}`",
                              id->to_string(), from.collection, field));
    }
    if (catalog_->resolve(from.collection) == catalog_->resolve(name)) nearest->own = *id;
    nearest->vector = records[0].vectors->front().value;
    return {};
  }

  bool ready(std::string* why) const override {
    std::string reasons = closed_ ? "closing" : "";
    if (const auto writes = writes_->check(); !writes) {
      reasons +=
          fmt::format("{}read-only: {}", reasons.empty() ? "" : "; ", writes.error().message());
    }
    for (const auto& entry : all_entries()) {
      const auto failure = entry->failure.load();
      if (failure == nullptr) continue;
      reasons += fmt::format("{}collection `{}`: {}", reasons.empty() ? "" : "; ", entry->name,
                             failure->message());
    }
    if (why != nullptr) *why = reasons;
    return reasons.empty();
  }

  Executor& compute() override { return compute_; }

  Result<> close() override {
    {
      MutexLock lock(mutex_);
      if (closed_.exchange(true)) return {};
      ticker_wake_.notify_all();
    }
    if (ticker_.joinable()) ticker_.join();
    if (log_check_.joinable()) log_check_.join();
    Result<> result;
    for (const auto& entry : all_entries()) {
      MutexLock lock(entry->mutex);
      const auto open = entry->now();
      if (open == nullptr) continue;
      auto closed = open->close();
      // Others may hang alike, and the process is to end: their logs bring back all they took.
      if (!closed && closed.error().code() == Code::kDeadlineExceeded) return closed;
      entry->set(nullptr);
      if (!closed) result = std::move(closed);
    }
    compute_.stop();
    lanes_.stop();
    background_.stop();
    return result;
  }

 private:
  using EntryPtr = std::shared_ptr<Entry>;

  static EntryPtr new_entry(const storage::CatalogEntry& stored) {
    auto entry = std::make_shared<Entry>();
    entry->name = stored.name;
    entry->directory = stored.directory;
    return entry;
  }

  /// Calls `fn` with a collection that stays closed meanwhile.
  template <class F>
  auto while_closed(const std::string& name, F fn)
      -> std::invoke_result_t<F, Entry&, const CollectionConfig&> {
    const EntryPtr entry = find_entry(name);
    if (entry == nullptr) return no_such_collection(name);
    MutexLock lock(entry->mutex);
    if (entry->dropped) return no_such_collection(name);
    if (entry->now() != nullptr) {
      return fail(Code::kFailedPrecondition, fmt::format("collection `{}` is open", name));
    }
    QV_TRY(const auto stored, current_config(name));
    return fn(*entry, *stored.config);
  }

  void add_entry(EntryPtr entry) {
    MutexLock lock(mutex_);
    entries_[entry->name] = std::move(entry);
  }

  /// Opens a collection that is not listed yet: nobody else sees it before it is complete.
  Result<> open_new(const EntryPtr& entry) {
    MutexLock lock(entry->mutex);
    QV_TRY(auto opened, open_shards(entry));
    entry->set(std::move(opened));
    return {};
  }

  Result<bool> drop_entry(const EntryPtr& entry) {
    auto dropped = checked(catalog_->drop(entry->name));
    if (!dropped) {
      if (dropped.error().code() == Code::kNotFound) return false;
      return fail(dropped.error());
    }
    {
      MutexLock lock(mutex_);
      const auto found = entries_.find(entry->name);
      if (found != entries_.end() && found->second == entry) entries_.erase(found);
    }
    close_dropped(*entry);
    remove_garbage(entry->directory);
    return_free_memory();
    return true;
  }

  void close_dropped(Entry& entry) {
    MutexLock lock(entry.mutex);
    entry.dropped = true;
    const auto open = entry.now();
    if (open == nullptr) return;
    if (auto closed = open->close(); !closed) {
      log_warning("closing `{}`: {}", entry.name, closed.error().message());
    }
    entry.set(nullptr);
  }

  /// Removes the directory of a dropped collection. What fails is tried again at the next start.
  void remove_garbage(const std::string& directory) {
    auto removed = [&]() -> Result<> {
      if (collections_->exists(directory)) {
        QV_TRY(collections_->remove_subdirectory(directory));
        QV_TRY(collections_->sync());
      }
      return checked(catalog_->forget_garbage(directory));
    }();
    if (!removed) {
      log_warning("removing the dropped collection `{}/{}`: {}", collections_->path(), directory,
                  removed.error().message());
    }
  }

  /// Closes the gate for updates before a failed change of the catalog is answered, if the disk may
  /// hold it all the same.
  template <class T>
  Result<T> checked(Result<T> result) {
    if (!result) check_writes();
    return result;
  }

  /// Updates are taken while the catalog on disk is certain and the data directory is in its place.
  void check_writes() {
    MutexLock lock(check_mutex_);
    const bool was_open = writes_->check().has_value();
    Result<> fine = lock_->check_place();
    if (fine && !catalog_->is_certain()) fine = catalog_->settle();
    if (fine) {
      writes_->open();
      if (!was_open) log_info("updates are taken again");
      return;
    }
    writes_->close(Error(Code::kUnavailable, fine.error().message()));
    if (was_open) log_error("updates are refused: {}", fine.error().message());
  }

  EntryPtr find_entry(const std::string& name) const {
    MutexLock lock(mutex_);
    const auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : found->second;
  }

  std::vector<EntryPtr> all_entries() const {
    std::vector<EntryPtr> all;
    MutexLock lock(mutex_);
    for (const auto& [name, entry] : entries_) all.push_back(entry);
    return all;
  }

  Result<std::shared_ptr<CollectionImpl>> open_collection(const std::string& name_or_alias) {
    EntryPtr entry = find_entry(name_or_alias);
    if (entry == nullptr) {
      const auto name = catalog_->resolve(name_or_alias);
      if (name) entry = find_entry(*name);
    }
    if (entry == nullptr || closed_) return no_such_collection(name_or_alias);
    entry->last_used = ++clock_;
    if (auto collection = entry->now()) return collection;
    bool opened = false;
    std::shared_ptr<CollectionImpl> collection;
    {
      MutexLock lock(entry->mutex);
      if (entry->dropped) return no_such_collection(name_or_alias);
      collection = entry->now();
      if (collection == nullptr) {
        auto shards = open_shards(entry);
        entry->failure.store(shards ? nullptr : std::make_shared<const Error>(shards.error()));
        QV_TRY(collection, std::move(shards));
        entry->set(collection);
        opened = true;
      }
    }
    if (opened) close_least_used();
    return collection;
  }

  [[nodiscard]] std::string path_of(const Entry& entry) const {
    return fmt::format("{}/{}/{}", options_.data_dir, storage::Catalog::kCollectionsDirectory,
                       entry.directory);
  }

  /// A collection that cannot be opened is known before somebody asks for it.
  void check_manifests(Entry& entry) {
    const auto stored = current_config(entry.name);
    if (!stored) return;
    note_check(entry,
               CollectionImpl::check(path_of(entry), *stored->config, context_, stored->opening));
  }

  static void note_check(Entry& entry, const Result<>& fine) {
    if (fine) return;
    entry.failure.store(std::make_shared<const Error>(fine.error()));
    log_error("collection `{}` cannot serve: {}", entry.name, fine.error().message());
  }

  /// Of an open collection, whose reads go on.
  static void note_place(Entry& entry, const Result<>& fine) {
    const bool was_fine = entry.failure.load() == nullptr;
    if (fine) {
      if (!was_fine) entry.failure.store(nullptr);
      return;
    }
    if (was_fine) log_error("collection `{}`: {}", entry.name, fine.error().message());
    entry.failure.store(std::make_shared<const Error>(fine.error()));
  }

  /// What the start had no time for. A collection that somebody opens first is checked by that.
  /// Not on the executors: it waits for openings, which may wait for them.
  void check_all_logs() {
    for (const auto& entry : all_entries()) {
      MutexLock lock(entry->mutex);
      if (closed_) return;
      if (entry->dropped || entry->now() != nullptr || entry->failure.load() != nullptr) continue;
      const auto stored = current_config(entry->name);
      if (!stored) continue;
      note_check(*entry, CollectionImpl::check_logs(path_of(*entry), *stored->config, context_));
    }
  }

  Result<std::shared_ptr<CollectionImpl>> open_shards(const EntryPtr& entry)
      QV_REQUIRES(entry->mutex) {
    // Called with the collection's own lock, never with the entry's.
    auto save = [this, raw = entry.get()](const CollectionConfig& config) -> Result<> {
      return checked(catalog_->update(raw->name, to_json(config)));
    };
    QV_TRY(const auto stored, current_config(entry->name));
    QV_TRY(auto opened, CollectionImpl::open(path_of(*entry), stored.config, context_,
                                             stored.opening, compute_, std::move(save)));
    if (stored.opening == storage::Opening::kMayCreate) {
      QV_TRY(collections_->sync());
      QV_TRY(checked(catalog_->complete(entry->name)));
    }
    return opened;
  }

  struct StoredConfig {
    std::shared_ptr<const CollectionConfig> config;
    storage::Opening opening = storage::Opening::kMustExist;
  };

  Result<StoredConfig> current_config(const std::string& name) {
    const auto stored = catalog_->find(name);
    if (!stored) return no_such_collection(name);
    QV_TRY(auto config, parse_config(stored->config));
    return StoredConfig{
        std::make_shared<const CollectionConfig>(std::move(config)),
        stored->complete ? storage::Opening::kMustExist : storage::Opening::kMayCreate};
  }

  /// Keeps the number of open collections bounded: closes the one that nobody uses and that was not
  /// asked for the longest.
  void close_least_used() {
    auto all = all_entries();
    std::sort(all.begin(), all.end(),
              [](const EntryPtr& a, const EntryPtr& b) { return a->last_used < b->last_used; });
    std::size_t n_open = 0;
    for (const auto& entry : all) {
      if (entry->now() != nullptr) ++n_open;
    }
    for (const auto& entry : all) {
      if (n_open <= options_.max_open_collections) return;
      if (close_if_unused(*entry)) --n_open;
    }
  }

  bool close_if_unused(Entry& entry) {
    if (entry.now() == nullptr) return false;  // perhaps being opened, which is not waited for
    MutexLock lock(entry.mutex);
    std::shared_ptr<CollectionImpl> unused;
    {
      MutexLock open_lock(entry.open_mutex);
      if (entry.open == nullptr || entry.open.use_count() > 1) return false;
      unused.swap(entry.open);
    }
    if (auto closed = unused->close(); !closed) {
      log_warning("closing `{}`: {}", entry.name, closed.error().message());
    }
    return true;
  }

  void tick_until_closed() {
    while (true) {
      {
        MutexLock lock(mutex_);
        if (!closed_) ticker_wake_.wait_for(mutex_, kTickInterval);
        if (closed_) return;
      }
      run_logged("a tick", [this] {
        check_writes();
        for (const auto& entry : all_entries()) {
          const auto open = entry->now();
          if (open == nullptr) continue;
          open->tick();
          note_place(*entry, open->check_place());
        }
      });
    }
  }

  const DatabaseOptions options_;
  Executor compute_;
  Executor lanes_;
  Executor background_;
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<Directory> collections_;
  std::unique_ptr<storage::LockFile> lock_;
  std::unique_ptr<storage::Catalog> catalog_;
  const std::shared_ptr<WriteGate> writes_ = std::make_shared<WriteGate>();
  Mutex check_mutex_;  ///< one check of the gate at a time
  ShardContext context_;
  std::atomic<std::uint64_t> clock_ = 0;

  mutable Mutex mutex_;
  std::map<std::string, EntryPtr> entries_ QV_GUARDED_BY(mutex_);
  std::atomic<bool> closed_ = false;
  CondVar ticker_wake_;
  std::thread ticker_;
  std::thread log_check_;  ///< by itself, since it waits for openings; ends when all are read
};

}  // namespace

Result<std::unique_ptr<Database>> Database::open(DatabaseOptions options) {
  auto database = std::make_unique<DatabaseImpl>(std::move(options));
  QV_TRY(database->start());
  return std::unique_ptr<Database>(std::move(database));
}

}  // namespace quiver::engine
