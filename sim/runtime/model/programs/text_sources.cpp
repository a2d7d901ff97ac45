#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>

#include "core/numbers.hpp"
#include "runtime/model/commands.hpp"
#include "runtime/model/programs/text_arguments.hpp"

namespace ddptwin::model::text {
namespace {

// In UTC, which is what images have.
TextResult date(Process& process, const Arguments& arguments, const std::string&) {
  const Duration since = process.now().since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  std::string format = "%a %b %e %H:%M:%S UTC %Y";
  if (!arguments.operands.empty()) format = arguments.operands.front().substr(1);
  const std::string nanoseconds = fmt::format("{:09}", (since - seconds).count());
  for (const auto& [name, text] :
       {std::pair<std::string_view, std::string>{"%3N", nanoseconds.substr(0, 3)},
        std::pair<std::string_view, std::string>{"%N", nanoseconds},
        std::pair<std::string_view, std::string>{"%s", std::to_string(seconds.count())},
        std::pair<std::string_view, std::string>{"%Z", "UTC"}}) {
    for (std::size_t at = format.find(name); at != format.npos; at = format.find(name, at))
      format.replace(at, name.size(), text);
  }
  const std::time_t instant = seconds.count();
  std::tm parts{};
  gmtime_r(&instant, &parts);
  std::array<char, 200> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), format.c_str(), &parts);
  return {std::string(text.data(), size) + "\n", {}, 0};
}

bool date_is_known(const Arguments& arguments) {
  return arguments.operands.empty() ||
         (arguments.operands.size() == 1 && arguments.operands.front().starts_with('+') &&
          arguments.operands.front().size() < 100);
}

TextResult hostname(Process& process, const Arguments& arguments, const std::string&) {
  const bool address = arguments.has('i') || arguments.has('I');
  if (address) return {process.ip() + (arguments.has('I') ? " \n" : "\n"), {}, 0};
  return {(arguments.has('f') ? process.fqdn() : process.hostname()) + "\n", {}, 0};
}

TextResult nproc(Process& process, const Arguments&, const std::string&) {
  return {std::to_string(process.cpus()) + "\n", {}, 0};
}

// A run's worth: what asks for more has a mistake in it.
constexpr std::int64_t sequence_max = 100'000;

TextResult seq(Process&, const Arguments& arguments, const std::string&) {
  std::vector<std::int64_t> numbers;
  for (const std::string& word : arguments.operands) {
    const auto number = whole_number<std::int64_t>(word);
    if (!number) return {"", {fmt::format("seq: invalid floating point argument: '{}'", word)}, 1};
    constexpr std::int64_t number_max = 1'000'000'000'000'000;  // so that no sum is too large
    if (*number > number_max || *number < -number_max)
      return {"", {"seq: not modelled: " + word}, 126};
    numbers.push_back(*number);
  }
  const std::int64_t first = numbers.size() > 1 ? numbers.front() : 1;
  const std::int64_t step = numbers.size() > 2 ? numbers[1] : 1;
  if (step == 0) return {"", {"seq: invalid Zero increment value: '0'"}, 1};
  TextResult result;
  std::int64_t count = 0;
  for (std::int64_t i = first; step > 0 ? i <= numbers.back() : i >= numbers.back(); i += step) {
    if (++count > sequence_max)
      return {"", {fmt::format("seq: not modelled: more than {} numbers", sequence_max)}, 126};
    result.output += std::to_string(i) + "\n";
  }
  return result;
}

bool seq_is_known(const Arguments& arguments) {
  return !arguments.operands.empty() && arguments.operands.size() <= 3 &&
         std::all_of(arguments.operands.begin(), arguments.operands.end(),
                     [](const std::string& word) {
                       return word.find_first_of(".eE") == word.npos || word == "$";
                     });
}

TextResult basename(Process&, const Arguments& arguments, const std::string&) {
  std::string name = arguments.operands.front();
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  if (name != "/") name = name.substr(name.rfind('/') + 1);
  if (arguments.operands.size() > 1) {
    const std::string& suffix = arguments.operands[1];
    if (name.ends_with(suffix) && name != suffix) name.resize(name.size() - suffix.size());
  }
  return {name + "\n", {}, 0};
}

TextResult dirname(Process&, const Arguments& arguments, const std::string&) {
  std::string name = arguments.operands.front();
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  const std::size_t slash = name.rfind('/');
  name = slash == name.npos ? "." : name.substr(0, slash);
  while (name.ends_with('/')) name.pop_back();
  return {(name.empty() ? "/" : name) + "\n", {}, 0};
}

TextResult printenv(Process& process, const Arguments& arguments, const std::string&) {
  TextResult result;
  bool any = arguments.operands.empty();
  for (const auto& [name, value] : process.environment()) {
    const bool wanted = arguments.operands.empty() || arguments.operands.front() == name;
    if (!wanted) continue;
    result.output += arguments.operands.empty() ? name + "=" + value + "\n" : value + "\n";
    any = true;
  }
  result.code = any ? 0 : 1;
  return result;
}

