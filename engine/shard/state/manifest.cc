#include "engine/shard/state/manifest.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <span>

#include "payload/json/document.h"

namespace quiver::engine {
namespace {

constexpr std::uint64_t kManifestVersion = 1;
constexpr std::uint64_t kVersionWithDamage = 2;
constexpr std::string_view kDeletedPrefix = "deleted/";

tl::unexpected<Error> damaged_manifest(std::string_view what) {
  return fail(Code::kDataLoss, fmt::format("the shard's manifest is damaged: {}", what));
}

Result<std::vector<std::uint64_t>> numbers_of(const payload::Value& json, std::string_view key) {
  const auto* list = json.find(key);
  if (list == nullptr || list->as_array() == nullptr) {
    return damaged_manifest(fmt::format("{} is missing", key));
  }
  std::vector<std::uint64_t> numbers;
  for (const auto& element : *list->as_array()) {
    const auto id = element.as_unsigned();
    if (!id) return damaged_manifest("a segment is not a number");
    numbers.push_back(*id);
  }
  return numbers;
}

}  // namespace

std::string encode_manifest(const Manifest& manifest) {
  const bool has_damage = !manifest.damaged.empty();
  const std::string damaged =
      has_damage ? fmt::format(R"(,"damaged":[{}])", fmt::join(manifest.damaged, ",")) : "";
  return fmt::format(
      R"({{"version":{},"next_segment":{},"covered":{},"last":{},"segments":[{}]{}}})",
      has_damage ? kVersionWithDamage : kManifestVersion, manifest.next_segment,
      to_number(manifest.covered), to_number(manifest.last), fmt::join(manifest.segments, ","),
      damaged);
}

Result<Manifest> decode_manifest(std::string_view text) {
  const auto json = payload::parse_json(text);
  if (!json) return damaged_manifest(json.error().message());
  const auto version = json->find_unsigned("version");
  if (version != kManifestVersion && version != kVersionWithDamage) {
    return damaged_manifest("version is neither 1 nor 2");
  }
  const auto next = json->find_unsigned("next_segment");
  const auto covered = json->find_unsigned("covered");
  if (!next || !covered) return damaged_manifest("next_segment or covered is missing");
  Manifest manifest{*next, Seq{*covered}, {}, Seq{json->find_unsigned("last").value_or(0)}, {}};
  QV_TRY(manifest.segments, numbers_of(*json, "segments"));
  if (version == kVersionWithDamage) {
    QV_TRY(manifest.damaged, numbers_of(*json, "damaged"));
  }
  return manifest;
}

std::string deleted_key(std::uint64_t segment) {
  return fmt::format("{}{}", kDeletedPrefix, segment);
}

std::optional<std::uint64_t> segment_of_deleted_key(std::string_view key) {
  if (!key.starts_with(kDeletedPrefix)) return std::nullopt;
  key.remove_prefix(kDeletedPrefix.size());
  std::uint64_t segment = 0;
  const char* end = key.data() + key.size();
  const auto [stop, error] = std::from_chars(key.data(), end, segment);
  if (error != std::errc() || stop != end) return std::nullopt;
  return segment;
}

std::string encode_bitset(const Bitset& bits) {
  const std::uint64_t size = bits.size();
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof(size));
  bytes.append(reinterpret_cast<const char*>(bits.words().data()), bits.words().size_bytes());
  return bytes;
}

Result<Bitset> decode_bitset(std::string_view bytes, std::size_t expected_size) {
  Bitset bits(expected_size);
  const std::uint64_t size = expected_size;
  if (bytes.size() != sizeof(size) + bits.words().size_bytes() ||
      std::memcmp(bytes.data(), &size, sizeof(size)) != 0) {
    return fail(Code::kDataLoss,
                fmt::format("deleted rows: {} bytes do not fit a segment of {} rows", bytes.size(),
                            expected_size));
  }
  if (expected_size != 0) {
    std::memcpy(bits.words().data(), bytes.data() + sizeof(size), bits.words().size_bytes());
  }
  return bits;
}

}  // namespace quiver::engine
