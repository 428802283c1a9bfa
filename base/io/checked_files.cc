#include "base/io/checked_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/io/mapped_region.h"
#include "base/io/mapped_window.h"
#include "base/mutex.h"

namespace quiver {
namespace {

/// Files that nobody uses any more are forgotten when there are this many, and at each doubling.
constexpr std::size_t kMinForgotten = 256;

class Registry {
 public:
  void add(const MappedFile* key, CheckedFile file) QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    files_.insert_or_assign(key, std::move(file));
    if (files_.size() < n_next_) return;
    std::erase_if(files_, [](const auto& entry) { return entry.second.file.expired(); });
    n_next_ = std::max(kMinForgotten, 2 * files_.size());
  }
  [[nodiscard]] std::vector<CheckedFile> all() const QV_EXCLUDES(mutex_) {
    std::vector<CheckedFile> found;
    MutexLock lock(mutex_);
    for (const auto& [key, file] : files_) {
      if (!file.file.expired()) found.push_back(file);
    }
    return found;
  }
  [[nodiscard]] std::optional<CheckedFile> find(const MappedFile* key) const QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    const auto found = files_.find(key);
    if (found == files_.end() || found->second.file.expired()) return std::nullopt;
    return found->second;
  }

 private:
  mutable Mutex mutex_;
  std::map<const MappedFile*, CheckedFile> files_ QV_GUARDED_BY(mutex_);
  std::size_t n_next_ QV_GUARDED_BY(mutex_) = kMinForgotten;
};

/// Never destroyed, because files may be opened and closed after the end of `main`.
Registry& registry() {
  static auto& instance = *new Registry;
  return instance;
}

std::string describe(const FilePart& part) {
  const std::string bytes = fmt::format("bytes {} to {}", part.offset, part.offset + part.size);
  if (part.section == FilePart::kNoSection) return bytes;
  return fmt::format("section {} of field {} ({})", part.section, part.field, bytes);
}

}  // namespace

std::uint64_t CheckedFile::n_bytes() const {
  std::uint64_t n = 0;
  for (const FilePart& part : *parts) n += part.size;
  return n;
}

void remember_checked(std::string path, const std::shared_ptr<const MappedFile>& file,
                      std::vector<FilePart> parts) {
  std::erase_if(parts, [](const FilePart& part) { return part.size == 0; });
  registry().add(file.get(), {std::move(path), file,
                              std::make_shared<const std::vector<FilePart>>(std::move(parts))});
}

std::vector<CheckedFile> checked_files() { return registry().all(); }

std::optional<CheckedFile> find_checked(const MappedFile& file) { return registry().find(&file); }

Result<std::size_t> FileCheck::step() {
  const auto file = file_.file.lock();
  if (part_ == file_.parts->size() || file == nullptr) return 0;
  if (file->is_damaged()) {
    return fail(Code::kDataLoss, fmt::format("`{}` cannot be read any more", file_.path));
  }
  const FilePart& part = (*file_.parts)[part_];
  const auto n =
      static_cast<std::size_t>(std::min<std::uint64_t>(kBlockBytes, part.size - n_done_));
  if (!hash_apart(file->bytes().subspan(part.offset + n_done_, n), sum_)) {
    return damage(*file, part, "cannot be read any more");
  }
  n_done_ += n;
  if (n_done_ == part.size) {
    QV_TRY(end_part(*file, part));
  }
  return n;
}

Result<> FileCheck::end_part(const MappedFile& file, const FilePart& part) {
  if (sum_.digest() != part.checksum) {
    return damage(file, part, "differs from what was there when the file was opened");
  }
  ++part_;
  n_done_ = 0;
  sum_ = Checksum();
  return {};
}

tl::unexpected<Error> FileCheck::damage(const MappedFile& file, const FilePart& part,
                                        std::string_view what) {
  has_found_ = damage_region(file.bytes().data());
  return fail(Code::kDataLoss, fmt::format("`{}`: {} {}", file_.path, describe(part), what));
}

Result<> check_again(const MappedFile& file) {
  auto remembered = find_checked(file);
  if (!remembered) return {};
  FileCheck check(*std::move(remembered));
  while (true) {
    QV_TRY(const std::size_t n, check.step());
    if (n == 0) return {};
  }
}

}  // namespace quiver
