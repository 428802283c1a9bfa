#include "app/import/http/http_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "app/import/http/body.h"
#include "app/import/plan/schema.h"
#include "payload/json/document.h"
#include "service/binary/ragged.h"

namespace quiver::app {
namespace {

constexpr double kFirstDelayS = 0.02;
constexpr double kMaxDelayS = 2;
constexpr double kStopCheckS = 0.05;

std::string collection_path(const HttpTarget& target) {
  return "/collections/" + escape_segment(target.collection);
}

tl::unexpected<Error> refusal(const HttpTarget& target, std::string_view what,
                              const Answer& answer) {
  return fail(Code::kFailedPrecondition, fmt::format("cannot {} `{}`: the server answered {}", what,
                                                     target.collection, error_text(answer)));
}

const payload::Value* find(const payload::Value* value, std::string_view key) {
  return value == nullptr ? nullptr : value->find(key);
}

/// Overloaded, starting, or its disk is full: another time the answer may be another.
bool is_later(int status) { return status == 429 || status == 408 || status >= 500; }

}  // namespace

Result<std::optional<std::vector<FieldSchema>>> fetch_fields(const HttpTarget& target) {
  Connection connection(target.endpoint, target.api_key);
  QV_TRY(const Answer answer, connection.exchange("GET", collection_path(target), ""));
  if (answer.status == 404) return std::optional<std::vector<FieldSchema>>();
  if (answer.status != 200) return refusal(target, "look at", answer);
  QV_TRY(const payload::Value body, payload::parse_json(answer.body));
  const auto* params = find(find(find(&body, "result"), "config"), "params");
  if (params == nullptr) {
    return fail(Code::kInvalidArgument, "the server's answer has no result.config.params");
  }
  QV_TRY(auto fields, parse_fields(payload::to_json(*params)));
  return std::optional(std::move(fields));
}

Result<> create_collection(const HttpTarget& target, const std::string& body,
                           const std::vector<std::string>& indexes) {
  Connection connection(target.endpoint, target.api_key);
  QV_TRY(const Answer answer, connection.exchange("PUT", collection_path(target), body));
  if (answer.status != 200) return refusal(target, "create", answer);
  for (const std::string& index : indexes) {
    QV_TRY(const Answer indexed,
           connection.exchange("PUT", collection_path(target) + "/index?wait=true", index));
    if (indexed.status != 200) return refusal(target, "create an index of", indexed);
  }
  return {};
}

Result<std::uint64_t> count_points(const HttpTarget& target) {
  // Goes to every shard and changes no point. Once it is visible, so is what came before it.
  constexpr const char* kNoPoint = R"({"payload":{},"filter":{"must":[{"has_id":[]}]}})";
  Connection connection(target.endpoint, target.api_key);
  const std::string path = collection_path(target) + "/points";
  QV_TRY(const Answer changed, connection.exchange("POST", path + "/payload?wait=true", kNoPoint));
  if (changed.status != 200) return refusal(target, "wait for", changed);
  QV_TRY(const Answer answer, connection.exchange("POST", path + "/count", "{}"));
  if (answer.status != 200) return refusal(target, "count the points of", answer);
  QV_TRY(const payload::Value body, payload::parse_json(answer.body));
  const auto* count = find(find(&body, "result"), "count");
  const auto number = count == nullptr ? std::nullopt : count->as_unsigned();
  if (number) return *number;
  return fail(Code::kInvalidArgument, "the server's answer has no result.count");
}

BlockSender::BlockSender(const HttpTarget& target, BadRows& bad_rows,
                         const std::atomic<bool>& stopping,
                         std::function<std::string(std::uint64_t)> describe)
    : target_(target),
      bad_rows_(bad_rows),
      stopping_(stopping),
      describe_(std::move(describe)),
      connection_(target.endpoint, target.api_key) {}

BlockSender::Outcome BlockSender::send(const RowBlock& block) {
  Outcome outcome{.end_row = block.first_row, .error = {}};
  address(block);
  if (auto sent = send_points(block, block.points, outcome); !sent) {
    outcome.error = sent.error();
  } else {
    outcome.end_row = block.end_row;
  }
  return outcome;
}

/// Tokens of files go as they are: JSON spends ten bytes and more on a number.
void BlockSender::address(const RowBlock& block) {
  const auto fields = token_fields(block);
  content_type_ = fields.empty() ? kJsonType : service::kRaggedType;
  path_ = fields.empty() ? collection_path(target_) + "/points?wait=false"
                         : "/v1" + collection_path(target_) + "/points/ragged?wait=false";
  for (const std::string& field : fields) path_ += "&using=" + escape_segment(field);
}

Result<> BlockSender::send_points(const RowBlock& block, Points points, Outcome& outcome) {
  if (points.empty()) return {};
  write_upsert(block, points, body_);
  outcome.n_points_sent += points.size();
  QV_TRY(const Answer answer, ask());
  if (answer.status != 200) {
    outcome.n_points_sent -= points.size();
    return refused(block, points, answer, outcome);
  }
  outcome.n_bytes += body_.size();
  outcome.n_points += points.size();
  outcome.end_row = points.back().row + 1;
  return {};
}

Result<> BlockSender::refused(const RowBlock& block, Points points, const Answer& answer,
                              Outcome& outcome) {
  const bool is_about_points = answer.status == 400 || answer.status == 413 || answer.status == 422;
  if (!is_about_points) return refusal(target_, "write to", answer);
  if (points.size() == 1) {
    QV_TRY(bad_rows_.add(points[0].row, fmt::format("{}: the server refused it: {}",
                                                    describe_(points[0].row), error_text(answer))));
    outcome.end_row = points[0].row + 1;
    return {};
  }
  const std::size_t half = points.size() / 2;
  QV_TRY(send_points(block, points.first(half), outcome));
  return send_points(block, points.subspan(half), outcome);
}

Result<Answer> BlockSender::ask() {
  const Stopwatch since;
  delay_s_ = 0;
  while (true) {
    auto answer = connection_.exchange("PUT", path_, body_, content_type_);
    if (answer && !is_later(answer->status)) return answer;
    QV_TRY(wait_to_retry(
        since, answer ? "the server answered " + error_text(*answer) : answer.error().message()));
  }
}

/// The first attempt to reconnect comes at once: servers close connections that were idle.
Result<> BlockSender::wait_to_retry(const Stopwatch& since, const std::string& why) {
  if (since.seconds() > target_.retry_s) {
    return fail(Code::kUnavailable, fmt::format("{} (tried for {} s)", why, target_.retry_s));
  }
  const Stopwatch waiting;
  while (waiting.seconds() < delay_s_) {
    if (stopping_) return fail(Code::kCancelled, why);
    const double left = delay_s_ - waiting.seconds();
    std::this_thread::sleep_for(std::chrono::duration<double>(std::clamp(left, 0.0, kStopCheckS)));
  }
  delay_s_ = std::clamp(2 * delay_s_, kFirstDelayS, kMaxDelayS);
  return {};
}

}  // namespace quiver::app
