#include "app/embedded/reads.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/threads/cancel.h"
#include "engine/model/query_report.h"
#include "service/json/decode/decode.h"
#include "service/json/encode/encode.h"
#include "service/json/writer.h"

namespace quiver::embedded {
namespace {

using service::json::Writer;
using Records = std::vector<engine::Record>;

/// What a verb reads from.
struct Target {
  engine::Database& database;
  engine::Collection& collection;
  const std::string& name;
};
using Verb = Result<std::string> (*)(const Target&, std::string& body);

template <class T>
Result<T> decoded(service::Decoded<T> request) {
  if (!request) return fail(error_of(request.error()));
  return *std::move(request);
}

template <class F>
std::string written(F&& write) {
  std::string text;
  Writer out(text);
  write(out);
  return text;
}

void write_points(Writer& out, const Records& records, const engine::Query& query) {
  out.begin_object();
  out.key("points");
  service::json::write_scored_points(out, records);
  if (query.report != nullptr) {
    out.key("explain");
    service::json::write_query_report(out, *query.report);
  }
  out.end_object();
}

Result<std::string> read_query(const Target& target, std::string& body) {
  QV_TRY(auto query, decoded(service::json::decode_query(body)));
  QV_TRY(target.database.resolve_lookups(target.name, query));
  QV_TRY(const auto records, target.collection.query(query, Cancel()));
  return written([&](Writer& out) { write_points(out, records, query); });
}

Result<std::string> read_query_batch(const Target& target, std::string& body) {
  QV_TRY(auto queries, decoded(service::json::decode_query_batch(body)));
  for (auto& query : queries) {
    QV_TRY(target.database.resolve_lookups(target.name, query));
  }
  QV_TRY(const auto answers, target.collection.query_batch(queries, Cancel()));
  return written([&](Writer& out) {
    out.begin_array();
    for (std::size_t i = 0; i < answers.size(); ++i) write_points(out, answers[i], queries[i]);
    out.end_array();
  });
}

Result<std::string> read_retrieve(const Target& target, std::string& body) {
  QV_TRY(const auto request, decoded(service::json::decode_retrieve(body)));
  QV_TRY(const auto records, target.collection.retrieve(request));
  return written([&](Writer& out) { service::json::write_records(out, records); });
}

Result<std::string> read_scroll(const Target& target, std::string& body) {
  QV_TRY(const auto request, decoded(service::json::decode_scroll(body)));
  QV_TRY(const auto page, target.collection.scroll(request, Cancel()));
  return written([&](Writer& out) {
    out.begin_object();
    out.key("points");
    service::json::write_records(out, page.points);
    out.key("next_page_offset");
    if (page.next) {
      service::json::write_id(out, *page.next);
    } else {
      out.null();
    }
    out.end_object();
  });
}

Result<std::string> read_count(const Target& target, std::string& body) {
  QV_TRY(const auto request, decoded(service::json::decode_count(body)));
  QV_TRY(const auto count, target.collection.count(request, Cancel()));
  return fmt::format(R"({{"count":{}}})", count);
}

Result<std::string> read_facet(const Target& target, std::string& body) {
  QV_TRY(const auto request, decoded(service::json::decode_facet(body)));
  QV_TRY(const auto hits, target.collection.facet(request, Cancel()));
  return written([&](Writer& out) { service::json::write_facet_hits(out, hits); });
}

Result<std::string> read_aggregate(const Target& target, std::string& body) {
  QV_TRY(const auto request, decoded(service::json::decode_aggregate(body)));
  QV_TRY(const auto aggregates, target.collection.aggregate(request, Cancel()));
  return written([&](Writer& out) {
    out.begin_object();
    out.key("aggregations");
    out.begin_object();
    for (std::size_t i = 0; i < aggregates.size(); ++i) {
      out.escaped_key(request.aggregations[i].first);
      service::json::write_aggregate(out, aggregates[i]);
    }
    out.end_object();
    out.end_object();
  });
}

Result<std::string> read_info(const Target& target, std::string&) {
  return written(
      [&](Writer& out) { service::json::write_collection_info(out, target.collection.info()); });
}

constexpr std::array<std::pair<std::string_view, Verb>, 8> kVerbs = {{
    {"query", read_query},
    {"query_batch", read_query_batch},
    {"retrieve", read_retrieve},
    {"scroll", read_scroll},
    {"count", read_count},
    {"facet", read_facet},
    {"aggregate", read_aggregate},
    {"info", read_info},
}};

}  // namespace

Error error_of(const service::ApiError& error) {
  const bool is_missing = error.status == 404;
  return Error(is_missing ? Code::kNotFound : Code::kInvalidArgument, error.text);
}

Result<std::string> read(engine::Database& database, engine::Collection& collection,
                         const std::string& name, std::string_view verb, std::string body) {
  for (const auto& [known, run] : kVerbs) {
    if (known == verb) return run({database, collection, name}, body);
  }
  return fail(Code::kInvalidArgument, fmt::format("unknown verb `{}`", verb));
}

}  // namespace quiver::embedded
