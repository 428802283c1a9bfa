#include "service/access/access.h"

#include <fmt/format.h>

#include <algorithm>

namespace quiver::service::access {
namespace {

tl::unexpected<Error> denied(std::string text) {
  return fail(Code::kPermissionDenied, std::move(text));
}

bool reads_only(Access needed) {
  return needed == Access::kRead || needed == Access::kReadExtras ||
         needed == Access::kGlobalRead || needed == Access::kAny;
}

bool needs_extras(Access needed) {
  return needed == Access::kReadExtras || needed == Access::kWriteExtras;
}

}  // namespace

bool is_about_a_collection(Access needed) {
  return needed == Access::kRead || needed == Access::kReadExtras || needed == Access::kWrite ||
         needed == Access::kWriteExtras;
}

std::string_view to_string(Access needed) {
  constexpr std::string_view kNames[] = {"open",  "any",          "read",        "read_extras",
                                         "write", "write_extras", "global_read", "manage"};
  return kNames[static_cast<std::size_t>(needed)];
}

std::string_view to_string(KeyKind kind) {
  constexpr std::string_view kNames[] = {"none", "api_key", "read_only_api_key", "token"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view Principal::subject() const {
  return claims_ ? std::string_view(claims_->subject) : std::string_view();
}

const ValueExists* Principal::value_exists() const {
  return claims_ && claims_->value_exists ? &*claims_->value_exists : nullptr;
}

Result<> Principal::check(Access needed, std::string_view collection) const {
  if (needed == Access::kOpen || level_ == Level::kManage) return {};
  if (level_ == Level::kNobody) {
    return fail(Code::kUnauthenticated, "Must provide an API key or an Authorization bearer token");
  }
  if (needed == Access::kAny) return {};
  if (level_ == Level::kGlobalRead) {
    if (reads_only(needed)) return {};
    return denied("Global manage access is required");
  }
  if (!is_about_a_collection(needed) || collection.empty()) {
    return denied("Global access is required");
  }
  return check_grant(needed, collection);
}

Result<> Principal::check_grant(Access needed, std::string_view collection) const {
  const CollectionGrant* found = nullptr;
  if (claims_) {
    const auto& grants = claims_->grants;
    const auto same = std::find_if(grants.begin(), grants.end(), [&](const CollectionGrant& one) {
      return one.collection == collection;
    });
    if (same != grants.end()) found = &*same;
  }
  if (found == nullptr) {
    return denied(fmt::format("Access to collection {} is required", collection));
  }
  if (needs_extras(needed) && found->grant == Grant::kPointsReadWrite) {
    return denied(fmt::format("Only points access is allowed for collection {}", collection));
  }
  if (!reads_only(needed) && found->grant == Grant::kRead) {
    return denied(fmt::format("Write access to collection {} is required", collection));
  }
  return {};
}

}  // namespace quiver::service::access
