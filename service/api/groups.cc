#include "service/api/groups.h"

namespace quiver::service::api {

void query_groups(Call& call, OpenCollection target, engine::GroupsQuery query,
                  Done<std::vector<engine::PointGroup>> done) {
  (void)call, (void)target, (void)query;
  done(fail(Code::kUnimplemented, "groups"));
}

}  // namespace quiver::service::api
