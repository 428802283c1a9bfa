// What handlers share: query parameters, finding the collection, and where a body is decoded.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/model/reports.h"
#include "service/api/answer.h"
#include "service/api/collections.h"
#include "service/http/exchange/exchange.h"
#include "service/http/exchange/on_executor.h"
#include "service/http/front.h"
#include "service/json/parser_memory.h"

namespace quiver::service {

using api::OpenCollection;

/// A query parameter that is a number; nullopt if it is not given or empty.
[[nodiscard]] Decoded<std::optional<std::uint64_t>> number_parameter(const Exchange& x,
                                                                     std::string_view name);
/// A number in the path, at most `most`; `what` it is the number of is for the error.
[[nodiscard]] Decoded<std::uint64_t> path_number(
    const Exchange& x, std::size_t capture, std::string_view what,
    std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
/// A query parameter that is `true` or `false`; `otherwise` if it is not given or empty.
[[nodiscard]] Decoded<bool> bool_parameter(const Exchange& x, std::string_view name,
                                           bool otherwise);
/// `timeout` in seconds; nullopt if it is not given. 422 for 0.
[[nodiscard]] Decoded<std::optional<std::uint64_t>> timeout_parameter(const Exchange& x);
/// 400 for a query parameter, with the reason.
[[nodiscard]] tl::unexpected<ApiError> bad_parameter(std::string_view text);
/// Reads `wait`, checks `ordering` and `timeout`. 400 or 422 for a bad value.
[[nodiscard]] Decoded<engine::Ack> write_params(Exchange& x);
/// Sets when the request is given up, from `timeout` or the server's default, and checks
/// `consistency`.
[[nodiscard]] Decoded<> read_params(Exchange& x);

/// A `Done` for a verb, which writes the value to the answer by `write(x, value)`: nothing or a
/// Decoded<>. Writes an error as one.
template <class T, class Write>
api::Done<T> answer_by(Exchange& x, Write write) {
  return [&x, write](Result<T> result) {
    x.run([&](Exchange& exchange) -> Decoded<Answer> {
      QV_TRY(auto value, std::move(result));
      QV_TRY(write(exchange, std::move(value)));
      return Answer::kReady;
    });
  };
}

/// Calls `work(x)` on a thread that may block.
template <class F>
Decoded<Answer> blocking(Exchange& x, F work) {
  return on_executor(x, x.runtime().blocking(), std::move(work));
}

/// 422 for a first path parameter that is too long for the name of a collection.
[[nodiscard]] Decoded<> check_name_length(const Exchange& x);

/// Calls `work(x, collection)` with the collection that the first path parameter names: here if the
/// collection is open, otherwise on a thread that may block.
template <class F>
Decoded<Answer> with_collection(Exchange& x, F work) {
  QV_TRY(check_name_length(x));
  auto work_on = [&x, work](Result<OpenCollection> found) {
    x.run([&](Exchange& exchange) -> Decoded<Answer> {
      QV_TRY(auto collection, std::move(found));
      return work(exchange, std::move(collection));
    });
  };
  api::open_collection(x, x.captures[0], std::move(work_on));
  return Answer::kLater;
}

using CollectionHandler = Decoded<Answer> (*)(Exchange&, OpenCollection);

/// A handler that finds the collection.
template <CollectionHandler run>
Decoded<Answer> on_collection(Exchange& x) {
  return with_collection(x, run);
}

/// A handler that finds the collection, then runs on the compute executor.
template <CollectionHandler run>
Decoded<Answer> computing(Exchange& x) {
  return with_collection(x, [](Exchange& found, OpenCollection collection) {
    return on_executor(found, found.runtime().compute(),
                       [collection = std::move(collection)](Exchange& exchange) mutable {
                         return run(exchange, std::move(collection));
                       });
  });
}

[[nodiscard]] inline bool is_large_body(const Exchange& x) {
  return x.request.body.size() > x.front().options().inline_body_bytes;
}

/// 429 for a read if even cheap requests wait too long for a thread. Asked before the body is
/// decoded, which costs several times what such an answer does.
[[nodiscard]] Decoded<> check_load(Exchange& x);

/// A handler that finds the collection and decodes the body: a large one on a thread that computes.
template <CollectionHandler run>
Decoded<Answer> with_body(Exchange& x) {
  return with_collection(x, [](Exchange& found, OpenCollection collection) -> Decoded<Answer> {
    QV_TRY(check_load(found));
    if (!is_large_body(found)) return run(found, std::move(collection));
    // Before the body is decoded, so that the wait for a thread can be compared with the deadline.
    if (found.route->declaration().access == Access::kRead) QV_TRY(read_params(found));
    const api::load::Work kind{api::load::Verb::kDecode, found.request.body.size()};
    return on_compute(found, kind,
                      [collection = std::move(collection)](Exchange& exchange) mutable {
                        const json::LargeParserScope scope;
                        return run(exchange, std::move(collection));
                      });
  });
}

/// `{"result":true}` for a verb that answers nothing.
[[nodiscard]] api::Done<> answer_true(Exchange& x);
/// `{"result":false}` if the verb says so.
[[nodiscard]] api::Done<bool> answer_bool(Exchange& x);

/// How often each route answered for each collection that exists, by name or alias.
[[nodiscard]] std::map<std::string, CollectionAnswers::Answers> answers_by_collection(Front& front);

}  // namespace quiver::service
