// Differentially private sums of a collection: plain structs.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "payload/filter.h"

namespace quiver::engine {

/// Releases that a collection keeps. Each takes 8 bytes a feature in its file.
inline constexpr std::size_t kMaxReleases = 256;

inline constexpr std::uint32_t kMinPrivateFeatures = 64;
inline constexpr std::uint32_t kMaxPrivateFeatures = 65'536;
/// Numbers in the frequencies of a Gaussian kernel, half the features times the dimensions: 128
/// MiB.
inline constexpr std::uint64_t kMaxFrequencyValues = std::uint64_t{1} << 25;
inline constexpr double kMinReleaseEpsilon = 1e-3;
inline constexpr double kMaxReleaseEpsilon = 50;
inline constexpr double kMinReleaseDelta = 1e-15;
inline constexpr double kMaxReleaseDelta = 1e-2;
/// Of a budget. So no sum of amounts overflows.
inline constexpr double kMaxBudgetEpsilon = 1e6;
inline constexpr double kMaxBudgetDelta = 1;
inline constexpr double kMinBandwidth = 1e-6;
inline constexpr double kMaxBandwidth = 1e6;

/// An amount of privacy, (epsilon, delta) of differential privacy, in whole units: sums are exact.
/// Amounts of several releases add up (basic composition: Dwork and Roth 2014, theorem 3.16).
struct PrivacyAmount {
  static constexpr double kEpsilonUnit = 1e-9;
  static constexpr double kDeltaUnit = 1e-18;

  std::uint64_t epsilon_units = 0;
  std::uint64_t delta_units = 0;

  /// The nearest amount; both are at least 0 and at most those of a budget.
  [[nodiscard]] static PrivacyAmount of(double epsilon, double delta) {
    return {static_cast<std::uint64_t>(std::llround(epsilon / kEpsilonUnit)),
            static_cast<std::uint64_t>(std::llround(delta / kDeltaUnit))};
  }
  [[nodiscard]] double epsilon() const { return static_cast<double>(epsilon_units) / 1e9; }
  [[nodiscard]] double delta() const { return static_cast<double>(delta_units) / 1e18; }
  [[nodiscard]] bool fits(const PrivacyAmount& budget) const {
    return epsilon_units <= budget.epsilon_units && delta_units <= budget.delta_units;
  }
  [[nodiscard]] PrivacyAmount plus(const PrivacyAmount& other) const {
    return {epsilon_units + other.epsilon_units, delta_units + other.delta_units};
  }
  bool operator==(const PrivacyAmount&) const = default;
};

/// Numbers never change: they are in files.
enum class PrivateKernel : std::uint32_t {
  kGaussian = 0,  ///< exp(-|x - y|^2 / (2 bandwidth^2))
  kCosine = 1,    ///< the cosine of the angle between x and y
};

/// How vectors become features of length 1 at most. The features do not depend on stored points.
struct PrivateFeatures {
  PrivateKernel kernel = PrivateKernel::kGaussian;
  double bandwidth = 1;             ///< of the Gaussian kernel, in the units of distances
  std::uint32_t n_features = 4096;  ///< even for the Gaussian kernel; `dim` for the cosine
  std::uint64_t seed = 0;           ///< of the Gaussian kernel's frequencies; no secret
  std::uint32_t dim = 0;            ///< of the vectors
  bool is_normalised = false;       ///< vectors are scaled to length 1 first
  bool operator==(const PrivateFeatures&) const = default;
};

struct PrivateSumRequest {
  std::string using_field;
  PrivateFeatures features;               ///< `dim` and `is_normalised` are those of the field
  std::optional<payload::Filter> filter;  ///< which points are summed; nullopt: all
  PrivacyAmount cost;
};

/// A line of the ledger.
struct ReleaseInfo {
  std::uint64_t number = 0;
  std::string name;
  std::string request;  ///< as the client sent it
  PrivacyAmount cost;
  std::uint64_t created_at_ms = 0;  ///< since 1970
  bool is_lost = false;             ///< paid for, but a crash came before its numbers were stored
};

/// What a collection may release and has released.
struct PrivacyReport {
  std::optional<PrivacyAmount> budget;  ///< nullopt: none was set, and nothing is released
  PrivacyAmount spent;                  ///< also for releases that were deleted or lost
  std::vector<ReleaseInfo> releases;    ///< by name
};

/// A release: its line, and what every answer from it has.
struct ReleaseDetails {
  ReleaseInfo info;
  PrivateFeatures features;
  double count = 0;            ///< estimated number of points in the sum; may be negative
  double count_deviation = 0;  ///< standard deviation of its noise
  double noise_deviation = 0;  ///< standard deviation of the noise in a sum
};

/// An estimate from a release. Deviations are standard deviations.
struct PrivateEstimate {
  double sum = 0;        ///< of the kernel between the query and the points
  double deviation = 0;  ///< of noise and of random features
  /// The sum divided by the estimated count; nullopt while that is not clearly above 0.
  std::optional<double> mean;
  std::optional<double> mean_deviation;
};

}  // namespace quiver::engine
