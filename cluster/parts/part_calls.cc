#include "cluster/parts/part_calls.h"

#include <fmt/format.h>

#include <future>
#include <set>
#include <thread>
#include <tuple>
#include <typeindex>
#include <utility>
#include <vector>

#include "base/observe/failure.h"
#include "cluster/parts/codec.h"
#include "cluster/parts/forms.h"

namespace quiver::cluster {
namespace {

using codec::put;
using codec::take;
using engine::Collection;

constexpr std::chrono::milliseconds kAskPartAgain{20};
/// Updates that wait for a thread.
constexpr std::size_t kMostWaiting = 1024;

// Results.

void put_error(std::string& out, const Error& error) {
  put(out, error.code());
  put(out, error.subject());
  put(out, error.subject_name());
  put(out, error.message());
}

Error take_error(codec::Reader& in) {
  Code code = Code::kInternal;
  Subject subject = Subject::kNone;
  std::string name, message;
  take(in, code);
  take(in, subject);
  take(in, name);
  take(in, message);
  return Error(code, subject, std::move(name), std::move(message));
}

template <class T>
std::string encode_result(const Result<T>& result) {
  std::string out;
  put(out, result.has_value());
  if (!result) {
    put_error(out, result.error());
  } else if constexpr (!std::is_void_v<T>) {
    put(out, *result);
  }
  return out;
}

template <class T>
Result<T> decode_result(std::string_view bytes) {
  codec::Reader in(bytes);
  bool is_ok = false;
  take(in, is_ok);
  const auto broken = [] { return fail(Code::kInternal, "another node's answer is incomplete"); };
  if (!is_ok) {
    Error error = take_error(in);
    if (!in.is_whole()) return broken();
    return fail(std::move(error));
  }
  if constexpr (std::is_void_v<T>) {
    if (!in.is_whole()) return broken();
    return {};
  } else {
    T value = codec::blank<T>();
    take(in, value);
    if (!in.is_whole()) return broken();
    return value;
  }
}

// Questions.

std::int64_t ms_left(const Deadline& deadline) {
  const auto left = deadline.remaining();
  if (!left) return -1;
  return std::chrono::duration_cast<std::chrono::milliseconds>(*left).count();
}

Deadline deadline_of(const PartQuestion& question) {
  if (question.timeout_ms < 0) return Deadline::none();
  return Deadline::after(std::chrono::milliseconds(question.timeout_ms));
}

/// The head of a question; its version is put in.
template <class... Args>
std::string encode_question(PartQuestion head, const Args&... args) {
  head.version = kPartCallsVersion;
  std::string message;
  put(message, head);
  (put(message, args), ...);
  return message;
}

/// The arguments of a question, whose head `in` has read.
template <class... Args>
Result<std::tuple<Args...>> read_arguments(codec::Reader& in) {
  std::tuple<Args...> arguments{codec::blank<Args>()...};
  std::apply([&](Args&... each) { (take(in, each), ...); }, arguments);
  if (in.is_whole()) return arguments;
  return fail(Code::kInvalidArgument, "a question about a part is incomplete");
}

Result<std::vector<engine::UpdateResult>> update_and_wait(Collection& part,
                                                          std::vector<engine::Operation> operations,
                                                          const engine::UpdateTerms& terms) {
  using Answer = Result<std::vector<engine::UpdateResult>>;
  auto promise = std::make_shared<std::promise<Answer>>();
  auto answer = promise->get_future();
  QV_TRY(part.update(std::move(operations), terms,
                     [promise](Answer result) { promise->set_value(std::move(result)); }));
  return answer.get();
}

/// A part on whatever node it is.
class Part final : public Collection, public std::enable_shared_from_this<Part> {
 public:
  Part(std::string name, PartRouter& router, Executor& executor)
      : name_(std::move(name)), router_(router), executor_(executor) {}

