// What handlers share: query parameters, finding the collection, where work runs.
#pragma once

#include <memory>
#include <utility>

#include "base/threads/cancel.h"
#include "engine/collection.h"
#include "service/http/exchange.h"
#include "service/http/service.h"

namespace quiver::service {

struct WriteParams {
  bool wait = false;
};
/// A query parameter that is a number; nullopt if it is not given or empty.
[[nodiscard]] Decoded<std::optional<std::uint64_t>> number_parameter(const Exchange& x,
                                                                     std::string_view name);
/// One that is `true` or `false`; `otherwise` if it is not given or empty.
[[nodiscard]] Decoded<bool> bool_parameter(const Exchange& x, std::string_view name,
                                           bool otherwise);
/// `timeout` in seconds; nullopt if it is not given. 422 for 0.
[[nodiscard]] Decoded<std::optional<std::uint64_t>> timeout_parameter(const Exchange& x);
/// 400 for a query parameter, with the reason.
[[nodiscard]] tl::unexpected<ApiError> bad_parameter(std::string_view text);
/// `wait`, `ordering`, `timeout`. 400 or 422 if one is not what it can be.
[[nodiscard]] Decoded<WriteParams> write_params(const Exchange& x);
/// When the request is to be given up, from `timeout` or the server's default. Checks
/// `consistency`. `operation`: what it is called then; static.
[[nodiscard]] Decoded<Deadline> read_deadline(Exchange& x, std::string_view operation);

/// The collection that the first path parameter names. Opens it if it is not open, which may take
/// long.
[[nodiscard]] Decoded<std::shared_ptr<engine::Collection>> collection_of(const Exchange& x);
/// True if `collection_of` has found it before and it is still open: then it returns at once.
[[nodiscard]] bool is_known_open(const Exchange& x);

/// Calls `work(x, collection)` here if the collection is open, else on a thread that may block.
template <class F>
Decoded<Answer> with_collection(Exchange& x, F work) {
  auto find_and_work = [work](Exchange& exchange) -> Decoded<Answer> {
    QV_TRY(auto collection, collection_of(exchange));
    return work(exchange, std::move(collection));
  };
  if (is_known_open(x)) return find_and_work(x);
  return x.run_on(x.service().blocking(), std::move(find_and_work));
}

/// As `with_collection` for work that computes: on the compute executor.
template <class F>
Decoded<Answer> compute_with_collection(Exchange& x, F work) {
  return with_collection(
      x, [work](Exchange& outer, std::shared_ptr<engine::Collection> collection) {
        return Decoded<Answer>(outer.run_on(
            outer.service().database().compute(),
            [work, collection = std::move(collection)](Exchange& exchange) -> Decoded<Answer> {
              return work(exchange, *collection);
            }));
      });
}

/// Calls `work(x)` on a thread that may block.
template <class F>
Decoded<Answer> blocking(Exchange& x, F work) {
  return x.run_on(x.service().blocking(), std::move(work));
}

inline Answer answer_bool(Exchange& x, bool value) {
  x.result_raw(value ? "true" : "false");
  return Answer::kReady;
}

[[nodiscard]] inline bool is_large_body(const Exchange& x) {
  return x.request.body.size() > x.service().options().inline_body_bytes;
}

/// A handler that finds the collection and decodes the body: a large one on the compute executor.
template <Decoded<Answer> (*run)(Exchange&, std::shared_ptr<engine::Collection>)>
Decoded<Answer> with_body(Exchange& x) {
  using CollectionPtr = std::shared_ptr<engine::Collection>;
  return with_collection(x, [](Exchange& outer, CollectionPtr collection) -> Decoded<Answer> {
    if (!is_large_body(outer)) return run(outer, std::move(collection));
    return outer.run_on(outer.service().database().compute(),
                        [collection = std::move(collection)](Exchange& exchange) {
                          return run(exchange, collection);
                        });
  });
}

}  // namespace quiver::service
