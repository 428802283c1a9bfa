// Headers that nearly every file includes, precompiled by presets with QV_FAST_BUILD. Never include
// it: files name the headers they use, which the other presets check.
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