  [[nodiscard]] std::shared_ptr<const engine::CollectionConfig> config() const override {
    if (auto config = router_.config_of_part(name_)) return config;
    return std::make_shared<const engine::CollectionConfig>();
  }
  [[nodiscard]] engine::CollectionInfo info() const override {
    auto info = ask<engine::CollectionInfo>(
        PartVerb::kInfo, Deadline::none(),
        [](Collection& part) { return Result<engine::CollectionInfo>(part.info()); });
    if (info) return *std::move(info);
    engine::CollectionInfo unknown;
    unknown.health = engine::Health::kRed;
    unknown.optimizer_error = fmt::format("shard {}: {}", name_, info.error().message());
    return unknown;
  }
  [[nodiscard]] engine::OptimizationReport optimizations() const override {
    return report<engine::OptimizationReport>(
        PartVerb::kOptimizations, [](Collection& part) { return part.optimizations(); });
  }
  [[nodiscard]] std::vector<engine::SegmentIndexInfo> segment_indexes() const override {
    return report<std::vector<engine::SegmentIndexInfo>>(
        PartVerb::kSegmentIndexes, [](Collection& part) { return part.segment_indexes(); });
  }
  [[nodiscard]] std::vector<engine::SegmentAttributesInfo> segment_attributes() const override {
    return report<std::vector<engine::SegmentAttributesInfo>>(
        PartVerb::kSegmentAttributes, [](Collection& part) { return part.segment_attributes(); });
  }
  [[nodiscard]] std::vector<engine::ShardInfo> shards() const override {
    auto shards = ask<std::vector<engine::ShardInfo>>(
        PartVerb::kShards, Deadline::none(),
        [](Collection& part) { return Result<std::vector<engine::ShardInfo>>(part.shards()); });
    if (shards) return *std::move(shards);
    std::vector<engine::ShardInfo> unknown(1);
    unknown[0].health = engine::Health::kRed;
    unknown[0].optimizer_error = shards.error().message();
    return unknown;
  }

  Result<> update(std::vector<engine::Operation> operations, const engine::UpdateTerms& terms,
                  std::function<void(Result<std::vector<engine::UpdateResult>>)> done) override {
    auto here = router_.part_here(name_, PartVerb::kUpdate);
    if (here && *here != nullptr) return (*here)->update(std::move(operations), terms, done);
    auto work = [self = shared_from_this(), operations = std::move(operations), terms,
                 done]() mutable {
      done(guarded([&] { return self->update_anywhere(operations, terms); }));
    };
    if (executor_.n_queued(Priority::kHigh) >= kMostWaiting) {
      return fail(Code::kResourceExhausted,
                  fmt::format("{} updates wait for other nodes already, must be fewer than {}",
                              executor_.n_queued(Priority::kHigh), kMostWaiting));
    }
    if (executor_.post(Priority::kHigh, std::move(work))) return {};
    return fail(Code::kUnavailable, "the node is closing");
  }

