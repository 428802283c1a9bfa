#include "service/tracing/collector_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "service/tracing/otlp.h"

namespace quiver::service::tracing {
namespace {

/// A collector is near; a server that ends may have to wait for it.
constexpr auto kMaxConnectTime = std::chrono::seconds(2);
constexpr std::chrono::seconds kMaxRetryAfter{60};

std::string head_of(const Collector& collector, const Headers& headers) {
  std::string head = client::request_text("POST", collector.target, collector.server, "", "");
  head.resize(head.size() - 2);  // the empty line comes last
  head += "content-type: application/x-protobuf\r\n";
  for (const auto& [name, value] : headers) head += fmt::format("{}: {}\r\n", name, value);
  return head;
}

/// As OTLP says.
bool may_be_repeated(int status) {
  constexpr std::array kStatuses = {429, 502, 503, 504};
  return std::ranges::find(kStatuses, status) != kStatuses.end();
}

std::chrono::seconds retry_after_of(const client::HttpResponse& answer) {
  const std::string_view text = client::find_header(answer.head, "retry-after").value_or("");
  std::int64_t seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return std::clamp(std::chrono::seconds(seconds), std::chrono::seconds(0), kMaxRetryAfter);
}

}  // namespace

CollectorClient::CollectorClient(const Collector& collector, const Headers& headers)
    : head_(head_of(collector, headers)), connection_(collector.server, "") {}

Result<client::HttpResponse> CollectorClient::exchange(std::string_view body,
                                                       Clock::time_point deadline) {
  connection_.set_deadline(std::min(deadline, Clock::now() + kMaxConnectTime));
  QV_TRY(connection_.ensure_connected());
  connection_.set_deadline(deadline);
  return connection_.exchange_parts(fmt::format("{}content-length: {}\r\n\r\n", head_, body.size()),
                                    body);
}

PostOutcome CollectorClient::post(std::string_view body, Clock::time_point deadline) {
  PostOutcome outcome;
  const auto answer = exchange(body, deadline);
  if (!answer) {
    outcome.may_be_repeated = true;
    outcome.reason = answer.error().message();
    return outcome;
  }
  outcome.is_taken = answer->status >= 200 && answer->status < 300;
  if (outcome.is_taken) {
    outcome.n_rejected = rejected_spans(answer->body);
  } else {
    outcome.may_be_repeated = may_be_repeated(answer->status);
    outcome.retry_after = retry_after_of(*answer);
    outcome.reason = fmt::format("it answers with status {}", answer->status);
  }
  return outcome;
}

}  // namespace quiver::service::tracing
