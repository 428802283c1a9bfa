// What nearly every file includes: read once, where the preset asks for it. Never included by hand;
// files name what they use, as the presets without it make sure.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <tl/expected.hpp>
#include <utility>
#include <variant>
#include <vector>
