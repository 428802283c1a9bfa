#include "service/api/collections.h"

#include <fmt/format.h>

#include <utility>

#include "engine/collection.h"
#include "service/api/answer.h"
#include "service/api/limits.h"
#include "service/api/names.h"
#include "service/api/strict/defaults.h"

namespace quiver::service::api {
namespace {

Error no_collection(const std::string& name) {
  return Error(Code::kNotFound, Subject::kCollection, name,
               fmt::format("collection `{}` does not exist", name));
}

Result<OpenCollection> find_collection(Call& call, const std::string& name) {
  QV_TRY(call.check_access(Access::kRead, name));
  if (!is_collection_name(name)) return fail(no_collection(name));
  QV_TRY(auto collection, call.runtime().database().collection(name));
  if (collection->waits()) call.set_waits();
  return OpenCollection{name, std::move(collection)};
}

}  // namespace

void note_waits(Call& call, const std::string& name) {
  const auto open = call.runtime().database().collection_if_open(name);
  if (open != nullptr && open->waits()) call.set_waits();
}

std::uint64_t n_rows(const OpenCollection& target) {
  if (target.collection->waits()) return 0;  // they are elsewhere
  const auto n = target.collection->count({}, Cancel());
  return n ? *n : 0;
}

void open_collection(Call& call, const std::string& name, Done<OpenCollection> done) {
  if (auto open = call.runtime().database().collection_if_open(name)) {
    const bool waits = open->waits();
    auto give = [&call, &name, open = std::move(open)]() mutable -> Result<OpenCollection> {
      QV_TRY(call.check_access(Access::kRead, name));
      return OpenCollection{name, std::move(open)};
    };
    if (!waits) return answer(call, done, give);
    call.set_waits();
    return answer_on(call.runtime().waiting(), call, std::move(done), std::move(give));
  }
  auto find = [&call, &name] { return find_collection(call, name); };
  answer_on(call.runtime().blocking(), call, std::move(done), find);
}

Result<std::vector<std::string>> collection_names(Call& call) {
  QV_TRY(call.check_access(Access::kAny));
  auto names = call.runtime().database().collection_names();
  std::erase_if(names, [&](const auto& name) { return !call.principal().can_read(name); });
  return names;
}

Result<bool> collection_exists(Call& call, const std::string& name) {
  QV_TRY(call.check_access(Access::kRead, name));
  return is_collection_name(name) && call.runtime().database().exists(name);
}

Result<> check_exists(Call& call, const std::string& name) {
  QV_TRY(const bool exists, collection_exists(call, name));
  if (!exists) return fail(no_collection(name));
  return {};
}

void create_collection(Call& call, std::string name, engine::CollectionConfig config, Done<> done) {
  auto create = [&call, name = std::move(name), config = std::move(config)]() mutable -> Result<> {
    QV_TRY(call.check_access(Access::kManage));
    QV_TRY(check_collection_name(name));
    const std::string& defaults = call.runtime().options().strict_mode;
    if (!defaults.empty()) {
      config.client_settings = strict::with_default_strict_mode(config.client_settings, defaults);
    }
    return call.runtime().database().create_collection(name, std::move(config));
  };
  answer_on(call.runtime().blocking(), call, std::move(done), std::move(create));
}

namespace {

void change_config(Call& call, Access needed, std::string name,
                   std::function<Result<>(engine::CollectionConfig&)> change, Done<> done) {
  note_waits(call, name);
  auto update = [&call, needed, name = std::move(name), change = std::move(change)]() -> Result<> {
    QV_TRY(call.check_access(needed, name));
    return call.runtime().database().update_config(name, change);
  };
  answer_on(call.runtime().blocking(), call, std::move(done), std::move(update));
}

}  // namespace

void update_collection(Call& call, std::string name,
                       std::function<Result<>(engine::CollectionConfig&)> change, Done<> done) {
  change_config(call, Access::kManage, std::move(name), std::move(change), std::move(done));
}

void create_vector(Call& call, std::string name,
                   std::function<Result<>(engine::CollectionConfig&)> add, Done<> done) {
  change_config(call, Access::kWriteExtras, std::move(name), std::move(add), std::move(done));
}

void delete_vector(Call& call, std::string name,
                   std::function<Result<>(engine::CollectionConfig&)> remove, Done<> done) {
  change_config(call, Access::kWriteExtras, std::move(name), std::move(remove), std::move(done));
}

void drop_collection(Call& call, std::string name, Done<bool> done) {
  auto drop = [&call, name = std::move(name)]() -> Result<bool> {
    QV_TRY(call.check_access(Access::kManage));
    if (!is_collection_name(name)) return false;
    return call.runtime().database().drop_collection(name);
  };
  answer_on(call.runtime().blocking(), call, std::move(done), std::move(drop));
}

Result<engine::CollectionInfo> collection_info(Call& call, const OpenCollection& target) {
  QV_TRY(call.check_access(Access::kRead, target.name));
  return target.collection->info();
}

Result<engine::OptimizationReport> optimizations(Call& call, const OpenCollection& target) {
  QV_TRY(call.check_access(Access::kRead, target.name));
  return target.collection->optimizations();
}

Result<SegmentIndexes> segment_indexes(Call& call, const OpenCollection& target) {
  QV_TRY(call.check_access(Access::kRead, target.name));
  return SegmentIndexes{target.collection->segment_indexes(),
                        target.collection->info().config.vector_indexes,
                        target.collection->segment_attributes()};
}

Result<FieldSchema> vector_field(const OpenCollection& target, const std::string& name) {
  const auto config = target.collection->config();
  QV_TRY(const std::size_t number, config->field(name));
  return config->fields[number];
}

void create_index(Call& call, const OpenCollection& target, payload::FieldIndex index,
                  engine::Ack ack, Done<> done) {
  auto create = [&call, target, index = std::move(index), ack]() -> Result<> {
    QV_TRY(call.check_access(Access::kWriteExtras, target.name));
    QV_TRY(check_limits(call, target, index));
    return target.collection->create_index(index, ack);
  };
  Runtime& runtime = call.runtime();
  Executor& executor = ack == engine::Ack::kVisible ? runtime.long_running() : runtime.blocking();
  answer_on(executor, call, std::move(done), std::move(create));
}

void drop_index(Call& call, const OpenCollection& target, std::string key, Done<bool> done) {
  auto drop = [&call, target, key = std::move(key)]() -> Result<bool> {
    QV_TRY(call.check_access(Access::kWriteExtras, target.name));
    return target.collection->drop_index(key);
  };
  answer_on(call.runtime().blocking(), call, std::move(done), std::move(drop));
}

}  // namespace quiver::service::api
