#include "cluster/ledger/ledger.h"

#include <fmt/format.h>

#include <algorithm>

namespace quiver::cluster {
namespace {

Result<> check_sizes(const Transaction& transaction) {
  const std::size_t n = std::max(transaction.conditions.size(), transaction.writes.size());
  if (n > kMaxOperations) {
    return fail(Code::kInvalidArgument,
                fmt::format("a transaction of the ledger has {} operations, "
                            "at most {} are possible",
                            n, kMaxOperations));
  }
  std::size_t n_bytes = 0;
  for (const Condition& condition : transaction.conditions) n_bytes += condition.key.size();
  for (const Write& write : transaction.writes) {
    n_bytes += write.key.size() + write.end.size() + (write.value ? write.value->size() : 0);
  }
  if (n_bytes <= kMaxRequestBytes) return {};
  return fail(Code::kInvalidArgument, fmt::format("a transaction of the ledger has {} bytes, at "
                                                  "most {} are possible",
                                                  n_bytes, kMaxRequestBytes));
}

bool is_deleted_by(std::string_view key, const Write& write) {
  if (write.value) return false;
  if (write.end.empty()) return key == write.key;
  return key >= write.key && (write.end == kNoEnd || key < write.end);
}

/// True if the order of the writes would matter.
bool writes_twice(std::string_view key, const Transaction& transaction) {
  const auto n_puts = std::ranges::count_if(
      transaction.writes, [&](const Write& write) { return write.value && write.key == key; });
  return n_puts > 1 || std::ranges::any_of(transaction.writes, [&](const Write& write) {
           return is_deleted_by(key, write);
         });
}

}  // namespace

std::string prefix_end(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (end.empty()) return std::string(kNoEnd);
  ++end.back();
  return end;
}

Result<> check(const Transaction& transaction) {
  QV_TRY(check_sizes(transaction));
  const auto is_empty = [](const auto& operation) { return operation.key.empty(); };
  if (std::ranges::any_of(transaction.conditions, is_empty) ||
      std::ranges::any_of(transaction.writes, is_empty)) {
    return fail(Code::kInvalidArgument, "a key of the ledger is empty");
  }
  for (const Write& write : transaction.writes) {
    if (write.value && !write.end.empty()) {
      return fail(Code::kInvalidArgument, fmt::format("a put of key \"{}\" has an end", write.key));
    }
    if (!write.value || !writes_twice(write.key, transaction)) continue;
    return fail(Code::kInvalidArgument,
                fmt::format("a transaction writes key \"{}\" twice", write.key));
  }
  return {};
}

Result<> check(const RangeRequest& request) {
  if (!request.from.empty() && request.limit >= 0) return {};
  return fail(Code::kInvalidArgument,
              "a range of the ledger starts at an empty key, or its limit "
              "is negative");
}

}  // namespace quiver::cluster
