#include "cluster/ledger/etcd_json.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace quiver::cluster::etcd {
namespace {

using payload::Array;
using payload::Object;
using payload::Value;

tl::unexpected<Error> not_understood(std::string_view what) {
  return fail(Code::kDeadlineExceeded,
              fmt::format("the ledger's answer is not understood ({})", what));
}

std::string to_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL writes a zero behind it
  const int n = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                reinterpret_cast<const unsigned char*>(bytes.data()),
                                static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(n));
  return text;
}

Result<std::string> from_base64(std::string_view text) {
  std::string bytes(text.size() / 4 * 3, '\0');
  const int n = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                reinterpret_cast<const unsigned char*>(text.data()),
                                static_cast<int>(text.size()));
  if (text.size() % 4 != 0 || n < 0) return not_understood("no base64");
  // OpenSSL decodes the padding to zeros.
  const auto n_padding =
      std::ranges::count(text.substr(text.size() - std::min<std::size_t>(text.size(), 2)), '=');
  bytes.resize(static_cast<std::size_t>(n - n_padding));
  return bytes;
}

Object condition_object(const Condition& condition) {
  // The order of `Condition::What`.
  constexpr std::array<std::pair<const char*, const char*>, 3> kNames = {
      {{"VERSION", "version"}, {"CREATE", "create_revision"}, {"MOD", "mod_revision"}}};
  const auto& [target, member] = kNames.at(static_cast<std::size_t>(condition.what));
  return {{"key", Value(to_base64(condition.key))},
          {"target", Value(std::string(target))},
          {"result", Value(std::string("EQUAL"))},
          {member, Value(condition.value)}};
}

Object write_object(const Write& write) {
  Object fields = {{"key", Value(to_base64(write.key))}};
  if (write.value) {
    fields.push_back({"value", Value(to_base64(*write.value))});
    if (write.lease != 0) fields.push_back({"lease", Value(write.lease)});
    return {{"request_put", Value(std::move(fields))}};
  }
  if (!write.end.empty()) fields.push_back({"range_end", Value(to_base64(write.end))});
  return {{"request_delete_range", Value(std::move(fields))}};
}

template <class T>
T parse_number(const Value& value, std::string_view name) {
  T number = 0;
  const Value* member = value.find(name);
  if (member == nullptr) return 0;
  if (const std::int64_t* plain = member->as_i64()) return static_cast<T>(*plain);
  if (const std::string* text = member->as_string()) {
    std::from_chars(text->data(), text->data() + text->size(), number);
  }
  return number;
}

/// The bytes of a member; empty if it is left out.
Result<std::string> read_bytes(const Value& value, std::string_view name) {
  const Value* member = value.find(name);
  const std::string* text = member == nullptr ? nullptr : member->as_string();
  return text == nullptr ? Result<std::string>(std::string()) : from_base64(*text);
}

bool read_bool(const Value& value, std::string_view name) {
  const Value* member = value.find(name);
  const bool* found = member == nullptr ? nullptr : member->as_bool();
  return found != nullptr && *found;
}

/// The header of every answer.
Result<const Value*> read_header(const Value& answer) {
  const Value* header = answer.find("header");
  return header != nullptr ? Result<const Value*>(header) : not_understood("no header");
}

Result<KeyValue> read_item(const Value& value) {
  KeyValue item;
  QV_TRY(item.key, read_bytes(value, "key"));
  QV_TRY(item.value, read_bytes(value, "value"));
  item.create_revision = read_number(value, "create_revision");
  item.mod_revision = read_number(value, "mod_revision");
  item.version = read_number(value, "version");
  item.lease = read_number(value, "lease");
  return item;
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words,
                             [&](std::string_view word) { return text.find(word) != text.npos; });
}

/// What an error of etcd says about the request. `code` is gRPC's, as our codes are.
Code classify(Code code, std::string_view text) {
  if (contains_any(text, {"database space exceeded"})) return Code::kResourceExhausted;
  if (contains_any(text, {"too many requests"})) return Code::kUnavailable;
  if (contains_any(text, {"user name is empty", "invalid auth token", "authentication failed"})) {
    return Code::kUnauthenticated;
  }
  switch (code) {
    case Code::kResourceExhausted:
      return Code::kInvalidArgument;  // a message is too large
    case Code::kCancelled:
    case Code::kUnknown:
    case Code::kInternal:
    case Code::kUnavailable:
      return Code::kDeadlineExceeded;  // leader lost, timed out, stopping
    default:
      return code;
  }
}

