// Beast's HTTP/1 parser, writing straight into a Request: no map of headers, no allocation.
#pragma once

#include <boost/beast/http/basic_parser.hpp>
#include <cstddef>
#include <cstdint>

#include "service/http/exchange.h"

namespace quiver::service {

class RequestParser final : public boost::beast::http::basic_parser<true> {
 public:
  /// `request` is cleared already and outlives the parser.
  RequestParser(Request& request, std::uint32_t max_header_bytes, std::size_t max_body_bytes);

  /// The declared length of the body is known and larger than `n`.
  [[nodiscard]] bool expects_more_than(std::size_t n) const { return declared_length() > n; }
  /// What `content-length` says; 0 if it is not there. Known before the body is found too large.
  [[nodiscard]] std::uint64_t declared_length() const { return declared_length_; }

 private:
  using ErrorCode = boost::beast::error_code;
  using StringView = boost::beast::string_view;

  void on_request_impl(boost::beast::http::verb method, StringView method_text, StringView target,
                       int version, ErrorCode& ec) override;
  void on_response_impl(int, StringView, int, ErrorCode&) override {}
  void on_field_impl(boost::beast::http::field name, StringView name_text, StringView value,
                     ErrorCode& ec) override;
  void on_header_impl(ErrorCode& ec) override;
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, ErrorCode& ec) override;
  std::size_t on_body_impl(StringView body, ErrorCode& ec) override;
  void on_chunk_header_impl(std::uint64_t, StringView, ErrorCode&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, StringView body, ErrorCode& ec) override;
  void on_finish_impl(ErrorCode& ec) override;

  Request& request_;
  std::uint64_t declared_length_ = 0;
  bool has_transfer_encoding_ = false;
};

}  // namespace quiver::service
