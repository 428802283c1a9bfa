#include "engine/backup/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/backup/tar.h"
#include "payload/json/document.h"

namespace quiver::engine {
namespace {

constexpr std::uint64_t kArchiveVersion = 1;
constexpr std::string_view kArchiveFormat = "quiver-snapshot";

/// All numbers are padded, so that the intro's size depends on nothing.
std::string encode_intro(const ArchiveIntro& intro) {
  return fmt::format(
      R"({{"format":"{}","version":{},"manifest_offset":{:>20},"manifest_bytes":{:>20}}})",
      kArchiveFormat, kArchiveVersion, intro.manifest_offset, intro.manifest_bytes);
}

std::uint64_t entry_bytes(std::uint64_t size_bytes) {
  return kTarBlockBytes + size_bytes + tar_padding(size_bytes);
}

}  // namespace

Result<ArchiveIntro> decode_intro(std::string_view text) {
  const auto json = payload::parse_json(text);
  const payload::Value* format = json ? json->find("format") : nullptr;
  if (format == nullptr || format->as_string() == nullptr ||
      *format->as_string() != kArchiveFormat) {
    return fail(Code::kInvalidArgument, "the archive is no snapshot of this server");
  }
  const auto version = json->find_unsigned("version");
  if (version != kArchiveVersion) {
    return fail(Code::kUnimplemented,
                fmt::format("the archive has format version {}, this server reads version {}",
                            version.value_or(0), kArchiveVersion));
  }
  const auto offset = json->find_unsigned("manifest_offset");
  const auto bytes = json->find_unsigned("manifest_bytes");
  if (!offset || !bytes) {
    return fail(Code::kInvalidArgument, "the archive does not say where its manifest is");
  }
  return ArchiveIntro{*offset, *bytes};
}

Result<ArchiveLayout> ArchiveLayout::of(const SnapshotManifest& manifest) {
  const std::string text = encode_snapshot_manifest(manifest);
  std::uint64_t at = entry_bytes(encode_intro({}).size());
  for (const auto& file : manifest.files) at += entry_bytes(file.size_bytes);
  ArchiveLayout layout;
  QV_TRY(layout.add_text_file(kIntroFile, encode_intro({at + kTarBlockBytes, text.size()})));
  for (std::size_t i = 0; i < manifest.files.size(); ++i) {
    const auto& file = manifest.files[i];
    QV_TRY(auto header, tar_header({file.path, file.size_bytes}));
    layout.add(std::move(header));
    layout.add_file(i, file.size_bytes);
    layout.add(std::string(tar_padding(file.size_bytes), '\0'));
  }
  QV_TRY(layout.add_text_file(kManifestFile, text));
  layout.add(std::string(kTarEndBytes, '\0'));
  return layout;
}

const ArchiveLayout::Piece& ArchiveLayout::piece_at(std::uint64_t offset) const {
  return *std::prev(std::ranges::upper_bound(pieces_, offset, {}, &Piece::offset));
}

void ArchiveLayout::add(std::string text) {
  if (text.empty()) return;
  const std::uint64_t size = text.size();
  pieces_.push_back({size_bytes_, size, std::move(text), std::nullopt});
  size_bytes_ += size;
}

void ArchiveLayout::add_file(std::size_t number, std::uint64_t size_bytes) {
  if (size_bytes == 0) return;
  pieces_.push_back({size_bytes_, size_bytes, {}, number});
  size_bytes_ += size_bytes;
}

Result<> ArchiveLayout::add_text_file(std::string_view name, const std::string& text) {
  QV_TRY(auto header, tar_header({std::string(name), text.size()}));
  add(std::move(header));
  add(text);
  add(std::string(tar_padding(text.size()), '\0'));
  return {};
}

}  // namespace quiver::engine