tl::unexpected<Error> etcd_failure(Code etcd_code, std::string_view text) {
  const Code code = classify(etcd_code, text);
  std::string message = fmt::format("the ledger answered \"{}\"", text);
  if (code == Code::kUnauthenticated || code == Code::kPermissionDenied) {
    message += ": it wants a user and a password, which Quiver does not send";
  }
  return fail(code, std::move(message));
}

std::string_view text_of(const Value& value, std::string_view name) {
  const Value* member = value.find(name);
  const std::string* text = member == nullptr ? nullptr : member->as_string();
  return text == nullptr ? std::string_view("no text") : std::string_view(*text);
}

/// kUnknown if the number is none of ours.
Code code_of(const Value& value, std::string_view name) {
  const std::int64_t number = read_number(value, name);
  return number >= 1 && number <= 16 ? static_cast<Code>(number) : Code::kUnknown;
}

}  // namespace

std::string write_transaction(const Transaction& transaction) {
  Array conditions;
  for (const Condition& condition : transaction.conditions) {
    conditions.emplace_back(condition_object(condition));
  }
  Array writes;
  for (const Write& write : transaction.writes) writes.emplace_back(write_object(write));
  return payload::to_json(Value(
      Object{{"compare", Value(std::move(conditions))}, {"success", Value(std::move(writes))}}));
}

std::string write_range(const RangeRequest& request) {
  Object fields = {{"key", Value(to_base64(request.from))}};
  if (!request.end.empty()) fields.push_back({"range_end", Value(to_base64(request.end))});
  if (request.limit > 0) fields.push_back({"limit", Value(request.limit)});
  return payload::to_json(Value(std::move(fields)));
}

std::string write_number(std::string_view name, std::int64_t number) {
  return payload::to_json(Value(Object{{std::string(name), Value(number)}}));
}

std::uint64_t read_id(const Value& value, std::string_view name) {
  return parse_number<std::uint64_t>(value, name);
}

std::string read_text(const Value& value, std::string_view name) {
  const Value* member = value.find(name);
  const std::string* text = member == nullptr ? nullptr : member->as_string();
  return text == nullptr ? std::string() : *text;
}

std::int64_t read_number(const Value& value, std::string_view name) {
  return parse_number<std::int64_t>(value, name);
}

Result<Outcome> read_outcome(const Value& answer) {
  QV_TRY(const Value* header, read_header(answer));
  return Outcome{.succeeded = read_bool(answer, "succeeded"),
                 .revision = read_number(*header, "revision")};
}

Result<RangeAnswer> read_range(const Value& answer) {
  QV_TRY(const Value* header, read_header(answer));
  RangeAnswer range{
      .items = {}, .revision = read_number(*header, "revision"), .more = read_bool(answer, "more")};
  const Value* items = answer.find("kvs");
  if (items == nullptr || items->as_array() == nullptr) return range;
  for (const Value& value : *items->as_array()) {
    QV_TRY(KeyValue item, read_item(value));
    range.items.push_back(std::move(item));
  }
  return range;
}

Result<LedgerStatus> read_status(const Value& answer) {
  QV_TRY(const Value* header, read_header(answer));
  return LedgerStatus{.version = std::string(text_of(answer, "version")),
                      .db_bytes = parse_number<std::uint64_t>(answer, "dbSize"),
                      .leader = read_id(answer, "leader"),
                      .member = read_id(*header, "member_id"),
                      .raft_term = parse_number<std::uint64_t>(answer, "raftTerm"),
                      .revision = read_number(*header, "revision")};
}

Result<Value> read_answer(int http_status, std::string_view body) {
  auto answer = payload::parse_json(body);
  if (http_status == 404 && !answer) {
    return fail(Code::kUnimplemented, "no etcd with a JSON gateway (/v3) answers there");
  }
  if (!answer) return not_understood(fmt::format("HTTP status {}", http_status));
  // Calls that answer with a stream have their errors, too, under status 200.
  const Value* error = answer->find("error");
  if (error != nullptr && error->as_object() != nullptr) {
    return etcd_failure(code_of(*error, "grpc_code"), text_of(*error, "message"));
  }
  if (error != nullptr) return etcd_failure(code_of(*answer, "code"), text_of(*answer, "error"));
  if (http_status != 200) return not_understood(fmt::format("HTTP status {}", http_status));
  return answer;
}

}  // namespace quiver::cluster::etcd
