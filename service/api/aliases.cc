#include "service/api/aliases.h"

#include <utility>

#include "service/api/answer.h"
#include "service/api/collections.h"

namespace quiver::service::api {

Result<std::vector<engine::Alias>> list_aliases(Call& call,
                                                const std::optional<std::string>& collection) {
  QV_TRY(call.check_access(collection ? Access::kRead : Access::kAny, collection.value_or("")));
  auto aliases = call.runtime().database().aliases();
  if (!collection) {
    std::erase_if(aliases, [&](const engine::Alias& alias) {
      return !call.principal().can_read(alias.collection);
    });
    return aliases;
  }
  QV_TRY(check_exists(call, *collection));
  std::erase_if(aliases,
                [&](const engine::Alias& alias) { return alias.collection != *collection; });
  return aliases;
}

void update_aliases(Call& call, std::vector<engine::AliasAction> actions, Done<> done) {
  auto update = [&call, actions = std::move(actions)]() -> Result<> {
    QV_TRY(call.check_access(Access::kManage));
    return call.runtime().database().update_aliases(actions);
  };
  answer_on(call.runtime().blocking(), call, std::move(done), std::move(update));
}

}  // namespace quiver::service::api
