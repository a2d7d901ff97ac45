// A linear regression by hand, for ranks without autograd.
#pragma once

#include <array>

#include "data.hpp"
#include "model.hpp"
#include "options.hpp"

namespace ddptwin::workers {

class LinearModel final : public Model {
 public:
  explicit LinearModel(const Options& options);

  std::vector<Parameter>& parameters() override { return parameters_; }
  float backward(const std::vector<std::int64_t>& samples) override;
  const std::vector<std::size_t>& ready_order() const override { return ready_order_; }
  void step() override;

 private:
  static constexpr std::size_t bias = feature_count;  // behind the weights
  using Values = std::array<float, feature_count + 1>;

  float learning_rate_;
  float momentum_factor_;
  std::int64_t seed_;
  Values value_{};
  Values gradient_{};
  Values momentum_{};
  std::vector<Parameter> parameters_;
  std::vector<std::size_t> ready_order_{1, 0};
};

}  // namespace ddptwin::workers
