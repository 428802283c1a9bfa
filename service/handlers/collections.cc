// Collections, aliases and payload indexes.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "service/api/aliases.h"
#include "service/api/collections.h"
#include "service/handlers/common.h"
#include "service/handlers/handlers.h"
#include "service/json/decode/decode.h"
#include "service/json/encode/encode.h"

namespace quiver::service {
namespace {

Decoded<Answer> list_collections(Exchange& x) {
  QV_TRY(const auto names, api::collection_names(x));
  auto out = x.begin_result();
  out.begin_object();
  out.key("collections");
  out.begin_array();
  for (const auto& name : names) {
    out.begin_object();
    out.member("name", std::string_view(name));
    out.end_object();
  }
  out.end_array();
  out.end_object();
  x.end_result();
  return Answer::kReady;
}

Decoded<Answer> answer_exists(Exchange& x) {
  QV_TRY(json::check_collection_name(x.captures[0]));
  QV_TRY(const bool exists, api::collection_exists(x, x.captures[0]));
  auto out = x.begin_result();
  out.begin_object();
  out.member("exists", exists);
  out.end_object();
  x.end_result();
  return Answer::kReady;
}

Decoded<Answer> answer_info(Exchange& x) {
  return with_collection(x, [](Exchange& exchange, OpenCollection collection) -> Decoded<Answer> {
    QV_TRY(const auto info, api::collection_info(exchange, collection));
    auto out = exchange.begin_result();
    json::write_collection_info(out, info);
    exchange.end_result();
    return Answer::kReady;
  });
}

std::string_view without_spaces_around(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

/// Reads `with`, names between commas, and `completed_limit`.
Decoded<json::OptimizationParts> optimization_parts(const Exchange& x) {
  json::OptimizationParts parts;
  QV_TRY(const auto limit, number_parameter(x, "completed_limit"));
  if (limit) parts.completed_limit = *limit;
  const std::string names = query_parameter(x.target.query, "with").value_or("");
  for (std::size_t begin = 0; begin < names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    const auto name = without_spaces_around(std::string_view(names).substr(begin, end - begin));
    if (name == "queued") {
      parts.queued = true;
    } else if (name == "completed") {
      parts.completed = true;
    } else if (name == "idle_segments") {
      parts.idle_segments = true;
    } else {
      return bad_parameter(fmt::format(
          "with: unknown variant `{}`, expected one of `queued`, `completed`, `idle_segments`",
          name));
    }
    begin = end + 1;
  }
  return parts;
}

Decoded<Answer> answer_optimizations(Exchange& x) {
  return with_collection(x, [](Exchange& exchange, OpenCollection collection) -> Decoded<Answer> {
    QV_TRY(const auto parts, optimization_parts(exchange));
    QV_TRY(const auto report, api::optimizations(exchange, collection));
    auto out = exchange.begin_result();
    json::write_optimizations(out, report, parts);
    exchange.end_result();
    return Answer::kReady;
  });
}

Decoded<Answer> answer_segment_indexes(Exchange& x) {
  return with_collection(x, [](Exchange& exchange, OpenCollection collection) -> Decoded<Answer> {
    QV_TRY(const auto found, api::segment_indexes(exchange, collection));
    auto out = exchange.begin_result();
    json::write_segment_indexes(out, found.indexes, found.configs, found.attributes);
    exchange.end_result();
    return Answer::kReady;
  });
}

Decoded<Answer> create_collection(Exchange& x) {
  QV_TRY(write_params(x));
  QV_TRY(json::check_collection_name(x.captures[0]));
  return blocking(x, [](Exchange& exchange) -> Decoded<Answer> {
    const auto& defaults = exchange.runtime().options().creation;
    QV_TRY(auto config, json::decode_collection(exchange.request.body, defaults));
    api::create_collection(exchange, exchange.captures[0], std::move(config),
                           answer_true(exchange));
    return Answer::kLater;
  });
}

/// `Patch`: a change of the configuration, decoded from the body.
template <class Patch>
Decoded<Answer> patch_config(Exchange& x) {
  QV_TRY(write_params(x));
  return blocking(x, [](Exchange& exchange) -> Decoded<Answer> {
    QV_TRY(api::check_exists(exchange, exchange.captures[0]));
    QV_TRY(auto patch, Patch::decode(exchange.request.body));
    auto change = [patch = std::move(patch)](engine::CollectionConfig& config) {
      return patch.apply(config);
    };
    api::update_collection(exchange, exchange.captures[0], std::move(change),
                           answer_true(exchange));
    return Answer::kLater;
  });
}

void write_index_change(Exchange& x, engine::Ack ack) {
  x.result_raw(ack == engine::Ack::kVisible ? R"({"operation_id":0,"status":"completed"})"
                                            : R"({"operation_id":0,"status":"acknowledged"})");
}

api::Done<> answer_change(Exchange& x, engine::Ack ack) {
  return [&x, ack](Result<> changed) {
    x.run([&](Exchange& exchange) -> Decoded<Answer> {
      QV_TRY(std::move(changed));
      write_index_change(exchange, ack);
      return Answer::kReady;
    });
  };
}

Decoded<Answer> create_vector(Exchange& x) {
  QV_TRY(const auto ack, write_params(x));
  return blocking(x, [ack](Exchange& exchange) -> Decoded<Answer> {
    QV_TRY(api::check_exists(exchange, exchange.captures[0]));
    QV_TRY(auto creation,
           json::VectorCreation::decode(exchange.captures[1], exchange.request.body));
    auto add = [creation = std::move(creation)](engine::CollectionConfig& config) {
      return creation.apply(config);
    };
    api::create_vector(exchange, exchange.captures[0], std::move(add),
                       answer_change(exchange, ack));
    return Answer::kLater;
  });
}

Decoded<Answer> delete_vector(Exchange& x) {
  QV_TRY(const auto ack, write_params(x));
  auto remove = [deletion = json::VectorDeletion(x.captures[1])](engine::CollectionConfig& config) {
    return deletion.apply(config);
  };
  api::delete_vector(x, x.captures[0], std::move(remove), answer_change(x, ack));
  return Answer::kLater;
}

Decoded<Answer> answer_ttl(Exchange& x) {
  return with_collection(x, [](Exchange& exchange, OpenCollection collection) -> Decoded<Answer> {
    QV_TRY(const auto info, api::collection_info(exchange, collection));
    auto out = exchange.begin_result();
    json::write_ttl(out, info.config.ttl);
    exchange.end_result();
    return Answer::kReady;
  });
}

Decoded<Answer> change_ttl(Exchange& x, std::optional<engine::Ttl> ttl) {
  auto change = [ttl = std::move(ttl)](engine::CollectionConfig& config) -> Result<> {
    config.ttl = ttl;
    return {};
  };
  api::update_collection(x, x.captures[0], std::move(change), answer_true(x));
  return Answer::kLater;
}

Decoded<Answer> set_ttl(Exchange& x) {
  QV_TRY(write_params(x));
  return blocking(x, [](Exchange& exchange) -> Decoded<Answer> {
    QV_TRY(api::check_exists(exchange, exchange.captures[0]));
    QV_TRY(auto ttl, json::decode_ttl(exchange.request.body));
    return change_ttl(exchange, std::move(ttl));
  });
}

Decoded<Answer> remove_ttl(Exchange& x) {
  QV_TRY(write_params(x));
  return change_ttl(x, std::nullopt);
}

Decoded<Answer> answer_tenant_quota(Exchange& x) {
  return with_collection(x, [](Exchange& exchange, OpenCollection collection) -> Decoded<Answer> {
    QV_TRY(const auto info, api::collection_info(exchange, collection));
    auto out = exchange.begin_result();
    json::write_tenant_quota(out, info.config.tenant_quota);
    exchange.end_result();
    return Answer::kReady;
  });
}

Decoded<Answer> change_tenant_quota(Exchange& x, std::optional<engine::TenantQuota> quota) {
  auto change = [quota = std::move(quota)](engine::CollectionConfig& config) -> Result<> {
    config.tenant_quota = quota;
    return {};
  };
  api::update_collection(x, x.captures[0], std::move(change), answer_true(x));
  return Answer::kLater;
}

Decoded<Answer> set_tenant_quota(Exchange& x) {
  QV_TRY(write_params(x));
  return blocking(x, [](Exchange& exchange) -> Decoded<Answer> {
    QV_TRY(api::check_exists(exchange, exchange.captures[0]));
    QV_TRY(auto quota, json::decode_tenant_quota(exchange.request.body));
    return change_tenant_quota(exchange, std::move(quota));
  });
}

Decoded<Answer> remove_tenant_quota(Exchange& x) {
  QV_TRY(write_params(x));
  return change_tenant_quota(x, std::nullopt);
}

Decoded<Answer> delete_collection(Exchange& x) {
  QV_TRY(write_params(x));
  api::drop_collection(x, x.captures[0], answer_bool(x));
  return Answer::kLater;
}

void write_aliases(Exchange& x, const std::vector<engine::Alias>& aliases) {
  auto out = x.begin_result();
  out.begin_object();
  out.key("aliases");
  out.begin_array();
  for (const auto& [alias, collection] : aliases) {
    out.begin_object();
    out.member("alias_name", std::string_view(alias));
    out.member("collection_name", std::string_view(collection));
    out.end_object();
  }
  out.end_array();
  out.end_object();
  x.end_result();
}

Decoded<Answer> list_all_aliases(Exchange& x) {
  QV_TRY(const auto aliases, api::list_aliases(x, std::nullopt));
  write_aliases(x, aliases);
  return Answer::kReady;
}

Decoded<Answer> list_collection_aliases(Exchange& x) {
  QV_TRY(const auto aliases, api::list_aliases(x, x.captures[0]));
  write_aliases(x, aliases);
  return Answer::kReady;
}

Decoded<Answer> change_aliases(Exchange& x) {
  QV_TRY(write_params(x));
  return blocking(x, [](Exchange& exchange) -> Decoded<Answer> {
    QV_TRY(auto actions, json::decode_alias_actions(exchange.request.body));
    api::update_aliases(exchange, std::move(actions), answer_true(exchange));
    return Answer::kLater;
  });
}

Decoded<Answer> create_index(Exchange& x) {
  return blocking(x, [](Exchange& outer) -> Decoded<Answer> {
    QV_TRY(const auto ack, write_params(outer));
    return with_collection(
        outer, [ack](Exchange& exchange, const OpenCollection& collection) -> Decoded<Answer> {
          QV_TRY(auto index, json::decode_index(exchange.request.body));
          api::create_index(exchange, collection, std::move(index), ack,
                            answer_change(exchange, ack));
          return Answer::kLater;
        });
  });
}

Decoded<Answer> drop_index(Exchange& x) {
  return blocking(x, [](Exchange& outer) -> Decoded<Answer> {
    QV_TRY(const auto ack, write_params(outer));
    return with_collection(
        outer, [ack](Exchange& exchange, const OpenCollection& collection) -> Decoded<Answer> {
          auto write = [ack](Exchange& dropped, bool) -> Decoded<> {
            write_index_change(dropped, ack);
            return {};
          };
          api::drop_index(exchange, collection, exchange.captures[1],
                          answer_by<bool>(exchange, write));
          return Answer::kLater;
        });
  });
}

}  // namespace

void add_collection_routes(Routes& routes) {
  const auto add = [&](Method method, std::string_view pattern, Access access, Handler handler) {
    routes.push_back({method, pattern, access, handler});
  };
  const auto change = [&](Method method, std::string_view pattern, Access access, Handler handler) {
    routes.push_back({method, pattern, access, handler, Effect::kChange});
  };
  const std::string_view one = "/collections/{collection_name}";
  add(Method::kGet, "/collections", Access::kAny, list_collections);
  add(Method::kGet, "/collections/{collection_name}", Access::kRead, answer_info);
  routes.push_back({Method::kPut, one, Access::kManage, create_collection, Effect::kCatalog});
  change(Method::kPatch, "/collections/{collection_name}", Access::kManage,
         patch_config<json::CollectionPatch>);
  routes.push_back({Method::kDelete, one, Access::kManage, delete_collection, Effect::kCatalog});
  routes.push_back({Method::kGet, "/collections/{collection_name}/exists", Access::kRead,
                    answer_exists, Effect::kHere});
  add(Method::kGet, "/collections/{collection_name}/optimizations", Access::kRead,
      answer_optimizations);
  change(Method::kPut, "/collections/{collection_name}/vectors/{vector_name}", Access::kWriteExtras,
         create_vector);
  change(Method::kDelete, "/collections/{collection_name}/vectors/{vector_name}",
         Access::kWriteExtras, delete_vector);
  add(Method::kGet, "/v1/collections/{collection_name}/ttl", Access::kRead, answer_ttl);
  change(Method::kPut, "/v1/collections/{collection_name}/ttl", Access::kManage, set_ttl);
  change(Method::kDelete, "/v1/collections/{collection_name}/ttl", Access::kManage, remove_ttl);
  add(Method::kGet, "/v1/collections/{collection_name}/quotas", Access::kRead, answer_tenant_quota);
  change(Method::kPut, "/v1/collections/{collection_name}/quotas", Access::kManage,
         set_tenant_quota);
  change(Method::kDelete, "/v1/collections/{collection_name}/quotas", Access::kManage,
         remove_tenant_quota);
  add(Method::kGet, "/v1/collections/{collection_name}/indexes", Access::kRead,
      answer_segment_indexes);
  change(Method::kPatch, "/v1/collections/{collection_name}/indexes", Access::kManage,
         patch_config<json::VectorIndexPatch>);
}

void add_alias_routes(Routes& routes) {
  routes.insert(routes.end(), {{Method::kPost, "/collections/aliases", Access::kManage,
                                change_aliases, Effect::kCatalog},
                               {Method::kGet, "/aliases", Access::kAny, list_all_aliases},
                               {Method::kGet, "/collections/{collection_name}/aliases",
                                Access::kRead, list_collection_aliases, Effect::kHere}});
}

void add_index_routes(Routes& routes) {
  routes.insert(routes.end(),
                {{Method::kPut, "/collections/{collection_name}/index", Access::kWriteExtras,
                  create_index, Effect::kChange},
                 {Method::kDelete, "/collections/{collection_name}/index/{field_name}",
                  Access::kWriteExtras, drop_index, Effect::kChange}});
}

}  // namespace quiver::service
