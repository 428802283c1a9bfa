// The JSON of etcd's gateway: requests written, answers read, errors classified.
// Keys and values are base64; 64-bit numbers come as strings, and zeros are left out.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/ledger/ledger.h"
#include "payload/json/document.h"

namespace quiver::cluster::etcd {

[[nodiscard]] std::string write_transaction(const Transaction& transaction);
[[nodiscard]] std::string write_range(const RangeRequest& request);
/// {"name": number}
[[nodiscard]] std::string write_number(std::string_view name, std::int64_t number);

/// The number of a member, 0 if it is left out.
[[nodiscard]] std::int64_t read_number(const payload::Value& value, std::string_view name);
/// As `read_number`, for ids, which use all 64 bits.
[[nodiscard]] std::uint64_t read_id(const payload::Value& value, std::string_view name);
/// The text of a member, empty if it is left out.
[[nodiscard]] std::string read_text(const payload::Value& value, std::string_view name);
[[nodiscard]] Result<Outcome> read_outcome(const payload::Value& answer);
[[nodiscard]] Result<RangeAnswer> read_range(const payload::Value& answer);
[[nodiscard]] Result<LedgerStatus> read_status(const payload::Value& answer);

/// Parses an answer. An error of etcd is returned with the codes of `Ledger`: kUnavailable if
/// nothing was done, kDeadlineExceeded if that is not known.
[[nodiscard]] Result<payload::Value> read_answer(int http_status, std::string_view body);

}  // namespace quiver::cluster::etcd
