// Writes JSON: appends to a string, places the commas, prints the shortest numbers that read back
// as the same value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "payload/json/escape.h"

namespace quiver::service::json {

/// Appends to a string that it does not own. Does not check that objects and arrays are closed. One
/// thread.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  /// Writes the name of the next value. `name` must need no escaping.
  void key(std::string_view name) {
    separate();
    out_ += '"';
    out_ += name;
    out_ += "\":";
    needs_comma_ = false;
  }
  /// As `key`, for names that users chose.
  void escaped_key(std::string_view name);

  void string(std::string_view text);
  void boolean(bool value) { raw(value ? "true" : "false"); }
  void null() { raw("null"); }
  void u64(std::uint64_t value);
  void i64(std::int64_t value);
  /// The shortest text that reads back as the same value, always recognisable as a fraction
  /// ("1.0", "1e+20"); null for what JSON cannot say (NaN, infinities).
  void f32(float value);
  void f64(double value);
  void floats(std::span<const float> values);
  /// Writes a value that is JSON already.
  void raw(std::string_view json) {
    separate();
    out_ += json;
    needs_comma_ = true;
  }

  void member(std::string_view name, std::string_view text) { key(name), string(text); }
  void member(std::string_view name, const char* text) { key(name), string(text); }
  void member(std::string_view name, std::uint64_t value) { key(name), u64(value); }
  void member(std::string_view name, double value) { key(name), f64(value); }
  void member(std::string_view name, bool value) { key(name), boolean(value); }

 private:
  void separate() {
    if (needs_comma_) out_ += ',';
  }
  void open(char bracket) {
    separate();
    out_ += bracket;
    needs_comma_ = false;
  }
  void close(char bracket) {
    out_ += bracket;
    needs_comma_ = true;
  }

  std::string& out_;
  bool needs_comma_ = false;
};

using payload::append_string;
void append_f64(std::string& out, double value);

}  // namespace quiver::service::json
