#include "engine/database.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "base/log.h"
#include "base/published.h"
#include "engine/collection_impl.h"
#include "storage/catalog.h"
#include "storage/lock_file.h"
#include "storage/runtime.h"

namespace quiver::engine {
namespace {

constexpr auto kTickInterval = std::chrono::milliseconds(200);
constexpr int kBackgroundNice = 5;

std::size_t thread_count(std::uint32_t wanted, std::size_t at_least) {
  const std::size_t n = wanted != 0 ? wanted : std::thread::hardware_concurrency();
  return std::max(n, at_least);
}

tl::unexpected<Error> no_such_collection(const std::string& name) {
  return fail(Code::kNotFound, fmt::format("Collection `{}` doesn't exist!", name));
}

/// A collection of the catalog, open or not.
struct Entry {
  std::string name;
  std::string directory;
  Mutex mutex;  ///< held while opening and closing
  std::shared_ptr<CollectionImpl> open QV_GUARDED_BY(mutex);
  bool dropped QV_GUARDED_BY(mutex) = false;
  /// Of the start's check, or the last opening; null if that went well. Read without waiting for
  /// an opening.
  Published<Error> failure;
  std::atomic<std::uint64_t> last_used = 0;
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
    QV_TRY(directory_, open_real_directory(options_.data_dir));
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
    for (const auto& orphan : catalog_->orphans())
      QV_TRY(collections_->remove_subdirectory(orphan));
    for (const auto& stored : catalog_->entries()) QV_TRY(add_entry(stored));
    for (const auto& entry : all_entries()) check_manifests(*entry);
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
      MutexLock lock(entry->mutex);
      if (entry->open != nullptr) open.emplace_back(entry->name, entry->open);
    }
    return open;
  }

  bool exists(const std::string& name_or_alias) const override {
    return catalog_->resolve(name_or_alias).has_value();
  }

  Result<> create_collection(const std::string& name, CollectionConfig config) override {
    if (const auto collection = catalog_->resolve(name); collection && *collection != name) {
      return fail(Code::kInvalidArgument,
                  fmt::format("Can't create collection with name {}. Alias with the same name "
                              "already exists",
                              name));
    }
    auto created = catalog_->create(name, to_json(config));
    if (!created) {
      if (created.error().code() != Code::kAlreadyExists) return fail(created.error());
      return fail(Code::kAlreadyExists, fmt::format("Collection `{}` already exists!", name));
    }
    QV_TRY(add_entry(*created));
    auto opened = open_collection(name);
    if (opened) return {};
    if (auto dropped = drop_collection(name); !dropped) {
      log_error("undoing the creation of `{}`: {}", name, dropped.error().message());
    }
    return fail(opened.error());
  }

  Result<bool> drop_collection(const std::string& name) override {
    if (catalog_->resolve(name) != name) return false;  // not there, or an alias
    const auto entry = find_entry(name);
    if (entry == nullptr) return false;
    auto dropped = catalog_->drop(name);
    if (!dropped) {
      if (dropped.error().code() == Code::kNotFound) return false;
      return fail(dropped.error());
    }
    {
      MutexLock lock(mutex_);
      const auto found = entries_.find(name);
      if (found != entries_.end() && found->second == entry) entries_.erase(found);
    }
    MutexLock lock(entry->mutex);
    entry->dropped = true;
    if (entry->open != nullptr) {
      if (auto closed = entry->open->close(); !closed) {
        log_warning("closing `{}`: {}", name, closed.error().message());
      }
      entry->open.reset();
    }
    if (collections_->exists(entry->directory)) {
      QV_TRY(collections_->remove_subdirectory(entry->directory));
    }
    return true;
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
    return catalog_->apply_aliases(changes);
  }

  std::vector<Alias> aliases() const override {
    std::vector<Alias> aliases;
    for (const auto& alias : catalog_->aliases()) aliases.push_back({alias.name, alias.collection});
    return aliases;
  }

  Result<> resolve_lookups(const std::string& name, Query& query) override {
    for (auto& prefetch : query.prefetch) QV_TRY(resolve_lookups(name, prefetch));
    auto* nearest = std::get_if<Nearest>(&query.kind);
    if (nearest == nullptr || !query.lookup_from) return {};
    const auto* id = std::get_if<PointId>(&nearest->vector);
    if (id == nullptr) return {};
    const auto& from = *query.lookup_from;
    auto other = collection(from.collection);
    if (!other) {
      if (other.error().code() != Code::kNotFound) return fail(other.error());
      return fail(Code::kNotFound, fmt::format("Collection {} not found", from.collection));
    }
    const std::string field = from.vector.value_or(query.using_field);
    RetrieveRequest request{{*id}, payload::Selector::none(), {false, {field}}};
    QV_TRY(const auto records, (*other)->retrieve(request));
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
    Result<> result;
    for (const auto& entry : all_entries()) {
      MutexLock lock(entry->mutex);
      if (entry->open == nullptr) continue;
      if (auto closed = entry->open->close(); !closed) result = std::move(closed);
      entry->open.reset();
    }
    compute_.stop();
    lanes_.stop();
    background_.stop();
    return result;
  }

