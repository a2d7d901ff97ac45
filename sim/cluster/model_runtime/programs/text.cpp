#include "cluster/model_runtime/programs/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cluster/model_runtime/programs/text_arguments.hpp"

namespace ddptwin::model {
namespace {

class TextProcess final : public Program {
 public:
  TextProcess(const TextProgram& program, Strings argv)
      : program_(program), argv_(std::move(argv)) {}
  void start(Process& process) override {
    TextResult result = program_.run(process, argv_, "");
    for (std::string& line : result.errors) process.print_error(std::move(line));
    process.write(result.output);
    process.exit(result.code);
  }

 private:
  const TextProgram& program_;
  Strings argv_;
};

}  // namespace

const TextProgram* TextProgram::find(std::string_view name) {
  for (const auto programs : {text::filters(), text::patterns(), text::sources()})
    for (const TextProgram& one : programs)
      if (one.name_ == name) return &one;
  return nullptr;
}

std::string TextProgram::unknown(const Strings& argv) const {
  const Arguments arguments = text::arguments_of(argv, flags_, valued_);
  if (!arguments.unknown.empty()) return fmt::format("{} with {}", name_, arguments.unknown);
  const bool computed = std::find(argv.begin(), argv.end(), "$") != argv.end();
  if (!computed && known_ != nullptr && !known_(arguments))
    return fmt::format("`{}`", fmt::join(argv, " "));
  return {};
}

TextResult TextProgram::run(Process& process, const Strings& argv, const std::string& input) const {
  const Arguments arguments = text::arguments_of(argv, flags_, valued_);
  if (!arguments.unknown.empty() || (known_ != nullptr && !known_(arguments)))
    return {"", {fmt::format("{}: not modelled: {}", name_, fmt::join(argv, " "))}, 126};
  return run_(process, arguments, input);
}

std::unique_ptr<Program> make_text_program(const TextProgram& program, const Strings& argv) {
  return std::make_unique<TextProcess>(program, argv);
}

}  // namespace ddptwin::model
