// The functions of quiver.h: handles and texts, and no exception past the border.
#include "app/embedded/quiver.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/embedded/handles.h"
#include "app/embedded/points.h"
#include "app/embedded/reads.h"
#include "app/embedded/search.h"
#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "service/api/names.h"
#include "service/json/decode/decode.h"
#include "service/json/encode/encode.h"
#include "service/json/writer.h"

namespace quiver::embedded {
namespace {

using service::json::Writer;
using UpdateResults = std::vector<engine::UpdateResult>;

/// An error and not its text: keeping it takes no memory.
thread_local Error last_error = out_of_memory();
thread_local bool has_error = false;

/// Runs `fn`, which returns a Result<>, and returns the code of its error, 0 without.
template <class F>
std::int32_t status_of(F&& fn) noexcept {
  const Result<> result = guarded(std::forward<F>(fn));
  has_error = !result;
  if (result) return 0;
  last_error = result.error();
  return static_cast<std::int32_t>(result.error().code());
}

/// kInvalidArgument if one of `pointers` is null.
template <class... P>
Result<> check_given(const P*... pointers) {
  if ((... && (pointers != nullptr))) return {};
  return fail(Code::kInvalidArgument, "an argument is NULL that must not be");
}

Result<> give(const std::string& text, char** out) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return fail(out_of_memory());
  std::memcpy(copy, text.c_str(), text.size() + 1);
  *out = copy;
  return {};
}

Result<> set_up_log_of(const quiver_options& options) {
  LogOptions log;
  QV_TRY(log.level, parse_log_level(options.log_level == nullptr ? "warning" : options.log_level));
  set_up_log(log);
  return {};
}

engine::DatabaseOptions options_of(const char* path, const quiver_options& given) {
  engine::DatabaseOptions options;
  options.data_dir = path;
  options.compute_threads = given.compute_threads;
  options.background_threads = given.background_threads;
  if (given.block_cache_bytes != 0) options.block_cache_bytes = given.block_cache_bytes;
  return options;
}

Result<> open(const char* path, const quiver_options* given, quiver_database** database) {
  QV_TRY(check_given(path, database));
  const quiver_options options = given == nullptr ? quiver_options{} : *given;
  QV_TRY(set_up_log_of(options));
  QV_TRY(auto opened, engine::Database::open(options_of(path, options)));
  auto handle = std::make_unique<quiver_database>();
  handle->open = std::make_shared<OpenDatabase>(std::move(opened));
  *database = handle.release();
  return {};
}

Result<> list_collections(quiver_database* database, char** text) {
  QV_TRY(check_given(database, text));
  return database->open->with([&](engine::Database& open) {
    std::string names;
    Writer out(names);
    out.begin_array();
    for (const auto& name : open.collection_names()) out.string(name);
    out.end_array();
    return give(names, text);
  });
}

Result<> create_collection(quiver_database* database, const char* name, const char* body) {
  QV_TRY(check_given(database, name, body));
  QV_TRY(service::api::check_collection_name(name));
  std::string text = body;
  auto config = service::json::decode_collection(text, {});
  if (!config) return fail(error_of(config.error()));
  return database->open->with(
      [&](engine::Database& open) { return open.create_collection(name, *std::move(config)); });
}

Result<> drop_collection(quiver_database* database, const char* name, std::int32_t* existed) {
  QV_TRY(check_given(database, name, existed));
  QV_TRY(*existed, database->open->drop(name));
  return {};
}

Result<> get_collection(quiver_database* database, const char* name,
                        quiver_collection** collection) {
  QV_TRY(check_given(database, name, collection));
  auto handle = std::make_unique<quiver_collection>();
  handle->open = database->open;
  handle->name = name;
  QV_TRY(database->open->add(*handle));
  *collection = handle.release();
  return {};
}

/// Returns when `operations` are durable and visible.
Result<UpdateResults> update_and_wait(engine::Collection& collection,
                                      std::vector<engine::Operation> operations) {
  std::promise<Result<UpdateResults>> promise;
  auto answer = promise.get_future();
  auto done = [&](Result<UpdateResults> results) { promise.set_value(std::move(results)); };
  QV_TRY(collection.update(std::move(operations), engine::Ack::kVisible, done));
  return answer.get();
}

Result<> upsert(quiver_collection* collection, const quiver_points* points) {
  QV_TRY(check_given(collection, points));
  if (points->n == 0) return {};
  Points read;
  QV_TRY(read_points(*points, read));
  std::vector<engine::Operation> operations;
  operations.emplace_back(upsert_of(*points, read));
  return collection->with([&](engine::Database&, engine::Collection& target) -> Result<> {
    QV_TRY(update_and_wait(target, std::move(operations)));
    return {};
  });
}

Result<> bulk_load(quiver_collection* collection, const quiver_points* points) {
  QV_TRY(check_given(collection, points));
  if (points->n == 0) return {};
  Points read;
  QV_TRY(read_points(*points, read));
  return collection->with(
      [&](engine::Database&, engine::Collection& target) { return target.bulk_load(read.chunk); });
}

Result<> update(quiver_collection* collection, const char* body, char** text) {
  QV_TRY(check_given(collection, body, text));
  std::string given = body;
  auto operations = service::json::decode_operations(given);
  if (!operations) return fail(error_of(operations.error()));
  if (operations->empty()) return give("[]", text);
  return collection->with([&](engine::Database&, engine::Collection& target) -> Result<> {
    QV_TRY(const auto results, update_and_wait(target, *std::move(operations)));
    std::string list;
    Writer out(list);
    out.begin_array();
    for (const auto& result : results) service::json::write_update_result(out, result);
    out.end_array();
    return give(list, text);
  });
}

Result<> create_index(quiver_collection* collection, const char* body) {
  QV_TRY(check_given(collection, body));
  std::string text = body;
  const auto index = service::json::decode_index(text);
  if (!index) return fail(error_of(index.error()));
  return collection->with([&](engine::Database&, engine::Collection& target) {
    return target.create_index(*index, engine::Ack::kVisible);
  });
}

Result<> drop_index(quiver_collection* collection, const char* key, std::int32_t* existed) {
  QV_TRY(check_given(collection, key, existed));
  return collection->with([&](engine::Database&, engine::Collection& target) -> Result<> {
    QV_TRY(*existed, target.drop_index(key));
    return {};
  });
}

Result<> read_text(quiver_collection* collection, const char* verb, const char* body, char** text) {
  QV_TRY(check_given(collection, verb, body, text));
  return collection->with([&](engine::Database& open, engine::Collection& target) -> Result<> {
    QV_TRY(const auto answer, read(open, target, collection->name, verb, body));
    return give(answer, text);
  });
}

Result<> new_request(const char* body, std::uint64_t timeout_ms, quiver_request** request) {
  QV_TRY(check_given(body, request));
  std::string text = body;
  auto query = service::json::decode_query(text);
  if (!query) return fail(error_of(query.error()));
  auto handle = std::make_unique<quiver_request>();
  handle->query = *std::move(query);
  handle->timeout_ms = timeout_ms;
  *request = handle.release();
  return {};
}

}  // namespace
}  // namespace quiver::embedded

