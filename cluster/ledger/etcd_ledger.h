// etcd as the ledger, asked through its JSON gateway over HTTP/1.1.
#pragma once

#include <chrono>
#include <string_view>
#include <vector>

#include "cluster/ledger/etcd_gateway.h"
#include "cluster/ledger/ledger.h"
#include "service/client/http.h"

namespace quiver::cluster {

struct EtcdLedgerOptions {
  /// Client addresses of the members. More than one: when one does not answer, the next is asked.
  std::vector<client::Endpoint> members;
  /// Longest duration of a call, over all members it asks; at least 100 ms. Looking up a host name
  /// comes on top.
  std::chrono::milliseconds timeout = std::chrono::seconds(2);
};

/// Connects at the first call. A transaction is sent to one member only; reads and renewals of
/// leases are repeated with the next one.
class EtcdLedger final : public Ledger {
 public:
  explicit EtcdLedger(EtcdLedgerOptions options)
      : gateway_(std::move(options.members), options.timeout) {}

  Result<Outcome> transact(const Transaction& transaction) override;
  Result<RangeAnswer> range(const RangeRequest& request) override;
  Result<LeaseId> grant_lease(std::chrono::seconds ttl) override;
  Result<bool> keep_alive(LeaseId lease) override;
  Result<> revoke_lease(LeaseId lease) override;
  Result<> compact(Revision revision) override;
  Result<LedgerStatus> status() override;

 private:
  etcd::Gateway gateway_;
};

/// Takes etcd 3.4 and later 3.x. kFailedPrecondition for an older one, for another major version,
/// and for 3.5.0 to 3.5.5, whose data may become inconsistent after a crash.
[[nodiscard]] Result<> check_version(std::string_view version);

}  // namespace quiver::cluster
