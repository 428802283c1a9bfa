// Files of sections: written front to back, read in place, every byte checked.
//
// Layout: a header of 64 bytes (8 bytes of magic, u32 version, origin), sections on 64-byte
// boundaries with zeros between them, the section table, a trailer. Each section has a kind and a
// field, whose meaning the format defines. All numbers are little-endian. docs/formats/segment.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/io/file.h"
#include "base/io/shared_span.h"
#include "base/result.h"

namespace quiver {

/// Distinguishes the files of one format from others.
struct SectionFormat {
  std::string_view name;       ///< for error messages: "segment file"
  std::string_view magic;      ///< 8 characters
  std::string_view end_magic;  ///< 8 characters
};

struct SectionEntry {
  std::uint32_t kind = 0;
  std::uint32_t field = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(SectionEntry) == 32);

template <class T>
[[nodiscard]] Bytes bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

/// Appends sections to a file through a buffer. After the first error nothing more is written, and
/// `finish` returns that error. One thread.
class SectionWriter {
 public:
  /// Writes version 2 if `file` has an origin, else version 1.
  SectionWriter(const SectionFormat& format, std::unique_ptr<WritableFile> file);

  void begin(std::uint32_t kind, std::size_t field = 0);
  void add(Bytes bytes) { write(bytes); }
  void end();
  /// Writes a whole section.
  template <class T>
  void section(std::uint32_t kind, std::span<const T> elements, std::size_t field = 0) {
    begin(kind, field);
    add(std::as_bytes(elements));
    end();
  }
  [[nodiscard]] bool failed() const { return !status_; }

  /// Writes table and trailer, syncs and closes the file. `n_rows` is stored in the trailer.
  [[nodiscard]] Result<> finish(std::uint32_t n_rows);

 private:
  void write(Bytes bytes);
  void flush();
  void hash_buffer();
  void pad();

  SectionFormat format_;
  std::unique_ptr<WritableFile> file_;
  std::vector<std::byte> buffer_;
  std::size_t n_hashed_ = 0;  ///< bytes of the buffer that are in the checksum
  std::uint64_t position_ = 0;
  std::vector<SectionEntry> table_;
  Checksum checksum_;
  Result<> status_;
};

/// The sections of a mapped file, all checked. Spans keep the file alive.
class SectionReader {
 public:
  /// Checks the whole file by reading it, so that a bad disk is an error, and then maps it.
  /// kDataLoss if any byte differs from what was written or cannot be read, or if the file has
  /// another origin. Version 1 has no origin and is accepted without one.
  [[nodiscard]] static Result<SectionReader> open(const SectionFormat& format,
                                                  const Directory& directory,
                                                  std::string_view name);

  [[nodiscard]] const std::shared_ptr<const MappedFile>& file() const { return file_; }

  [[nodiscard]] std::uint32_t n_rows() const { return n_rows_; }
  [[nodiscard]] bool has(std::uint32_t kind, std::size_t field = 0) const;

  /// A section of exactly `n` elements, or of any number if `n` is nullopt; kDataLoss if it is
  /// missing.
  template <class T>
  [[nodiscard]] Result<SharedSpan<T>> get(std::uint32_t kind, std::size_t field = 0,
                                          std::optional<std::uint64_t> n = std::nullopt) const {
    QV_TRY(const auto section, find(kind, field));
    QV_TRY(auto span, cast_span<T>(section));
    if (n && span.size() != *n) return wrong_size(kind, field, span.size(), *n);
    return span;
  }
  /// kDataLoss unless `offsets` begins at 0, ascends and ends at `total`.
  [[nodiscard]] Result<> check_offsets(std::span<const std::uint64_t> offsets,
                                       std::uint64_t total) const;
  /// kDataLoss with the file's name.
  [[nodiscard]] tl::unexpected<Error> damaged(std::string_view what) const;

 private:
  SectionReader(const SectionFormat& format, std::string path)
      : format_(format), path_(std::move(path)) {}
  class Pass;
  Result<> check(ReadableFile& file);
  Result<> check_header(Bytes header, const std::optional<FileOrigin>& origin) const;
  Result<> check_sections(Pass& pass, std::uint64_t table_offset);
  [[nodiscard]] Result<SharedBytes> find(std::uint32_t kind, std::size_t field) const;
  [[nodiscard]] tl::unexpected<Error> wrong_size(std::uint32_t kind, std::size_t field,
                                                 std::uint64_t found, std::uint64_t wanted) const;

  SectionFormat format_;
  std::string path_;
  std::shared_ptr<const MappedFile> file_;
  std::uint32_t n_rows_ = 0;
  std::vector<SectionEntry> table_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, SharedBytes> sections_;
};

}  // namespace quiver
