#include "service/api/names.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "base/utf8.h"

namespace quiver::service::api {
namespace {

constexpr std::string_view kForbiddenInNames = "<>:\"/\\|?*";
constexpr std::size_t kMaxNameBytes = 255;

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7F;
}

std::optional<char> forbidden_char(std::string_view name) {
  for (const char c : name) {
    if (is_control(c) || kForbiddenInNames.find(c) != std::string_view::npos) return c;
  }
  return std::nullopt;
}

std::string printable(char c) {
  return is_control(c) ? fmt::format("\\u{:04x}", static_cast<unsigned char>(c))
                       : std::string(1, c);
}

bool has_name_length(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes;
}

}  // namespace

Result<> check_name_length(std::string_view name) {
  if (has_name_length(name)) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("value \"{}\" invalid, must be from 1 to 255 characters", name));
}

Result<> check_collection_name(std::string_view name) {
  if (!is_utf8(name)) {
    return fail(Code::kInvalidArgument,
                fmt::format("collection name `{}` is not UTF-8", to_utf8(name)));
  }
  QV_TRY(check_name_length(name));
  if (const auto c = forbidden_char(name)) {
    return fail(Code::kInvalidArgument,
                fmt::format("collection name cannot contain \"{}\" char", printable(*c)));
  }
  if (name == "." || name == "..") {
    return fail(Code::kInvalidArgument,
                fmt::format("value \"{}\" invalid, must not be \".\" or \"..\"", name));
  }
  return {};
}

bool is_collection_name(std::string_view name) {
  return has_name_length(name) && is_utf8(name) && !forbidden_char(name) && name != "." &&
         name != "..";
}

std::string in_search(std::size_t index, std::string text) {
  const std::string name = fmt::format("searches[{}]", index);
  if (text.find(name) == std::string::npos) text += fmt::format(" (in {})", name);
  return text;
}

}  // namespace quiver::service::api
