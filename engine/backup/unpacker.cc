#include "engine/backup/unpacker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include "base/io/file_tree.h"
#include "engine/backup/layout.h"

namespace quiver::engine {
namespace {

/// Text files of an archive are held in memory.
constexpr std::uint64_t kMaxIntroBytes = 4096;
constexpr std::uint64_t kMaxManifestBytes = std::uint64_t{256} << 20;

tl::unexpected<Error> broken(std::string_view what) {
  return fail(Code::kInvalidArgument, fmt::format("the archive is damaged: {}", what));
}

bool is_same_hex(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

Result<> Unpacker::write(std::string_view bytes) {
  sha256_.update(as_byte_span(bytes));
  while (!bytes.empty()) {
    QV_TRY(const std::size_t n, step(bytes));
    bytes.remove_prefix(n);
  }
  return {};
}

/// Takes some of `bytes`, at least one, and returns their number.
Result<std::size_t> Unpacker::step(std::string_view bytes) {
  switch (state_) {
    case State::kHeader: {
      const std::size_t n = std::min(bytes.size(), kTarBlockBytes - header_.size());
      header_.append(bytes.substr(0, n));
      if (header_.size() == kTarBlockBytes) QV_TRY(begin_entry());
      return n;
    }
    case State::kContent: {
      const std::size_t n = std::min<std::uint64_t>(bytes.size(), left_);
      QV_TRY(take_content(bytes.substr(0, n)));
      left_ -= n;
      if (left_ == 0) QV_TRY(end_entry());
      return n;
    }
    case State::kPadding: {
      const std::size_t n = std::min<std::uint64_t>(bytes.size(), left_);
      left_ -= n;
      if (left_ == 0) state_ = State::kHeader;
      return n;
    }
    case State::kEnd:
      break;
  }
  if (bytes.find_first_not_of('\0') != std::string_view::npos) {
    return broken("there is something after its end");
  }
  return bytes.size();
}

Result<> Unpacker::begin_entry() {
  QV_TRY(auto entry, parse_tar_header(header_));
  header_.clear();
  if (!entry) {
    state_ = State::kEnd;
    return {};
  }
  if (manifest_) return broken("there is a file after its manifest");
  entry_ = *std::move(entry);
  left_ = entry_.size_bytes;
  text_.clear();
  if (!has_intro_ && entry_.path != kIntroFile) {
    return fail(Code::kInvalidArgument,
                fmt::format("the archive is no snapshot of this server: it begins with `{}`, not "
                            "`{}`",
                            entry_.path, kIntroFile));
  }
  const bool is_text = entry_.path == kIntroFile || entry_.path == kManifestFile;
  const auto limit = entry_.path == kIntroFile ? kMaxIntroBytes : kMaxManifestBytes;
  if (is_text && entry_.size_bytes > limit) return broken("its manifest is too large");
  if (!is_text) QV_TRY(begin_file(entry_));
  state_ = State::kContent;
  return left_ == 0 ? end_entry() : Result<>();
}

Result<> Unpacker::begin_file(const TarEntry& entry) {
  const std::string path = fmt::format("{}/{}", target_, entry.path);
  if (files_.contains(entry.path)) return broken(fmt::format("`{}` is in it twice", entry.path));
  const auto parent = std::filesystem::path(path).parent_path();
  QV_TRY(make_directories(parent));
  QV_TRY(auto directory, open_real_directory(parent));
  QV_TRY(file_, directory->create_file(std::filesystem::path(path).filename().string()));
  file_sum_ = Checksum();
  return {};
}

Result<> Unpacker::take_content(std::string_view bytes) {
  if (file_ == nullptr) {
    text_.append(bytes);
    return {};
  }
  file_sum_.update(as_byte_span(bytes));
  return file_->append(as_byte_span(bytes));
}

Result<> Unpacker::end_entry() {
  left_ = tar_padding(entry_.size_bytes);
  state_ = left_ == 0 ? State::kHeader : State::kPadding;
  if (file_ != nullptr) {
    QV_TRY(file_->sync());
    QV_TRY(file_->close());
    file_.reset();
    files_[entry_.path] = {entry_.size_bytes, file_sum_.digest()};
    return {};
  }
  if (entry_.path == kIntroFile) {
    if (std::exchange(has_intro_, true)) return broken("it begins twice");
    QV_TRY(decode_intro(text_));
    return {};
  }
  QV_TRY(manifest_, decode_snapshot_manifest(text_));
  return {};
}

Result<SnapshotManifest> Unpacker::finish(std::string_view sha256) {
  const std::string found = sha256_.hex();
  if (!sha256.empty() && !is_same_hex(found, sha256)) {
    return fail(Code::kInvalidArgument,
                fmt::format("Snapshot checksum mismatch: expected {}, got {}", sha256, found));
  }
  if (!manifest_ || state_ != State::kEnd) return broken("it ends too early");
  QV_TRY(check_files());
  QV_TRY(sync_tree(target_));
  return *std::move(manifest_);
}

Result<> Unpacker::check_files() const {
  for (const auto& wanted : manifest_->files) {
    const auto found = files_.find(wanted.path);
    if (found == files_.end()) return broken(fmt::format("`{}` is missing", wanted.path));
    if (found->second.size_bytes != wanted.size_bytes) {
      return broken(fmt::format("`{}` has {} bytes, wanted {}", wanted.path,
                                found->second.size_bytes, wanted.size_bytes));
    }
    if (found->second.checksum != wanted.checksum) {
      return broken(fmt::format("the checksum of `{}` does not match", wanted.path));
    }
  }
  if (files_.size() == manifest_->files.size()) return {};
  return broken("it holds files that its manifest does not name");
}

}  // namespace quiver::engine
