#include "engine/backup/tar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace quiver::engine {
namespace {

/// POSIX 1003.1, "ustar": where fields begin, and their sizes in bytes.
struct Field {
  std::size_t at;
  std::size_t size;
};
constexpr Field kName{0, 100};
constexpr Field kMode{100, 8};
constexpr Field kOwner{108, 8};
constexpr Field kGroup{116, 8};
constexpr Field kSize{124, 12};
constexpr Field kTime{136, 12};
constexpr Field kSum{148, 8};
constexpr std::size_t kKindAt = 156;
constexpr Field kMagic{257, 8};
constexpr Field kPrefix{345, 155};
constexpr std::string_view kMagicText("ustar\00000", 8);
/// Larger sizes have no place in octal digits and are binary, with the highest bit set (GNU, also
/// read by other programs).
constexpr std::uint64_t kMaxOctalSize = (std::uint64_t{1} << 33) - 1;

void put(std::string& block, Field field, std::string_view text) {
  std::copy(text.begin(), text.end(), block.begin() + static_cast<std::ptrdiff_t>(field.at));
}

void put_size(std::string& block, std::uint64_t size) {
  if (size <= kMaxOctalSize) return put(block, kSize, fmt::format("{:011o}", size));
  block[kSize.at] = static_cast<char>(0x80);
  for (std::size_t i = 0; i < 8; ++i) {
    block[kSize.at + kSize.size - 1 - i] = static_cast<char>(size >> (8 * i) & 0xFF);
  }
}

/// The sum of the block's bytes, with the field of the sum counted as spaces.
std::uint64_t sum_of(std::string_view block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool is_sum = i >= kSum.at && i < kSum.at + kSum.size;
    sum += is_sum ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

std::string_view text_of(std::string_view block, Field field) {
  const auto text = block.substr(field.at, field.size);
  return text.substr(0, text.find('\0'));
}

std::optional<std::uint64_t> octal(std::string_view text) {
  std::uint64_t value = 0;
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  text = text.substr(0, text.find_first_of(std::string_view(" \0", 2)));
  if (text.empty() || text.size() > 20) return std::nullopt;
  for (const char c : text) {
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

std::optional<std::uint64_t> size_of(std::string_view block) {
  const auto text = block.substr(kSize.at, kSize.size);
  if ((static_cast<unsigned char>(text[0]) & 0x80) == 0) return octal(text);
  std::uint64_t size = 0;
  for (const char c : text.substr(4)) size = size << 8 | static_cast<unsigned char>(c);
  const bool fits = text.substr(0, 4) == std::string_view("\x80\0\0\0", 4);
  return fits ? std::optional(size) : std::nullopt;
}

tl::unexpected<Error> bad_archive(std::string_view what) {
  return fail(Code::kInvalidArgument, fmt::format("the archive is damaged: {}", what));
}

}  // namespace

Result<> check_archive_path(std::string_view path) {
  const auto refuse = [&](std::string_view why) {
    return fail(Code::kInvalidArgument,
                fmt::format("the archive holds a file with the name `{}`, which {}",
                            path.substr(0, 300), why));
  };
  if (path.empty()) return refuse("is empty");
  if (path.front() == '/') return refuse("is absolute");
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (std::ranges::any_of(path, is_control)) return refuse("has control characters");
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const auto part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return refuse("may leave its folder");
    begin = end + 1;
  }
  return {};
}

Result<std::string> tar_header(const TarEntry& entry) {
  QV_TRY(check_archive_path(entry.path));
  std::string_view name = entry.path;
  std::string_view prefix;
  if (name.size() > kName.size) {
    const std::size_t slash = entry.path.find('/', name.size() - kName.size - 1);
    if (slash == std::string::npos || slash > kPrefix.size) {
      return fail(Code::kInvalidArgument,
                  fmt::format("`{}` is too long for an archive", entry.path));
    }
    prefix = name.substr(0, slash);
    name.remove_prefix(slash + 1);
  }
  std::string block(kTarBlockBytes, '\0');
  put(block, kName, name);
  put(block, kMode, "0000644");
  put(block, kOwner, "0000000");
  put(block, kGroup, "0000000");
  put_size(block, entry.size_bytes);
  put(block, kTime, "00000000000");
  block[kKindAt] = '0';
  put(block, kMagic, kMagicText);
  put(block, kPrefix, prefix);
  put(block, kSum, fmt::format("{:06o}", sum_of(block)));
  block[kSum.at + 7] = ' ';
  return block;
}

std::uint64_t tar_padding(std::uint64_t size_bytes) {
  return (kTarBlockBytes - size_bytes % kTarBlockBytes) % kTarBlockBytes;
}

Result<std::optional<TarEntry>> parse_tar_header(std::string_view block) {
  if (block.size() != kTarBlockBytes) return bad_archive("a header is cut short");
  if (block.find_first_not_of('\0') == std::string_view::npos) return std::optional<TarEntry>();
  if (block.substr(kMagic.at, 5) != "ustar") return bad_archive("it is no tar archive");
  if (octal(block.substr(kSum.at, kSum.size)) != sum_of(block)) {
    return bad_archive("the checksum of a header does not match");
  }
  std::string path(text_of(block, kPrefix));
  if (!path.empty()) path += '/';
  path += text_of(block, kName);
  QV_TRY(check_archive_path(path));
  const char kind = block[kKindAt];
  if (kind != '0' && kind != '\0') {
    return fail(Code::kInvalidArgument,
                fmt::format("the archive holds `{}`, an entry of kind `{}`; only files are allowed",
                            path, kind));
  }
  const auto size = size_of(block);
  if (!size) return bad_archive("the size of a file is no number");
  return std::optional<TarEntry>(TarEntry{std::move(path), *size});
}

}  // namespace quiver::engine
