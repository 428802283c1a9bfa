#include "engine/backup/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/io/file.h"
#include "base/io/file_tree.h"
#include "engine/backup/layout.h"
#include "engine/backup/sha256.h"
#include "engine/backup/tar.h"
#include "payload/json/document.h"

namespace quiver::engine {
namespace {

constexpr std::string_view kFiles = "files";
constexpr std::string_view kArchiveFile = "archive.json";

Result<> write_text(const std::string& folder, std::string_view name, const std::string& text) {
  QV_TRY(auto directory, open_existing_directory(folder));
  return directory->replace_file(name, as_byte_span(text));
}

Result<std::string> read_text(const std::string& folder, std::string_view name) {
  QV_TRY(const auto directory, open_existing_directory(folder));
  QV_TRY(const auto bytes, directory->read_file(name));
  return std::string(as_text(bytes));
}

/// Reads every file of the manifest in the order of the archive, and computes all checksums.
class Completion {
 public:
  Completion(std::string folder, SnapshotManifest manifest,
             const std::function<Result<>()>& may_go_on)
      : folder_(std::move(folder)), manifest_(std::move(manifest)), may_go_on_(may_go_on) {}

  Result<ArchiveFacts> run() {
    QV_TRY(const auto draft, ArchiveLayout::of(manifest_));
    // The manifest comes last: what is before it does not depend on checksums.
    const auto pieces = draft.pieces();
    std::size_t last_file = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].file) last_file = i;
    }
    for (std::size_t i = 0; i <= last_file; ++i) QV_TRY(take(pieces[i]));
    for (auto& file : manifest_.files) {
      if (file.size_bytes == 0) file.checksum = checksum({});
    }
    QV_TRY(const auto layout, ArchiveLayout::of(manifest_));
    for (std::size_t i = last_file + 1; i < pieces.size(); ++i) {
      QV_TRY(take(layout.pieces()[i]));
    }
    return store(layout.size_bytes());
  }

 private:
  Result<> take(const ArchiveLayout::Piece& piece) {
    if (!piece.file) {
      sha256_.update(as_byte_span(piece.text));
      return {};
    }
    auto& file = manifest_.files[*piece.file];
    Checksum sum;
    QV_TRY(read_whole_file(fmt::format("{}/{}", files_of_folder(folder_), file.path),
                           file.size_bytes, [&](Bytes bytes) -> Result<> {
                             sum.update(bytes);
                             sha256_.update(bytes);
                             return may_go_on_();
                           }));
    file.checksum = sum.digest();
    return {};
  }

  Result<ArchiveFacts> store(std::uint64_t size_bytes) {
    ArchiveFacts facts{size_bytes, sha256_.hex()};
    QV_TRY(write_text(folder_, kManifestFile, encode_snapshot_manifest(manifest_)));
    QV_TRY(
        write_text(folder_, kArchiveFile,
                   fmt::format(R"({{"bytes":{},"sha256":"{}"}})", facts.size_bytes, facts.sha256)));
    return facts;
  }

  const std::string folder_;
  SnapshotManifest manifest_;
  const std::function<Result<>()>& may_go_on_;
  Sha256 sha256_;
};

class FolderReader final : public SnapshotReader {
 public:
  FolderReader(std::string folder, SnapshotManifest manifest, ArchiveLayout layout)
      : folder_(std::move(folder)), manifest_(std::move(manifest)), layout_(std::move(layout)) {}

  [[nodiscard]] std::uint64_t size_bytes() const override { return layout_.size_bytes(); }

  [[nodiscard]] Result<std::size_t> read(std::uint64_t offset, std::span<char> out) override {
    std::size_t n = 0;
    while (n < out.size() && offset + n < layout_.size_bytes()) {
      const auto& piece = layout_.piece_at(offset + n);
      const std::uint64_t within = offset + n - piece.offset;
      const auto here =
          out.subspan(n, std::min<std::uint64_t>(out.size() - n, piece.size_bytes - within));
      QV_TRY(fill(piece, within, here));
      n += here.size();
    }
    return n;
  }

 private:
  Result<> fill(const ArchiveLayout::Piece& piece, std::uint64_t within, std::span<char> out) {
    if (!piece.file) {
      std::memcpy(out.data(), piece.text.data() + within, out.size());
      return {};
    }
    const auto& file = manifest_.files[*piece.file];
    if (open_number_ != piece.file) {
      QV_TRY(auto opened,
             FileReader::open(fmt::format("{}/{}", files_of_folder(folder_), file.path)));
      open_file_ = std::move(opened);
      open_number_ = piece.file;
    }
    QV_TRY(const std::size_t n, open_file_->read(within, out));
    if (n == out.size()) return {};
    return fail(file_ends_early(file.path, file.size_bytes, within + n));
  }

