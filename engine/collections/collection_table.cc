#include "engine/collections/collection_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "base/observe/memory.h"
#include "base/observe/memory_budget.h"
#include "engine/collections/closed_collection.h"

namespace quiver::engine {
namespace {

/// Idle collections that stay open: a server with few of them keeps all.
constexpr std::size_t kKeptOpen = 64;
/// A tick must not take long. Closing takes some milliseconds.
constexpr std::size_t kMaxClosedPerTick = 8;
/// An open collection takes about this much before anybody touches it.
constexpr std::uint64_t kOpeningBytes = 1 << 20;

std::shared_ptr<CollectionEntry> new_entry(const storage::CatalogEntry& stored) {
  auto entry = std::make_shared<CollectionEntry>();
  entry->name = stored.name;
  entry->directory = stored.directory;
  return entry;
}

void note_check(CollectionEntry& entry, const Result<>& fine) {
  if (fine) return;
  entry.failure.store(std::make_shared<const Error>(fine.error()));
  log_error("collection `{}` cannot serve: {}", entry.name, fine.error().message());
}

/// `fine`: whether the rows of an open collection are in their place. Its reads go on.
void note_place(CollectionEntry& entry, const Result<>& fine) {
  const bool was_fine = entry.failure.load() == nullptr;
  if (fine) {
    if (!was_fine) entry.failure.store(nullptr);
    return;
  }
  if (was_fine) log_error("collection `{}`: {}", entry.name, fine.error().message());
  entry.failure.store(std::make_shared<const Error>(fine.error()));
}

}  // namespace

tl::unexpected<Error> no_such_collection(const std::string& name) {
  return fail(Code::kNotFound, Subject::kCollection, name,
              fmt::format("collection `{}` does not exist", name));
}

Result<> CollectionTable::add_stored(Directory& collections) {
  collections_ = &collections;
  for (const auto& garbage : gate_.catalog().garbage()) remove_garbage(garbage);
  for (const auto& name : gate_.catalog().strangers()) {
    log_warning("`{}/{}` belongs to no collection; it is left unchanged", collections_->path(),
                name);
  }
  for (const auto& stored : gate_.catalog().entries()) {
    QV_TRY(parse_config(stored.config));
    add(new_entry(stored));
  }
  for (const auto& entry : all()) check_manifests_of(*entry);
  return {};
}

void CollectionTable::add(EntryPtr entry) {
  MutexLock lock(mutex_);
  entries_[entry->name] = std::move(entry);
}

CollectionTable::EntryPtr CollectionTable::find(const std::string& name) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : found->second;
}

CollectionTable::EntryPtr CollectionTable::find_named(const std::string& name_or_alias) const {
  if (auto entry = find(name_or_alias)) return entry;
  const auto name = gate_.catalog().resolve(name_or_alias);
  return name ? find(*name) : nullptr;
}

std::shared_ptr<CollectionImpl> CollectionTable::find_open(const std::string& name_or_alias) {
  const EntryPtr entry = find_named(name_or_alias);
  if (entry == nullptr || closed_) return nullptr;
  entry->last_used = ++clock_;
  return entry->now();
}

std::vector<CollectionTable::EntryPtr> CollectionTable::all() const {
  std::vector<EntryPtr> all;
  MutexLock lock(mutex_);
  for (const auto& [name, entry] : entries_) all.push_back(entry);
  return all;
}

CollectionTable::EntryPtr CollectionTable::after(const EntryPtr& entry) const {
  MutexLock lock(mutex_);
  const auto next = entry == nullptr ? entries_.begin() : entries_.upper_bound(entry->name);
  return next == entries_.end() ? nullptr : next->second;
}

Result<std::shared_ptr<CollectionImpl>> CollectionTable::open(const std::string& name_or_alias) {
  while (true) {
    auto opened = open_once(name_or_alias);
    if (opened || opened.error().code() != Code::kAborted) return opened;
  }
}

Result<std::shared_ptr<CollectionImpl>> CollectionTable::open_once(
    const std::string& name_or_alias) {
  const EntryPtr entry = find_named(name_or_alias);
  if (entry == nullptr || closed_) return no_such_collection(name_or_alias);
  entry->last_used = ++clock_;
  if (auto collection = entry->now()) return collection;
  bool opened = false;
  std::shared_ptr<CollectionImpl> collection;
  {
    MutexLock lock(entry->mutex);
    if (entry->dropped) {
      // A recovered snapshot may have taken its place.
      if (find(entry->name) == entry) return no_such_collection(name_or_alias);
      return fail(Code::kAborted, "replaced");
    }
    collection = entry->now();
    if (collection == nullptr) {
      // Not kept as a failure: the collection is sound.
      QV_TRY(process_memory().check(kOpeningBytes, "opening a collection"));
      auto shards = open_shards(*entry);
      entry->failure.store(shards ? nullptr : std::make_shared<const Error>(shards.error()));
      QV_TRY(collection, std::move(shards));
      entry->set(collection);
      opened = true;
    }
  }
  if (opened) close_least_used();
  return collection;
}

