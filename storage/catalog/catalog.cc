#include "storage/catalog/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "storage/catalog/catalog_format.h"

namespace quiver::storage {

namespace {

tl::unexpected<Error> no_collection(std::string_view name) {
  return fail(Code::kNotFound, Subject::kCollection, name,
              fmt::format("collection `{}` does not exist", name));
}

tl::unexpected<Error> no_alias(std::string_view name) {
  return fail(Code::kNotFound, Subject::kAlias, name,
              fmt::format("alias `{}` does not exist", name));
}

Result<> check_free(const Catalog::State& state, std::string_view name) {
  if (state.collections.contains(name)) {
    return fail(Code::kAlreadyExists, Subject::kCollection, name,
                fmt::format("collection `{}` exists already", name));
  }
  return {};
}

/// True if `name` has the form of the directory names that `create` assigns.
bool is_directory_number(std::string_view name) {
  return name.size() >= 8 && name.find_first_not_of("0123456789") == std::string_view::npos;
}

Result<> create_alias(const AliasChange& change, Catalog::State& state) {
  if (!state.collections.contains(change.target)) return no_collection(change.target);
  QV_TRY(check_free(state, change.alias));
  state.aliases[change.alias] = change.target;
  return {};
}

Result<> delete_alias(const AliasChange& change, Catalog::State& state) {
  if (state.aliases.erase(change.alias) == 0) return no_alias(change.alias);
  return {};
}

Result<> rename_alias(const AliasChange& change, Catalog::State& state) {
  if (!state.aliases.contains(change.alias)) return no_alias(change.alias);
  QV_TRY(check_free(state, change.target));
  auto node = state.aliases.extract(change.alias);
  state.aliases[change.target] = std::move(node.mapped());
  return {};
}

Result<> apply(const AliasChange& change, Catalog::State& state) {
  switch (change.kind) {
    case AliasChange::Kind::kCreate:
      return create_alias(change, state);
    case AliasChange::Kind::kDelete:
      return delete_alias(change, state);
    case AliasChange::Kind::kRename:
      return rename_alias(change, state);
  }
  return fail(Code::kInvalidArgument, "unknown kind of alias change");
}

}  // namespace

Result<std::unique_ptr<Catalog>> Catalog::open(Directory& directory) {
  auto catalog = std::unique_ptr<Catalog>(new Catalog(directory));
  QV_TRY(catalog->load());
  QV_TRY(catalog->find_strangers());
  return catalog;
}

Result<std::vector<DirectoryEntry>> Catalog::list_collections() const {
  if (!directory_.exists(kCollectionsDirectory)) return std::vector<DirectoryEntry>();
  QV_TRY(const auto below, directory_.open_subdirectory(kCollectionsDirectory));
  return below->list();
}

Result<> Catalog::load() {
  if (!directory_.exists(kFileName)) {
    QV_TRY(const auto found, list_collections());
    const auto collection = std::ranges::find_if(found, [](const DirectoryEntry& entry) {
      return entry.kind == EntryKind::kDirectory && is_directory_number(entry.name);
    });
    if (collection == found.end()) return {};
    return fail(
        Code::kDataLoss,
        fmt::format("`{0}/{1}` is missing, but `{0}/{2}` holds collections (`{3}`). Put the "
                    "catalog back from a copy (`quiver check --repair` takes `{0}/{4}`), or "
                    "move `{2}` away to start empty; nothing was changed",
                    directory_.path(), kFileName, kCollectionsDirectory, collection->name,
                    kCopyName));
  }
  QV_TRY(const auto bytes, directory_.read_file(kFileName));
  QV_TRY(State loaded, decode_catalog(bytes, fmt::format("{}/{}", directory_.path(), kFileName)));
  MutexLock lock(state_mutex_);
  state_ = std::move(loaded);
  return {};
}

Result<> Catalog::find_strangers() {
  const State state = copy();
  std::set<std::string, std::less<>> known = state.garbage;
  for (const auto& [name, entry] : state.collections) known.insert(entry.directory);
  QV_TRY(const auto found, list_collections());
  for (const DirectoryEntry& entry : found) {
    if (!known.contains(entry.name)) strangers_.push_back(entry.name);
  }
  return {};
}

/// Returns the next number that no entry below `collections/` has. A directory that somebody put
/// there must not become part of the new collection.
Result<std::string> Catalog::free_directory(State& next) const {
  QV_TRY(const auto found, list_collections());
  while (true) {
    std::string name = fmt::format("{:08}", next.next_directory++);
    if (std::ranges::none_of(found, [&](const auto& entry) { return entry.name == name; })) {
      return name;
    }
  }
}

Result<CatalogEntry> Catalog::create(std::string_view name, std::string_view config) {
  MutexLock change(change_mutex_);
  State next = copy();
  QV_TRY(check_free(next, name));
  if (next.aliases.contains(name)) {
    return fail(Code::kAlreadyExists, Subject::kAlias, name,
                fmt::format("alias `{}` exists already", name));
  }
  QV_TRY(std::string fresh, free_directory(next));
  CatalogEntry entry{std::string(name), std::move(fresh), std::string(config)};
  next.collections.emplace(entry.name, entry);
  QV_TRY(commit(std::move(next)));
  return entry;
}

Result<> Catalog::complete(std::string_view name) {
  MutexLock change(change_mutex_);
  State next = copy();
  const auto found = next.collections.find(name);
  if (found == next.collections.end()) return no_collection(name);
  if (std::exchange(found->second.complete, true)) return {};
  return commit(std::move(next));
}

Result<CatalogEntry> Catalog::drop(std::string_view name) {
  MutexLock change(change_mutex_);
  State next = copy();
  const auto found = next.collections.find(name);
  if (found == next.collections.end()) return no_collection(name);
  CatalogEntry entry = std::move(found->second);
  next.collections.erase(found);
  next.garbage.insert(entry.directory);
  std::erase_if(next.aliases, [&](const auto& alias) { return alias.second == name; });
  QV_TRY(commit(std::move(next)));
  return entry;
}

Result<> Catalog::take_back(const CatalogEntry& created) {
  MutexLock change(change_mutex_);
  {
    MutexLock lock(state_mutex_);
    const auto found = state_.collections.find(created.name);
    if (found == state_.collections.end() || found->second.directory != created.directory) {
      return no_collection(created.name);
    }
    state_.collections.erase(found);
    state_.garbage.insert(created.directory);
    std::erase_if(state_.aliases, [&](const auto& alias) { return alias.second == created.name; });
  }
  certain_ = false;
  copy_is_old_ = true;
  return rewrite();
}

Result<> Catalog::forget_garbage(std::string_view directory) {
  MutexLock change(change_mutex_);
  State next = copy();
  const auto found = next.garbage.find(directory);
  if (found == next.garbage.end()) return {};
  next.garbage.erase(found);
  return commit(std::move(next));
}

Result<> Catalog::update(std::string_view name, std::string_view config) {
  MutexLock change(change_mutex_);
  State next = copy();
  const auto found = next.collections.find(name);
  if (found == next.collections.end()) return no_collection(name);
  found->second.config = config;
  return commit(std::move(next));
}

Result<> Catalog::update(std::string_view name, std::string_view directory,
                         std::string_view config) {
  MutexLock change(change_mutex_);
  State next = copy();
  const auto found = next.collections.find(name);
  if (found == next.collections.end() || found->second.directory != directory) {
    return no_collection(name);
  }
  found->second.config = config;
  return commit(std::move(next));
}

Result<std::string> Catalog::reserve() {
  MutexLock change(change_mutex_);
  State next = copy();
  QV_TRY(std::string directory, free_directory(next));
  next.garbage.insert(directory);
  QV_TRY(commit(std::move(next)));
  return directory;
}

Result<> Catalog::adopt(std::string_view name, std::string_view directory, std::string_view config,
                        std::string_view replaced) {
  MutexLock change(change_mutex_);
  State next = copy();
  const auto reserved = next.garbage.find(directory);
  if (reserved == next.garbage.end()) {
    return fail(Code::kNotFound, fmt::format("directory `{}` is not reserved", directory));
  }
  if (next.aliases.contains(name)) {
    return fail(Code::kAlreadyExists, Subject::kAlias, name,
                fmt::format("alias `{}` exists already", name));
  }
  const auto old = next.collections.find(name);
  if ((old == next.collections.end() ? std::string_view() : old->second.directory) != replaced) {
    return fail(Code::kAborted, fmt::format("collection `{}` was changed at the same time", name));
  }
  next.garbage.erase(reserved);
  if (!replaced.empty()) next.garbage.insert(std::string(replaced));
  next.collections.insert_or_assign(
      std::string(name),
      CatalogEntry{std::string(name), std::string(directory), std::string(config), true});
  return commit(std::move(next));
}

Result<std::vector<AliasEntry>> Catalog::plan_aliases(std::span<const AliasChange> changes) const {
  State next = copy();
  for (const AliasChange& change : changes) QV_TRY(apply(change, next));
  std::vector<AliasEntry> planned;
  for (const auto& [alias, collection] : next.aliases) planned.push_back({alias, collection});
  return planned;
}

Result<> Catalog::apply_aliases(std::span<const AliasChange> changes) {
  MutexLock change_lock(change_mutex_);
  State next = copy();
  for (const AliasChange& change : changes) QV_TRY(apply(change, next));
  return commit(std::move(next));
}

Result<> Catalog::commit(State next) {
  QV_TRY(rewrite());
  const auto file = encode_catalog(next);
  auto written = directory_.replace_file(kFileName, file);
  {
    MutexLock lock(state_mutex_);
    // A failed change may still be on disk, so its directory id is not used again.
    state_.next_directory = next.next_directory;
    if (written) state_ = std::move(next);
  }
  if (written) copy_is_old_ = true;
  if (!written && may_be_on_disk(file)) {
    certain_ = false;
    (void)rewrite();  // the first error is reported
  }
  return written;
}

/// False only if the old file is still in place: then the change failed before it took effect.
bool Catalog::may_be_on_disk(Bytes file) const {
  if (!directory_.exists(kFileName)) return false;
  const auto found = directory_.read_file(kFileName);
  return !found || std::ranges::equal(*found, file);
}

Result<> Catalog::settle() {
  MutexLock change(change_mutex_);
  return rewrite();
}

Result<> Catalog::refresh_copy() {
  if (!copy_is_old_) return {};
  MutexLock change(change_mutex_);
  if (!certain_ || !directory_.exists(kFileName)) return {};
  const auto file = encode_catalog(copy());
  const auto found = directory_.exists(kCopyName) ? directory_.read_file(kCopyName)
                                                  : Result<std::vector<std::byte>>();
  if (!found || !std::ranges::equal(*found, file)) {
    QV_TRY(directory_.replace_file(kCopyName, file));
  }
  copy_is_old_ = false;
  return {};
}

Result<> Catalog::rewrite() {
  if (certain_) return {};
  auto written = directory_.replace_file(kFileName, encode_catalog(copy()));
  if (!written) {
    return fail(Code::kUnavailable,
                fmt::format("a change of `{}/{}` failed half-way and cannot be undone yet: {}",
                            directory_.path(), kFileName, written.error().message()));
  }
  certain_ = true;
  return {};
}

Catalog::State Catalog::copy() const {
  MutexLock lock(state_mutex_);
  return state_;
}

std::optional<CatalogEntry> Catalog::find(std::string_view name) const {
  MutexLock lock(state_mutex_);
  const auto found = state_.collections.find(name);
  if (found == state_.collections.end()) return std::nullopt;
  return found->second;
}

std::optional<std::string> Catalog::resolve(std::string_view name_or_alias) const {
  MutexLock lock(state_mutex_);
  if (state_.collections.contains(name_or_alias)) return std::string(name_or_alias);
  const auto alias = state_.aliases.find(name_or_alias);
  if (alias == state_.aliases.end()) return std::nullopt;
  return alias->second;
}

std::vector<CatalogEntry> Catalog::entries() const {
  MutexLock lock(state_mutex_);
  std::vector<CatalogEntry> entries;
  for (const auto& [name, entry] : state_.collections) entries.push_back(entry);
  return entries;
}

std::vector<std::string> Catalog::garbage() const {
  MutexLock lock(state_mutex_);
  return {state_.garbage.begin(), state_.garbage.end()};
}

std::vector<AliasEntry> Catalog::aliases() const {
  MutexLock lock(state_mutex_);
  std::vector<AliasEntry> aliases;
  for (const auto& [name, collection] : state_.aliases) aliases.push_back({name, collection});
  return aliases;
}

}  // namespace quiver::storage
