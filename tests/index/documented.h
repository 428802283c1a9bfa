// Pages that list the parameters of an index type.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "base/params.h"

namespace quiver::index::testing {

/// The page has a row "| `name` | default |" for each parameter.
template <class Params>
void expect_documented(const std::string& path) {
  std::ifstream in(path);
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  for (const auto& param : describe_params<Params>()) {
    std::string value = to_string(param.default_value);
    if (value.front() == '"') value = '`' + value.substr(1, value.size() - 2) + '`';
    const std::string row = "| `" + param.name + "` | " + value + " |";
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

}  // namespace quiver::index::testing
