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
constexpr double kStopCheckIntervalS = 0.05;

std::string collection_path(const HttpTarget& target) {
  return "/collections/" + client::escape_segment(target.collection);
}

tl::unexpected<Error> refusal(const HttpTarget& target, std::string_view what,
                              const client::HttpResponse& answer) {
  return fail(Code::kFailedPrecondition,
              fmt::format("cannot {} `{}`: the server answered {}", what, target.collection,
                          client::error_text(answer)));
}

const payload::Value* find(const payload::Value* value, std::string_view key) {
  return value == nullptr ? nullptr : value->find(key);
}

/// The server is overloaded, starting, or its disk is full: a retry may succeed.
bool is_later(int status) { return status == 429 || status == 408 || status >= 500; }

constexpr int kConflict = 409;

/// False if the collection does not appear in time.
bool wait_for_collection(const HttpTarget& target) {
  constexpr auto kPause = std::chrono::milliseconds(100);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(target.retry_s);
  do {
    const auto found = fetch_fields(target);
    if (found && *found) return true;
    std::this_thread::sleep_for(kPause);
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace

Result<std::optional<std::vector<FieldSchema>>> fetch_fields(const HttpTarget& target) {
  client::ServerConnection connection(target.endpoint, target.api_key);
  QV_TRY(const client::HttpResponse answer,
         connection.exchange("GET", collection_path(target), ""));
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

Result<bool> create_collection(const HttpTarget& target, const std::string& body,
                               const std::vector<std::string>& indexes) {
  client::ServerConnection connection(target.endpoint, target.api_key);
  QV_TRY(const client::HttpResponse answer,
         connection.exchange("PUT", collection_path(target), body));
  const bool is_there = answer.status == kConflict && wait_for_collection(target);
  if (answer.status != 200 && !is_there) return refusal(target, "create", answer);
  for (const std::string& index : indexes) {
    QV_TRY(const client::HttpResponse indexed,
           connection.exchange("PUT", collection_path(target) + "/index?wait=true", index));
    if (indexed.status != 200) return refusal(target, "create an index of", indexed);
  }
  return !is_there;
}

Result<std::uint64_t> count_points(const HttpTarget& target) {
  // Goes to every shard and changes no point. When it is visible, all earlier writes are too.
  constexpr const char* kNoPoint = R"({"payload":{},"filter":{"must":[{"has_id":[]}]}})";
  client::ServerConnection connection(target.endpoint, target.api_key);
  const std::string path = collection_path(target) + "/points";
  QV_TRY(const client::HttpResponse changed,
         connection.exchange("POST", path + "/payload?wait=true", kNoPoint));
  if (changed.status != 200) return refusal(target, "wait for", changed);
  QV_TRY(const client::HttpResponse answer, connection.exchange("POST", path + "/count", "{}"));
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

/// Tokens from files are sent as binary: JSON takes ten bytes or more per number.
void BlockSender::address(const RowBlock& block) {
  const auto fields = token_fields(block);
  content_type_ = fields.empty() ? client::kJsonType : service::kRaggedType;
  path_ = fields.empty() ? collection_path(target_) + "/points?wait=false"
                         : "/v1" + collection_path(target_) + "/points/ragged?wait=false";
  for (const std::string& field : fields) path_ += "&using=" + client::escape_segment(field);
}

Result<> BlockSender::send_points(const RowBlock& block, Points points, Outcome& outcome) {
  if (points.empty()) return {};
  write_upsert(block, points, body_);
  outcome.n_points_sent += points.size();
  QV_TRY(const client::HttpResponse answer, ask());
  if (answer.status != 200) {
    outcome.n_points_sent -= points.size();
    return refused(block, points, answer, outcome);
  }
  outcome.n_bytes += body_.size();
  outcome.n_points += points.size();
  outcome.end_row = points.back().row + 1;
  return {};
}

Result<> BlockSender::refused(const RowBlock& block, Points points,
                              const client::HttpResponse& answer, Outcome& outcome) {
  const bool is_about_points = answer.status == 400 || answer.status == 413 || answer.status == 422;
  if (!is_about_points) return refusal(target_, "write to", answer);
  if (points.size() == 1) {
    QV_TRY(bad_rows_.add(points[0].row,
                         fmt::format("{}: the server refused it: {}", describe_(points[0].row),
                                     client::error_text(answer))));
    outcome.end_row = points[0].row + 1;
    return {};
  }
  const std::size_t half = points.size() / 2;
  QV_TRY(send_points(block, points.first(half), outcome));
  return send_points(block, points.subspan(half), outcome);
}

Result<client::HttpResponse> BlockSender::ask() {
  const Stopwatch since;
  delay_s_ = 0;
  while (true) {
    auto answer = connection_.exchange("PUT", path_, body_, content_type_);
    if (answer && !is_later(answer->status)) return answer;
    QV_TRY(wait_to_retry(since, answer ? "the server answered " + client::error_text(*answer)
                                       : answer.error().message()));
  }
}

/// The first retry comes at once, because servers close idle connections.
Result<> BlockSender::wait_to_retry(const Stopwatch& since, const std::string& why) {
  if (since.seconds() > target_.retry_s) {
    return fail(Code::kUnavailable, fmt::format("{} (tried for {} s)", why, target_.retry_s));
  }
  const Stopwatch waiting;
  while (waiting.seconds() < delay_s_) {
    if (stopping_) return fail(Code::kCancelled, why);
    const double left = delay_s_ - waiting.seconds();
    std::this_thread::sleep_for(
        std::chrono::duration<double>(std::clamp(left, 0.0, kStopCheckIntervalS)));
  }
  delay_s_ = std::clamp(2 * delay_s_, kFirstDelayS, kMaxDelayS);
  return {};
}

}  // namespace quiver::app
