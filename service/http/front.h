// What all HTTP connections share: options, routes, and the memory of bodies.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "service/api/runtime.h"
#include "service/http/collection_answers.h"
#include "service/http/exchange/body_memory.h"
#include "service/http/forwarder.h"
#include "service/http/options.h"
#include "service/http/router.h"

namespace quiver::service {

/// Thread-safe.
class Front {
 public:
  /// `runtime` outlives this, and so do the texts of the declarations.
  Front(const HttpOptions& options, api::Runtime& runtime,
        const std::vector<RouteDeclaration>& routes, std::span<const UnbuiltEndpoint> unbuilt);

  /// Finds the handler for the request and calls it. The exchange is finished then or later.
  void handle(Exchange& exchange);
  /// The sink for the body of a request, of which only the headers are known. null: the body is
  /// kept in memory. An error becomes the answer.
  [[nodiscard]] Decoded<std::unique_ptr<BodySink>> make_sink(Exchange& exchange);

  /// Writes an answered request to the audit log, if there is one.
  void audit(const Exchange& exchange) const;
  /// Writes an answered request to the request log, if there is one.
  void log(const Exchange& exchange) const;
  /// Ends the trace of an answered request, and hands it to the tracer if it is sampled. The last
  /// of these functions.
  void trace(Exchange& exchange) const noexcept;

  [[nodiscard]] const HttpOptions& options() const { return options_; }
  [[nodiscard]] api::Runtime& runtime() const { return runtime_; }
  [[nodiscard]] const Router& router() const { return router_; }
  [[nodiscard]] BodyBudget& body_budget() { return body_budget_; }
  /// Counts the answer of `exchange`, if a route answered it.
  void count(const Exchange& exchange);
  [[nodiscard]] CollectionAnswers& collection_answers() { return collection_answers_; }

 private:
  Decoded<Answer> dispatch(Exchange& exchange);
  /// Answers a request whose caller is set.
  Decoded<Answer> answer_anybody(Exchange& exchange, const Router::Match& match);
  Decoded<Answer> answer_known_caller(Exchange& exchange, const Router::Match& match);
  /// Answers a request that may be answered, here or by the leader of the cluster.
  Decoded<Answer> answer_allowed(Exchange& exchange);
  Decoded<Answer> answer_here(Exchange& exchange);
  Decoded<Answer> answer_fresh(Exchange& exchange);
  Decoded<Answer> look_up_and_answer(Exchange& exchange, const Router::Match& match);
  [[nodiscard]] Decoded<> check_may_send_body(Exchange& exchange, const Route& route);
  Decoded<Answer> decompress_and_handle(Exchange& exchange);

  const HttpOptions options_;
  api::Runtime& runtime_;
  const Router router_;
  BodyBudget body_budget_;
  CollectionAnswers collection_answers_;
  std::optional<Forwarder> forwarder_;  ///< nullopt: the server is alone
};

}  // namespace quiver::service
