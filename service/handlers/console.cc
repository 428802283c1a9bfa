// The web console: static files, which hold no data. The page asks the API with the user's key.
#include "service/console/console.h"

#include "service/handlers/common.h"
#include "service/handlers/handlers.h"
#include "service/http/exchange/compression.h"

namespace quiver::service {
namespace {

/// Browsers load nothing from elsewhere, run no script but the console's files, show the page in no
/// frame, and refuse to make elements from text. Workers come from one policy (lib/project.js).
constexpr std::string_view kHeaders =
    "\r\ncontent-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types quiver-worker"
    "\r\nx-content-type-options: nosniff"
    "\r\nreferrer-policy: no-referrer"
    "\r\ncache-control: no-cache";

Decoded<Answer> send_file(Exchange& x, std::string_view path) {
  if (!x.front().options().has_console) {
    return fail(ApiError(404, "Not found: the console is switched off (console.enabled)"));
  }
  const console::File* file = console::find_file(path);
  if (file == nullptr) {
    return fail(ApiError(404, "Not found: the console has no file " + std::string(path)));
  }
  const bool is_gzip = !file->gzip.empty() && accepts_gzip(x.request.accept_encoding);
  const std::string& etag = is_gzip ? file->gzip_etag : file->etag;
  x.response.content_type = file->content_type;
  x.response.extra_headers.append(kHeaders).append("\r\netag: ").append(etag);
  if (console::names_etag(x.request.if_none_match, etag)) {
    x.response.status = 304;
    x.response.extra_headers += "\r\nvary: accept-encoding";
    return Answer::kReady;
  }
  if (is_gzip) {
    x.response.content_encoding = "gzip";
  } else {
    x.response.extra_headers += "\r\nvary: accept-encoding";
  }
  x.response.body.assign(is_gzip ? std::string_view(file->gzip) : file->body);
  return Answer::kReady;
}

/// The page names its files relative to `/dashboard/`, so that it works behind a proxy's prefix.
Decoded<Answer> send_page(Exchange& x) {
  const std::string_view target = x.request.target;
  const auto path = target.substr(0, target.find_first_of("?#"));
  if (path.ends_with('/') || !x.front().options().has_console) return send_file(x, "index.html");
  x.text(308, "");
  x.response.extra_headers = "\r\nlocation: dashboard/";
  return Answer::kReady;
}

Decoded<Answer> send_top_file(Exchange& x) { return send_file(x, x.captures[0]); }

Decoded<Answer> send_nested_file(Exchange& x) {
  return send_file(x, x.captures[0] + "/" + x.captures[1]);
}

}  // namespace

void add_console_routes(Routes& routes) {
  routes.push_back({Method::kGet, "/dashboard", Access::kOpen, send_page});
  routes.push_back({Method::kGet, "/dashboard/{file}", Access::kOpen, send_top_file});
  routes.push_back({Method::kGet, "/dashboard/{folder}/{file}", Access::kOpen, send_nested_file});
}

}  // namespace quiver::service
