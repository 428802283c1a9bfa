// Collections, aliases and payload indexes.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "service/handlers/common.h"
#include "service/handlers/handlers.h"
#include "service/json/decode/decode.h"
#include "service/json/encode/encode.h"

namespace quiver::service {
namespace {

using CollectionPtr = std::shared_ptr<engine::Collection>;

Decoded<Answer> list_collections(Exchange& x) {
  auto out = x.begin_result();
  out.begin_object();
  out.key("collections");
  out.begin_array();
  for (const auto& name : x.service().database().collection_names()) {
    out.begin_object();
    out.member("name", std::string_view(name));
    out.end_object();
  }
  out.end_array();
  out.end_object();
  x.end_result();
  return Answer::kReady;
}

Decoded<Answer> collection_exists(Exchange& x) {
  const auto& name = x.captures[0];
  QV_TRY(json::check_collection_name(name));
  auto out = x.begin_result();
  out.begin_object();
  out.member("exists", x.service().database().exists(name));
  out.end_object();
  x.end_result();
  return Answer::kReady;
}

Decoded<Answer> collection_info(Exchange& x) {
  return with_collection(x, [](Exchange& exchange, CollectionPtr collection) -> Decoded<Answer> {
    auto out = exchange.begin_result();
    json::write_collection_info(out, collection->info());
    exchange.end_result();
    return Answer::kReady;
  });
}

std::string_view without_spaces_around(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

/// `with`: names between commas; `completed_limit`.
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

Decoded<Answer> collection_optimizations(Exchange& x) {
  return with_collection(x, [](Exchange& exchange, CollectionPtr collection) -> Decoded<Answer> {
    QV_TRY(const auto parts, optimization_parts(exchange));
    auto out = exchange.begin_result();
    json::write_optimizations(out, collection->optimizations(), parts);
    exchange.end_result();
    return Answer::kReady;
  });
}

Decoded<Answer> segment_indexes(Exchange& x) {
  return with_collection(x, [](Exchange& exchange, CollectionPtr collection) -> Decoded<Answer> {
    auto out = exchange.begin_result();
    json::write_segment_indexes(out, collection->segment_indexes(),
                                collection->info().config.vector_indexes);
    exchange.end_result();
    return Answer::kReady;
  });
}

Decoded<Answer> create_collection(Exchange& x) {
  QV_TRY(write_params(x));
  QV_TRY(json::check_collection_name(x.captures[0]));
  return blocking(x, [](Exchange& exchange) -> Decoded<Answer> {
    const auto& service = exchange.service();
    QV_TRY(auto config, json::decode_collection(exchange.request.body, service.options().creation));
    QV_TRY(service.database().create_collection(exchange.captures[0], std::move(config)));
    return answer_bool(exchange, true);
  });
}

Decoded<> check_exists(const Exchange& x) {
  const auto& name = x.captures[0];
  if (json::is_collection_name(name) && x.service().database().exists(name)) return {};
  return fail(Code::kNotFound, Subject::kCollection, name, std::string());
}

Decoded<Answer> patch_collection(Exchange& x) {
  QV_TRY(write_params(x));
  return blocking(x, [](Exchange& exchange) -> Decoded<Answer> {
    QV_TRY(check_exists(exchange));
    QV_TRY(const auto patch, json::CollectionPatch::decode(exchange.request.body));
    QV_TRY(exchange.service().database().update_config(
        exchange.captures[0],
        [&](engine::CollectionConfig& config) { return patch.apply(config); }));
    return answer_bool(exchange, true);
  });
}

Decoded<Answer> patch_segment_indexes(Exchange& x) {
  QV_TRY(write_params(x));
  return blocking(x, [](Exchange& exchange) -> Decoded<Answer> {
    QV_TRY(check_exists(exchange));
    QV_TRY(const auto patch, json::IndexBuildPatch::decode(exchange.request.body));
    QV_TRY(exchange.service().database().update_config(
        exchange.captures[0],
        [&](engine::CollectionConfig& config) { return patch.apply(config); }));
    return answer_bool(exchange, true);
  });
}

Decoded<Answer> delete_collection(Exchange& x) {
  QV_TRY(write_params(x));
  return blocking(x, [](Exchange& exchange) -> Decoded<Answer> {
    const auto& name = exchange.captures[0];
    if (!json::is_collection_name(name)) return answer_bool(exchange, false);
    QV_TRY(const bool existed, exchange.service().database().drop_collection(name));
    return answer_bool(exchange, existed);
  });
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

Decoded<Answer> list_aliases(Exchange& x) {
  write_aliases(x, x.service().database().aliases());
  return Answer::kReady;
}

Decoded<Answer> list_collection_aliases(Exchange& x) {
  QV_TRY(check_exists(x));
  auto aliases = x.service().database().aliases();
  std::erase_if(aliases,
                [&](const engine::Alias& alias) { return alias.collection != x.captures[0]; });
  write_aliases(x, aliases);
  return Answer::kReady;
}

Decoded<Answer> update_aliases(Exchange& x) {
  QV_TRY(write_params(x));
  return blocking(x, [](Exchange& exchange) -> Decoded<Answer> {
    QV_TRY(const auto actions, json::decode_alias_actions(exchange.request.body));
    QV_TRY(exchange.service().database().update_aliases(actions));
    return answer_bool(exchange, true);
  });
}

Answer answer_index_change(Exchange& x, bool completed) {
  x.result_raw(completed ? R"({"operation_id":0,"status":"completed"})"
                         : R"({"operation_id":0,"status":"acknowledged"})");
  return Answer::kReady;
}

Decoded<Answer> create_index(Exchange& x) {
  return blocking(x, [](Exchange& outer) -> Decoded<Answer> {
    QV_TRY(const WriteParams params, write_params(outer));
    QV_TRY(auto collection, collection_of(outer));
    QV_TRY(auto index, json::decode_index(outer.request.body));
    if (!params.wait) {
      QV_TRY(collection->create_index(index, engine::Ack::kDurable));
      return answer_index_change(outer, false);
    }
    auto build = [collection = std::move(collection),
                  index = std::move(index)](Exchange& exchange) -> Decoded<Answer> {
      QV_TRY(collection->create_index(index, engine::Ack::kVisible));
      return answer_index_change(exchange, true);
    };
    return outer.run_on(outer.service().long_running(), std::move(build));
  });
}

Decoded<Answer> drop_index(Exchange& x) {
  return blocking(x, [](Exchange& exchange) -> Decoded<Answer> {
    QV_TRY(const WriteParams params, write_params(exchange));
    QV_TRY(auto collection, collection_of(exchange));
    QV_TRY(collection->drop_index(exchange.captures[1]));
    return answer_index_change(exchange, params.wait);
  });
}

}  // namespace

void add_collection_routes(Routes& routes) {
  const auto add = [&](Method method, std::string_view pattern, Access access, Handler handler) {
    routes.push_back({method, pattern, access, handler});
  };
  add(Method::kGet, "/collections", Access::kRead, list_collections);
  add(Method::kGet, "/collections/{collection_name}", Access::kRead, collection_info);
  add(Method::kPut, "/collections/{collection_name}", Access::kWrite, create_collection);
  add(Method::kPatch, "/collections/{collection_name}", Access::kWrite, patch_collection);
  add(Method::kDelete, "/collections/{collection_name}", Access::kWrite, delete_collection);
  add(Method::kGet, "/collections/{collection_name}/exists", Access::kRead, collection_exists);
  add(Method::kGet, "/collections/{collection_name}/optimizations", Access::kRead,
      collection_optimizations);
  add(Method::kGet, "/v1/collections/{collection_name}/indexes", Access::kRead, segment_indexes);
  add(Method::kPatch, "/v1/collections/{collection_name}/indexes", Access::kWrite,
      patch_segment_indexes);
}

void add_alias_routes(Routes& routes) {
  routes.insert(routes.end(),
                {{Method::kPost, "/collections/aliases", Access::kWrite, update_aliases},
                 {Method::kGet, "/aliases", Access::kRead, list_aliases},
                 {Method::kGet, "/collections/{collection_name}/aliases", Access::kRead,
                  list_collection_aliases}});
}

void add_index_routes(Routes& routes) {
  routes.insert(
      routes.end(),
      {{Method::kPut, "/collections/{collection_name}/index", Access::kWrite, create_index},
       {Method::kDelete, "/collections/{collection_name}/index/{field_name}", Access::kWrite,
        drop_index}});
}

}  // namespace quiver::service