Result<> CollectionTable::create(const storage::CatalogEntry& stored) {
  const EntryPtr entry = new_entry(stored);
  auto opened = open_new(*entry);
  if (opened) {
    add(entry);
    close_least_used();
    return {};
  }
  close_dropped(*entry);
  if (const auto undone = gate_.checked(gate_.catalog().take_back(stored))) {
    remove_garbage(entry->directory);
  } else {
    log_error("undoing the creation of `{}`: {}", entry->name, undone.error().message());
  }
  return fail(opened.error());
}

/// The entry is not listed yet: nobody else sees the collection before it is complete.
Result<> CollectionTable::open_new(CollectionEntry& entry) {
  MutexLock lock(entry.mutex);
  QV_TRY(auto opened, open_shards(entry));
  entry.set(std::move(opened));
  return {};
}

Result<bool> CollectionTable::drop(const EntryPtr& entry) {
  auto dropped = gate_.checked(gate_.catalog().drop(entry->name));
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

void CollectionTable::close_dropped(CollectionEntry& entry) {
  MutexLock lock(entry.mutex);
  entry.dropped = true;
  const auto open = entry.now();
  if (open == nullptr) return;
  if (auto closed = open->close(); !closed) {
    log_warning("closing `{}`: {}", entry.name, closed.error().message());
  }
  entry.set(nullptr);
}

Result<CollectionTable::Reserved> CollectionTable::reserve() {
  QV_TRY(gate_.check_open());
  QV_TRY(std::string directory, gate_.checked(gate_.catalog().reserve()));
  std::string path = fmt::format("{}/{}", collections_->path(), directory);
  QV_TRY(collections_->subdirectory(directory));
  QV_TRY(collections_->sync());
  return Reserved{std::move(directory), std::move(path)};
}

void CollectionTable::give_up(const Reserved& reserved) {
  // The catalog on disk may name the directory after a change that failed half-way.
  if (gate_.catalog().is_certain()) remove_garbage(reserved.directory);
}

Result<> CollectionTable::replace(const std::string& name, const Reserved& reserved,
                                  const Prepare& prepare) {
  QV_TRY(gate_.check_open());
  const auto fresh = new_entry({name, reserved.directory, {}, true});
  const EntryPtr old = find(name);
  if (old == nullptr) return adopt(nullptr, fresh, prepare);
  {
    MutexLock lock(old->mutex);
    if (const auto open = old->now()) {
      // Reads of earlier snapshots go on; whoever asks again waits for this lock.
      auto closed = open->close();
      // Its files may still change, so nothing may take them over.
      if (!closed && closed.error().code() == Code::kDeadlineExceeded) return closed;
      if (!closed) log_warning("closing `{}`: {}", name, closed.error().message());
      old->set(nullptr);
    }
    QV_TRY(adopt(old, fresh, prepare));
    old->dropped = true;
  }
  remove_garbage(old->directory);
  return_free_memory();
  return {};
}

Result<> CollectionTable::adopt(const EntryPtr& old, const EntryPtr& fresh,
                                const Prepare& prepare) {
  QV_TRY(const auto config, prepare(old == nullptr ? std::string() : path_of(*old)));
  const std::string replaced = old == nullptr ? std::string() : old->directory;
  QV_TRY(gate_.checked(
      gate_.catalog().adopt(fresh->name, fresh->directory, to_json(config), replaced)));
  add(fresh);
  return {};
}

/// Removes the directory of a dropped collection. What fails is tried again at the next start.
void CollectionTable::remove_garbage(const std::string& directory) {
  auto removed = [&]() -> Result<> {
    if (collections_->exists(directory)) {
      QV_TRY(collections_->remove_subdirectory(directory));
      QV_TRY(collections_->sync());
    }
    return gate_.checked(gate_.catalog().forget_garbage(directory));
  }();
  if (!removed) {
    log_warning("removing the dropped collection `{}/{}`: {}", collections_->path(), directory,
                removed.error().message());
  }
}

std::string CollectionTable::path_of(const CollectionEntry& entry) const {
  return fmt::format("{}/{}/{}", data_dir_, storage::Catalog::kCollectionsDirectory,
                     entry.directory);
}

void CollectionTable::check_manifests_of(CollectionEntry& entry) {
  const auto stored = current_config(entry.name);
  if (!stored) return;
  note_check(entry, check_manifests(path_of(entry), *stored->config, context_, stored->opening));
}

void CollectionTable::check_all_logs() {
  for (const auto& entry : all()) {
    MutexLock lock(entry->mutex);
    if (closed_) return;
    if (entry->dropped || entry->now() != nullptr || entry->failure.load() != nullptr) continue;
    const auto stored = current_config(entry->name);
    if (!stored) continue;
    note_check(*entry, check_logs(path_of(*entry), *stored->config, context_));
  }
}

Result<std::shared_ptr<CollectionImpl>> CollectionTable::open_shards(CollectionEntry& entry) {
  // Called with the collection's own lock, never with the entry's.
  auto save = [this, name = entry.name, directory = entry.directory](
                  const CollectionConfig& base, const CollectionConfig& config,
                  CollectionImpl::Origin origin) -> Result<> {
    const bool is_shared = context_.replication != nullptr && !config.cluster_id.empty();
    if (is_shared && origin == CollectionImpl::Origin::kHere) {
      QV_TRY(context_.replication->commit_config(name, base, config));
    }
    return gate_.checked(gate_.catalog().update(name, directory, to_json(config)));
  };
  QV_TRY(const auto stored, current_config(entry.name));
  QV_TRY(auto opened,
         CollectionImpl::open(path_of(entry), stored.config, context_, stored.opening, compute_,
                              std::move(save), jobs_.decode ? &jobs_ : nullptr));
  if (stored.opening == storage::Opening::kMayCreate) {
    QV_TRY(collections_->sync());
    QV_TRY(gate_.checked(gate_.catalog().complete(entry.name)));
  }
  return opened;
}

Result<CollectionTable::StoredConfig> CollectionTable::current_config(
    const std::string& name) const {
  const auto stored = gate_.catalog().find(name);
  if (!stored) return no_such_collection(name);
  QV_TRY(auto config, parse_config(stored->config));
  return StoredConfig{
      std::make_shared<const CollectionConfig>(std::move(config)),
      stored->complete ? storage::Opening::kMustExist : storage::Opening::kMayCreate};
}

/// Closes collections that nobody uses, the least recently asked for first, until few enough are
/// open.
void CollectionTable::close_least_used() {
  auto entries = all();
  std::sort(entries.begin(), entries.end(),
            [](const EntryPtr& a, const EntryPtr& b) { return a->last_used < b->last_used; });
  std::size_t n_open = 0;
  for (const auto& entry : entries) {
    if (entry->now() != nullptr) ++n_open;
  }
  for (const auto& entry : entries) {
    if (n_open <= limits_.max_open) return;
    if (close_if_unused(*entry)) --n_open;
  }
}

void CollectionTable::close_idle() {
  if (limits_.close_idle_s <= 0) return;
  const auto now = CollectionEntry::Clock::now();
  std::vector<EntryPtr> open;
  for (const auto& entry : all()) {
    if (entry->now() == nullptr) continue;
    entry->note_use(now);
    open.push_back(entry);
  }
  if (open.size() <= kKeptOpen) return;
  std::ranges::sort(open, [](const EntryPtr& a, const EntryPtr& b) {
    return a->last_used.load() < b->last_used.load();
  });
  open.resize(open.size() - kKeptOpen);
  std::size_t n_closed = 0;
  for (const auto& entry : open) {
    if (n_closed == kMaxClosedPerTick) return;  // the rest, and their memory, at the next tick
    if (entry->idle_s(now) < limits_.close_idle_s || !entry->is_at_rest()) continue;
    if (close_if_unused(*entry)) ++n_closed;
  }
  if (n_closed > 0) return_free_memory();
}

bool CollectionTable::close_if_unused(CollectionEntry& entry) {
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

void CollectionTable::tick() noexcept {
  for (auto entry = after(nullptr); entry != nullptr; entry = after(entry)) {
    run_logged("a tick of a collection", [&] { tick(*entry); });
  }
  run_logged("closing idle collections", [this] { close_idle(); });
}

void CollectionTable::tick(CollectionEntry& entry) {
  const auto open = entry.now();
  if (open == nullptr) return;
  if (open->can_finish_closing()) return finish_closing(entry);
  open->tick();
  note_place(entry, open->check_place());
}

/// A collection that did not close in time for its replacement: the next request opens it anew.
void CollectionTable::finish_closing(CollectionEntry& entry) {
  MutexLock lock(entry.mutex);
  const auto open = entry.now();
  if (open == nullptr || !open->can_finish_closing()) return;
  if (auto closed = open->close(); !closed) {
    log_warning("closing `{}`: {}", entry.name, closed.error().message());
    if (closed.error().code() == Code::kDeadlineExceeded) return;
  }
  entry.set(nullptr);
}

Result<> CollectionTable::close_all() {
  Result<> result;
  for (const auto& entry : all()) {
    MutexLock lock(entry->mutex);
    const auto open = entry->now();
    if (open == nullptr) continue;
    auto closed = open->close();
    // Others may hang, too, and the process will end: their logs keep all that was acknowledged.
    if (!closed && closed.error().code() == Code::kDeadlineExceeded) return closed;
    entry->set(nullptr);
    if (!closed) result = std::move(closed);
  }
  return result;
}

}  // namespace quiver::engine
