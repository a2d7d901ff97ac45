#include "runtime/model/programs/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>

#include "runtime/model/programs/text_arguments.hpp"

namespace ddptwin::model {
namespace {

class TextProcess final : public Program {
 public:
  TextProcess(const TextProgram& program, Strings argv)
      : program_(program), argv_(std::move(argv)) {}
  void start(Process& process) override {
    const bool reads = process.input() != nullptr && program_.reads(argv_);
    if (!reads) return finish(process, "");
    if (argv_.front().ends_with("tee")) return copy(process);
    if (process.input()->is_open())
      return process.when_input_changes([this, &process] { start(process); });
    finish(process, process.input()->take());
  }

 private:
  // What tee reads is seen at once.
  void copy(Process& process) {
    TextResult said;
    const Strings files = open_for_tee(process, argv_, said);
    for (std::string& line : said.errors) process.print_error(std::move(line));
    copy(process, files, said.code);
  }

  void copy(Process& process, const Strings& files, int code) {
    const std::string text = process.input()->take();
    for (const std::string& file : files)
      (void)process.append_file(file, text);  // it has been opened
    static_cast<void>(process.write(text));
    if (!process.input()->is_open()) return process.exit(code);
    process.when_input_changes([this, &process, files, code] { copy(process, files, code); });
  }

  void finish(Process& process, const std::string& input) {
    TextResult result = program_.run(process, argv_, input);
    for (std::string& line : result.errors) process.print_error(std::move(line));
    const Status written = process.write(result.output);
    if (!written) fail_to_write(process, result, written.error());
    if (result.blank > 0) write_blank(process, result);
    process.exit(result.code);
  }

  void fail_to_write(Process& process, TextResult& result, const Error& error) const {
    const bool is_head = argv_.front().ends_with("head");  // which has words of its own
    process.print_error(fmt::format("{}: {}: {}", argv_.front(),
                                    is_head ? "error writing 'standard output'" : "write error",
                                    std::generic_category().message(error.code)));
    result.code = 1;
  }

  void write_blank(Process& process, TextResult& result) const {
    const Result<bool> written = process.write_blank(result.blank, result.are_zeros);
    if (!written) return fail_to_write(process, result, written.error());
    if (*written) return;
    process.print_error(
        fmt::format("{}: not modelled: {} bytes that are read", argv_.front(), result.blank));
    result.code = 126;
  }

  const TextProgram& program_;
  Strings argv_;
};

}  // namespace

const TextProgram* TextProgram::find(std::string_view name) {
  for (const auto programs : {text::filters(), text::patterns(), text::sources(), text::writers()})
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

bool TextProgram::reads(const Strings& argv) const {
  const Strings operands = text::arguments_of(argv, flags_, valued_).operands;
  return reads_ && (operands.size() <= first_file_ ||
                    std::find(operands.begin(), operands.end(), "-") != operands.end());
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
