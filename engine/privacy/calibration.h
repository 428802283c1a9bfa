// How much noise an amount of privacy wants.
#pragma once

namespace quiver::engine {

/// An upper bound of delta at which Gaussian noise, discrete or not, is (epsilon, delta)
/// differentially private. `rho`: square of the sensitivity, divided by twice the variance.
///
/// Discrete Gaussian noise on vectors of whole numbers is rho-concentrated differentially private;
/// this is the conversion of Canonne, Kamath and Steinke (NeurIPS 2020), where both are proved. The
/// analytic Gaussian mechanism (Balle and Wang, ICML 2018) wants 3 to 12 % less noise for delta up
/// to 1e-6, but is proved for noise of real numbers only, which no computer draws.
[[nodiscard]] double delta_of(double rho, double epsilon);

/// The least standard deviation of noise, for sensitivity 1, that is (epsilon, delta)
/// differentially private. Holds for every `epsilon` > 0 and 0 < `delta` < 1.
[[nodiscard]] double noise_deviation(double epsilon, double delta);

}  // namespace quiver::engine