namespace embedded = quiver::embedded;

std::int32_t quiver_abi() noexcept { return QUIVER_ABI; }

const char* quiver_error() noexcept {
  return embedded::has_error ? embedded::last_error.message().c_str() : "";
}

void quiver_free(char* text) noexcept { std::free(text); }

std::int32_t quiver_open(const char* path, const quiver_options* options,
                         quiver_database** database) noexcept {
  return embedded::status_of([&] { return embedded::open(path, options, database); });
}

std::int32_t quiver_close(quiver_database* database) noexcept {
  return embedded::status_of([&]() -> quiver::Result<> {
    QV_TRY(embedded::check_given(database));
    return database->open->close();
  });
}

void quiver_free_database(quiver_database* database) noexcept {
  quiver::run_logged("closing a database", [&] {
    const std::unique_ptr<quiver_database> handle(database);
    if (handle == nullptr) return;
    if (const auto closing = handle->open->close(); !closing) {
      quiver::log_error("closing: {}", closing.error().message());
    }
  });
}

std::int32_t quiver_collections(quiver_database* database, char** text) noexcept {
  return embedded::status_of([&] { return embedded::list_collections(database, text); });
}

std::int32_t quiver_create_collection(quiver_database* database, const char* name,
                                      const char* body) noexcept {
  return embedded::status_of([&] { return embedded::create_collection(database, name, body); });
}

std::int32_t quiver_drop_collection(quiver_database* database, const char* name,
                                    std::int32_t* existed) noexcept {
  return embedded::status_of([&] { return embedded::drop_collection(database, name, existed); });
}

std::int32_t quiver_get_collection(quiver_database* database, const char* name,
                                   quiver_collection** collection) noexcept {
  return embedded::status_of([&] { return embedded::get_collection(database, name, collection); });
}

void quiver_free_collection(quiver_collection* collection) noexcept {
  quiver::run_logged("freeing a collection", [&] {
    const std::unique_ptr<quiver_collection> handle(collection);
    if (handle != nullptr) handle->open->remove(*handle);
  });
}

std::int32_t quiver_upsert(quiver_collection* collection, const quiver_points* points) noexcept {
  return embedded::status_of([&] { return embedded::upsert(collection, points); });
}

std::int32_t quiver_bulk_load(quiver_collection* collection, const quiver_points* points) noexcept {
  return embedded::status_of([&] { return embedded::bulk_load(collection, points); });
}

std::int32_t quiver_update(quiver_collection* collection, const char* body, char** text) noexcept {
  return embedded::status_of([&] { return embedded::update(collection, body, text); });
}

std::int32_t quiver_create_index(quiver_collection* collection, const char* body) noexcept {
  return embedded::status_of([&] { return embedded::create_index(collection, body); });
}

std::int32_t quiver_drop_index(quiver_collection* collection, const char* key,
                               std::int32_t* existed) noexcept {
  return embedded::status_of([&] { return embedded::drop_index(collection, key, existed); });
}

std::int32_t quiver_read(quiver_collection* collection, const char* verb, const char* body,
                         char** text) noexcept {
  return embedded::status_of([&] { return embedded::read_text(collection, verb, body, text); });
}

std::int32_t quiver_new_request(const char* body, std::uint64_t timeout_ms,
                                quiver_request** request) noexcept {
  return embedded::status_of([&] { return embedded::new_request(body, timeout_ms, request); });
}

void quiver_free_request(quiver_request* request) noexcept {
  const std::unique_ptr<quiver_request> handle(request);
}

std::int32_t quiver_search(const quiver_call* call, const float* queries,
                           std::uint64_t dim) noexcept {
  const quiver_vectors vectors{nullptr, QUIVER_DENSE, dim, queries, nullptr, nullptr};
  return quiver_search_vectors(call, &vectors);
}

std::int32_t quiver_search_vectors(const quiver_call* call,
                                   const quiver_vectors* queries) noexcept {
  return embedded::status_of([&]() -> quiver::Result<> {
    QV_TRY(embedded::check_given(call, queries));
    return embedded::search(*call, *queries);
  });
}
