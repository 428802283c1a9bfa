// Plain reads: by id, page by page, counts.
#include "service/api/points.h"

#include <fmt/format.h>

#include "service/handlers/common.h"
#include "service/handlers/handlers.h"
#include "service/json/decode/decode.h"
#include "service/json/encode/encode.h"

namespace quiver::service {
namespace {

Decoded<> write_all_records(Exchange& x, const std::vector<engine::Record>& records) {
  auto out = x.begin_result();
  json::write_records(out, records);
  x.end_result();
  return {};
}

Decoded<Answer> retrieve_points(Exchange& x, OpenCollection collection) {
  QV_TRY(read_params(x));
  QV_TRY(auto request, json::decode_retrieve(x.request.body));
  api::retrieve(x, collection, std::move(request),
                answer_by<std::vector<engine::Record>>(x, write_all_records));
  return Answer::kLater;
}

/// `records`: the point that the path names, if it exists.
Decoded<> write_only_record(Exchange& x, const std::vector<engine::Record>& records) {
  if (records.empty()) {
    QV_TRY(const PointId id, json::parse_path_id(x.captures[1]));
    return fail(Code::kNotFound, fmt::format("Point with id {} does not exists!", id.to_string()));
  }
  auto out = x.begin_result();
  json::write_record(out, records.front());
  x.end_result();
  return {};
}

Decoded<Answer> get_point(Exchange& x, OpenCollection collection) {
  QV_TRY(read_params(x));
  engine::RetrieveRequest request;
  QV_TRY(request.ids.emplace_back(), json::parse_path_id(x.captures[1]));
  request.with_vector.all = true;
  api::retrieve(x, collection, std::move(request),
                answer_by<std::vector<engine::Record>>(x, write_only_record));
  return Answer::kLater;
}

Decoded<> write_page(Exchange& x, const engine::ScrollPage& page) {
  auto out = x.begin_result();
  out.begin_object();
  out.key("points");
  json::write_records(out, page.points);
  out.key("next_page_offset");
  if (page.next) {
    json::write_id(out, *page.next);
  } else {
    out.null();
  }
  out.end_object();
  x.end_result();
  return {};
}

Decoded<Answer> scroll_points(Exchange& x, OpenCollection collection) {
  QV_TRY(read_params(x));
  QV_TRY(auto request, json::decode_scroll(x.request.body));
  api::scroll(x, collection, std::move(request), answer_by<engine::ScrollPage>(x, write_page));
  return Answer::kLater;
}

Decoded<> write_count(Exchange& x, std::uint64_t count) {
  auto out = x.begin_result();
  out.begin_object();
  out.member("count", count);
  out.end_object();
  x.end_result();
  return {};
}

Decoded<Answer> count_points(Exchange& x, OpenCollection collection) {
  QV_TRY(read_params(x));
  QV_TRY(auto request, json::decode_count(x.request.body));
  api::count(x, collection, std::move(request), answer_by<std::uint64_t>(x, write_count));
  return Answer::kLater;
}

}  // namespace

void add_read_routes(Routes& routes) {
  routes.insert(routes.end(), {{Method::kPost, "/collections/{collection_name}/points",
                                Access::kRead, with_body<retrieve_points>},
                               {Method::kPost, "/collections/{collection_name}/points/scroll",
                                Access::kRead, with_body<scroll_points>},
                               {Method::kPost, "/collections/{collection_name}/points/count",
                                Access::kRead, with_body<count_points>},
                               {Method::kGet, "/collections/{collection_name}/points/{id}",
                                Access::kRead, with_body<get_point>}});
}

}  // namespace quiver::service
