// Messages that clients compress.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "service/json/error.h"

namespace quiver::service::rpc {

/// 413 if the text is longer than `max_bytes`, 400 if `bytes` are no whole gzip data.
[[nodiscard]] Decoded<std::string> gunzip(std::string_view bytes, std::size_t max_bytes);

}  // namespace quiver::service::rpc
