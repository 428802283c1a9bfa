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

Decoded<std::uint64_t> path_number(const Exchange& x, std::size_t capture, std::string_view what,
                                   std::uint64_t most) {
  const std::string& text = x.captures[capture];
  std::uint64_t number = 0;
  const char* last = text.data() + text.size();
  const auto [end, ec] = std::from_chars(text.data(), last, number);
  if (ec == std::errc() && end == last && number <= most) return number;
  return fail(ApiError(400, fmt::format("Deserialize error in path parameters: `{}` is not the "
                                        "number of {}",
                                        text, what)));
}

tl::unexpected<ApiError> bad_parameter(std::string_view text) {
  return fail(ApiError(400, fmt::format("Deserialize error in query parameters: {}", text)));
}

Decoded<engine::Ack> write_params(Exchange& x) {
  if (x.target.query.empty()) return engine::Ack::kDurable;
  QV_TRY(const bool wait, bool_parameter(x, "wait", false));
  QV_TRY(check_ordering(x));
  QV_TRY(const auto seconds, timeout_parameter(x));
  if (seconds) x.set_asked_timeout(static_cast<double>(*seconds));
  return wait ? engine::Ack::kVisible : engine::Ack::kDurable;
}

Decoded<> read_params(Exchange& x) {
  std::optional<std::uint64_t> seconds;
  if (!x.target.query.empty()) {
    QV_TRY(check_consistency(x));
    QV_TRY(seconds, timeout_parameter(x));
  }
  x.set_timeout(seconds ? std::optional(static_cast<double>(*seconds)) : std::nullopt);
  return {};
}

Decoded<> check_load(Exchange& x) {
  if (x.route->declaration().access != Access::kRead) return {};
  const api::load::Work cheap{api::load::Verb::kDecode, x.request.body.size()};
  auto& lane = x.runtime().load().lane(api::load::WorkClass::kCheap);
  // The ticket is given back at once: the request may not need a thread.
  auto admitted = lane.admit(cheap, x.patience(), std::chrono::steady_clock::now());
  if (admitted.refusal) return fail(api::refused(x, *std::move(admitted.refusal)));
  return {};
}

Decoded<> check_name_length(const Exchange& x) { return json::check_name_length(x.captures[0]); }

std::map<std::string, CollectionAnswers::Answers> answers_by_collection(Front& front) {
  const auto& database = front.runtime().database();
  return front.collection_answers().summaries(
      [&](const std::string& name) { return database.exists(name); });
}

api::Done<> answer_true(Exchange& x) {
  return [&x](Result<> result) {
    x.run([&](Exchange& exchange) -> Decoded<Answer> {
      QV_TRY(std::move(result));
      exchange.result_raw("true");
      return Answer::kReady;
    });
  };
}

api::Done<bool> answer_bool(Exchange& x) {
  return answer_by<bool>(x, [](Exchange& exchange, bool value) -> Decoded<> {
    exchange.result_raw(value ? "true" : "false");
    return {};
  });
}

}  // namespace quiver::service
