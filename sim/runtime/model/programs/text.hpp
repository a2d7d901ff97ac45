// Programs of an image whose output follows at once from their arguments, what they read and the
// container: cat, grep, cut, date, hostname, mkdir, ... One table. They read what their standard
// input or files give them; a container's stdin is empty.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model/program.hpp"

namespace ddptwin::model {

struct TextResult {
  std::string output{};
  std::vector<std::string> errors{};  // lines on stderr
  int code = 0;
  std::uint64_t blank = 0;  // bytes that nobody will read, behind the output
  bool are_zeros = true;
};

class TextProgram {
 public:
  // Null: no such program. By the file's name, "grep".
  static const TextProgram* find(std::string_view name);

  // What of this command line is not modelled, "grep with -r"; empty: all is. "$" stands for any
  // text.
  std::string unknown(const std::vector<std::string>& argv) const;
  TextResult run(Process& process, const std::vector<std::string>& argv,
                 const std::string& input) const;
  bool reads() const { return reads_; }  // its stdin, so that a pipe into it makes sense
  // With this command line; else its files only, or nothing.
  bool reads(const std::vector<std::string>& argv) const;

  struct Arguments;
  using Run = TextResult (*)(Process& process, const Arguments& arguments,
                             const std::string& input);
  // `first_file`: the operands before the files.
  constexpr TextProgram(std::string_view name, std::string_view flags, std::string_view valued,
                        bool reads, Run function,
                        bool (*known)(const Arguments& arguments) = nullptr,
                        std::size_t first_file = 0)
      : name_(name),
        flags_(flags),
        valued_(valued),
        reads_(reads),
        run_(function),
        known_(known),
        first_file_(first_file) {}

 private:
  std::string_view name_;
  std::string_view flags_, valued_;  // options of one letter, without and with a value
  bool reads_;
  Run run_;
  bool (*known_)(const Arguments&);  // the rest of it; null: there is nothing to ask
  std::size_t first_file_;
};

// What `tee ARGUMENTS` writes to besides: its files, emptied unless it has -a; what it says of
// those that cannot be made, and its exit code, are in the result.
std::vector<std::string> open_for_tee(Process& process, const std::vector<std::string>& argv,
                                      TextResult& result);

// One of them as a process.
std::unique_ptr<Program> make_text_program(const TextProgram& program,
                                           const std::vector<std::string>& argv);

}  // namespace ddptwin::model
