// Requests that `quiver cluster` sends to a node.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "app/cluster/options.h"
#include "base/result.h"
#include "payload/json/document.h"
#include "service/client/server_connection.h"

namespace quiver::app {

inline constexpr std::chrono::milliseconds kPollInterval{500};
/// The node that is asked may restart.
inline constexpr std::chrono::seconds kSilencePatience{30};

[[nodiscard]] Result<std::unique_ptr<client::ServerConnection>> connect_to(
    const ClusterStatusOptions& options);

/// The body of an answer with status 200. kFailedPrecondition, with the node's words, if it is
/// refused; kUnavailable if it may be taken later, or it is not known whether it was.
[[nodiscard]] Result<std::string> ask_node(client::ServerConnection& server,
                                           std::string_view method, const std::string& target,
                                           std::string_view body = "");
/// As `ask_node`, but asks again while nothing could be changed (no node leads, say), or it is not
/// known whether it was. The request must name a change that may be made twice.
[[nodiscard]] Result<std::string> ask_patiently(client::ServerConnection& server,
                                                std::string_view method, const std::string& target,
                                                std::string_view body = "");

/// Array `name` in the result of an answer to `GET /cluster`; nullptr if there is none.
[[nodiscard]] const payload::Array* rows_in(const payload::Value& answer, std::string_view name);
[[nodiscard]] tl::unexpected<Error> no_nodes();

/// Prints a line at once.
void print_line(const std::string& line);

}  // namespace quiver::app
