#include "storage/catalog/catalog_format.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "base/hash.h"

namespace quiver::storage {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "QVCATLOG";
constexpr std::uint32_t kVersion = 2;
constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kPayloadBytesAt = 16;
constexpr std::size_t kChecksumAt = 24;

/// Checksum of all bytes except the checksum field itself.
std::uint64_t catalog_checksum(Bytes file) {
  Checksum sum;
  sum.update(file.first(kChecksumAt));
  sum.update(file.subspan(kChecksumAt + sizeof(std::uint64_t)));
  return sum.digest();
}

class CatalogWriter {
 public:
  template <class Number>
  void number(Number value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(value));
    std::memcpy(bytes_.data() + at, &value, sizeof(value));
  }
  void raw(std::string_view text) {
    const Bytes bytes = as_byte_span(text);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void text(std::string_view text) {
    number(static_cast<std::uint32_t>(text.size()));
    raw(text);
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads front to back. After a read beyond the end every result is empty and `ok` is false.
class CatalogReader {
 public:
  explicit CatalogReader(Bytes bytes) : bytes_(bytes) {}
  template <class Number>
  Number number() {
    Number value{};
    if (const auto piece = take(sizeof(value))) std::memcpy(&value, piece->data(), sizeof(value));
    return value;
  }
  std::string text() {
    const auto piece = take(number<std::uint32_t>());
    return piece ? std::string(as_text(*piece)) : std::string();
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return ok_ && bytes_.empty(); }

 private:
  std::optional<Bytes> take(std::size_t size) {
    ok_ = ok_ && size <= bytes_.size();
    if (!ok_) return std::nullopt;
    const Bytes piece = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return piece;
  }

  Bytes bytes_;
  bool ok_ = true;
};

tl::unexpected<Error> damaged(const std::string& path, std::string_view what) {
  return fail(Code::kDataLoss, fmt::format("the catalog `{}` is damaged: {}", path, what));
}

/// Checks the header and returns the version.
Result<std::uint32_t> check_header(Bytes file, const std::string& path) {
  if (file.size() < kHeaderBytes) {
    return damaged(path, fmt::format("{} bytes, wanted at least {}", file.size(), kHeaderBytes));
  }
  CatalogReader header(file.subspan(kMagic.size()));
  const auto version = header.number<std::uint32_t>();
  const auto flags = header.number<std::uint32_t>();
  const auto payload_bytes = header.number<std::uint64_t>();
  const auto sum = header.number<std::uint64_t>();
  if (as_text(file.first(kMagic.size())) != kMagic) return damaged(path, "wrong magic bytes");
  if (sum != catalog_checksum(file)) return damaged(path, "the checksum does not match");
  if (version < 1 || version > kVersion || flags != 0) {
    return fail(Code::kUnimplemented,
                fmt::format("the catalog `{}` has format version {} (flags {}), this server reads "
                            "versions 1 to {}",
                            path, version, flags, kVersion));
  }
  if (payload_bytes != file.size() - kHeaderBytes) {
    return damaged(path, fmt::format("{} bytes after the header, wanted {}",
                                     file.size() - kHeaderBytes, payload_bytes));
  }
  return version;
}

void read_collections(CatalogReader& reader, std::uint32_t version, Catalog::State& to) {
  for (auto n = reader.number<std::uint32_t>(); n > 0 && reader.ok(); --n) {
    CatalogEntry entry;
    entry.name = reader.text();
    entry.directory = reader.text();
    entry.config = reader.text();
    entry.complete = version < 2 || reader.number<std::uint8_t>() != 0;
    to.collections.emplace(entry.name, entry);
  }
}

void read_aliases(CatalogReader& reader, Catalog::State& to) {
  for (auto n = reader.number<std::uint32_t>(); n > 0 && reader.ok(); --n) {
    std::string alias = reader.text();
    to.aliases.emplace(std::move(alias), reader.text());
  }
}

void read_garbage(CatalogReader& reader, Catalog::State& to) {
  for (auto n = reader.number<std::uint32_t>(); n > 0 && reader.ok(); --n) {
    to.garbage.insert(reader.text());
  }
}

}  // namespace

std::vector<std::byte> encode_catalog(const Catalog::State& state) {
  CatalogWriter out;
  out.raw(kMagic);
  out.number(kVersion);
  out.number(std::uint32_t{0});
  out.bytes().resize(kHeaderBytes);
  out.number(state.next_directory);
  out.number(static_cast<std::uint32_t>(state.collections.size()));
  for (const auto& [name, entry] : state.collections) {
    out.text(name);
    out.text(entry.directory);
    out.text(entry.config);
    out.number(static_cast<std::uint8_t>(entry.complete ? 1 : 0));
  }
  out.number(static_cast<std::uint32_t>(state.aliases.size()));
  for (const auto& [alias, collection] : state.aliases) {
    out.text(alias);
    out.text(collection);
  }
  out.number(static_cast<std::uint32_t>(state.garbage.size()));
  for (const std::string& directory : state.garbage) out.text(directory);
  auto& bytes = out.bytes();
  const std::uint64_t payload_bytes = bytes.size() - kHeaderBytes;
  std::memcpy(bytes.data() + kPayloadBytesAt, &payload_bytes, sizeof(payload_bytes));
  const std::uint64_t sum = catalog_checksum(bytes);
  std::memcpy(bytes.data() + kChecksumAt, &sum, sizeof(sum));
  return std::move(bytes);
}

Result<Catalog::State> decode_catalog(Bytes bytes, const std::string& path) {
  QV_TRY(const std::uint32_t version, check_header(bytes, path));
  Catalog::State state;
  CatalogReader reader(bytes.subspan(kHeaderBytes));
  state.next_directory = reader.number<std::uint64_t>();
  read_collections(reader, version, state);
  read_aliases(reader, state);
  if (version >= 2) read_garbage(reader, state);
  if (!reader.at_end()) return damaged(path, "its entries do not fill the file exactly");
  return state;
}

}  // namespace quiver::storage