TextResult mkdir(Process& process, const Arguments& arguments, const std::string&) {
  TextResult result;
  for (const std::string& name : arguments.operands) {
    if (process.make_folder(name)) continue;
    result.errors.push_back(
        fmt::format("mkdir: cannot create directory '{}': Read-only file system", name));
    result.code = 1;
  }
  return result;
}

TextResult touch(Process& process, const Arguments& arguments, const std::string&) {
  TextResult result;
  for (const std::string& name : arguments.operands) {
    const Status made = process.append_file(name, "");
    if (made) continue;
    const bool missing = made.error().code == ENOENT;
    result.errors.push_back(
        fmt::format("touch: cannot touch '{}': {}", name,
                    missing ? "No such file or directory" : "Read-only file system"));
    result.code = 1;
  }
  return result;
}

TextResult rm(Process& process, const Arguments& arguments, const std::string&) {
  TextResult result;
  for (const std::string& name : arguments.operands) {
    if (process.file_exists(name)) {
      process.remove_file(name);
    } else if ((!arguments.has('r') || !process.remove_folder(name)) && !arguments.has('f')) {
      result.errors.push_back(
          fmt::format("rm: cannot remove '{}': No such file or directory", name));
      result.code = 1;
    }
  }
  return result;
}

// mktemp(1): the Xs at a template's end are drawn.
TextResult mktemp(Process& process, const Arguments& arguments, const std::string&) {
  const bool folder = arguments.has('d');
  const std::string tmpdir(process.env("TMPDIR"));
  const std::string base = arguments.value('p', tmpdir.empty() ? "/tmp" : tmpdir);
  std::string path = arguments.operands.empty() ? "tmp.XXXXXXXXXX" : arguments.operands.front();
  const bool in_base = arguments.operands.empty() || arguments.has('t') || arguments.has('p');
  if (in_base) path = base + "/" + path;
  const std::size_t last = path.find_last_not_of('X');
  const std::size_t first = last == path.npos ? 0 : last + 1;
  constexpr std::size_t least = 3;
  if (path.size() - first < least)
    return {
        "", {fmt::format("mktemp: too few X's in template '{}'", arguments.operands.front())}, 1};
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  do {
    for (std::size_t i = first; i < path.size(); ++i)
      path[i] = letters[process.random().below(letters.size())];
  } while (process.file_exists(path) || process.has_folder(path));
  const std::string above = path.substr(0, std::max<std::size_t>(1, path.rfind('/')));
  const Status made = !folder ? process.write_file(path, "")
                      : process.may_have_folder(path.find('/') == path.npos ? "." : above)
                          ? process.make_folder(path)
                          : fail(Error{Reason::io, "", "", nullptr, ENOENT, {}});
  if (made) return {path + "\n", {}, 0};
  std::fill(path.begin() + static_cast<std::ptrdiff_t>(first), path.end(), 'X');
  const bool missing = made.error().code == ENOENT;
  return {"",
          {fmt::format("mktemp: failed to create {} via template '{}': {}",
                       folder ? "directory" : "file", path,
                       missing ? "No such file or directory" : "Read-only file system")},
          1};
}

TextResult which(Process& process, const Arguments& arguments, const std::string&) {
  TextResult result;
  for (const std::string& name : arguments.operands) {
    if (has_program(name, process)) {
      result.output += path_of_program(name) + "\n";
    } else {
      result.code = 1;
    }
  }
  return result;
}

constexpr std::size_t any = SIZE_MAX;

constexpr std::array source_rows{
    TextProgram{"date", "u", "", false, &date, &date_is_known},
    TextProgram{"hostname", "sfiI", "", false, &hostname, &has_operands<0, 0>},
    TextProgram{"nproc", "", "", false, &nproc, &has_operands<0, 0>},
    TextProgram{"seq", "-", "", false, &seq, &seq_is_known},
    TextProgram{"basename", "", "", false, &basename, &has_operands<1, 2>},
    TextProgram{"dirname", "", "", false, &dirname, &has_operands<1, 1>},
    TextProgram{"printenv", "", "", false, &printenv, &has_operands<0, 1>},
    TextProgram{"env", "", "", false, &printenv, &has_operands<0, 0>},
    TextProgram{"mkdir", "p", "", false, &mkdir, &has_operands<1, any>},
    TextProgram{"mktemp", "dqt", "p", false, &mktemp, &has_operands<0, 1>},
    TextProgram{"which", "a", "", false, &which, &has_operands<1, any>},
    TextProgram{"touch", "", "", false, &touch, &has_operands<1, any>},
    TextProgram{"rm", "rf", "", false, &rm, &has_operands<1, any>}};

}  // namespace

std::span<const TextProgram> sources() { return source_rows; }

}  // namespace ddptwin::model::text
