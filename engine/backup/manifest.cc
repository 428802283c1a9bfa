#include "engine/backup/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "payload/json/document.h"

namespace quiver::engine {
namespace {

using payload::Array;
using payload::Object;
using payload::Value;

constexpr std::uint64_t kManifestVersion = 1;
constexpr std::array<std::string_view, 3> kKinds = {"collection", "shard", "storage"};
constexpr std::string_view kNoChecksum = "----------------";

tl::unexpected<Error> bad_manifest(std::string_view what) {
  return fail(Code::kInvalidArgument, fmt::format("the snapshot's manifest is damaged: {}", what));
}

Value text_value(std::string_view text) { return Value(std::string(text)); }

Value encode(const SnapshotCollection& collection) {
  Array shards;
  for (const auto& shard : collection.shards) {
    shards.emplace_back(Object{{"shard", Value(std::uint64_t{shard.number})},
                               {"seq", Value(to_number(shard.seq))}});
  }
  return Value(Object{{"name", text_value(collection.name)},
                      {"prefix", text_value(collection.prefix)},
                      {"config", text_value(collection.config)},
                      {"shards", Value(std::move(shards))}});
}

Value encode(const SnapshotFile& file) {
  const std::string sum =
      file.checksum ? fmt::format("{:016x}", *file.checksum) : std::string(kNoChecksum);
  return Value(Object{{"path", text_value(file.path)},
                      {"bytes", Value(file.size_bytes)},
                      {"xxh3", text_value(sum)}});
}

Result<std::string> string_of(const Value& json, std::string_view key) {
  const Value* value = json.find(key);
  if (value == nullptr || value->as_string() == nullptr) {
    return bad_manifest(fmt::format("`{}` is missing or no text", key));
  }
  return *value->as_string();
}

Result<std::uint64_t> number_of(const Value& json, std::string_view key) {
  const auto number = json.find_unsigned(key);
  if (!number) return bad_manifest(fmt::format("`{}` is missing or no number", key));
  return *number;
}

Result<const Array*> array_of(const Value& json, std::string_view key) {
  const Value* value = json.find(key);
  if (value == nullptr || value->as_array() == nullptr) {
    return bad_manifest(fmt::format("`{}` is missing or no list", key));
  }
  return value->as_array();
}

Result<SnapshotCollection> decode_collection(const Value& json) {
  SnapshotCollection collection;
  QV_TRY(collection.name, string_of(json, "name"));
  QV_TRY(collection.prefix, string_of(json, "prefix"));
  QV_TRY(collection.config, string_of(json, "config"));
  QV_TRY(const Array* shards, array_of(json, "shards"));
  for (const Value& shard : *shards) {
    QV_TRY(const std::uint64_t number, number_of(shard, "shard"));
    QV_TRY(const std::uint64_t seq, number_of(shard, "seq"));
    collection.shards.push_back({static_cast<std::uint32_t>(number), Seq{seq}});
  }
  return collection;
}

Result<std::optional<std::uint64_t>> decode_checksum(const std::string& text) {
  if (text == kNoChecksum) return std::optional<std::uint64_t>();
  std::uint64_t sum = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), sum, 16);
  if (text.size() != kNoChecksum.size() || ec != std::errc() || end != text.data() + text.size()) {
    return bad_manifest("`xxh3` is no checksum");
  }
  return std::optional(sum);
}

Result<SnapshotFile> decode_file(const Value& json) {
  SnapshotFile file;
  QV_TRY(file.path, string_of(json, "path"));
  QV_TRY(file.size_bytes, number_of(json, "bytes"));
  QV_TRY(const std::string sum, string_of(json, "xxh3"));
  QV_TRY(file.checksum, decode_checksum(sum));
  return file;
}

Result<SnapshotKind> decode_kind(const Value& json) {
  QV_TRY(const std::string text, string_of(json, "kind"));
  const auto found = std::ranges::find(kKinds, text);
  if (found == kKinds.end()) return bad_manifest(fmt::format("the kind `{}` is unknown", text));
  return static_cast<SnapshotKind>(found - kKinds.begin());
}

Result<> check_version(const Value& json) {
  QV_TRY(const std::uint64_t version, number_of(json, "version"));
  if (version == kManifestVersion) return {};
  return fail(Code::kUnimplemented,
              fmt::format("the snapshot has format version {}, this server reads version {}",
                          version, kManifestVersion));
}

}  // namespace

bool SnapshotManifest::is_complete() const {
  return std::ranges::all_of(files, [](const auto& file) { return file.checksum.has_value(); });
}

std::string_view to_string(SnapshotKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::string encode_snapshot_manifest(const SnapshotManifest& manifest) {
  Array collections;
  for (const auto& collection : manifest.collections) collections.push_back(encode(collection));
  Array aliases;
  for (const auto& alias : manifest.aliases) {
    aliases.emplace_back(
        Object{{"alias", text_value(alias.alias)}, {"collection", text_value(alias.collection)}});
  }
  Array files;
  for (const auto& file : manifest.files) files.push_back(encode(file));
  return payload::to_json(Value(Object{{"version", Value(kManifestVersion)},
                                       {"kind", text_value(to_string(manifest.kind))},
                                       {"created_at_s", Value(manifest.created_at_s)},
                                       {"collections", Value(std::move(collections))},
                                       {"aliases", Value(std::move(aliases))},
                                       {"files", Value(std::move(files))}}));
}

Result<SnapshotManifest> decode_snapshot_manifest(std::string_view text) {
  const auto json = payload::parse_json(text);
  if (!json) return bad_manifest(json.error().message());
  QV_TRY(check_version(*json));
  SnapshotManifest manifest;
  QV_TRY(manifest.kind, decode_kind(*json));
  QV_TRY(const std::uint64_t created_at_s, number_of(*json, "created_at_s"));
  manifest.created_at_s = static_cast<std::int64_t>(created_at_s);
  QV_TRY(const Array* collections, array_of(*json, "collections"));
  for (const Value& collection : *collections) {
    QV_TRY(manifest.collections.emplace_back(), decode_collection(collection));
  }
  QV_TRY(const Array* aliases, array_of(*json, "aliases"));
  for (const Value& alias : *aliases) {
    auto& added = manifest.aliases.emplace_back();
    QV_TRY(added.alias, string_of(alias, "alias"));
    QV_TRY(added.collection, string_of(alias, "collection"));
  }
  QV_TRY(const Array* files, array_of(*json, "files"));
  for (const Value& file : *files) {
    QV_TRY(manifest.files.emplace_back(), decode_file(file));
  }
  return manifest;
}

}  // namespace quiver::engine
