#include "linear_model.hpp"

#include <cmath>
#include <random>
#include <utility>

namespace ddptwin::workers {

LinearModel::LinearModel(const Options& options)
    : learning_rate_(static_cast<float>(options.learning_rate)),
      momentum_factor_(static_cast<float>(options.momentum)),
      seed_(options.seed) {
  std::mt19937 generator(static_cast<std::uint32_t>(seed_));
  for (std::size_t i = 0; i < bias; ++i) {
    value_[i] = static_cast<float>(generator() >> 16) / 65536.0F - 0.5F;
  }
  const auto parameter = [this](std::vector<std::int64_t> shape, std::size_t from,
                                std::size_t count) {
    parameters_.push_back({.shape = std::move(shape),
                           .value = std::span(value_).subspan(from, count),
                           .gradient = std::span(gradient_).subspan(from, count),
                           .momentum = std::span(momentum_).subspan(from, count)});
  };
  parameter({1, feature_count}, 0, bias);
  parameter({1}, bias, 1);
}

float LinearModel::backward(const std::vector<std::int64_t>& samples) {
  gradient_.fill(0);
  float loss = 0;
  const auto count = static_cast<float>(samples.size());
  for (const std::int64_t sample : samples) {
    float error = value_[bias] - target(sample, seed_);
    for (std::size_t i = 0; i < bias; ++i) {
      error += value_[i] * feature(sample, static_cast<std::int64_t>(i), seed_);
    }
    loss += error * error / count;
    const float slope = 2 * error / count;
    for (std::size_t i = 0; i < bias; ++i) {
      gradient_[i] += slope * feature(sample, static_cast<std::int64_t>(i), seed_);
    }
    gradient_[bias] += slope;
  }
  return loss;
}

void LinearModel::step() {
  for (std::size_t i = 0; i < value_.size(); ++i) {
    momentum_[i] = momentum_factor_ * momentum_[i] + gradient_[i];
    value_[i] = std::fma(-learning_rate_, momentum_[i], value_[i]);  // rounded once, as torch's SGD
  }
}

}  // namespace ddptwin::workers