  [[nodiscard]] std::shared_ptr<const engine::PlannedQuery> plan(
      engine::Query /*query*/) const override {
    return nullptr;  // parts are asked by `find`
  }
  [[nodiscard]] Result<std::vector<engine::Record>> query(const engine::Query& /*query*/,
                                                          const Cancel& /*cancel*/) const override {
    return fail(Code::kUnimplemented, "a part answers no whole queries");
  }
  [[nodiscard]] Result<std::vector<std::vector<engine::Record>>> query_batch(
      std::span<const engine::Query> /*queries*/, const Cancel& /*cancel*/) const override {
    return fail(Code::kUnimplemented, "a part answers no whole queries");
  }
  [[nodiscard]] Result<engine::FoundPoints> find(const engine::Query& search,
                                                 engine::RowParts wanted,
                                                 const Cancel& cancel) const override {
    return ask<engine::FoundPoints>(
        PartVerb::kFind, cancel.deadline(),
        [&](Collection& part) { return part.find(search, wanted, cancel); }, search, wanted);
  }
  [[nodiscard]] Result<engine::CorpusCounts> count_terms(const engine::Query& query,
                                                         const Cancel& cancel) const override {
    return ask<engine::CorpusCounts>(
        PartVerb::kCountTerms, cancel.deadline(),
        [&](Collection& part) { return part.count_terms(query, cancel); }, query);
  }
  [[nodiscard]] Result<std::vector<engine::Record>> retrieve(
      const engine::RetrieveRequest& request) const override {
    return ask<std::vector<engine::Record>>(
        PartVerb::kRetrieve, Deadline::none(),
        [&](Collection& part) { return part.retrieve(request); }, request);
  }
  [[nodiscard]] Result<std::vector<engine::Explanation>> explain(
      const engine::ExplainRequest& request, const Cancel& cancel) const override {
    return ask<std::vector<engine::Explanation>>(
        PartVerb::kExplain, cancel.deadline(),
        [&](Collection& part) { return part.explain(request, cancel); }, request);
  }
  [[nodiscard]] Result<engine::ScrollPage> scroll(const engine::ScrollRequest& request,
                                                  const Cancel& cancel) const override {
    return ask<engine::ScrollPage>(
        PartVerb::kScroll, cancel.deadline(),
        [&](Collection& part) { return part.scroll(request, cancel); }, request);
  }
  [[nodiscard]] Result<std::uint64_t> count(const engine::CountRequest& request,
                                            const Cancel& cancel) const override {
    return ask<std::uint64_t>(
        PartVerb::kCount, cancel.deadline(),
        [&](Collection& part) { return part.count(request, cancel); }, request);
  }
  [[nodiscard]] Result<std::vector<engine::FacetHit>> facet(const engine::FacetRequest& request,
                                                            const Cancel& cancel) const override {
    return ask<std::vector<engine::FacetHit>>(
        PartVerb::kFacet, cancel.deadline(),
        [&](Collection& part) { return part.facet(request, cancel); }, request);
  }
  [[nodiscard]] Result<std::vector<engine::Aggregate>> aggregate(
      const engine::AggregateRequest& request, const Cancel& cancel) const override {
    return ask<std::vector<engine::Aggregate>>(
        PartVerb::kAggregate, cancel.deadline(),
        [&](Collection& part) { return part.aggregate(request, cancel); }, request);
  }
  Result<> create_index(const payload::FieldIndex& index, engine::Ack ack) override {
    auto created = ask<void>(
        PartVerb::kCreateIndex, Deadline::none(),
        [&](Collection& part) { return part.create_index(index, ack); }, index, ack);
    if (created) router_.look_again();  // the next request may need it
    return created;
  }
  Result<bool> drop_index(const std::string& key) override {
    auto dropped = ask<bool>(
        PartVerb::kDropIndex, Deadline::none(),
        [&](Collection& part) { return part.drop_index(key); }, key);
    if (dropped) router_.look_again();
    return dropped;
  }

 private:
  Result<std::vector<engine::UpdateResult>> update_anywhere(
      std::vector<engine::Operation>& operations, const engine::UpdateTerms& terms) const {
    if (terms.deadline.has_passed()) {
      return fail(Code::kResourceExhausted, "the update waited for other nodes until its deadline");
    }
    return ask<std::vector<engine::UpdateResult>>(
        PartVerb::kUpdate, terms.deadline,
        [&](Collection& part) { return update_and_wait(part, std::move(operations), terms); },
        operations, terms.ack);
  }

  /// Nothing if the part cannot be asked: `info` says so.
  template <class T, class ReportHere>
  T report(PartVerb verb, const ReportHere& report_here) const {
    auto reported = ask<T>(verb, Deadline::none(),
                           [&](Collection& part) { return Result<T>(report_here(part)); });
    return reported ? *std::move(reported) : T();
  }

  [[nodiscard]] Error error_of(PartVerb verb, const Error& error) const {
    // A change whose outcome is not known is refused for now, as others are.
    const bool is_unknown = is_change(verb) && error.code() == Code::kDeadlineExceeded;
    const Error shown = is_unknown ? Error(Code::kUnavailable, error.message()) : error;
    return shown.with_context("shard " + name_);
  }

