#include "base/io/section_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/io/checked_files.h"
#include "base/io/section_layout.h"

namespace quiver {
namespace {

using section_layout::Head;
using section_layout::kAlignment;
using section_layout::kWithOrigin;
using section_layout::kWithoutOrigin;
using section_layout::Trailer;

constexpr std::size_t kWriteBufferBytes = 1 << 20;  ///< write buffer
/// Read buffer: small enough that the bytes are still in L2 when they are hashed.
constexpr std::size_t kReadBufferBytes = 256 << 10;

bool are_zeros(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{}; });
}

template <class T>
T read_as(Bytes bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

/// Adds [from, to), bytes between sections, to `parts`.
Result<> add_between(ReadableFile& file, std::uint64_t from, std::uint64_t to,
                     std::vector<FilePart>& parts) {
  std::vector<std::byte> bytes(to - from);
  QV_TRY(file.read(from, bytes));
  parts.push_back({from, to - from, checksum(bytes)});
  return {};
}

/// The sections of a checked file, and everything between them.
Result<std::vector<FilePart>> parts_of(ReadableFile& file, std::span<const SectionEntry> table) {
  std::vector<FilePart> parts;
  std::uint64_t end = 0;
  for (const SectionEntry& entry : table) {
    QV_TRY(add_between(file, end, entry.offset, parts));
    parts.push_back({entry.offset, entry.size, entry.checksum, entry.kind, entry.field});
    end = entry.offset + entry.size;
  }
  QV_TRY(add_between(file, end, file.size(), parts));
  return parts;
}

}  // namespace

SectionWriter::SectionWriter(const SectionFormat& format, std::unique_ptr<WritableFile> file)
    : format_(format), file_(std::move(file)) {
  buffer_.reserve(kWriteBufferBytes);
  Head head;
  std::memcpy(head.magic.data(), format.magic.data(), head.magic.size());
  if (const auto& origin = file_->origin()) {
    head.version = kWithOrigin;
    head.origin = *origin;
  }
  write(bytes_of(head));
  pad();
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
  if (buffer_.size() + bytes.size() > kWriteBufferBytes) flush();
  if (bytes.size() >= kWriteBufferBytes) {
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

/// Hashes the whole buffer at once, which costs far less than hashing element by element.
void SectionWriter::hash_buffer() {
  checksum_.update(Bytes(buffer_).subspan(n_hashed_));
  n_hashed_ = buffer_.size();
}

void SectionWriter::pad() {
  constexpr std::array<std::byte, kAlignment> kZeros{};
  write(Bytes(kZeros).first((kAlignment - position_ % kAlignment) % kAlignment));
}

/// Reads a file piece by piece into one buffer.
class SectionReader::Pass {
 public:
  explicit Pass(ReadableFile& file)
      : file_(file), buffer_(std::min<std::uint64_t>(kReadBufferBytes, file.size())) {}

  /// Valid until the next call. `n` is at most the size of the buffer.
  Result<Bytes> read(std::uint64_t offset, std::size_t n) {
    const std::span<std::byte> out = std::span(buffer_).first(n);
    QV_TRY(file_.read(offset, out));
    return Bytes(out);
  }
  Result<std::uint64_t> checksum_of(std::uint64_t offset, std::uint64_t n) {
    Checksum sum;
    for (std::uint64_t done = 0; done < n;) {
      const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size(), n - done));
      QV_TRY(const Bytes bytes, read(offset + done, some));
      sum.update(bytes);
      done += some;
    }
    return sum.digest();
  }
  /// True if [from, to) is padding between sections: shorter than one alignment, and all zeros.
  Result<bool> is_padding(std::uint64_t from, std::uint64_t to) {
    if (to < from || to - from >= kAlignment) return false;
    QV_TRY(const Bytes bytes, read(from, static_cast<std::size_t>(to - from)));
    return are_zeros(bytes);
  }

 private:
  ReadableFile& file_;
  std::vector<std::byte> buffer_;
};

