// Plain reads: by id, page by page, counts.
#include <fmt/format.h>

#include "service/handlers/common.h"
#include "service/handlers/handlers.h"
#include "service/json/decode/decode.h"
#include "service/json/encode/encode.h"

namespace quiver::service {
namespace {

using engine::Collection;

Decoded<Answer> answer_retrieve(Exchange& x, const Collection& collection) {
  QV_TRY(read_deadline(x, "Retrieve"));
  QV_TRY(const auto request, json::decode_retrieve(x.request.body));
  QV_TRY(const auto records, collection.retrieve(request));
  auto out = x.begin_result();
  json::write_records(out, records);
  x.end_result();
  return Answer::kReady;
}

Decoded<Answer> answer_get(Exchange& x, const Collection& collection) {
  QV_TRY(read_deadline(x, "Retrieve"));
  QV_TRY(const PointId id, json::parse_path_id(x.captures[1]));
  engine::RetrieveRequest request;
  request.ids = {id};
  request.with_vector.all = true;
  QV_TRY(const auto records, collection.retrieve(request));
  if (records.empty()) {
    return fail(Code::kNotFound, fmt::format("Point with id {} does not exists!", id.to_string()));
  }
  auto out = x.begin_result();
  json::write_record(out, records.front());
  x.end_result();
  return Answer::kReady;
}

Decoded<Answer> answer_scroll(Exchange& x, const Collection& collection) {
  QV_TRY(const Deadline deadline, read_deadline(x, "Scroll"));
  QV_TRY(const auto request, json::decode_scroll(x.request.body));
  QV_TRY(const auto page, collection.scroll(request, Cancel(deadline)));
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
  return Answer::kReady;
}

Decoded<Answer> answer_count(Exchange& x, const Collection& collection) {
  QV_TRY(const Deadline deadline, read_deadline(x, "Count"));
  QV_TRY(const auto filter, json::decode_count(x.request.body));
  QV_TRY(const auto count, collection.count(filter, Cancel(deadline)));
  auto out = x.begin_result();
  out.begin_object();
  out.member("count", count);
  out.end_object();
  x.end_result();
  return Answer::kReady;
}

template <Decoded<Answer> (*answer)(Exchange&, const Collection&)>
Decoded<Answer> read(Exchange& x) {
  return compute_with_collection(x, answer);
}

}  // namespace

void add_read_routes(Routes& routes) {
  routes.insert(routes.end(), {{Method::kPost, "/collections/{collection_name}/points",
                                Access::kRead, read<answer_retrieve>},
                               {Method::kPost, "/collections/{collection_name}/points/scroll",
                                Access::kRead, read<answer_scroll>},
                               {Method::kPost, "/collections/{collection_name}/points/count",
                                Access::kRead, read<answer_count>},
                               {Method::kGet, "/collections/{collection_name}/points/{id}",
                                Access::kRead, read<answer_get>}});
}

}  // namespace quiver::service
