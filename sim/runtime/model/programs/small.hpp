// The small programs of an image: true, false, sleep, echo, test, timeout. Those that
// read and write text: text.hpp; that ask the network: network.hpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model/program.hpp"

namespace ddptwin::model {

// "2", "0.5", "1m", "infinity"; nothing when sleep(1) would refuse it.
std::optional<Duration> sleep_time(const std::string& text);

// The status of `test ...`, `[ ... ]` or `[[ ... ]]`: of files' and folders' presence, of texts and
// integers, with !, -a, -o and ( ); 2, and a line on stderr, where it makes no sense. `shell` is
// who says so, and dash's own test does not know ==.
int test_status(Process& process, const std::vector<std::string>& argv, std::string_view shell,
                bool double_equals);
// What of it the model does not know, "test with -L"; empty: all is known. "$" stands for any text.
std::string unknown_test(const std::vector<std::string>& argv);
// -eq and its kin.
bool compares_numbers(std::string_view word);

std::unique_ptr<Program> make_sleep(const std::vector<std::string>& argv);
std::unique_ptr<Program> make_echo(const std::vector<std::string>& argv);
// A command that is ended (SIGTERM) after that time, with 124; zero: never. `program` is what runs
// it; null: there is none of that name.
std::unique_ptr<Program> make_timeout(Duration time, std::vector<std::string> argv,
                                      std::unique_ptr<Program> program);
std::unique_ptr<Program> make_test(const std::vector<std::string>& argv);

}  // namespace ddptwin::model
