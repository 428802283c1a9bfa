// Directories in memory, with the behaviour of those on disk. One mutex guards a whole tree.

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/io/append_buffer.h"
#include "base/io/file.h"
#include "base/mutex.h"

namespace quiver {
namespace {

/// A file or a directory. A handle keeps its node alive, as an open descriptor does.
struct Node {
  EntryKind kind = EntryKind::kFile;
  AppendBuffer<std::byte> content;                                     ///< files only
  std::map<std::string, std::shared_ptr<Node>, std::less<>> children;  ///< directories only
};

struct Tree {
  Mutex mutex;
};

std::shared_ptr<Node> make_node(EntryKind kind) {
  auto node = std::make_shared<Node>();
  node->kind = kind;
  return node;
}

class MemoryMappedFile final : public MappedFile {
 public:
  explicit MemoryMappedFile(SharedBytes content)
      : MappedFile(content.span()), content_(std::move(content)) {}

 private:
  SharedBytes content_;
};

class MemoryReadableFile final : public ReadableFile {
 public:
  MemoryReadableFile(SharedBytes content, std::string path)
      : content_(std::move(content)), path_(std::move(path)) {}

  [[nodiscard]] std::uint64_t size() const override { return content_.size(); }
  Result<> read(std::uint64_t offset, std::span<std::byte> out) override {
    if (offset > content_.size() || out.size() > content_.size() - offset) {
      return fail(file_ends_early(path_, offset + out.size(), content_.size()));
    }
    std::copy_n(content_.data() + offset, out.size(), out.data());
    return {};
  }

 private:
  Result<std::shared_ptr<const MappedFile>> map_whole() override {
    return std::make_shared<const MemoryMappedFile>(content_);
  }

  SharedBytes content_;
  std::string path_;
};

class MemoryWritableFile final : public WritableFile {
 public:
  MemoryWritableFile(std::shared_ptr<Tree> tree, std::shared_ptr<Node> node, std::string path)
      : tree_(std::move(tree)), node_(std::move(node)), path_(std::move(path)) {}

  Result<> append(Bytes bytes) override {
    QV_TRY(check_open("append to"));
    MutexLock lock(tree_->mutex);
    node_->content.append(bytes);
    return {};
  }
  Result<> sync() override { return check_open("sync"); }
  Result<> close() override {
    QV_TRY(check_open("close"));
    is_open_ = false;
    return {};
  }

 private:
  [[nodiscard]] Result<> check_open(std::string_view operation) const {
    if (is_open_) return {};
    return fail(file_error(EBADF, operation, path_));
  }

  std::shared_ptr<Tree> tree_;
  std::shared_ptr<Node> node_;
  std::string path_;
  bool is_open_ = true;
};

class MemoryDirectory final : public Directory {
 public:
  MemoryDirectory(std::shared_ptr<Tree> tree, std::shared_ptr<Node> node, std::string path)
      : tree_(std::move(tree)), node_(std::move(node)), path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const override { return path_; }

  Result<std::unique_ptr<WritableFile>> do_create_file(std::string_view name) override {
    QV_TRY(check_file_name(name));
    MutexLock lock(tree_->mutex);
    if (find(name)) return fail(file_error(EEXIST, "create", path_of(name)));
    auto node = make_node(EntryKind::kFile);
    node_->children.emplace(name, node);
    return std::make_unique<MemoryWritableFile>(tree_, std::move(node), path_of(name));
  }

  Result<std::unique_ptr<ReadableFile>> do_open_file(std::string_view name) const override {
    QV_TRY(auto content, content_of(name, "open"));
    return std::make_unique<MemoryReadableFile>(std::move(content), path_of(name));
  }

  Result<std::vector<std::byte>> read_file(std::string_view name) const override {
    QV_TRY(auto content, content_of(name, "open"));
    return std::vector<std::byte>(content.begin(), content.end());
  }

  Result<std::uint64_t> file_size(std::string_view name) const override {
    QV_TRY(auto content, content_of(name, "look at"));
    return content.size();
  }

