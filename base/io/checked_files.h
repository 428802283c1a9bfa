// Mapped files whose bytes were verified at opening, so that they can be verified again.
//
// The bytes may change while a file is mapped: somebody writes to the file, memory fails, or a page
// that left memory comes back from the disk with other bytes. So the process remembers the
// checksums of its mapped files. Somebody with time compares them (`FileCheck`); a difference
// damages the file as an unreadable page does (base/io/mapped_region.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/io/file.h"
#include "base/result.h"

namespace quiver {

/// A part of a file, and its checksum when the file was opened.
struct FilePart {
  static constexpr std::uint32_t kNoSection = 0xffffffff;

  std::uint64_t offset = 0;
  std::uint64_t size = 0;  ///< bytes
  std::uint64_t checksum = 0;
  std::uint32_t section = kNoSection;  ///< kind of the section; kNoSection: none, or several
  std::uint32_t field = 0;             ///< of the section
};

struct CheckedFile {
  std::string path;                      ///< when it was opened
  std::weak_ptr<const MappedFile> file;  ///< expired: nobody uses it any more
  std::shared_ptr<const std::vector<FilePart>> parts;

  [[nodiscard]] std::uint64_t n_bytes() const;
};

/// Remembers a mapped file until nobody uses it. `parts` lie in the file. Any thread, as below.
void remember_checked(std::string path, const std::shared_ptr<const MappedFile>& file,
                      std::vector<FilePart> parts);
/// All remembered files that are in use, in no order.
[[nodiscard]] std::vector<CheckedFile> checked_files();
/// nullopt if it was not remembered.
[[nodiscard]] std::optional<CheckedFile> find_checked(const MappedFile& file);

/// Verifies a file once more, block by block. One thread.
class FileCheck {
 public:
  static constexpr std::size_t kBlockBytes = 256 << 10;

  explicit FileCheck(CheckedFile file) : file_(std::move(file)) {}

  /// Reads the next block and returns its size; 0 at the end, and if nobody uses the file any more.
  /// kDataLoss, naming the file, if it is damaged; also naming the part, if that differs or cannot
  /// be read: then the file is damaged from now on.
  Result<std::size_t> step();
  /// True if `step` failed and nobody knew of the damage before.
  [[nodiscard]] bool has_found() const { return has_found_; }

 private:
  Result<> end_part(const MappedFile& file, const FilePart& part);
  tl::unexpected<Error> damage(const MappedFile& file, const FilePart& part, std::string_view what);

  const CheckedFile file_;
  std::size_t part_ = 0;      ///< number of the current part
  std::uint64_t n_done_ = 0;  ///< bytes of it that are in the sum
  Checksum sum_;
  bool has_found_ = false;
};

/// Verifies the whole file now. Errors as of `FileCheck`; a file that was not remembered passes.
Result<> check_again(const MappedFile& file);

}  // namespace quiver
