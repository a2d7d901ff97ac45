#include "torch_model.hpp"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/version.h>

#include <cmath>

#include "data.hpp"

namespace ddptwin::workers {
namespace {

std::span<float> floats_of(const at::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

class TorchModel final : public Model {
 public:
  explicit TorchModel(const Options& options)
      : learning_rate_(options.learning_rate), momentum_(options.momentum), seed_(options.seed) {
    at::set_num_threads(1);
    at::Generator generator =
        at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(options.seed));
    add_linear(feature_count, options.hidden, generator);
    add_linear(options.hidden, options.hidden, generator);
    add_linear(options.hidden, 1, generator);
    for (std::size_t i = parameters_.size(); i-- > 0;) ready_order_.push_back(i);
  }

  std::vector<Parameter>& parameters() override { return parameters_; }
  const std::vector<std::size_t>& ready_order() const override { return ready_order_; }

  float backward(const std::vector<std::int64_t>& samples) override {
    const auto count = static_cast<std::int64_t>(samples.size());
    at::Tensor inputs = at::empty({count, feature_count});
    at::Tensor targets = at::empty({count, 1});
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t sample = samples[static_cast<std::size_t>(i)];
      float* row = inputs.data_ptr<float>() + i * feature_count;
      for (std::int64_t j = 0; j < feature_count; ++j) row[j] = feature(sample, j, seed_);
      targets.data_ptr<float>()[i] = target(sample, seed_);
    }
    for (const at::Tensor& tensor : tensors_) tensor.grad().zero_();
    const at::Tensor loss = at::mse_loss(forward(inputs), targets);
    loss.backward();
    return loss.item<float>();
  }

  // torch.optim.SGD's operations, one by one, for its bits.
  void step() override {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      momenta_[i].mul_(momentum_).add_(tensors_[i].grad());
      tensors_[i].add_(momenta_[i], -learning_rate_);
    }
  }

 private:
  // torch.nn.Linear's range of initial values. Gradients exist from the start and stay where they
  // are, for parameters_ points at them.
  void add_linear(std::int64_t inputs, std::int64_t outputs, at::Generator& generator) {
    const double bound = 1 / std::sqrt(static_cast<double>(inputs));
    for (const std::vector<std::int64_t>& shape : {std::vector{outputs, inputs}, {outputs}}) {
      at::Tensor value = at::empty(shape).uniform_(-bound, bound, generator);
      value.requires_grad_(true);
      value.mutable_grad() = at::zeros(shape);
      tensors_.push_back(value);
      momenta_.push_back(at::zeros(shape));
      parameters_.push_back({.shape = shape,
                             .value = floats_of(value),
                             .gradient = floats_of(value.grad()),
                             .momentum = floats_of(momenta_.back())});
    }
  }

  at::Tensor forward(at::Tensor values) const {
    for (std::size_t i = 0; i < tensors_.size(); i += 2) {
      if (i > 0) values = at::relu(values);
      values = at::linear(values, tensors_[i], tensors_[i + 1]);
    }
    return values;
  }

  double learning_rate_;
  double momentum_;
  std::int64_t seed_;
  std::vector<at::Tensor> tensors_;  // weight, bias, weight, bias, ...
  std::vector<at::Tensor> momenta_;
  std::vector<Parameter> parameters_;
  std::vector<std::size_t> ready_order_;
};

}  // namespace

std::unique_ptr<Model> build_torch_model(const Options& options) {
  return std::make_unique<TorchModel>(options);
}

void warm_up_torch() {
  Options small;
  small.hidden = 8;
  TorchModel model(small);
  model.backward({0, 1});
  model.step();
}

std::string torch_version() { return std::string("libtorch ") + TORCH_VERSION; }

}  // namespace ddptwin::workers
