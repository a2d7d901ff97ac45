// Port: something that can be trained. Its memory is reached through spans that stay valid as long
// as it lives, so that checkpoint, broadcast and reduction need no knowledge of tensors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ddptwin::workers {

struct Parameter {
  std::vector<std::int64_t> shape{};  // contiguous
  std::span<float> value{};
  std::span<float> gradient{};
  std::span<float> momentum{};  // state of SGD
};

class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  virtual std::vector<Parameter>& parameters() = 0;  // in the order of registration

  // Overwrites all gradients with those of the mean loss over `samples`; returns that loss.
  virtual float backward(const std::vector<std::int64_t>& samples) = 0;

  // Indices of parameters in the order in which backward() makes their gradients.
  virtual const std::vector<std::size_t>& ready_order() const = 0;

  // One step of SGD with momentum along the gradients.
  virtual void step() = 0;
};

}  // namespace ddptwin::workers
