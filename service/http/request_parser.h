// Beast's HTTP/1 parser, which writes straight into a Request: no map of headers, no allocation.
#pragma once

#include <boost/beast/http/basic_parser.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "service/http/exchange/message.h"

namespace quiver::service {

/// Decides where the body of a request goes.
class BodyChooser {
 public:
  virtual ~BodyChooser() = default;
  /// Called once the headers are read. May set the request's sink; then its body has no limit.
  virtual void choose_body() = 0;
};

class RequestParser final : public boost::beast::http::basic_parser<true> {
 public:
  /// `request` is cleared already; it and `chooser` outlive the parser. A null `chooser`: bodies
  /// are kept.
  RequestParser(Request& request, std::uint32_t max_header_bytes, std::size_t max_body_bytes,
                BodyChooser* chooser = nullptr);

  /// True if the request declares a body longer than `n` bytes.
  [[nodiscard]] bool expects_more_than(std::size_t n) const { return declared_length() > n; }
  /// The value of `content-length`, 0 if there is none. Known before the body is found too large.
  [[nodiscard]] std::uint64_t declared_length() const { return declared_length_; }

 private:
  using ErrorCode = boost::beast::error_code;
  using StringView = boost::beast::string_view;

  void on_request_impl(boost::beast::http::verb method, StringView method_text, StringView target,
                       int version, ErrorCode& ec) override;
  void on_response_impl(int, StringView, int, ErrorCode&) override {}
  void on_field_impl(boost::beast::http::field name, StringView name_text, StringView value,
                     ErrorCode& ec) override;
  void take_unknown_field(std::string_view name, std::string_view value);
  void on_header_impl(ErrorCode& ec) override;
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, ErrorCode& ec) override;
  std::size_t on_body_impl(StringView body, ErrorCode& ec) override;
  void on_chunk_header_impl(std::uint64_t size, StringView, ErrorCode& ec) override;
  std::size_t on_chunk_body_impl(std::uint64_t, StringView body, ErrorCode& ec) override;
  void on_finish_impl(ErrorCode& ec) override;

  /// True if the body may have `n` bytes.
  [[nodiscard]] bool fits(std::uint64_t n) const { return request_.sink || n <= max_body_bytes_; }

  Request& request_;
  const std::size_t max_body_bytes_;
  BodyChooser* const chooser_;
  std::uint64_t declared_length_ = 0;
  bool has_transfer_encoding_ = false;
};

}  // namespace quiver::service
