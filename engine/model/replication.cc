#include "engine/model/replication.h"

#include <future>
#include <utility>

namespace quiver::engine {

Result<> wait_for_confirmed_lead(Replication& replication, const std::string& cluster_id) {
  std::promise<Result<>> outcome;
  auto known = outcome.get_future();
  replication.confirm_leads(
      cluster_id, [&outcome](Result<> confirmed) { outcome.set_value(std::move(confirmed)); });
  return known.get();
}

}  // namespace quiver::engine
