#include "storage/logs/log_records.h"

#include <rocksdb/env.h>

#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "kernels/checksum/crc32c.h"
#include "storage/logs/rocksdb_status.h"

namespace quiver::storage {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kBlockBytes = 32 << 10;
constexpr std::size_t kHeadBytes = 7;
constexpr std::size_t kBlocksPerRead = 32;

enum class Part : std::uint8_t { kWhole = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

struct Fragment {
  Part part;
  std::string_view bytes;
};

/// Undoes RocksDB's masking of a checksum: a rotation by 15 bits and an added constant.
std::uint32_t unmasked(std::uint32_t stored) { return std::rotl(stored - 0xA282EAD8U, 15); }

/// The fragment at the start of `block`, a suffix of a block; nullopt if there is no sound one.
std::optional<Fragment> fragment_at(std::string_view block) {
  if (block.size() < kHeadBytes) return std::nullopt;
  std::uint32_t checksum = 0;
  std::uint16_t length = 0;
  std::memcpy(&checksum, block.data(), sizeof(checksum));
  std::memcpy(&length, block.data() + 4, sizeof(length));
  const auto type = static_cast<std::uint8_t>(block[6]);
  if (type < 1 || type > 4 || kHeadBytes + length > block.size()) return std::nullopt;
  const auto checked = std::span(block.data() + 6, std::size_t{1} + length);
  if (crc32c(0, std::as_bytes(checked)) != unmasked(checksum)) return std::nullopt;
  return Fragment{static_cast<Part>(type), block.substr(kHeadBytes, length)};
}

class Scanner {
 public:
  explicit Scanner(const LogVisitor& visit) : visit_(visit) {}

  /// Adds the next block. Only the last one may be shorter than the others.
  void add_block(std::string_view block) {
    std::size_t at = 0;
    while (at + kHeadBytes <= block.size()) {
      if (const auto fragment = fragment_at(block.substr(at))) {
        const std::uint64_t begin = block_at_ + at;
        at += kHeadBytes + fragment->bytes.size();
        add(*fragment, begin, block_at_ + at);
      } else {
        note_damage(block_at_ + at);
        ++at;  // a wrong length is possible, so every byte is tried
      }
    }
    const bool is_padding = block.size() == kBlockBytes;
    if (at < block.size() && !is_padding) note_damage(block_at_ + at);
    block_at_ += block.size();
  }

  LogScan finish() {
    if (is_open_) note_damage(record_at_);
    return scan_;
  }

 private:
  /// Records damage. A record that has begun is lost with it.
  void note_damage(std::uint64_t at) {
    if (!scan_.damaged_at) scan_.damaged_at = is_open_ ? record_at_ : at;
    is_open_ = false;
  }

  void add(const Fragment& fragment, std::uint64_t begin, std::uint64_t end) {
    const bool begins = fragment.part == Part::kWhole || fragment.part == Part::kFirst;
    if (begins == is_open_) {
      note_damage(begin);
      if (!begins) return;  // the rest of a lost record
    }
    if (begins) {
      if (scan_.damaged_at) ++scan_.n_behind;
      record_at_ = begin;
      record_.clear();
    }
    record_.append(fragment.bytes);
    is_open_ = fragment.part == Part::kFirst || fragment.part == Part::kMiddle;
    if (is_open_) return;
    if (!scan_.damaged_at) scan_.sound_bytes = end;
    if (visit_) visit_(record_, scan_.damaged_at.has_value());
  }

  const LogVisitor& visit_;
  LogScan scan_;
  std::uint64_t block_at_ = 0;
  bool is_open_ = false;  ///< a record has begun and not ended
  std::uint64_t record_at_ = 0;
  std::string record_;
};

}  // namespace

Result<LogScan> scan_log(rocksdb::Env& env, const std::string& path, const LogVisitor& visit) {
  std::unique_ptr<rocksdb::SequentialFile> file;
  const auto opened = env.NewSequentialFile(path, &file, rocksdb::EnvOptions());
  if (opened.IsNotFound() || opened.IsPathNotFound()) {
    return fail(Code::kNotFound, opened.ToString());
  }
  QV_TRY(to_result(opened, "open", path));
  std::vector<char> buffer(kBlockBytes * kBlocksPerRead);
  Scanner scanner(visit);
  rocksdb::Slice read;
  do {
    QV_TRY(to_result(file->Read(buffer.size(), &read, buffer.data()), "read", path));
    for (std::string_view left(read.data(), read.size()); !left.empty();) {
      const auto block = left.substr(0, kBlockBytes);
      scanner.add_block(block);
      left.remove_prefix(block.size());
    }
  } while (read.size() == buffer.size());
  return scanner.finish();
}

}  // namespace quiver::storage
