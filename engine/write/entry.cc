#include "engine/write/entry.h"

#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "base/hash.h"
#include "engine/model/row.h"

namespace quiver::engine {
namespace {

constexpr std::string_view kMagic = "QVENTRY1";
constexpr char kPutChange = 1;
constexpr char kDeleteChange = 2;

template <class T>
void append_number(T value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Takes values from the front of the bytes; after the first failure everything is empty.
class EntryReader {
 public:
  explicit EntryReader(std::string_view bytes) : bytes_(bytes) {}

  std::string_view take(std::size_t n) {
    failed_ = failed_ || n > bytes_.size();
    if (failed_) return {};
    const auto taken = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return taken;
  }
  template <class T>
  T number() {
    T value{};
    const auto taken = take(sizeof value);
    if (!taken.empty()) std::memcpy(&value, taken.data(), sizeof value);
    return value;
  }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
  bool failed_ = false;
};

tl::unexpected<Error> damaged_entry() {
  return fail(Code::kDataLoss, "an entry of the replicated log is damaged");
}

Result<Staging::Change> read_change(EntryReader& reader, const std::vector<FieldSchema>& fields) {
  const auto kind = reader.number<char>();
  const auto id = PointId::from_key(reader.take(PointId::kKeyBytes));
  const auto seq = Seq{reader.number<std::uint64_t>()};
  if (reader.failed() || !id || (kind != kPutChange && kind != kDeleteChange)) {
    return damaged_entry();
  }
  if (kind == kDeleteChange) return Staging::Change{*id, seq, nullptr};
  const auto bytes = reader.take(reader.number<std::uint64_t>());
  if (reader.failed()) return damaged_entry();
  QV_TRY(auto row, decode_row(*id, bytes, fields));
  return Staging::Change{*id, seq, std::make_shared<const Row>(std::move(row))};
}

}  // namespace

std::string entry_hash(std::string_view body) {
  std::string hash;
  append_number(hash_text(body, 0), hash);
  append_number(hash_text(body, 1), hash);
  return hash;
}

std::string encode_entry(const std::vector<Staging::Change>& changes) {
  std::string body(kMagic);
  append_number(static_cast<std::uint32_t>(changes.size()), body);
  for (const auto& change : changes) {
    body.push_back(change.row != nullptr ? kPutChange : kDeleteChange);
    body += change.id.to_key();
    append_number(to_number(change.seq), body);
    if (change.row == nullptr) continue;
    const std::string row = encode_row(*change.row);
    append_number(static_cast<std::uint64_t>(row.size()), body);
    body += row;
  }
  return body;
}

Result<std::vector<Staging::Change>> decode_entry(std::string_view body,
                                                  const std::vector<FieldSchema>& fields) {
  EntryReader reader(body);
  if (reader.take(kMagic.size()) != kMagic) return damaged_entry();
  const auto n_changes = reader.number<std::uint32_t>();
  if (reader.failed() || n_changes > reader.left()) return damaged_entry();
  std::vector<Staging::Change> changes;
  changes.reserve(n_changes);
  for (std::uint32_t i = 0; i < n_changes; ++i) {
    QV_TRY(auto change, read_change(reader, fields));
    changes.push_back(std::move(change));
  }
  if (reader.left() != 0) return damaged_entry();
  return changes;
}

}  // namespace quiver::engine
