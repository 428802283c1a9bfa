#include <filesystem>
#include <utility>
#include <vector>

#include "base/io/file.h"
#include "base/io/file_tree.h"
#include "engine/snapshots.h"

namespace quiver::engine {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

class ArchiveReader final : public SnapshotReader {
 public:
  ArchiveReader(FileReader file, std::uint64_t size_bytes)
      : file_(std::move(file)), size_bytes_(size_bytes) {}
  [[nodiscard]] std::uint64_t size_bytes() const override { return size_bytes_; }
  [[nodiscard]] Result<std::size_t> read(std::uint64_t offset, std::span<char> out) override {
    return file_.read(offset, out);
  }

 private:
  FileReader file_;
  const std::uint64_t size_bytes_;
};

}  // namespace

Result<std::unique_ptr<SnapshotReader>> open_archive(const std::string& path) {
  QV_TRY(auto file, FileReader::open(path));
  std::error_code error;
  const std::uint64_t size_bytes = std::filesystem::file_size(path, error);
  if (error) return fail(read_error(error.value(), "asking the size of", path));
  return std::make_unique<ArchiveReader>(std::move(file), size_bytes);
}

Result<> copy_archive(SnapshotReader& from, SnapshotReceiver& to) {
  std::vector<char> piece(kPieceBytes);
  for (std::uint64_t at = 0;;) {
    QV_TRY(const std::size_t n, from.read(at, piece));
    if (n == 0) return {};
    QV_TRY(to.write({piece.data(), n}));
    at += n;
  }
}

}  // namespace quiver::engine