Result<SectionReader> SectionReader::open(const SectionFormat& format, const Directory& directory,
                                          std::string_view name) {
  QV_TRY(const auto file, directory.open_file(name));
  SectionReader reader(format, fmt::format("{}/{}", directory.path(), name));
  QV_TRY(reader.file_, file->map());
  reader.file_->watch_writes();  // before bytes are verified
  QV_TRY(reader.check(*file));
  QV_TRY(auto parts, parts_of(*file, reader.table_));
  remember_checked(reader.path_, reader.file_, std::move(parts));
  const SharedBytes bytes = shared_bytes(reader.file_);
  for (const SectionEntry& entry : reader.table_) {
    reader.sections_.emplace(std::pair(entry.kind, entry.field),
                             bytes.subspan(entry.offset, entry.size));
  }
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

Result<> SectionReader::check(ReadableFile& file) {
  const std::uint64_t size = file.size();
  if (size < kAlignment + sizeof(Trailer)) return damaged("too short");
  Pass pass(file);
  QV_TRY(const Bytes header, pass.read(0, kAlignment));
  QV_TRY(check_header(header, file.origin()));
  QV_TRY(const Bytes end, pass.read(size - sizeof(Trailer), sizeof(Trailer)));
  const auto trailer = read_as<Trailer>(end);
  if (std::string_view(trailer.magic.data(), 8) != format_.end_magic) return damaged("cut short");
  const std::uint64_t table_bytes = std::uint64_t{trailer.n_sections} * sizeof(SectionEntry);
  if (trailer.table_offset > size || table_bytes != size - sizeof(trailer) - trailer.table_offset) {
    return damaged("the section table is out of place");
  }
  table_.resize(trailer.n_sections);
  const auto table = std::as_writable_bytes(std::span(table_));
  QV_TRY(file.read(trailer.table_offset, table));
  if (checksum(table) != trailer.table_checksum)
    return damaged("wrong checksum of the section table");
  n_rows_ = trailer.n_rows;
  return check_sections(pass, trailer.table_offset);
}

Result<> SectionReader::check_header(Bytes header, const std::optional<FileOrigin>& origin) const {
  const auto head = read_as<Head>(header);
  if (std::string_view(head.magic.data(), 8) != format_.magic) {
    return damaged("wrong magic bytes");
  }
  if (head.version != kWithoutOrigin && head.version != kWithOrigin) {
    return damaged(
        fmt::format("version {}, expected {} or {}", head.version, kWithoutOrigin, kWithOrigin));
  }
  if (head.reserved != 0 || !are_zeros(header.subspan(sizeof(Head)))) {
    return damaged("wrong bytes in the header");
  }
  if (head.version == kWithoutOrigin) {
    return head.origin == FileOrigin{} ? Result<>() : damaged("wrong bytes in the header");
  }
  return origin && head.origin != *origin ? damaged(describe_origin(head.origin, *origin))
                                          : Result<>();
}

Result<> SectionReader::check_sections(Pass& pass, std::uint64_t table_offset) {
  std::uint64_t end = kAlignment;
  for (const SectionEntry& entry : table_) {
    if (entry.offset > table_offset || entry.size > table_offset - entry.offset ||
        entry.offset % kAlignment != 0) {
      return damaged(fmt::format("section {} is out of place", entry.kind));
    }
    QV_TRY(const bool follows, pass.is_padding(end, entry.offset));
    if (!follows) return damaged(fmt::format("wrong bytes before section {}", entry.kind));
    end = entry.offset + entry.size;
    QV_TRY(const std::uint64_t sum, pass.checksum_of(entry.offset, entry.size));
    if (sum != entry.checksum) {
      return damaged(
          fmt::format("wrong checksum of section {} of field {}", entry.kind, entry.field));
    }
  }
  QV_TRY(const bool follows, pass.is_padding(end, table_offset));
  return follows ? Result<>() : damaged("wrong bytes before the section table");
}

}  // namespace quiver