 private:
  using EntryPtr = std::shared_ptr<Entry>;

  /// Also checks that the stored configuration can be read.
  Result<> add_entry(const storage::CatalogEntry& stored) {
    QV_TRY(parse_config(stored.config));
    auto entry = std::make_shared<Entry>();
    entry->name = stored.name;
    entry->directory = stored.directory;
    MutexLock lock(mutex_);
    entries_[stored.name] = std::move(entry);
    return {};
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
    bool opened = false;
    std::shared_ptr<CollectionImpl> collection;
    {
      MutexLock lock(entry->mutex);
      if (entry->dropped) return no_such_collection(name_or_alias);
      if (entry->open == nullptr) {
        auto shards = open_shards(entry);
        entry->failure.store(shards ? nullptr : std::make_shared<const Error>(shards.error()));
        QV_TRY(entry->open, std::move(shards));
        opened = true;
      }
      collection = entry->open;
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
    const auto config = current_config(entry.name);
    if (!config) return;
    const auto checked = CollectionImpl::check(path_of(entry), **config, context_);
    if (checked) return;
    entry.failure.store(std::make_shared<const Error>(checked.error()));
    log_error("collection `{}` cannot serve: {}", entry.name, checked.error().message());
  }

  Result<std::shared_ptr<CollectionImpl>> open_shards(const EntryPtr& entry)
      QV_REQUIRES(entry->mutex) {
    // Called with the collection's own lock, never with the entry's.
    auto save = [this, raw = entry.get()](const CollectionConfig& config) -> Result<> {
      QV_TRY(catalog_->update(raw->name, to_json(config)));
      return {};
    };
    QV_TRY(const auto stored, current_config(entry->name));
    return CollectionImpl::open(path_of(*entry), stored, context_, compute_, std::move(save));
  }

  Result<std::shared_ptr<const CollectionConfig>> current_config(const std::string& name) {
    const auto stored = catalog_->find(name);
    if (!stored) return no_such_collection(name);
    QV_TRY(auto config, parse_config(stored->config));
    return std::make_shared<const CollectionConfig>(std::move(config));
  }

  /// Keeps the number of open collections bounded: closes the one that nobody uses and that was not
  /// asked for the longest.
  void close_least_used() {
    auto all = all_entries();
    std::sort(all.begin(), all.end(),
              [](const EntryPtr& a, const EntryPtr& b) { return a->last_used < b->last_used; });
    std::size_t n_open = 0;
    for (const auto& entry : all) {
      MutexLock lock(entry->mutex);
      if (entry->open != nullptr) ++n_open;
    }
    for (const auto& entry : all) {
      if (n_open <= options_.max_open_collections) return;
      MutexLock lock(entry->mutex);
      if (entry->open == nullptr || entry->open.use_count() > 1) continue;
      if (auto closed = entry->open->close(); !closed) {
        log_warning("closing `{}`: {}", entry->name, closed.error().message());
      }
      entry->open.reset();
      --n_open;
    }
  }

  void tick_until_closed() {
    while (true) {
      {
        MutexLock lock(mutex_);
        if (!closed_) ticker_wake_.wait_for(mutex_, kTickInterval);
        if (closed_) return;
      }
      for (const auto& entry : all_entries()) {
        std::shared_ptr<CollectionImpl> open;
        {
          MutexLock lock(entry->mutex);
          open = entry->open;
        }
        if (open != nullptr) open->tick();
      }
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
  ShardContext context_;
  std::atomic<std::uint64_t> clock_ = 0;

  mutable Mutex mutex_;
  std::map<std::string, EntryPtr> entries_ QV_GUARDED_BY(mutex_);
  std::atomic<bool> closed_ = false;
  CondVar ticker_wake_;
  std::thread ticker_;
};

}  // namespace

Result<std::unique_ptr<Database>> Database::open(DatabaseOptions options) {
  auto database = std::make_unique<DatabaseImpl>(std::move(options));
  QV_TRY(database->start());
  return std::unique_ptr<Database>(std::move(database));
}

}  // namespace quiver::engine
