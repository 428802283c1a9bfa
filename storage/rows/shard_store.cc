#include "storage/rows/shard_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/io/file.h"
#include "storage/logs/rocksdb_status.h"
#include "storage/rows/keys.h"
#include "storage/rows/row_store.h"
#include "storage/rows/shard_store_impl.h"
#include "storage/rows/store_links.h"

namespace quiver::storage {

namespace {

using Table = RowBatch::Table;

/// Rows that `rows` reads and holds in memory at a time.
constexpr std::size_t kRowsPerRead = 128;

Result<PointId> parse_point_key(std::string_view key, const std::string& path) {
  if (const auto id = PointId::from_key(key)) return *id;
  return fail(Code::kDataLoss,
              fmt::format("cannot read `{}`: a key of table points has {} bytes, not {}", path,
                          key.size(), PointId::kKeyBytes));
}

Result<Seq> parse_op_key(std::string_view key, const std::string& path) {
  if (const auto seq = OpKey::parse(key)) return *seq;
  return fail(Code::kDataLoss,
              fmt::format("cannot read `{}`: a key of table ops has {} bytes, not {}", path,
                          key.size(), sizeof(Seq)));
}

/// Reads and visits `ids`, at most kRowsPerRead. `first` is the position of ids[0] in the whole
/// list.
Result<> visit_rows(const RowStore& store, const std::string& path, std::span<const PointId> ids,
                    std::size_t first, const ShardStore::RowVisitor& visit) {
  std::vector<PointKey> keys(ids.begin(), ids.end());
  std::array<rocksdb::Slice, kRowsPerRead> slices;
  std::array<rocksdb::PinnableSlice, kRowsPerRead> values;
  std::array<rocksdb::Status, kRowsPerRead> statuses;
  for (std::size_t i = 0; i < ids.size(); ++i) slices[i] = to_slice(keys[i].view());
  store.db().MultiGet({}, store.handle(Table::kPoints), ids.size(), slices.data(), values.data(),
                      statuses.data());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (statuses[i].IsNotFound()) {
      visit(first + i, std::nullopt);
      continue;
    }
    QV_TRY(to_result(statuses[i], "read", path));
    visit(first + i, to_view(values[i]));
  }
  return {};
}

}  // namespace

ShardStore::ShardStore(std::string path, std::unique_ptr<Impl> impl)
    : path_(std::move(path)), impl_(std::move(impl)) {}

ShardStore::~ShardStore() { impl_->close(); }

Result<std::unique_ptr<ShardStore>> ShardStore::open(const std::string& path,
                                                     std::shared_ptr<Runtime> runtime) {
  QV_TRY(open_real_directory(path));
  auto impl = std::make_unique<Impl>(path, std::move(runtime));
  QV_TRY(impl->open());
  return std::unique_ptr<ShardStore>(new ShardStore(path, std::move(impl)));
}

Result<std::unique_ptr<ShardStore>> ShardStore::open_read_only(const std::string& path,
                                                               std::shared_ptr<Runtime> runtime) {
  auto impl = std::make_unique<Impl>(path, std::move(runtime));
  QV_TRY(impl->open_read_only());
  return std::unique_ptr<ShardStore>(new ShardStore(path, std::move(impl)));
}

Result<> ShardStore::destroy(const std::string& path) {
  const auto full = std::filesystem::path(path).lexically_normal();
  const auto place = full.has_filename() ? full : full.parent_path();
  std::error_code error;
  if (!std::filesystem::exists(place, error)) return {};
  const auto parent = place.has_parent_path() ? place.parent_path().string() : std::string(".");
  QV_TRY(auto directory, open_real_directory(parent));
  QV_TRY(directory->remove_subdirectory(place.filename().string()));
  return directory->sync();
}

Result<> ShardStore::write(const RowBatch& batch, Sync sync) {
  return impl_->write(batch, sync);
}

RowFileWriter ShardStore::new_row_file(std::string_view name) const {
  return RowFileWriter(fmt::format("{}/{}", path_, name), impl_->runtime());
}

Result<> ShardStore::ingest(std::span<const std::string> names) { return impl_->ingest(names); }

Result<> ShardStore::remove_row_files(std::span<const std::string> names) {
  rocksdb::Env& env = *impl_->runtime()->shared().env;
  for (const std::string& name : names) {
    const std::string file = fmt::format("{}/{}", path_, name);
    if (!env.FileExists(file).ok()) continue;
    QV_TRY(to_result(env.DeleteFile(file), "remove", file));
  }
  return {};
}

Result<std::vector<std::string>> ShardStore::row_files() const {
  std::vector<std::string> names;
  const auto status = impl_->runtime()->shared().env->GetChildren(path_, &names);
  QV_TRY(to_result(status, "list", path_));
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(kRowFileSuffix); });
  return names;
}

