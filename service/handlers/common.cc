#include "service/handlers/common.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <optional>
#include <string>

#include "service/json/decode/decode.h"

namespace quiver::service {
namespace {

Decoded<> check_ordering(const Exchange& x) {
  const auto text = query_parameter(x.target.query, "ordering");
  if (!text || text->empty() || *text == "weak" || *text == "medium" || *text == "strong") {
    return {};
  }
  return bad_parameter(
      fmt::format("unknown variant `{}`, expected one of `weak`, `medium`, `strong`", *text));
}

Decoded<> check_consistency(const Exchange& x) {
  const auto text = query_parameter(x.target.query, "consistency");
  if (!text || text->empty() || *text == "majority" || *text == "quorum" || *text == "all") {
    return {};
  }
  std::uint64_t factor = 0;
  const char* last = text->data() + text->size();
  const auto [end, ec] = std::from_chars(text->data(), last, factor);
  if (ec == std::errc() && end == last && factor > 0) return {};
  return bad_parameter(fmt::format(
      "failed to parse read consistency `{}`, expected a number greater than 0, `majority`, "
      "`quorum` or `all`",
      *text));
}

}  // namespace

Decoded<bool> bool_parameter(const Exchange& x, std::string_view name, bool otherwise) {
  const auto text = query_parameter(x.target.query, name);
  if (!text || text->empty()) return otherwise;
  if (*text == "true") return true;
  if (*text == "false") return false;
  return bad_parameter(
      fmt::format("{}: provided string was not `true` or `false`: `{}`", name, *text));
}

Decoded<std::optional<std::uint64_t>> timeout_parameter(const Exchange& x) {
  QV_TRY(const auto seconds, number_parameter(x, "timeout"));
  if (seconds == 0U) {
    return fail(ApiError(422,
                         "Validation error in query parameters: [timeout: value 0 invalid, must be "
                         "1 or larger]"));
  }
  return seconds;
}

Decoded<std::optional<std::uint64_t>> number_parameter(const Exchange& x, std::string_view name) {
  const auto text = query_parameter(x.target.query, name);
  if (!text || text->empty()) return std::optional<std::uint64_t>();
  std::uint64_t number = 0;
  const char* last = text->data() + text->size();
  const auto [end, ec] = std::from_chars(text->data(), last, number);
  if (ec == std::errc() && end == last) return std::optional(number);
  return bad_parameter(fmt::format("{}: invalid digit found in string `{}`", name, *text));
}

tl::unexpected<ApiError> bad_parameter(std::string_view text) {
  return fail(ApiError(400, fmt::format("Deserialize error in query parameters: {}", text)));
}

Decoded<WriteParams> write_params(const Exchange& x) {
  WriteParams params;
  if (x.target.query.empty()) return params;
  QV_TRY(params.wait, bool_parameter(x, "wait", false));
  QV_TRY(check_ordering(x));
  QV_TRY(timeout_parameter(x));
  return params;
}

Decoded<Deadline> read_deadline(Exchange& x, std::string_view operation) {
  std::chrono::duration<double> timeout(x.service().options().query_timeout_s);
  if (!x.target.query.empty()) {
    QV_TRY(check_consistency(x));
    QV_TRY(const auto seconds, timeout_parameter(x));
    if (seconds) timeout = std::chrono::duration<double>(static_cast<double>(*seconds));
  }
  x.set_timeout(operation, timeout.count());
  constexpr double kForever = 1e9;
  if (timeout.count() >= kForever) return Deadline::none();
  return Deadline::after(std::chrono::duration_cast<std::chrono::nanoseconds>(timeout));
}

Decoded<std::shared_ptr<engine::Collection>> collection_of(const Exchange& x) {
  const std::string& name = x.captures[0];
  QV_TRY(json::check_name_length(name));
  if (!json::is_collection_name(name)) {
    return fail(Code::kNotFound, Subject::kCollection, name, std::string());
  }
  QV_TRY(auto collection, x.service().database().collection(name));
  x.service().remember_open(name, collection);
  return collection;
}

bool is_known_open(const Exchange& x) { return x.service().is_open(x.captures[0]); }

}  // namespace quiver::service
