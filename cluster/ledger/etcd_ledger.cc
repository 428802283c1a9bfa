#include "cluster/ledger/etcd_ledger.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstddef>

#include "cluster/ledger/etcd_json.h"

namespace quiver::cluster {
namespace {

using etcd::Repeat;
using payload::Value;
using VersionNumbers = std::array<int, 3>;

/// "3.4.23" and "3.6.0-rc.1"; numbers that are missing are 0.
VersionNumbers parse_version(std::string_view text) {
  VersionNumbers numbers = {};
  for (int& number : numbers) {
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    if (!text.starts_with('.')) break;
    text.remove_prefix(1);
  }
  return numbers;
}

/// Of a call that may be repeated: an answer that is not understood is none.
template <class T>
Result<T> of_repeated(Result<T> answer) {
  if (answer || answer.error().code() != Code::kDeadlineExceeded) return answer;
  return fail(Code::kUnavailable, answer.error().message());
}

}  // namespace

Result<Outcome> EtcdLedger::transact(const Transaction& transaction) {
  QV_TRY(check(transaction));
  const auto answer =
      gateway_.post("/v3/kv/txn", etcd::write_transaction(transaction), Repeat::kNo);
  if (answer) return etcd::read_outcome(*answer);
  // Only a lease can be missing.
  const bool is_lease_gone = answer.error().code() == Code::kNotFound;
  if (is_lease_gone) return fail(Code::kFailedPrecondition, answer.error().message());
  return fail(answer.error());
}

Result<RangeAnswer> EtcdLedger::range(const RangeRequest& request) {
  QV_TRY(check(request));
  QV_TRY(const Value answer,
         gateway_.post("/v3/kv/range", etcd::write_range(request), Repeat::kYes));
  return of_repeated(etcd::read_range(answer));
}

Result<LeaseId> EtcdLedger::grant_lease(std::chrono::seconds ttl) {
  if (ttl < std::chrono::seconds(1)) {
    return fail(Code::kInvalidArgument, fmt::format("a lease of {} s is too short", ttl.count()));
  }
  // A lease whose answer is lost expires by itself, so the request may be repeated.
  QV_TRY(const Value answer,
         gateway_.post("/v3/lease/grant", etcd::write_number("TTL", ttl.count()), Repeat::kYes));
  const LeaseId lease = etcd::read_number(answer, "ID");
  if (lease != 0) return lease;
  return fail(Code::kUnavailable, "the ledger granted a lease without an id");
}

Result<bool> EtcdLedger::keep_alive(LeaseId lease) {
  QV_TRY(const Value answer,
         gateway_.post("/v3/lease/keepalive", etcd::write_number("ID", lease), Repeat::kYes));
  const Value* result = answer.find("result");
  if (result != nullptr) return etcd::read_number(*result, "TTL") > 0;
  return fail(Code::kUnavailable, "the ledger's answer has no lease");
}

Result<> EtcdLedger::revoke_lease(LeaseId lease) {
  QV_TRY(gateway_.post("/v3/lease/revoke", etcd::write_number("ID", lease), Repeat::kNo));
  return {};
}

Result<> EtcdLedger::compact(Revision revision) {
  QV_TRY(gateway_.post("/v3/kv/compaction", etcd::write_number("revision", revision), Repeat::kNo));
  return {};
}

Result<LedgerStatus> EtcdLedger::status() {
  QV_TRY(const Value answer, gateway_.post("/v3/maintenance/status", "{}", Repeat::kYes));
  return of_repeated(etcd::read_status(answer));
}

Result<> check_version(std::string_view version) {
  const VersionNumbers numbers = parse_version(version);
  constexpr std::string_view kWanted = "wanted: 3.4, 3.5.6 or newer, or a later 3.x";
  if (numbers < VersionNumbers{3, 4, 0} || numbers >= VersionNumbers{4, 0, 0}) {
    return fail(Code::kFailedPrecondition,
                fmt::format("etcd {} cannot be the ledger ({})", version, kWanted));
  }
  if (numbers < VersionNumbers{3, 5, 0} || numbers > VersionNumbers{3, 5, 5}) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("etcd {} cannot be the ledger: the data of 3.5.0 to 3.5.5 may become "
                          "inconsistent after a crash ({})",
                          version, kWanted));
}

}  // namespace quiver::cluster
