#include "cluster/messages.h"

#include <cstring>
#include <utility>

namespace quiver::cluster {
namespace {

void append_text(std::string_view text, std::string& out) {
  append_number(text.size(), out);
  out += text;
}

/// Takes values from the front of a message; after the first failure everything is empty.
class MessageReader {
 public:
  explicit MessageReader(std::string_view message) : left_(message) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    const auto bytes = take(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string_view text() { return take(number()); }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool is_at_end() const { return left_.empty(); }

 private:
  std::string_view take(std::uint64_t n) {
    failed_ = failed_ || n > left_.size();
    if (failed_) return {};
    const auto taken = left_.substr(0, n);
    left_.remove_prefix(n);
    return taken;
  }

  std::string_view left_;
  bool failed_ = false;
};

tl::unexpected<Error> bad_message() {
  return fail(Code::kInvalidArgument, "a message of another node is cut short or not known");
}

}  // namespace

void append_number(std::uint64_t number, std::string& out) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void append_entry(const engine::ShardName& shard, const engine::EntryId& id, std::string_view body,
                  std::string& out) {
  append_text(shard.collection, out);
  append_number(shard.shard, out);
  append_number(id.number, out);
  append_text(id.hash, out);
  append_text(body, out);
}

Result<std::vector<NamedEntry>> read_entries(std::string_view message) {
  std::vector<NamedEntry> entries;
  MessageReader reader(message);
  while (!reader.is_at_end()) {
    NamedEntry entry;
    entry.shard.collection = reader.text();
    entry.shard.shard = static_cast<std::uint32_t>(reader.number());
    entry.id.number = reader.number();
    entry.id.hash = reader.text();
    entry.body = reader.text();
    if (reader.failed()) return bad_message();
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string join_texts(const std::vector<std::string>& texts) {
  std::string message;
  for (const auto& text : texts) append_text(text, message);
  return message;
}

Result<std::vector<std::string>> read_texts(std::string_view message, std::size_t n) {
  std::vector<std::string> texts;
  MessageReader reader(message);
  while (!reader.is_at_end() && !reader.failed()) texts.emplace_back(reader.text());
  if (reader.failed() || texts.size() != n) return bad_message();
  return texts;
}

Result<std::vector<std::uint64_t>> read_numbers(std::string_view message) {
  std::vector<std::uint64_t> numbers;
  MessageReader reader(message);
  while (!reader.is_at_end()) {
    numbers.push_back(reader.number());
    if (reader.failed()) return bad_message();
  }
  return numbers;
}

}  // namespace quiver::cluster