Result<std::optional<std::string>> ShardStore::row(const PointId& id) const {
  QV_TRY(auto inside, impl_->enter());
  return inside->get(Table::kPoints, PointKey(id).view());
}

Result<> ShardStore::rows(std::span<const PointId> ids, const RowVisitor& visit) const {
  QV_TRY(auto inside, impl_->enter());
  for (std::size_t first = 0; first < ids.size(); first += kRowsPerRead) {
    const auto some = ids.subspan(first, std::min(kRowsPerRead, ids.size() - first));
    QV_TRY(visit_rows(*inside, path_, some, first, visit));
  }
  return {};
}

Result<> ShardStore::scan_rows(std::optional<PointId> from, const RowScan& visit) const {
  QV_TRY(auto inside, impl_->enter());
  auto rows = inside->iterate(Table::kPoints);
  rows->Seek(to_slice(PointKey(from.value_or(PointId::number(0))).view()));
  for (; rows->Valid(); rows->Next()) {
    QV_TRY(const PointId id, parse_point_key(to_view(rows->key()), path_));
    if (!visit(id, to_view(rows->value()))) break;
  }
  return to_result(rows->status(), "read", path_);
}

Result<> ShardStore::scan_ops(Seq from, const OpScan& visit) const {
  QV_TRY(auto inside, impl_->enter());
  auto ops = inside->iterate(Table::kOps);
  for (ops->Seek(to_slice(OpKey(from).view())); ops->Valid(); ops->Next()) {
    QV_TRY(const Seq seq, parse_op_key(to_view(ops->key()), path_));
    if (!visit(seq, to_view(ops->value()))) break;
  }
  return to_result(ops->status(), "read", path_);
}

Result<std::optional<Seq>> ShardStore::last_op() const {
  QV_TRY(auto inside, impl_->enter());
  auto ops = inside->iterate(Table::kOps);
  ops->SeekToLast();
  QV_TRY(to_result(ops->status(), "read", path_));
  if (!ops->Valid()) return std::optional<Seq>();
  QV_TRY(const Seq seq, parse_op_key(to_view(ops->key()), path_));
  return std::optional<Seq>(seq);
}

Result<std::optional<std::string>> ShardStore::meta(std::string_view key) const {
  QV_TRY(auto inside, impl_->enter());
  return inside->get(Table::kMeta, key);
}

Result<> ShardStore::scan_meta(std::string_view prefix, const MetaScan& visit) const {
  QV_TRY(auto inside, impl_->enter());
  auto facts = inside->iterate(Table::kMeta);
  for (facts->Seek(to_slice(prefix)); facts->Valid(); facts->Next()) {
    const std::string_view key = to_view(facts->key());
    if (!key.starts_with(prefix) || !visit(key, to_view(facts->value()))) break;
  }
  return to_result(facts->status(), "read", path_);
}

Result<std::vector<std::string>> ShardStore::files() const {
  QV_TRY(auto inside, impl_->enter());
  std::vector<std::string> names;
  std::uint64_t manifest_bytes = 0;
  const auto status = inside->db().GetLiveFiles(names, &manifest_bytes, /*flush_memtable=*/false);
  QV_TRY(to_result(status, "list", path_));
  return names;
}

Result<> ShardStore::verify() const {
  {
    QV_TRY(auto inside, impl_->enter());
    QV_TRY(to_result(inside->db().VerifyChecksum(), "verify", path_));
  }
  // Reading a blob verifies its checksum.
  return scan_rows(std::nullopt, [](const PointId&, std::string_view) { return true; });
}

Result<> ShardStore::flush() {
  QV_TRY(auto inside, impl_->enter());
  return to_result(inside->flush(), "flush", path_);
}

Result<StoreLinks> ShardStore::link_files(const std::string& target) const {
  QV_TRY(auto inside, impl_->enter());
  return link_store(inside->db(), path_, target);
}

Result<> ShardStore::reclaim() { return impl_->reclaim(); }
void ShardStore::cancel_reclaim() { impl_->cancel_work(); }

std::uint64_t ShardStore::disk_bytes() const { return allocated_bytes(path_).value_or(0); }

StoreStats ShardStore::stats() const { return impl_->stats(); }
Result<> ShardStore::check_place() const {
  const std::string file = path_ + "/CURRENT";
  const auto found = impl_->runtime()->shared().env->FileExists(file);
  if (!found.IsNotFound()) return {};
  return fail(Code::kUnavailable,
              fmt::format("`{}` was removed while the server runs: put `{}` back", file, path_));
}

bool ShardStore::takes_writes() const { return impl_->takes_writes(); }

Result<> ShardStore::close() {
  impl_->close();
  return {};
}

}  // namespace quiver::storage
