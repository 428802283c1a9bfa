#include "service/net/tls.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/observe/log.h"

namespace quiver::service {
namespace {

using boost::asio::awaitable;
using boost::asio::const_buffer;
using boost::asio::mutable_buffer;
using boost::asio::redirect_error;
using boost::asio::use_awaitable;
using boost::asio::ip::tcp;

/// Plain bytes in one record of TLS.
constexpr std::size_t kRecordBytes = 16 << 10;
/// Plain bytes encrypted at once.
constexpr std::size_t kPieceBytes = 64 << 10;

constexpr std::string_view kPlainRequestBody =
    R"({"status":{"error":"Bad request: the request is plain HTTP, this port takes HTTPS only"},)"
    R"("time":0.0})";

struct SslDeleter {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using SslPtr = std::unique_ptr<SSL, SslDeleter>;
using SslContextPtr = std::unique_ptr<SSL_CTX, SslDeleter>;

/// What OpenSSL says of its last failure; forgets it.
std::string ssl_error_text() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  std::string text = reason != nullptr ? reason : "unknown error";
  ERR_clear_error();
  return text;
}

/// OpenSSL reads from the socket and writes to memory; the memory is sent from here. So a write can
/// take bytes without waiting, and the records of one answer leave in one packet.
class TlsStream final : public Stream {
 public:
  TlsStream(tcp::socket socket, SslPtr ssl) : socket_(std::move(socket)), ssl_(std::move(ssl)) {
    ErrorCode ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    socket_.non_blocking(true, ignored);
    BIO* in = BIO_new_socket(socket_.native_handle(), BIO_NOCLOSE);
    encrypted_ = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl_.get(), in, encrypted_);
    SSL_set_accept_state(ssl_.get());
  }

  std::size_t read_now(mutable_buffer space, ErrorCode& ec) override {
    if (!is_established_) {
      ec = boost::asio::error::would_block;
      return 0;
    }
    const std::size_t n = take(space, ec);
    if (n == 0 && !ec) ec = boost::asio::error::would_block;
    return n;
  }

  awaitable<std::size_t> read_some(mutable_buffer space, ErrorCode& ec) override {
    if (!is_established_) co_await shake_hands(ec);
    while (!ec) {
      const std::size_t n = take(space, ec);
      if (n > 0 || ec) co_return n;
      co_await socket_.async_wait(tcp::socket::wait_read, redirect_error(use_awaitable, ec));
    }
    co_return 0;
  }

  /// Takes whole records while they leave at once. If one does not, its bytes count as unwritten,
  /// and the caller's next write of the same bytes only waits for it.
  std::size_t write_now(std::span<const const_buffer> buffers, ErrorCode& ec) override {
    ec = ErrorCode();
    begun_.clear();
    std::size_t n_written = 0;
    std::vector<const_buffer> rest(buffers.begin(), buffers.end());
    while (is_established_ && send_now(ec)) {
      const std::size_t n = begin_record(rest);
      if (n == 0 || !encrypt_record(ec) || !send_now(ec)) break;
      n_written += n;
      consume(rest, n);
      begun_.clear();
    }
    return ec ? 0 : n_written;
  }

  awaitable<std::size_t> write_some(const_buffer bytes, ErrorCode& ec) override {
    ec = ErrorCode();
    std::size_t n = std::min(bytes.size(), kPieceBytes);
    if (!begun_.empty() && begun_.front().data() == bytes.data()) {
      n = begun_.front().size();
      begun_.erase(begun_.begin());
    } else {
      begun_.clear();
      encrypt(bytes.data(), n, ec);
    }
    co_await send_all(ec);
    co_return ec ? 0 : n;
  }

  /// A client that says goodbye leaves bytes behind, which only OpenSSL understands.
  bool is_closed_by_client() override {
    char byte = 0;
    const auto n = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n <= 0 || !is_established_) return n == 0;
    ERR_clear_error();
    const int peeked = SSL_peek(ssl_.get(), &byte, 1);
    return peeked <= 0 && SSL_get_error(ssl_.get(), peeked) != SSL_ERROR_WANT_READ;
  }

  void shutdown_send(ErrorCode& ec) override {
    ERR_clear_error();
    if (is_established_) SSL_shutdown(ssl_.get());
    ErrorCode ignored;
    send_now(ignored);
    socket_.shutdown(tcp::socket::shutdown_send, ec);
  }
  void cancel() override {
    ErrorCode ignored;
    socket_.cancel(ignored);
  }
  void close() override {
    ErrorCode ignored;
    socket_.close(ignored);
  }
  [[nodiscard]] std::string remote_address() const override { return remote_address_of(socket_); }
  [[nodiscard]] bool is_established() const override { return is_established_; }