  const std::string folder_;
  const SnapshotManifest manifest_;
  const ArchiveLayout layout_;
  std::optional<std::size_t> open_number_;
  std::optional<FileReader> open_file_;
};

/// The manifest, which holds the checksums, is the last file: all others have passed by then.
class SummingReader final : public SnapshotReader {
 public:
  SummingReader(std::string folder, SnapshotManifest manifest, ArchiveLayout layout)
      : folder_(std::move(folder)),
        manifest_(std::move(manifest)),
        layout_(std::move(layout)),
        bytes_(std::make_unique<FolderReader>(folder_, manifest_, layout_)) {
    for (const auto& piece : layout_.pieces()) {
      if (piece.file) end_of_files_ = piece.offset + piece.size_bytes;
    }
  }

  [[nodiscard]] std::uint64_t size_bytes() const override { return layout_.size_bytes(); }

  [[nodiscard]] Result<std::size_t> read(std::uint64_t offset, std::span<char> out) override {
    std::vector<char> passed;
    while (n_summed_ < std::min(offset, end_of_files_)) {
      passed.resize(kPassedBytes);
      const std::uint64_t n_left = std::min(offset, end_of_files_) - n_summed_;
      QV_TRY(read_files(n_summed_,
                        std::span(passed).first(std::min<std::uint64_t>(kPassedBytes, n_left))));
    }
    if (offset < end_of_files_) {
      return read_files(offset,
                        out.first(std::min<std::uint64_t>(out.size(), end_of_files_ - offset)));
    }
    if (!layout_has_sums_) QV_TRY(complete());
    return bytes_->read(offset, out);
  }

 private:
  static constexpr std::size_t kPassedBytes = std::size_t{1} << 20;

  Result<std::size_t> read_files(std::uint64_t offset, std::span<char> out) {
    QV_TRY(const std::size_t n, bytes_->read(offset, out));
    const std::uint64_t n_known = std::min<std::uint64_t>(n_summed_ - offset, n);
    add(std::span<const char>(out.first(n)).subspan(n_known));
    return n;
  }

  /// `bytes` follow those that were added before.
  void add(std::span<const char> bytes) {
    while (!bytes.empty()) {
      const auto& piece = layout_.piece_at(n_summed_);
      const std::uint64_t end = piece.offset + piece.size_bytes;
      const auto here = bytes.first(std::min<std::uint64_t>(bytes.size(), end - n_summed_));
      if (piece.file) sum_.update(std::as_bytes(here));
      n_summed_ += here.size();
      bytes = bytes.subspan(here.size());
      if (!piece.file || n_summed_ != end) continue;
      manifest_.files[*piece.file].checksum = sum_.digest();
      sum_ = Checksum();
    }
  }

  Result<> complete() {
    for (auto& file : manifest_.files) {
      if (file.size_bytes == 0) file.checksum = checksum({});
    }
    QV_TRY(layout_, ArchiveLayout::of(manifest_));
    bytes_ = std::make_unique<FolderReader>(folder_, manifest_, layout_);
    layout_has_sums_ = true;
    return {};
  }

  const std::string folder_;
  SnapshotManifest manifest_;
  ArchiveLayout layout_;
  std::unique_ptr<FolderReader> bytes_;
  std::uint64_t end_of_files_ = 0;  ///< offset; later bytes depend on the checksums
  std::uint64_t n_summed_ = 0;      ///< bytes of the archive that have passed, from its beginning
  Checksum sum_;                    ///< of the file at `n_summed_`, so far
  bool layout_has_sums_ = false;    ///< the text of the manifest in `layout_` has all of them
};

/// Calls `read(visit)`, which passes all bytes of the file to `visit`, and compares the checksum.
template <class Read>
Result<> verify(const std::string& path, const SnapshotFile& file, Read read) {
  Checksum sum;
  const Result<> done = read([&sum](Bytes bytes) -> Result<> {
    sum.update(bytes);
    return {};
  });
  if (done && sum.digest() == file.checksum) return {};
  const bool is_damaged =
      done || done.error().code() == Code::kDataLoss || done.error().code() == Code::kNotFound;
  if (!is_damaged) return done;
  return fail(Code::kInvalidArgument,
              fmt::format("the snapshot is damaged: `{}`: {}", path,
                          done ? "its checksum does not match" : done.error().message()));
}

Result<> verify_file(const std::string& path, const SnapshotFile& file) {
  return verify(path, file,
                [&](const auto& visit) { return read_whole_file(path, file.size_bytes, visit); });
}

Result<> check_size(const std::string& path, const SnapshotFile& file) {
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error) return fail(file_error(error.value(), "look at", path));
  if (size == file.size_bytes) return {};
  return fail(Code::kDataLoss,
              fmt::format("`{}` has {} bytes, wanted {}", path, size, file.size_bytes));
}

