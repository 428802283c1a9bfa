#include "engine/files/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/io/section_file.h"
#include "engine/files/describe.h"
#include "payload/column/format.h"

namespace quiver::engine {
namespace {

using payload::format::Header;

constexpr std::size_t kPieceBytes = 256 << 10;

tl::unexpected<Error> damaged(const std::string& path, std::string_view what) {
  return fail(Code::kDataLoss, fmt::format("`{}` is damaged: {}", path, what));
}

/// The checksum covers the whole file with its own field set to 0.
Result<std::uint64_t> column_checksum(ReadableFile& file, Header header) {
  header.checksum = 0;
  Checksum sum;
  sum.update(std::as_bytes(std::span(&header, 1)));
  std::vector<std::byte> piece(kPieceBytes);
  for (std::uint64_t at = sizeof(header); at < file.size();) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, file.size() - at));
    QV_TRY(file.read(at, std::span(piece).first(n)));
    sum.update(Bytes(piece).first(n));
    at += n;
  }
  return sum.digest();
}

Result<> verify_column(ReadableFile& file, const std::string& path) {
  Header header;
  QV_TRY(file.read(0, std::as_writable_bytes(std::span(&header, 1))));
  if (header.version != payload::format::kVersion &&
      header.version != payload::format::kVersionWithOrigin) {
    return damaged(path, fmt::format("version {}", header.version));
  }
  if (header.file_bytes != file.size()) {
    return damaged(path, fmt::format("{} bytes, wanted {}", file.size(), header.file_bytes));
  }
  const FileOrigin origin{header.owner, header.path};
  if (header.version == payload::format::kVersionWithOrigin && file.origin() &&
      origin != *file.origin()) {
    return damaged(path, describe_origin(origin, *file.origin()));
  }
  QV_TRY(const std::uint64_t sum, column_checksum(file, header));
  return sum == header.checksum ? Result<>() : damaged(path, "wrong checksum");
}

}  // namespace

Result<> verify_file(const Directory& directory, std::string_view name) {
  const std::string path = fmt::format("{}/{}", directory.path(), name);
  QV_TRY(const auto file, directory.open_file(name));
  std::array<char, 8> magic{};
  if (file->size() < sizeof(Header)) return damaged(path, "too short");
  QV_TRY(file->read(0, std::as_writable_bytes(std::span(magic))));
  const std::string_view found(magic.data(), magic.size());
  if (found == kColumnMagic) return verify_column(*file, path);
  const SectionKind* kind = section_kind(found);
  if (kind == nullptr) {
    return fail(Code::kUnimplemented, fmt::format("`{}`: its first bytes are of no format", path));
  }
  QV_TRY(SectionReader::open({kind->kind.name, kind->magic, kind->end_magic}, directory, name));
  return {};
}

}  // namespace quiver::engine
