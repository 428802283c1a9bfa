#include "service/peer/peer_client.h"

#include <fmt/format.h>

#include "service/peer/peer_error.h"

namespace quiver::service {
namespace {

/// A node whose machine is gone answers nothing, not even probes.
constexpr auto kSilence = std::chrono::seconds(4);
constexpr int kForbidden = 403;

std::string head_for(const client::Endpoint& peer, std::string_view verb, std::string_view secret,
                     std::size_t body_bytes) {
  const std::string target = "/internal/v1/" + client::escape_segment(verb);
  std::string head = client::request_text("POST", target, peer, "", "");
  head.resize(head.size() - 2);  // the empty line comes last
  if (!secret.empty()) head += fmt::format("x-quiver-secret: {}\r\n", secret);
  head += fmt::format("content-type: application/octet-stream\r\ncontent-length: {}\r\n\r\n",
                      body_bytes);
  return head;
}

}  // namespace

Result<std::string> HttpPeerClient::call(const std::string& peer, std::string_view verb,
                                         std::string_view body) {
  QV_TRY(client::Endpoint endpoint, client::parse_url("http://" + peer, kDefaultPeerPort));
  endpoint.silence = kSilence;
  const std::string head = head_for(endpoint, verb, secret_, body.size());
  QV_TRY(client::HttpResponse answer, connections_.exchange(endpoint, head, body));
  if (answer.status == 200) return std::move(answer.body);
  const Error error = peer_error(answer.status, answer.body).with_context("node at " + peer);
  if (answer.status == kForbidden) {
    repeated_.log(LogLevel::kError, peer, "peer: this node is refused: " + error.message());
  }
  return fail(error);
}

}  // namespace quiver::service
