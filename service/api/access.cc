#include "service/api/access.h"

#include <utility>
#include <variant>

#include "base/clock.h"
#include "engine/collection.h"
#include "service/api/names.h"
#include "service/api/runtime.h"

namespace quiver::service::api {
namespace {

constexpr std::string_view kStale = "Invalid JWT, stateful validation failed";

payload::Filter filter_of(const access::ValueExists& wanted) {
  payload::Filter filter;
  for (const auto& [key, value] : wanted.matches) {
    payload::MatchScalar scalar = std::visit(
        [](const auto& alternative) { return payload::MatchScalar(alternative); }, value);
    filter.must.emplace_back(payload::FieldCondition{key, payload::MatchValue{std::move(scalar)}});
  }
  return filter;
}

}  // namespace

Result<Principal> principal_of(Runtime& runtime, const Credentials& credentials) {
  constexpr std::int64_t kMsPerSecond = 1000;
  return runtime.keys().principal_of(credentials, unix_time_ms() / kMsPerSecond);
}

Result<> check_value_exists(Runtime& runtime, const Principal& principal) {
  const auto* wanted = principal.value_exists();
  if (wanted == nullptr) return {};
  const auto stale = [](Code code) { return fail(code, std::string(kStale)); };
  engine::Database& database = runtime.database();
  if (!is_collection_name(wanted->collection) || !database.exists(wanted->collection)) {
    return stale(Code::kPermissionDenied);
  }
  QV_TRY(const auto collection, database.collection(wanted->collection));
  engine::ScrollRequest request;
  request.limit = 1;
  request.filter = filter_of(*wanted);
  request.with_payload = payload::Selector::none();
  const auto timeout = std::chrono::duration<double>(runtime.options().query_timeout_s);
  const Deadline deadline =
      Deadline::after(std::chrono::duration_cast<std::chrono::nanoseconds>(timeout));
  QV_TRY(const auto page, collection->scroll(request, Cancel(deadline)));
  if (page.points.empty()) return stale(Code::kUnauthenticated);
  return {};
}

Result<Principal> authenticate(Runtime& runtime, const Credentials& credentials) {
  QV_TRY(auto principal, principal_of(runtime, credentials));
  QV_TRY(check_value_exists(runtime, principal));
  return principal;
}

}  // namespace quiver::service::api
