#include <cmath>

#include "engine/query/examples/example_score.h"

namespace quiver::engine {

float fast_sigmoid(float x) { return x / (1.0F + std::abs(x)); }

float positive_sigmoid(float x) { return 0.5F * (fast_sigmoid(x) + 1.0F); }

}  // namespace quiver::engine