  /// `answer_here` if this node has the part, else what another node answers.
  template <class T, class AnswerHere, class... Args>
  Result<T> ask(PartVerb verb, const Deadline& deadline, const AnswerHere& answer_here,
                const Args&... args) const {
    const Deadline patience = Deadline::after(router_.patience_for(name_, verb));
    while (true) {
      auto here = router_.part_here(name_, verb);
      if (here && *here != nullptr) return answer_here(**here);
      PartQuestion head{.verb = verb, .part = name_, .timeout_ms = ms_left(deadline)};
      if (shows_points(verb)) head.wanted = router_.wanted_of(name_);
      const std::string message = encode_question(std::move(head), args...);
      const auto answer = here ? router_.ask_part(name_, verb, message) : fail(here.error());
      if (answer) return decode_result<T>(*answer);
      const bool may_pass = answer.error().code() == Code::kUnavailable;
      if (!may_pass || patience.has_passed() || deadline.has_passed()) {
        return fail(error_of(verb, answer.error()));
      }
      std::this_thread::sleep_for(kAskPartAgain);
    }
  }

  const std::string name_;
  PartRouter& router_;
  Executor& executor_;
};

template <class T>
void describe_type(std::string& out, std::set<std::type_index>& seen) {
  codec::describe<T>(out, seen);
  out += '\n';
}

}  // namespace

std::shared_ptr<Collection> make_part(std::string name, PartRouter& router, Executor& executor) {
  return std::make_shared<Part>(std::move(name), router, executor);
}

std::string describe_messages() {
  std::string out;
  std::set<std::type_index> seen;
  describe_type<PartQuestion>(out, seen);
  describe_type<engine::Query>(out, seen);
  describe_type<engine::RowParts>(out, seen);
  describe_type<engine::FoundPoints>(out, seen);
  describe_type<engine::CorpusCounts>(out, seen);
  describe_type<engine::RetrieveRequest>(out, seen);
  describe_type<engine::Record>(out, seen);
  describe_type<engine::ExplainRequest>(out, seen);
  describe_type<engine::Explanation>(out, seen);
  describe_type<engine::ScrollRequest>(out, seen);
  describe_type<engine::ScrollPage>(out, seen);
  describe_type<engine::CountRequest>(out, seen);
  describe_type<engine::FacetRequest>(out, seen);
  describe_type<engine::FacetHit>(out, seen);
  describe_type<engine::AggregateRequest>(out, seen);
  describe_type<engine::Aggregate>(out, seen);
  describe_type<engine::CollectionInfo>(out, seen);
  describe_type<engine::ShardInfo>(out, seen);
  describe_type<engine::OptimizationReport>(out, seen);
  describe_type<engine::SegmentIndexInfo>(out, seen);
  describe_type<engine::SegmentAttributesInfo>(out, seen);
  describe_type<engine::Operation>(out, seen);
  describe_type<engine::UpdateResult>(out, seen);
  describe_type<payload::FieldIndex>(out, seen);
  describe_type<ConfigChange>(out, seen);
  describe_type<NumberedChange>(out, seen);
  return out;
}

namespace {

Result<PartQuestion> take_question(codec::Reader& in) {
  codec::Reader version_only = in;  // what follows it may have another form
  PartQuestion question;
  take(version_only, question.version);
  if (version_only.is_ok() && question.version == kPartCallsVersion) take(in, question);
  if (!version_only.is_ok() || !in.is_ok()) {
    return fail(Code::kInvalidArgument, "a question about a part has no head");
  }
  if (question.version == kPartCallsVersion) return question;
  return fail(Code::kUnavailable,
              fmt::format("the question is of version {}, this node's is {}: both nodes must run "
                          "the same version of Quiver",
                          question.version, kPartCallsVersion));
}

/// Of a question with one argument.
template <class Request, class Answer>
Result<std::string> answer_one(codec::Reader& in, const Answer& answer) {
  QV_TRY(const auto arguments, read_arguments<Request>(in));
  return encode_result(answer(std::get<0>(arguments)));
}

}  // namespace

bool is_good(std::string_view answer) {
  codec::Reader in(answer);
  bool is_ok = false;
  take(in, is_ok);
  return in.is_ok() && is_ok;
}

Result<PartQuestion> read_question(std::string_view message) {
  codec::Reader in(message);
  return take_question(in);
}

Result<std::string> answer_question(Collection& part, std::string_view message) {
  codec::Reader in(message);
  QV_TRY(const auto question, take_question(in));
  const Deadline deadline = deadline_of(question);
  const Cancel cancel(deadline);
  switch (question.verb) {
    case PartVerb::kFind: {
      QV_TRY(const auto arguments, (read_arguments<engine::Query, engine::RowParts>(in)));
      const auto& [search, wanted] = arguments;
      return encode_result(part.find(search, wanted, cancel));
    }
    case PartVerb::kCountTerms:
      return answer_one<engine::Query>(
          in, [&](const auto& request) { return part.count_terms(request, cancel); });
    case PartVerb::kRetrieve:
      return answer_one<engine::RetrieveRequest>(
          in, [&](const auto& request) { return part.retrieve(request); });
    case PartVerb::kExplain:
      return answer_one<engine::ExplainRequest>(
          in, [&](const auto& request) { return part.explain(request, cancel); });
    case PartVerb::kScroll:
      return answer_one<engine::ScrollRequest>(
          in, [&](const auto& request) { return part.scroll(request, cancel); });
    case PartVerb::kCount:
      return answer_one<engine::CountRequest>(
          in, [&](const auto& request) { return part.count(request, cancel); });
    case PartVerb::kFacet:
      return answer_one<engine::FacetRequest>(
          in, [&](const auto& request) { return part.facet(request, cancel); });
    case PartVerb::kAggregate:
      return answer_one<engine::AggregateRequest>(
          in, [&](const auto& request) { return part.aggregate(request, cancel); });
    case PartVerb::kInfo:
      return encode_result(Result<engine::CollectionInfo>(part.info()));
    case PartVerb::kShards:
      return encode_result(Result<std::vector<engine::ShardInfo>>(part.shards()));
    case PartVerb::kOptimizations:
      return encode_result(Result<engine::OptimizationReport>(part.optimizations()));
    case PartVerb::kSegmentIndexes:
      return encode_result(Result<std::vector<engine::SegmentIndexInfo>>(part.segment_indexes()));
    case PartVerb::kSegmentAttributes:
      return encode_result(
          Result<std::vector<engine::SegmentAttributesInfo>>(part.segment_attributes()));
    case PartVerb::kUpdate: {
      QV_TRY(auto arguments, (read_arguments<std::vector<engine::Operation>, engine::Ack>(in)));
      auto& [operations, ack] = arguments;
      return encode_result(update_and_wait(part, std::move(operations), {ack, deadline}));
    }
    case PartVerb::kCreateIndex: {
      QV_TRY(const auto arguments, (read_arguments<payload::FieldIndex, engine::Ack>(in)));
      const auto& [index, ack] = arguments;
      return encode_result(part.create_index(index, ack));
    }
    case PartVerb::kDropIndex:
      return answer_one<std::string>(in,
                                     [&](const auto& request) { return part.drop_index(request); });
    case PartVerb::kSetConfig:
    case PartVerb::kChangeReplicas:
      break;
  }
  return fail(Code::kInvalidArgument, "a question about a part has an unknown verb");
}

std::string config_question(const std::string& part, const std::string& base,
                            const std::string& config) {
  return encode_question({.verb = PartVerb::kSetConfig, .part = part}, ConfigChange{base, config});
}

Result<ConfigChange> read_config_question(std::string_view message) {
  codec::Reader in(message);
  QV_TRY(take_question(in));
  QV_TRY(auto arguments, read_arguments<ConfigChange>(in));
  return std::get<0>(std::move(arguments));
}

std::string replica_question(const std::string& part, const NumberedChange& change) {
  return encode_question({.verb = PartVerb::kChangeReplicas, .part = part}, change);
}

Result<NumberedChange> read_replica_question(std::string_view message) {
  codec::Reader in(message);
  QV_TRY(take_question(in));
  QV_TRY(const auto arguments, read_arguments<NumberedChange>(in));
  return std::get<0>(arguments);
}

std::string encode_outcome(const Result<>& outcome) { return encode_result(outcome); }
Result<> decode_outcome(std::string_view answer) { return decode_result<void>(answer); }

}  // namespace quiver::cluster
