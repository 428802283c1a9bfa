#include "app/cluster/requests.h"

#include <cstdio>
#include <thread>
#include <utility>

namespace quiver::app {
namespace {

constexpr int kRequestTimeout = 408;

}  // namespace

Result<std::unique_ptr<client::ServerConnection>> connect_to(const ClusterStatusOptions& options) {
  QV_TRY(client::Endpoint endpoint, client::parse_url(options.url));
  endpoint.ca_file = options.ca;
  return std::make_unique<client::ServerConnection>(endpoint, options.api_key);
}

Result<std::string> ask_node(client::ServerConnection& server, std::string_view method,
                             const std::string& target, std::string_view body) {
  QV_TRY(client::HttpResponse answer, server.exchange(method, target, body));
  if (answer.status == 200) return std::move(answer.body);
  const bool is_final = answer.status < 500 && answer.status != kRequestTimeout;
  return fail(is_final ? Code::kFailedPrecondition : Code::kUnavailable,
              client::error_text(answer));
}

Result<std::string> ask_patiently(client::ServerConnection& server, std::string_view method,
                                  const std::string& target, std::string_view body) {
  using Clock = std::chrono::steady_clock;
  const auto begun = Clock::now();
  bool is_told = false;
  while (true) {
    auto answer = ask_node(server, method, target, body);
    const bool is_final = answer || answer.error().code() != Code::kUnavailable;
    if (is_final || Clock::now() - begun > kSilencePatience) return answer;
    if (!std::exchange(is_told, true)) print_line(answer.error().message() + "; trying again");
    std::this_thread::sleep_for(kPollInterval);
  }
}

const payload::Array* rows_in(const payload::Value& answer, std::string_view name) {
  const payload::Value* result = answer.find("result");
  const payload::Value* rows = result == nullptr ? nullptr : result->find(name);
  return rows == nullptr ? nullptr : rows->as_array();
}

tl::unexpected<Error> no_nodes() {
  return fail(Code::kFailedPrecondition, "the server belongs to no cluster");
}

void print_line(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace quiver::app
