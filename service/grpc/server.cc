// The only file that knows the gRPC library.
#include "service/grpc/server.h"

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/observe/log.h"
#include "service/access/audit_log.h"
#include "service/api/access.h"
#include "service/grpc/gunzip.h"
#include "service/grpc/method_metrics.h"
#include "service/grpc/methods/methods.h"
#include "service/grpc/reflection.h"

namespace quiver::service::rpc {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;

constexpr int kMaxConcurrentCalls = 1000;  // of one connection

/// What all calls share.
struct Shared {
  GrpcLimits limits;
  api::Runtime& runtime;
  BodyBudget& messages;
};

std::string_view view(grpc::string_ref text) { return {text.data(), text.size()}; }

std::optional<std::string_view> metadata(const CallbackServerContext& context, const char* name) {
  const auto& all = context.client_metadata();
  const auto found = all.find(name);
  if (found == all.end()) return std::nullopt;
  return view(found->second);
}

api::Credentials credentials_of(const CallbackServerContext& context) {
  return {metadata(context, "api-key"), metadata(context, "authorization")};
}

access::Outcome outcome_of(int code) {
  constexpr int kDenied[] = {static_cast<int>(Code::kUnauthenticated),
                             static_cast<int>(Code::kPermissionDenied)};
  if (code == 0) return access::Outcome::kOk;
  return code == kDenied[0] || code == kDenied[1] ? access::Outcome::kDenied
                                                  : access::Outcome::kFailed;
}

/// A call of the gRPC library, which deletes it by OnDone. `answer` and `error` are the last use of
/// it: OnDone may run before they return.
class GrpcRpc final : public Rpc, public grpc::ServerUnaryReactor {
 public:
  GrpcRpc(Shared& shared, const Method& method, MethodMetrics& metrics,
          CallbackServerContext& context, const ByteBuffer& request, ByteBuffer& response)
      : Rpc(shared.runtime, method),
        shared_(shared),
        metrics_(metrics),
        context_(context),
        request_(request),
        response_(response),
        memory_(shared.messages) {}

  void start() {
    begin();
    run([this](Rpc&) { return dispatch(); });
  }

  void OnCancel() override { cancel(); }
  void OnDone() override { delete this; }

  [[nodiscard]] std::optional<double> seconds_left() const override {
    const auto deadline = context_.deadline();
    if (deadline == std::chrono::system_clock::time_point::max()) return std::nullopt;
    return std::chrono::duration<double>(deadline - std::chrono::system_clock::now()).count();
  }

  void answer(const google::protobuf::MessageLite& message) override {
    const std::size_t size = message.ByteSizeLong();
    if (size > std::numeric_limits<int>::max()) {
      return error({static_cast<int>(Code::kResourceExhausted),
                    fmt::format("the answer has {} bytes, more than a message can hold", size)});
    }
    grpc::Slice slice(size);
    message.SerializeWithCachedSizesToArray(const_cast<std::uint8_t*>(slice.begin()));
    response_ = ByteBuffer(&slice, 1);
    if (was_compressed_) context_.set_compression_algorithm(GRPC_COMPRESS_GZIP);
    note(0);
    Finish(grpc::Status::OK);
  }

  void error(Status status) noexcept override {
    if (is_cancelled() && status.code == static_cast<int>(Code::kDeadlineExceeded) &&
        seconds_left().value_or(1) > 0) {
      status.code = static_cast<int>(Code::kCancelled);
    }
    if (status.is_too_early && retry_after_s() > 0) {
      context_.AddTrailingMetadata("retry-after", std::to_string(retry_after_s()));
    }
    note(status.code);
    Finish(grpc::Status(static_cast<grpc::StatusCode>(status.code), std::move(status.text)));
  }

 protected:
  Decoded<> parse(google::protobuf::MessageLite& message) override {
    bool is_whole = false;
    if (was_compressed_) {
      QV_TRY(const std::string text, inflate());
      request_.Clear();
      is_whole = message.ParseFromString(text);
    } else {
      grpc::ProtoBufferReader reader(&request_);
      is_whole = reader.status().ok() && message.ParseFromZeroCopyStream(&reader);
      request_.Clear();
    }
    if (is_whole) return {};
    return bad_request(fmt::format("the message is no `{}`, or holds text that is not UTF-8",
                                   message.GetTypeName()));
  }

 private:
  Decoded<> dispatch() {
    if (method().callers == Callers::kAll) return handle();
    auto principal = api::principal_of(runtime(), credentials_of(context_));
    if (!principal) return fail(refusal(std::move(principal).error()));
    set_principal(*principal);
    if (principal->value_exists() != nullptr) return look_up_and_handle();
    return handle();
  }

  /// A token may be valid only while a point exists; to look for it may block.
  Decoded<> look_up_and_handle() {
    const bool is_open = runtime().is_open(principal().value_exists()->collection);
    Executor& executor = is_open ? runtime().compute() : runtime().blocking();
    return on_executor(*this, executor, [this](Rpc&) -> Decoded<> {
      auto exists = api::check_value_exists(runtime(), principal());
      if (!exists) return fail(refusal(std::move(exists).error()));
      return handle();
    });
  }