/// One pass over the file. The copy is not synced, and after an error it is no copy.
Result<> copy_verified(const std::string& from, const std::string& to, const SnapshotFile& file) {
  return verify(from, file, [&](const auto& visit) -> Result<> {
    QV_TRY(check_size(from, file));
    return copy_unsynced(from, to, file.size_bytes, visit);
  });
}

}  // namespace

std::string files_of_folder(const std::string& folder) {
  return fmt::format("{}/{}", folder, kFiles);
}

bool is_snapshot_folder(const std::string& folder) {
  std::error_code error;
  return std::filesystem::is_regular_file(fmt::format("{}/{}", folder, kManifestFile), error);
}

Result<> write_new_manifest(const std::string& folder, SnapshotManifest manifest) {
  QV_TRY(const auto files, files_below(files_of_folder(folder)));
  manifest.files.clear();
  for (const auto& file : files) {
    manifest.files.push_back({file.path, file.size_bytes, std::nullopt});
  }
  return write_text(folder, kManifestFile, encode_snapshot_manifest(manifest));
}

Result<SnapshotManifest> read_snapshot_manifest(const std::string& folder) {
  QV_TRY(const auto text, read_text(folder, kManifestFile));
  return decode_snapshot_manifest(text);
}

Result<ArchiveFacts> read_archive_facts(const std::string& folder) {
  const std::string path = fmt::format("{}/{}", folder, kArchiveFile);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    QV_TRY(const auto manifest, read_snapshot_manifest(folder));
    QV_TRY(const auto layout, ArchiveLayout::of(manifest));
    return ArchiveFacts{layout.size_bytes(), {}};
  }
  QV_TRY(const auto text, read_text(folder, kArchiveFile));
  const auto json = payload::parse_json(text);
  const auto* sum = json ? json->find("sha256") : nullptr;
  const auto bytes = json ? json->find_unsigned("bytes") : std::nullopt;
  if (sum == nullptr || sum->as_string() == nullptr || !bytes) {
    return fail(Code::kDataLoss, fmt::format("`{}` is damaged", path));
  }
  return ArchiveFacts{*bytes, *sum->as_string()};
}

Result<ArchiveFacts> complete_folder(const std::string& folder,
                                     const std::function<Result<>()>& may_go_on) {
  QV_TRY(auto facts, read_archive_facts(folder));
  if (!facts.sha256.empty()) return facts;
  QV_TRY(auto manifest, read_snapshot_manifest(folder));
  return Completion(folder, std::move(manifest), may_go_on).run();
}

Result<std::unique_ptr<SnapshotReader>> open_folder(const std::string& folder) {
  QV_TRY(auto manifest, read_snapshot_manifest(folder));
  if (!manifest.is_complete()) {
    return fail(Code::kFailedPrecondition, fmt::format("`{}` has no checksums yet", folder));
  }
  QV_TRY(auto layout, ArchiveLayout::of(manifest));
  return std::make_unique<FolderReader>(folder, std::move(manifest), std::move(layout));
}

Result<std::unique_ptr<SnapshotReader>> open_new_folder(const std::string& folder) {
  QV_TRY(auto manifest, read_snapshot_manifest(folder));
  QV_TRY(auto layout, ArchiveLayout::of(manifest));
  return std::make_unique<SummingReader>(folder, std::move(manifest), std::move(layout));
}

Result<> unfold(const std::string& folder, const SnapshotManifest& manifest,
                const std::string& prefix, const std::string& target, Sharing sharing) {
  if (!prefix.empty() && !prefix.ends_with('/')) {
    return fail(Code::kInvalidArgument,
                fmt::format("the snapshot's manifest is damaged: `{}` is no folder", prefix));
  }
  std::vector<std::string> copies;  // synced together: the disk writes one while the next is read
  for (const auto& file : manifest.files) {
    QV_TRY(check_archive_path(file.path));
    if (!file.path.starts_with(prefix)) continue;
    const std::string from = fmt::format("{}/{}", files_of_folder(folder), file.path);
    const std::string to = fmt::format("{}/{}", target, file.path.substr(prefix.size()));
    QV_TRY(make_directories(std::filesystem::path(to).parent_path()));
    if (sharing == Sharing::kLinks && is_immutable(file.path)) {
      QV_TRY(verify_file(from, file));
      QV_TRY(link_or_copy_file(from, to));
    } else {
      QV_TRY(copy_verified(from, to, file));
      copies.push_back(to);
    }
  }
  for (const auto& copy : copies) QV_TRY(sync_file(copy));
  return sync_tree(target);
}

bool is_immutable(const std::string& path) {
  return path.find("/segments/") != std::string::npos || path.ends_with(".sst") ||
         path.ends_with(".blob");
}

}  // namespace quiver::engine
