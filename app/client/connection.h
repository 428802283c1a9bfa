// One kept-alive HTTP connection: request, answer, request, answer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/client/http.h"
#include "base/result.h"

namespace quiver::app {

inline constexpr std::string_view kJsonType = "application/json";

struct Answer {
  int status = 0;
  std::string body;
};

/// One thread. Connects when there is something to send.
class Connection {
 public:
  Connection(Endpoint endpoint, std::string api_key)
      : endpoint_(std::move(endpoint)), api_key_(std::move(api_key)) {}

  /// kUnavailable if the connection broke: whether the request was carried out is unknown. The next
  /// call connects afresh.
  Result<Answer> exchange(std::string_view method, std::string_view target, std::string_view body,
                          std::string_view content_type = kJsonType);
  /// The same of a whole request, `request_text`.
  Result<Answer> exchange(std::string_view request);

 private:
  [[nodiscard]] std::string request_head(std::string_view method, std::string_view target,
                                         std::size_t body_bytes,
                                         std::string_view content_type) const;
  Result<Answer> exchange_parts(std::string_view head, std::string_view body);
  Result<Answer> exchange_once(std::string_view head, std::string_view body);
  Result<> send_all(std::string_view bytes, int flags);
  Result<Answer> receive();

  const Endpoint endpoint_;
  const std::string api_key_;
  std::optional<Socket> socket_;
  ResponseReader reader_;
};

/// One request on a connection of its own.
[[nodiscard]] Result<Answer> fetch(const Endpoint& endpoint, const std::string& request);

/// The text of an error in the server's envelope, or the body itself.
[[nodiscard]] std::string error_text(const Answer& answer);

}  // namespace quiver::app