  Decoded<> handle() {
    if (method().handler == nullptr) {
      return fail(ApiError(501, fmt::format("Not implemented: {}: {} is not supported",
                                            method().unbuilt_feature, method().name)));
    }
    QV_TRY(memory_.hold(request_.Length()));
    was_compressed_ = begins_as_gzip();
    if (was_compressed_ || request_.Length() > shared_.limits.inline_message_bytes) {
      return on_executor(*this, runtime().compute(), method().handler);
    }
    return method().handler(*this);
  }

  /// As REST words it: an unknown caller gets a text without a prefix.
  static ApiError refusal(const Error& error) {
    if (error.code() == Code::kUnauthenticated) return {401, error.message()};
    if (error.code() == Code::kPermissionDenied) return {403, error.message()};
    return {error};
  }

  void note(int code) noexcept {
    metrics_.count(code, seconds());
    access::AuditLog* log = runtime().audit();
    if (log == nullptr || method().callers == Callers::kAll) return;
    const std::string remote = context_.peer();
    access::AuditEvent event;
    event.transport = "grpc";
    event.verb = method().name;
    event.collection = collection();
    event.outcome = outcome_of(code);
    event.status = code;
    event.remote = remote;
    log->write(principal(), event);
  }

  [[nodiscard]] bool begins_as_gzip() {
    std::vector<grpc::Slice> slices;
    if (!request_.Dump(&slices).ok() || slices.empty()) return false;
    const auto& first = slices.front();
    return is_gzip({reinterpret_cast<const char*>(first.begin()), first.size()});
  }

  Decoded<std::string> inflate() {
    grpc::Slice slice;
    if (!request_.DumpToSingleSlice(&slice).ok()) return bad_request("the message cannot be read");
    QV_TRY(auto text, gunzip({reinterpret_cast<const char*>(slice.begin()), slice.size()},
                             shared_.limits.max_message_bytes));
    QV_TRY(memory_.hold(slice.size() + text.size()));
    return text;
  }

