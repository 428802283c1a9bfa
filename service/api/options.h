// What an operator sets for all transports.
#pragma once

#include <string>

#include "engine/model/config.h"
#include "service/access/audit_log.h"
#include "service/access/keys.h"

namespace quiver::service::api {

/// The name and version that the server reports.
struct Identity {
  std::string name = "quiver";
  std::string title = "quiver - vector search engine";
  std::string version = "0.1.0";
  std::string commit;  ///< 40 hex digits; empty: not reported
};

struct Options : access::KeyOptions {
  double query_timeout_s = 60;  ///< for reads whose caller sets no timeout
  std::string metrics_prefix;   ///< precedes the name of every metric
  access::AuditOptions audit;
  bool recovers_from_urls = true;    ///< snapshots may be fetched over HTTP
  std::string snapshot_url_hosts;    ///< besides this machine; between commas, "*": all
  engine::CreationOptions creation;  ///< defaults of new collections
  Identity identity;
};

}  // namespace quiver::service::api
