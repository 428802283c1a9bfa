#include "cluster/identity.h"

#include <fmt/format.h>

#include <charconv>
#include <random>
#include <span>
#include <string_view>

#include "base/io/file.h"

namespace quiver::cluster {
namespace {

constexpr std::string_view kNodeFile = "node";
constexpr std::string_view kClusterFile = "cluster";

Result<> write_text(const std::string& data_dir, std::string_view file, std::string_view text) {
  QV_TRY(const auto directory, open_real_directory(data_dir));
  return directory->replace_file(file, std::as_bytes(std::span(text)));
}

/// Empty if the file is not there.
Result<std::string> read_text(const std::string& data_dir, std::string_view file) {
  QV_TRY(const auto directory, open_real_directory(data_dir));
  if (!directory->exists(file)) return std::string();
  QV_TRY(const auto bytes, directory->read_file(file));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

Result<NodeId> read_or_make_node_id(const std::string& data_dir) {
  QV_TRY(const std::string text, read_text(data_dir, kNodeFile));
  if (!text.empty()) {
    NodeId id = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (error == std::errc() && end == text.data() + text.size() && id != 0) return id;
    return fail(Code::kDataLoss, fmt::format("`{}/{}` holds no id of a node", data_dir, kNodeFile));
  }
  std::random_device random;
  const NodeId id = (NodeId{random()} << 31 | random()) | 1;
  QV_TRY(write_text(data_dir, kNodeFile, std::to_string(id)));
  return id;
}

Result<std::string> read_cluster_id(const std::string& data_dir) {
  return read_text(data_dir, kClusterFile);
}

Result<> keep_cluster_id(const std::string& data_dir, const std::string& id) {
  return write_text(data_dir, kClusterFile, id);
}

std::string random_cluster_id() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", random());
  return id;
}

}  // namespace quiver::cluster