 private:
  awaitable<void> shake_hands(ErrorCode& ec) {
    while (!ec) {
      ERR_clear_error();
      const int done = SSL_do_handshake(ssl_.get());
      const int error = done == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl_.get(), done);
      const bool is_plain_http = ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST;
      co_await send_all(ec);
      if (ec) co_return;
      if (done == 1) {
        is_established_ = true;
        co_return;
      }
      if (error != SSL_ERROR_WANT_READ) {
        if (is_plain_http) refuse_plain_http();
        ec = boost::asio::error::connection_aborted;
        co_return;
      }
      co_await socket_.async_wait(tcp::socket::wait_read, redirect_error(use_awaitable, ec));
    }
  }

  /// Reads what has come, so that closing does not reset the connection before the answer is read.
  void refuse_plain_http() {
    const std::string answer = fmt::format(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {}\r\n"
        "connection: close\r\n\r\n{}",
        kPlainRequestBody.size(), kPlainRequestBody);
    std::array<char, 4096> ignored;
    while (::recv(socket_.native_handle(), ignored.data(), ignored.size(), MSG_DONTWAIT) > 0) {
    }
    [[maybe_unused]] const auto n =
        ::send(socket_.native_handle(), answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  /// Decrypts what has arrived; 0 without an error: nothing has.
  std::size_t take(mutable_buffer space, ErrorCode& ec) {
    ec = ErrorCode();
    ERR_clear_error();
    std::size_t n = 0;
    const int ok = SSL_read_ex(ssl_.get(), space.data(), space.size(), &n);
    if (ok == 1) return n;
    const int error = SSL_get_error(ssl_.get(), ok);
    if (error == SSL_ERROR_ZERO_RETURN) {
      ec = boost::asio::error::eof;
    } else if (error != SSL_ERROR_WANT_READ) {
      ec = boost::asio::error::connection_reset;
    }
    return 0;
  }

  /// Copies what fits one record to `record_` and notes in `begun_` where it is from.
  std::size_t begin_record(const std::vector<const_buffer>& buffers) {
    begun_.clear();
    record_.clear();
    for (const auto& buffer : buffers) {
      const std::size_t n = std::min(buffer.size(), kRecordBytes - record_.size());
      if (n == 0) continue;
      record_.append(static_cast<const char*>(buffer.data()), n);
      begun_.emplace_back(buffer.data(), n);
    }
    return record_.size();
  }
  static void consume(std::vector<const_buffer>& buffers, std::size_t n) {
    for (auto& buffer : buffers) {
      const std::size_t here = std::min(n, buffer.size());
      buffer += here;
      n -= here;
    }
  }
  bool encrypt_record(ErrorCode& ec) {
    encrypt(record_.data(), record_.size(), ec);
    return !ec;
  }
  void encrypt(const void* bytes, std::size_t n, ErrorCode& ec) {
    ERR_clear_error();
    std::size_t n_taken = 0;
    if (n > 0 && SSL_write_ex(ssl_.get(), bytes, n, &n_taken) != 1) {
      ec = boost::asio::error::connection_reset;
    }
  }

  /// Sends encrypted bytes without waiting. False if some are left, or after an error.
  bool send_now(ErrorCode& ec) {
    gather_encrypted();
    while (n_sent_ < unsent_.size()) {
      const auto n = ::send(socket_.native_handle(), unsent_.data() + n_sent_,
                            unsent_.size() - n_sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        const bool is_full = errno == EAGAIN || errno == EWOULDBLOCK;
        if (!is_full) ec = ErrorCode(errno, boost::system::system_category());
        return false;
      }
      n_sent_ += static_cast<std::size_t>(n);
    }
    unsent_.clear();
    n_sent_ = 0;
    return true;
  }
  awaitable<void> send_all(ErrorCode& ec) {
    while (!ec && !send_now(ec)) {
      if (ec) break;
      co_await socket_.async_wait(tcp::socket::wait_write, redirect_error(use_awaitable, ec));
    }
  }
  void gather_encrypted() {
    const std::size_t n = BIO_ctrl_pending(encrypted_);
    if (n == 0) return;
    const std::size_t size = unsent_.size();
    unsent_.resize(size + n);
    std::size_t n_read = 0;
    BIO_read_ex(encrypted_, unsent_.data() + size, n, &n_read);
    unsent_.resize(size + n_read);
  }

  tcp::socket socket_;
  SslPtr ssl_;
  BIO* encrypted_;  ///< owned by `ssl_`
  std::string record_;
  std::vector<const_buffer> begun_;  ///< encrypted, and on their way in `unsent_`
  std::string unsent_;               ///< encrypted bytes; the first `n_sent_` are gone
  std::size_t n_sent_ = 0;
  bool is_established_ = false;
};

/// Identity and age of a file.
struct FileStamp {
  std::uint64_t inode = 0;
  std::int64_t size = 0, seconds = 0, nanoseconds = 0;
  bool operator==(const FileStamp&) const = default;
};

FileStamp stamp_of(const std::string& path) {
  struct stat facts {};
  if (path.empty() || ::stat(path.c_str(), &facts) != 0) return {};
  return {facts.st_ino, facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
}

tl::unexpected<Error> unusable(std::string_view key, const std::string& path) {
  return fail(Code::kInvalidArgument,
              fmt::format("{} cannot be used: file {}: {}", key, path.empty() ? "is not set" : path,
                          ssl_error_text()));
}

constexpr std::string_view kHttp1Name = "\x08http/1.1";
constexpr std::string_view kHttp2Name = "\x02h2";

/// `spoken` (a string_view) is all that is spoken; a client that offers more gets it.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* offered, unsigned int offered_size, void* spoken) {
  const auto& name = *static_cast<const std::string_view*>(spoken);
  unsigned char* chosen = nullptr;
  const int found =
      SSL_select_next_proto(&chosen, out_size, reinterpret_cast<const unsigned char*>(name.data()),
                            static_cast<unsigned>(name.size()), offered, offered_size);
  if (found != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_NOACK;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

/// A server has nobody to ask for the password of a key.
int no_password(char*, int, int, void*) { return 0; }

Result<> demand_client_certificates(SSL_CTX* context, const TlsOptions& options) {
  STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(options.ca_cert.c_str());
  if (names == nullptr) return unusable("tls.ca_cert", options.ca_cert);
  SSL_CTX_set_client_CA_list(context, names);
  if (SSL_CTX_load_verify_locations(context, options.ca_cert.c_str(), nullptr) != 1) {
    return unusable("tls.ca_cert", options.ca_cert);
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  static constexpr unsigned char kSessions[] = "quiver";
  SSL_CTX_set_session_id_context(context, kSessions, sizeof(kSessions) - 1);
  return {};
}

Result<SslContextPtr> load_context(const TlsOptions& options, Protocol protocol) {
  static std::array spoken = {kHttp1Name, kHttp2Name};
  ERR_clear_error();
  SslContextPtr context(SSL_CTX_new(TLS_server_method()));
  if (!context) return fail(Code::kInternal, "OpenSSL: " + ssl_error_text());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_default_passwd_cb(context.get(), no_password);
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol,
                             &spoken[static_cast<std::size_t>(protocol)]);
  if (SSL_CTX_use_certificate_chain_file(context.get(), options.cert.c_str()) != 1) {
    return unusable("tls.cert", options.cert);
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), options.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1) {
    return unusable("tls.key", options.key);
  }
  if (options.verify_client) QV_TRY(demand_client_certificates(context.get(), options));
  return context;
}

class OpenSslContext final : public TlsContext {
 public:
  OpenSslContext(TlsOptions options, Protocol protocol, std::array<FileStamp, 3> stamps,
                 SslContextPtr context)
      : options_(std::move(options)),
        protocol_(protocol),
        stamps_(stamps),
        context_(std::move(context)) {}

  std::unique_ptr<Stream> make_stream(tcp::socket socket) override {
    reload_if_changed();
    SslPtr ssl(SSL_new(context_.get()));
    if (!ssl) return nullptr;
    return std::make_unique<TlsStream>(std::move(socket), std::move(ssl));
  }

  static std::array<FileStamp, 3> stamps_of(const TlsOptions& options) {
    return {stamp_of(options.cert), stamp_of(options.key), stamp_of(options.ca_cert)};
  }

 private:
  using Clock = std::chrono::steady_clock;

  void reload_if_changed() {
    const std::chrono::duration<double> age = Clock::now() - looked_at_;
    if (options_.cert_ttl_s <= 0 || age.count() < options_.cert_ttl_s) return;
    looked_at_ = Clock::now();
    const auto stamps = stamps_of(options_);
    if (stamps == stamps_) return;
    stamps_ = stamps;
    auto loaded = load_context(options_, protocol_);
    if (!loaded) {
      return log_error("tls: the former certificates stay in use: {}", loaded.error().message());
    }
    context_ = *std::move(loaded);
    log_info("tls: loaded the changed certificates, {}", options_.cert);
  }

  const TlsOptions options_;
  const Protocol protocol_;
  std::array<FileStamp, 3> stamps_;
  SslContextPtr context_;
  Clock::time_point looked_at_ = Clock::now();
};

}  // namespace

Result<std::unique_ptr<TlsContext>> TlsContext::load(TlsOptions options, Protocol protocol) {
  const auto stamps = OpenSslContext::stamps_of(options);
  QV_TRY(auto context, load_context(options, protocol));
  return std::unique_ptr<TlsContext>(
      std::make_unique<OpenSslContext>(std::move(options), protocol, stamps, std::move(context)));
}

}  // namespace quiver::service
