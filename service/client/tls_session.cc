#include "service/client/tls_session.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace quiver::client {
namespace {

/// Bytes encrypted before they are sent.
constexpr std::size_t kTlsPieceBytes = 256 << 10;

struct ClientSslDeleter {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using ClientSsl = std::unique_ptr<SSL, ClientSslDeleter>;
using ClientContext = std::unique_ptr<SSL_CTX, ClientSslDeleter>;

tl::unexpected<Error> tls_failure(std::string_view what, const Endpoint& endpoint, SSL* ssl) {
  const long verdict = ssl == nullptr ? X509_V_OK : SSL_get_verify_result(ssl);
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  if (verdict != X509_V_OK) reason = X509_verify_cert_error_string(verdict);
  if (reason == nullptr) reason = errno != 0 ? std::strerror(errno) : "the connection ended";
  return fail(Code::kUnavailable,
              fmt::format("{} {}:{}: {}", what, endpoint.host, endpoint.port, reason));
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> ignored;
  return inet_pton(AF_INET, host.c_str(), ignored.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), ignored.data()) == 1;
}

/// The certificate must be for this host.
bool expect_host(SSL* ssl, const std::string& host) {
  if (is_address(host)) {
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1;
  }
  return SSL_set_tlsext_host_name(ssl, host.c_str()) == 1 && SSL_set1_host(ssl, host.c_str()) == 1;
}

Result<ClientContext> make_context(const Endpoint& endpoint) {
  ERR_clear_error();
  ClientContext context(SSL_CTX_new(TLS_client_method()));
  if (!context) return tls_failure("OpenSSL, for", endpoint, nullptr);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  const std::string& ca = endpoint.ca_file;
  const int loaded = ca.empty() ? SSL_CTX_set_default_verify_paths(context.get())
                                : SSL_CTX_load_verify_locations(context.get(), ca.c_str(), nullptr);
  if (loaded != 1) {
    return fail(Code::kInvalidArgument, fmt::format("{}: no PEM file with certificates", ca));
  }
  return context;
}

/// OpenSSL works in memory; bytes go to the socket and come from it here. OpenSSL would write
/// without MSG_NOSIGNAL.
class OpenSslSession final : public TlsSession {
 public:
  OpenSslSession(ClientSsl ssl, int fd, Endpoint endpoint)
      : ssl_(std::move(ssl)),
        received_(BIO_new(BIO_s_mem())),
        encrypted_(BIO_new(BIO_s_mem())),
        fd_(fd),
        endpoint_(std::move(endpoint)) {
    SSL_set_bio(ssl_.get(), received_, encrypted_);
  }

  Result<> shake_hands() {
    for (;;) {
      ERR_clear_error();
      errno = 0;
      const int done = SSL_connect(ssl_.get());
      const int error = SSL_get_error(ssl_.get(), done);
      if (done != 1 && error != SSL_ERROR_WANT_READ) {
        auto reason = tls_failure("cannot speak TLS with", endpoint_, ssl_.get());
        [[maybe_unused]] const auto told = flush();  // the server should know, too
        return reason;
      }
      QV_TRY(flush());
      if (done == 1) return {};
      QV_TRY(const bool has_more, fill());
      if (!has_more) return tls_failure("cannot speak TLS with", endpoint_, nullptr);
    }
  }

  Result<> send(std::string_view bytes, More more) override {
    while (!bytes.empty()) {
      const std::size_t wanted = std::min(bytes.size(), kTlsPieceBytes);
      std::size_t n = 0;
      ERR_clear_error();
      if (SSL_write_ex(ssl_.get(), bytes.data(), wanted, &n) != 1) {
        return tls_failure("cannot send to", endpoint_, ssl_.get());
      }
      bytes.remove_prefix(n);
      if (!bytes.empty()) QV_TRY(flush());
    }
    return more == More::kYes ? Result<>() : flush();
  }

  Result<std::size_t> receive(char* space, std::size_t n) override {
    for (;;) {
      std::size_t n_read = 0;
      ERR_clear_error();
      errno = 0;
      const int ok = SSL_read_ex(ssl_.get(), space, n, &n_read);
      if (ok == 1) return n_read;
      const int error = SSL_get_error(ssl_.get(), ok);
      if (error == SSL_ERROR_ZERO_RETURN) return 0;
      if (error != SSL_ERROR_WANT_READ) return tls_failure("no answer from", endpoint_, nullptr);
      QV_TRY(flush());
      QV_TRY(const bool has_more, fill());
      if (!has_more) return tls_failure("no answer from", endpoint_, nullptr);
    }
  }

 private:
  /// Waits for bytes. False if the server has closed the connection.
  Result<bool> fill() {
    std::array<char, 32 << 10> piece;
    ssize_t n = 0;
    do {
      n = ::recv(fd_, piece.data(), piece.size(), 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0) return tls_failure("no answer from", endpoint_, nullptr);
    if (n > 0) BIO_write(received_, piece.data(), static_cast<int>(n));
    return n > 0;
  }

  Result<> flush() {
    std::array<char, 32 << 10> piece;
    while (BIO_ctrl_pending(encrypted_) > 0) {
      const int n = BIO_read(encrypted_, piece.data(), static_cast<int>(piece.size()));
      for (int at = 0; at < n;) {
        const auto sent =
            ::send(fd_, piece.data() + at, static_cast<std::size_t>(n - at), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return tls_failure("cannot send to", endpoint_, nullptr);
        at += static_cast<int>(sent);
      }
    }
    return {};
  }

  ClientSsl ssl_;
  // Owned by `ssl_`.
  BIO* received_;
  BIO* encrypted_;
  const int fd_;
  const Endpoint endpoint_;
};

}  // namespace

Result<std::unique_ptr<TlsSession>> TlsSession::connect(const Socket& socket,
                                                        const Endpoint& endpoint) {
  QV_TRY(const auto context, make_context(endpoint));
  ClientSsl ssl(SSL_new(context.get()));
  if (!ssl || !expect_host(ssl.get(), endpoint.host)) {
    return tls_failure("OpenSSL, for", endpoint, nullptr);
  }
  auto session = std::make_unique<OpenSslSession>(std::move(ssl), socket.fd(), endpoint);
  QV_TRY(session->shake_hands());
  return std::unique_ptr<TlsSession>(std::move(session));
}

}  // namespace quiver::client