  Result<> remove_file(std::string_view name) override {
    MutexLock lock(tree_->mutex);
    QV_TRY(need(name, EntryKind::kFile, "remove"));
    erase(name);
    return {};
  }

  Result<> rename_file(std::string_view from, std::string_view to) override {
    QV_TRY(check_file_name(to));
    MutexLock lock(tree_->mutex);
    QV_TRY(auto node, need(from, EntryKind::kFile, "rename"));
    const auto target = find(to);
    if (target && target->kind == EntryKind::kDirectory) {
      return fail(file_error(EISDIR, fmt::format("rename to `{}`", to), path_of(from)));
    }
    erase(from);
    node_->children.insert_or_assign(std::string(to), std::move(node));
    return {};
  }

  [[nodiscard]] bool exists(std::string_view name) const override {
    MutexLock lock(tree_->mutex);
    return find(name) != nullptr;
  }

  Result<std::vector<DirectoryEntry>> list() const override {
    MutexLock lock(tree_->mutex);
    std::vector<DirectoryEntry> entries;
    for (const auto& [name, node] : node_->children) entries.push_back({name, node->kind});
    return entries;
  }

  Result<std::unique_ptr<Directory>> do_subdirectory(std::string_view name) override {
    QV_TRY(check_file_name(name));
    {
      MutexLock lock(tree_->mutex);
      if (!find(name)) node_->children.emplace(name, make_node(EntryKind::kDirectory));
    }
    return do_open_subdirectory(name);
  }

  Result<std::unique_ptr<Directory>> do_open_subdirectory(std::string_view name) const override {
    MutexLock lock(tree_->mutex);
    QV_TRY(auto node, need(name, EntryKind::kDirectory, "open directory"));
    return std::make_unique<MemoryDirectory>(tree_, std::move(node), path_of(name));
  }

  Result<> remove_subdirectory(std::string_view name) override {
    MutexLock lock(tree_->mutex);
    QV_TRY(need(name, EntryKind::kDirectory, "remove directory"));
    erase(name);
    return {};
  }

  Result<> rename_subdirectory(std::string_view from, std::string_view to) override {
    QV_TRY(check_file_name(to));
    MutexLock lock(tree_->mutex);
    QV_TRY(auto node, need(from, EntryKind::kDirectory, "rename directory"));
    if (find(to)) return fail(file_error(EEXIST, "rename directory to", path_of(to)));
    erase(from);
    node_->children.emplace(to, std::move(node));
    return {};
  }

  Result<> sync() override { return {}; }

 private:
  // The tree's mutex is held:

  [[nodiscard]] std::shared_ptr<Node> find(std::string_view name) const {
    const auto found = node_->children.find(name);
    return found == node_->children.end() ? nullptr : found->second;
  }
  void erase(std::string_view name) { node_->children.erase(node_->children.find(name)); }
  [[nodiscard]] Result<std::shared_ptr<Node>> need(std::string_view name, EntryKind kind,
                                                   std::string_view operation) const {
    QV_TRY(check_file_name(name));
    auto node = find(name);
    if (!node) return fail(file_error(ENOENT, operation, path_of(name)));
    if (node->kind == kind) return node;
    return fail(file_error(kind == EntryKind::kFile ? EISDIR : ENOTDIR, operation, path_of(name)));
  }

  // The tree's mutex is not held:

  [[nodiscard]] Result<SharedBytes> content_of(std::string_view name,
                                               std::string_view operation) const {
    MutexLock lock(tree_->mutex);
    QV_TRY(auto node, need(name, EntryKind::kFile, operation));
    return node->content.view();
  }
  [[nodiscard]] std::string path_of(std::string_view name) const {
    return fmt::format("{}/{}", path_, name);
  }

  std::shared_ptr<Tree> tree_;
  std::shared_ptr<Node> node_;
  std::string path_;
};

}  // namespace

std::unique_ptr<Directory> make_memory_directory() {
  return std::make_unique<MemoryDirectory>(std::make_shared<Tree>(),
                                           make_node(EntryKind::kDirectory), "memory:");
}

}  // namespace quiver