  Shared& shared_;
  MethodMetrics& metrics_;
  CallbackServerContext& context_;
  ByteBuffer request_;
  ByteBuffer& response_;
  BodyMemory memory_;
  bool was_compressed_ = false;
};

/// A stream of questions about services and messages, each answered before the next is read.
class ReflectionStream final : public grpc::ServerBidiReactor<ByteBuffer, ByteBuffer> {
 public:
  explicit ReflectionStream(const grpc::Status& refusal) {
    if (refusal.ok()) {
      StartRead(&request_);
    } else {
      Finish(refusal);
    }
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    grpc::reflection::v1alpha::ServerReflectionRequest request;
    grpc::ProtoBufferReader reader(&request_);
    if (!reader.status().ok() || !request.ParseFromZeroCopyStream(&reader)) {
      return Finish({grpc::StatusCode::INVALID_ARGUMENT, "the message is no question"});
    }
    const std::string text = reflect(request).SerializeAsString();
    grpc::Slice slice(text);
    response_ = ByteBuffer(&slice, 1);
    StartWrite(&response_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    StartRead(&request_);
  }
  void OnDone() override { delete this; }

 private:
  ByteBuffer request_;
  ByteBuffer response_;
};

/// The protocol has two names and one form.
class ReflectionService final : public grpc::Service {
 public:
  explicit ReflectionService(api::Runtime& runtime) {
    int n_added = 0;
    for (const char* name : {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                             "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"}) {
      using Handler = grpc::internal::CallbackBidiHandler<ByteBuffer, ByteBuffer>;
      AddMethod(new grpc::internal::RpcServiceMethod(
          name, grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
      MarkMethodRawCallback(
          n_added++, new Handler([&runtime](CallbackServerContext* context) {
            const auto caller = api::principal_of(runtime, credentials_of(*context));
            const auto refusal =
                caller ? grpc::Status::OK
                       : grpc::Status(grpc::StatusCode::UNAUTHENTICATED, caller.error().message());
            return new ReflectionStream(refusal);
          }));
    }
  }
};

/// All methods of all services, as bytes in and bytes out.
class ByteService final : public grpc::Service {
 public:
  explicit ByteService(Shared& shared) : shared_(shared), methods_(all_methods()) {
    auto& runtime = shared.runtime;
    for (const Method& method : methods_) {
      metrics_.push_back(std::make_unique<MethodMetrics>(method.name, runtime.metrics(),
                                                         runtime.method_answers(),
                                                         runtime.options().metrics_prefix));
      add(method, *metrics_.back());
    }
  }

 private:
  void add(const Method& method, MethodMetrics& metrics) {
    using Handler = grpc::internal::CallbackUnaryHandler<ByteBuffer, ByteBuffer>;
    auto make = [this, &method, &metrics](CallbackServerContext* context, const ByteBuffer* request,
                                          ByteBuffer* response) {
      auto* call = new GrpcRpc(shared_, method, metrics, *context, *request, *response);
      call->start();
      return call;
    };
    // Names are literals, so they end with a zero.
    AddMethod(new grpc::internal::RpcServiceMethod(method.name.data(),
                                                   grpc::internal::RpcMethod::NORMAL_RPC, nullptr));
    MarkMethodRawCallback(n_added_++, new Handler(std::move(make)));
  }

  Shared& shared_;
  const Methods methods_;
  std::vector<std::unique_ptr<MethodMetrics>> metrics_;
  int n_added_ = 0;
};

void log_line(gpr_log_func_args* args) {
  if (args->severity == GPR_LOG_SEVERITY_ERROR) log_warning("grpc: {}", args->message);
}

/// Plain, or with certificates that are read again when they have changed.
std::shared_ptr<grpc::ServerCredentials> credentials_of(const TlsOptions& tls) {
  namespace experimental = grpc::experimental;
  if (!tls.enabled) return grpc::InsecureServerCredentials();
  constexpr double kNeverS = 1e9;
  const double interval_s = tls.cert_ttl_s > 0 ? std::max(tls.cert_ttl_s, 1.0) : kNeverS;
  auto provider = std::make_shared<experimental::FileWatcherCertificateProvider>(
      tls.key, tls.cert, tls.ca_cert, static_cast<unsigned>(interval_s));
  experimental::TlsServerCredentialsOptions options(std::move(provider));
  options.watch_identity_key_cert_pairs();
  if (tls.verify_client) {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return experimental::TlsServerCredentials(options);
}

std::string address_of(const GrpcOptions& options) {
  const int port = options.port == GrpcOptions::kAnyPort ? 0 : options.port;
  const bool is_ipv6 = options.host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", options.host, port)
                 : fmt::format("{}:{}", options.host, port);
}

class Library final : public GrpcServer {
 public:
  Library(const GrpcLimits& limits, api::Runtime& runtime, BodyBudget& messages)
      : shared_{limits, runtime, messages}, service_(shared_), reflection_(runtime) {}
  ~Library() override {
    begin_stop(std::chrono::seconds(0));
    if (stopper_.joinable()) stopper_.join();
  }

  Result<> listen(const GrpcOptions& options, const TlsOptions& tls) {
    gpr_set_log_function(log_line);
    grpc::ServerBuilder builder;
    int port = 0;
    const std::string address = address_of(options);
    builder.AddListeningPort(address, credentials_of(tls), &port);
    builder.SetMaxReceiveMessageSize(static_cast<int>(
        std::min<std::size_t>(shared_.limits.max_message_bytes, std::numeric_limits<int>::max())));
    builder.SetResourceQuota(
        grpc::ResourceQuota("quiver").Resize(2 * shared_.limits.max_held_bytes));
    // Calls inflate messages themselves, with a limit; only gzip can be told from a plain message.
    builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxConcurrentCalls);
    builder.RegisterService(&service_);
    if (options.reflection) builder.RegisterService(&reflection_);
    server_ = builder.BuildAndStart();
    if (!server_ || port <= 0) {
      return fail(Code::kUnavailable, fmt::format("cannot listen on {} for gRPC", address));
    }
    port_ = static_cast<std::uint16_t>(port);
    return {};
  }

  [[nodiscard]] std::uint16_t port() const override { return port_; }

  void begin_stop(std::chrono::duration<double> grace) override {
    if (!server_ || stopper_.joinable()) return;
    const auto wait = std::chrono::duration_cast<std::chrono::system_clock::duration>(grace);
    stopper_ = std::thread([this, deadline = std::chrono::system_clock::now() + wait] {
      server_->Shutdown(deadline);
      const std::lock_guard lock(mutex_);
      is_stopped_ = true;
      stopped_.notify_all();
    });
  }

  [[nodiscard]] bool wait_until_stopped(std::chrono::duration<double> patience) override {
    std::unique_lock lock(mutex_);
    return !server_ || stopped_.wait_for(lock, patience, [this] { return is_stopped_; });
  }

 private:
  Shared shared_;
  ByteService service_;  // outlives the server, as the next does
  ReflectionService reflection_;
  std::unique_ptr<grpc::Server> server_;
  std::uint16_t port_ = 0;
  std::thread stopper_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool is_stopped_ = false;
};

}  // namespace
}  // namespace quiver::service::rpc

namespace quiver::service {

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(const GrpcOptions& options,
                                                      const TlsOptions& tls,
                                                      const GrpcLimits& limits,
                                                      api::Runtime& runtime, BodyBudget& messages) {
  auto server = std::make_unique<rpc::Library>(limits, runtime, messages);
  QV_TRY(server->listen(options, tls));
  return std::unique_ptr<GrpcServer>(std::move(server));
}

}  // namespace quiver::service
