#include "payload/json/document.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <unordered_map>

#include "payload/json/escape.h"

namespace quiver::payload {
namespace {

/// Number of members up to which repeated keys are found by a scan; beyond it, by a hash table.
constexpr std::size_t kMaxScannedMembers = 16;
/// Size in bytes up to which a thread keeps its parser and text buffer after parsing a document.
constexpr std::size_t kMaxKeptBytes = std::size_t{1} << 20;

/// Builds an object in which the last value of a repeated key wins.
class ObjectBuilder {
 public:
  explicit ObjectBuilder(std::size_t n_members) : many_(n_members > kMaxScannedMembers) {
    members_.reserve(n_members);
  }
  void add(std::string_view key, Value value) {
    if (Member* member = find(key)) {
      member->value = std::move(value);
      return;
    }
    if (many_) places_.emplace(std::string(key), members_.size());
    members_.push_back({std::string(key), std::move(value)});
  }
  Object take() { return std::move(members_); }

 private:
  Member* find(std::string_view key) {
    if (many_) {
      const auto place = places_.find(std::string(key));
      return place == places_.end() ? nullptr : &members_[place->second];
    }
    const auto it = std::find_if(members_.begin(), members_.end(),
                                 [&](const Member& member) { return member.key == key; });
    return it == members_.end() ? nullptr : &*it;
  }

  bool many_;
  Object members_;
  std::unordered_map<std::string, std::size_t> places_;
};

Value from_dom(const simdjson::dom::element& element);

Value from_array(const simdjson::dom::array& array) {
  Array out;
  out.reserve(array.size());
  for (const auto element : array) out.push_back(from_dom(element));
  return Value(std::move(out));
}

Value from_object(const simdjson::dom::object& object) {
  ObjectBuilder builder(object.size());
  for (const auto field : object) builder.add(field.key, from_dom(field.value));
  return Value(builder.take());
}

/// `type()` says what the element is, so no accessor fails.
Value from_dom(const simdjson::dom::element& element) {
  using Type = simdjson::dom::element_type;
  switch (element.type()) {
    case Type::ARRAY:
      return from_array(element.get_array().value_unsafe());
    case Type::OBJECT:
      return from_object(element.get_object().value_unsafe());
    case Type::INT64:
      return Value(std::int64_t{element.get_int64().value_unsafe()});
    case Type::UINT64:
      return Value(std::uint64_t{element.get_uint64().value_unsafe()});
    case Type::DOUBLE:
      return Value(element.get_double().value_unsafe());
    case Type::STRING:
      return Value(std::string(element.get_string().value_unsafe()));
    case Type::BOOL:
      return Value(element.get_bool().value_unsafe());
    case Type::NULL_VALUE:
      break;
  }
  return {};
}

/// A parser and the padded copy of the text that it needs.
struct ParserState {
  simdjson::dom::parser parser;
  std::string text;
};

/// Copies the text into a padded buffer, because simdjson reads up to 64 bytes past its end.
Result<Value> parse_with(ParserState& state, std::string_view text) {
  state.text.assign(text);
  state.text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  if (text.size() > state.parser.capacity() || state.parser.max_depth() != Value::kMaxDepth) {
    const std::size_t capacity = std::max<std::size_t>(text.size(), 4096);
    if (state.parser.allocate(capacity, Value::kMaxDepth) != simdjson::SUCCESS) {
      throw std::bad_alloc();
    }
  }
  simdjson::dom::element root;
  const auto error = state.parser.parse(state.text.data(), text.size(), false).get(root);
  if (error == simdjson::DEPTH_ERROR) {
    return fail(Code::kInvalidArgument,
                fmt::format("JSON nests deeper than {} levels", Value::kMaxDepth));
  }
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (error != simdjson::SUCCESS) {
    return fail(Code::kInvalidArgument,
                fmt::format("not valid JSON: {}", simdjson::error_message(error)));
  }
  return from_dom(root);
}

template <class T>
void write_integer(T value, std::string& out) {
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  out.append(buffer, end);
}

/// Writes null for infinities and NaN, which JSON lacks (and which no JSON text can produce).
void write_double(double value, std::string& out) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  const std::string_view digits(buffer, static_cast<std::size_t>(end - buffer));
  out += digits;
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
}

void write_array(const Array& array, std::string& out) {
  out += '[';
  for (std::size_t i = 0; i < array.size(); ++i) {
    if (i != 0) out += ',';
    write_json(array[i], out);
  }
  out += ']';
}

void write_object(const Object& object, std::string& out) {
  out += '{';
  for (std::size_t i = 0; i < object.size(); ++i) {
    if (i != 0) out += ',';
    append_string(out, object[i].key);
    out += ':';
    write_json(object[i].value, out);
  }
  out += '}';
}

}  // namespace

Value::Value(bool value) : data_(value) {}
Value::Value(std::int64_t value) : data_(value) {}
Value::Value(std::uint64_t value) {
  if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    data_ = static_cast<std::int64_t>(value);
  } else {
    data_ = value;
  }
}
Value::Value(double value) : data_(value) {}
Value::Value(std::string value) : data_(std::move(value)) {}
Value::Value(Array value) : data_(std::move(value)) {}
Value::Value(Object value) : data_(std::move(value)) {}

std::optional<std::uint64_t> Value::as_unsigned() const {
  if (const auto* small = as_i64(); small != nullptr && *small >= 0) {
    return static_cast<std::uint64_t>(*small);
  }
  if (const auto* large = as_u64()) return *large;
  return std::nullopt;
}

const Value* Value::find(std::string_view key) const {
  const Object* object = as_object();
  if (object == nullptr) return nullptr;
  for (const Member& member : *object) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

std::optional<std::uint64_t> Value::find_unsigned(std::string_view key) const {
  const Value* value = find(key);
  return value == nullptr ? std::nullopt : value->as_unsigned();
}

bool operator==(const Value& a, const Value& b) { return a.data_ == b.data_; }

Result<Value> parse_json(std::string_view text) {
  thread_local std::unique_ptr<ParserState> state;
  // An exception may leave the parser unusable, so it is kept only if none is thrown.
  auto mine = state ? std::move(state) : std::make_unique<ParserState>();
  auto value = parse_with(*mine, text);
  if (text.size() <= kMaxKeptBytes) state = std::move(mine);
  return value;
}

void write_json(const Value& value, std::string& out) {
  if (const auto* flag = value.as_bool()) {
    out += *flag ? "true" : "false";
  } else if (const auto* integer = value.as_i64()) {
    write_integer(*integer, out);
  } else if (const auto* large = value.as_u64()) {
    write_integer(*large, out);
  } else if (const auto* number = value.as_double()) {
    write_double(*number, out);
  } else if (const auto* text = value.as_string()) {
    append_string(out, *text);
  } else if (const auto* array = value.as_array()) {
    write_array(*array, out);
  } else if (const auto* object = value.as_object()) {
    write_object(*object, out);
  } else {
    out += "null";
  }
}

std::string to_json(const Value& value) {
  std::string out;
  write_json(value, out);
  return out;
}

Result<std::string> canonical_json(std::string_view text) {
  QV_TRY(const Value value, parse_json(text));
  std::string out;
  out.reserve(text.size());
  write_json(value, out);
  return out;
}

}  // namespace quiver::payload
