#include "storage/catalog.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "storage/catalog_format.h"

namespace quiver::storage {

namespace {

tl::unexpected<Error> no_collection(std::string_view name) {
  return fail(Code::kNotFound, fmt::format("Collection `{}` doesn't exist!", name));
}

tl::unexpected<Error> no_alias(std::string_view name) {
  return fail(Code::kNotFound, fmt::format("Alias {} does not exists!", name));
}

Result<> check_free(const Catalog::State& state, std::string_view name) {
  if (state.collections.contains(name)) {
    return fail(Code::kAlreadyExists, fmt::format("Collection `{}` already exists!", name));
  }
  return {};
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
  QV_TRY(catalog->find_orphans());
  return catalog;
}

Result<> Catalog::load() {
  if (!directory_.exists(kFileName)) return {};
  QV_TRY(const auto bytes, directory_.read_file(kFileName));
  QV_TRY(State loaded, decode_catalog(bytes, fmt::format("{}/{}", directory_.path(), kFileName)));
  MutexLock lock(state_mutex_);
  state_ = std::move(loaded);
  return {};
}

Result<> Catalog::find_orphans() {
  if (!directory_.exists(kCollectionsDirectory)) return {};
  std::set<std::string> owned;
  for (const CatalogEntry& entry : entries()) owned.insert(entry.directory);
  QV_TRY(const auto below, directory_.open_subdirectory(kCollectionsDirectory));
  QV_TRY(const auto found, below->list());
  for (const DirectoryEntry& entry : found) {
    if (!owned.contains(entry.name)) orphans_.push_back(entry.name);
  }
  return {};
}

Result<CatalogEntry> Catalog::create(std::string_view name, std::string_view config) {
  MutexLock change(change_mutex_);
  State next = copy();
  QV_TRY(check_free(next, name));
  if (next.aliases.contains(name)) {
    return fail(Code::kAlreadyExists, fmt::format("Alias {} already exists!", name));
  }
  CatalogEntry entry{std::string(name), fmt::format("{:08}", next.next_directory++),
                     std::string(config)};
  next.collections.emplace(entry.name, entry);
  QV_TRY(commit(std::move(next)));
  return entry;
}

Result<CatalogEntry> Catalog::drop(std::string_view name) {
  MutexLock change(change_mutex_);
  State next = copy();
  const auto found = next.collections.find(name);
  if (found == next.collections.end()) return no_collection(name);
  CatalogEntry entry = std::move(found->second);
  next.collections.erase(found);
  std::erase_if(next.aliases, [&](const auto& alias) { return alias.second == name; });
  QV_TRY(commit(std::move(next)));
  return entry;
}

Result<> Catalog::update(std::string_view name, std::string_view config) {
  MutexLock change(change_mutex_);
  State next = copy();
  const auto found = next.collections.find(name);
  if (found == next.collections.end()) return no_collection(name);
  found->second.config = config;
  return commit(std::move(next));
}

Result<> Catalog::apply_aliases(std::span<const AliasChange> changes) {
  MutexLock change_lock(change_mutex_);
  State next = copy();
  for (const AliasChange& change : changes) QV_TRY(apply(change, next));
  return commit(std::move(next));
}

Result<> Catalog::commit(State next) {
  auto written = directory_.replace_file(kFileName, encode_catalog(next));
  MutexLock lock(state_mutex_);
  // A failed change may be on disk all the same: its directory id is spent.
  state_.next_directory = next.next_directory;
  QV_TRY(std::move(written));
  state_ = std::move(next);
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

std::vector<Alias> Catalog::aliases() const {
  MutexLock lock(state_mutex_);
  std::vector<Alias> aliases;
  for (const auto& [name, collection] : state_.aliases) aliases.push_back({name, collection});
  return aliases;
}

}  // namespace quiver::storage
