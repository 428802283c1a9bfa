#include "base/section_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace quiver {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kBufferBytes = 1 << 20;
constexpr std::size_t kHeaderUsed = 12;  ///< magic and version

struct Trailer {
  std::uint64_t table_offset = 0;
  std::uint32_t n_sections = 0;
  std::uint32_t n_rows = 0;
  std::uint64_t table_checksum = 0;
  std::array<char, 8> magic{};
};
static_assert(sizeof(Trailer) == 32);

}  // namespace

SectionWriter::SectionWriter(const SectionFormat& format, std::unique_ptr<WritableFile> file)
    : format_(format), file_(std::move(file)) {
  buffer_.reserve(kBufferBytes);
  std::array<std::byte, kAlignment> header{};
  std::memcpy(header.data(), format.magic.data(), 8);
  std::memcpy(header.data() + 8, &format.version, sizeof(format.version));
  write(header);
}

void SectionWriter::begin(std::uint32_t kind, std::size_t field) {
  table_.push_back({kind, static_cast<std::uint32_t>(field), position_, 0, 0});
  checksum_ = Checksum();
  n_hashed_ = buffer_.size();
}

void SectionWriter::end() {
  hash_buffer();
  table_.back().size = position_ - table_.back().offset;
  table_.back().checksum = checksum_.digest();
  pad();
}

Result<> SectionWriter::finish(std::uint32_t n_rows) {
  const Bytes table = std::as_bytes(std::span(table_));
  Trailer trailer{
      position_, static_cast<std::uint32_t>(table_.size()), n_rows, checksum(table), {}};
  std::memcpy(trailer.magic.data(), format_.end_magic.data(), trailer.magic.size());
  write(table);
  write(bytes_of(trailer));
  flush();
  QV_TRY(std::move(status_));
  QV_TRY(file_->sync());
  return file_->close();
}

void SectionWriter::write(Bytes bytes) {
  position_ += bytes.size();
  if (buffer_.size() + bytes.size() > kBufferBytes) flush();
  if (bytes.size() >= kBufferBytes) {
    checksum_.update(bytes);
    if (status_) status_ = file_->append(bytes);
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
}

void SectionWriter::flush() {
  hash_buffer();
  if (status_ && !buffer_.empty()) status_ = file_->append(buffer_);
  buffer_.clear();
  n_hashed_ = 0;
}

/// Hashing what has gathered costs far less than hashing element by element.
void SectionWriter::hash_buffer() {
  checksum_.update(Bytes(buffer_).subspan(n_hashed_));
  n_hashed_ = buffer_.size();
}

void SectionWriter::pad() {
  constexpr std::array<std::byte, kAlignment> kZeros{};
  write(Bytes(kZeros).first((kAlignment - position_ % kAlignment) % kAlignment));
}

Result<SectionReader> SectionReader::open(const SectionFormat& format,
                                          std::shared_ptr<const MappedFile> file,
                                          std::string path) {
  SectionReader reader(format, std::move(path));
  reader.file_ = shared_bytes(std::move(file));
  QV_TRY(reader.check());
  return reader;
}

bool SectionReader::has(std::uint32_t kind, std::size_t field) const {
  return sections_.contains({kind, static_cast<std::uint32_t>(field)});
}

Result<> SectionReader::check_offsets(std::span<const std::uint64_t> offsets,
                                      std::uint64_t total) const {
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != total ||
      !std::is_sorted(offsets.begin(), offsets.end())) {
    return damaged("offsets do not ascend from 0 to the size of their section");
  }
  return {};
}

tl::unexpected<Error> SectionReader::damaged(std::string_view what) const {
  return fail(Code::kDataLoss, fmt::format("{} {} is damaged: {}", format_.name, path_, what));
}

Result<SharedBytes> SectionReader::find(std::uint32_t kind, std::size_t field) const {
  const auto found = sections_.find({kind, static_cast<std::uint32_t>(field)});
  if (found == sections_.end()) {
    return damaged(fmt::format("section {} of field {} is missing", kind, field));
  }
  return found->second;
}

tl::unexpected<Error> SectionReader::wrong_size(std::uint32_t kind, std::size_t field,
                                                std::uint64_t found, std::uint64_t wanted) const {
  return damaged(fmt::format("section {} of field {} has {} elements, expected {}", kind, field,
                             found, wanted));
}

Result<> SectionReader::check() {
  const Bytes bytes = file_.span();
  if (bytes.size() < kAlignment + sizeof(Trailer)) return damaged("too short");
  std::uint32_t version = 0;
  std::memcpy(&version, bytes.data() + 8, sizeof(version));
  if (as_text(bytes.first(8)) != format_.magic) return damaged(fmt::format("no {}", format_.name));
  if (version != format_.version) {
    return damaged(fmt::format("version {}, expected {}", version, format_.version));
  }
  Trailer trailer;
  std::memcpy(&trailer, bytes.data() + bytes.size() - sizeof(trailer), sizeof(trailer));
  if (std::string_view(trailer.magic.data(), 8) != format_.end_magic) return damaged("cut short");
  const std::uint64_t table_bytes = std::uint64_t{trailer.n_sections} * sizeof(SectionEntry);
  if (trailer.table_offset > bytes.size() ||
      table_bytes != bytes.size() - sizeof(trailer) - trailer.table_offset) {
    return damaged("the section table is out of place");
  }
  if (checksum(bytes.subspan(trailer.table_offset, table_bytes)) != trailer.table_checksum) {
    return damaged("checksum of the section table");
  }
  n_rows_ = trailer.n_rows;
  return check_sections(trailer.table_offset, trailer.n_sections);
}

Result<> SectionReader::check_sections(std::uint64_t table_offset, std::uint32_t n_sections) {
  std::uint64_t end = kHeaderUsed;
  for (std::uint32_t i = 0; i < n_sections; ++i) {
    SectionEntry entry;
    std::memcpy(&entry, file_.data() + table_offset + i * sizeof(entry), sizeof(entry));
    if (entry.offset > table_offset || entry.size > table_offset - entry.offset ||
        entry.offset % kAlignment != 0) {
      return damaged(fmt::format("section {} is out of place", entry.kind));
    }
    QV_TRY(check_padding(end, entry.offset));
    end = entry.offset + entry.size;
    auto section = file_.subspan(entry.offset, entry.size);
    if (checksum(section.span()) != entry.checksum) {
      return damaged(fmt::format("checksum of section {} of field {}", entry.kind, entry.field));
    }
    sections_.emplace(std::pair(entry.kind, entry.field), std::move(section));
  }
  return check_padding(end, table_offset);
}

/// What lies between sections belongs to none of them, and is less than one alignment of zeros.
Result<> SectionReader::check_padding(std::uint64_t from, std::uint64_t to) const {
  if (to < from || to - from >= kAlignment) return damaged("a section is out of place");
  const Bytes gap = file_.span().subspan(from, to - from);
  const bool zeros =
      std::all_of(gap.begin(), gap.end(), [](std::byte b) { return b == std::byte{}; });
  return zeros ? Result<>() : damaged("bytes between sections");
}

}  // namespace quiver
