#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace quiver::testing {

inline std::vector<float> normal_vector(std::size_t n, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) value = normal(random);
  return values;
}

template <class A, class B>
double dot(const A& a, const B& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

template <class A>
double norm(const A& a) {
  return std::sqrt(dot(a, a));
}

}  // namespace quiver::testing
