#include "runtime/model/programs/atl_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "core/numbers.hpp"

namespace ddptwin::atl {
namespace {

namespace json = boost::json;

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    parts.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return parts;
}

bool is_in(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

bool CheckArguments::asks(std::string_view item) const { return is_in(items, item); }
bool CheckArguments::blocks(std::string_view item) const { return is_in(blocking, item); }

std::string CheckArguments::file_on(const std::string& mount, int of_rank) const {
  return fmt::format("{}/.atl-check-{}-worker-{}", mount, task, of_rank);
}

Result<CheckArguments> parse_check(const std::vector<std::string>& argv) {
  const auto wrong = [](const std::string& text) {
    return fail(Reason::bad_input, "atlctl check: " + text);
  };
  CheckArguments made;
  for (std::size_t i = 2; i < argv.size(); i += 2) {
    const std::string& option = argv[i];
    if (i + 1 >= argv.size()) return wrong(option + " wants a value");
    const std::string& value = argv[i + 1];
    const auto number = whole_number<int>(value);
    if (option == "--peers")
      made.peers = split_list(value);
    else if (option == "--items")
      made.items = split_list(value);
    else if (option == "--block")
      made.blocking = split_list(value);
    else if (option == "--mounts")
      made.mounts = split_list(value);
    else if (option == "--task")
      made.task = value;
    else if (!number || *number < 0)
      return wrong(
          fmt::format("{} {}: a number is wanted, or there is no such option", option, value));
    else if (option == "--rank")
      made.rank = *number;
    else if (option == "--gpus")
      made.gpus = *number;
    else if (option == "--timeout")
      made.timeout = std::chrono::seconds(*number);
    else
      return wrong("there is no option " + option);
  }
  if (static_cast<std::size_t>(made.rank) >= made.peers.size())
    return wrong("--peers names every worker, and --rank one of them");
  return made;
}

std::string told_as_json(const CheckArguments& arguments, const std::vector<Finding>& failed) {
  constexpr std::size_t told_max = 16;  // a termination message has 4096 bytes
  constexpr std::size_t text_max = 120;
  json::array all;
  for (const std::string& item : arguments.items) {
    const auto of_item = [&item](const Finding& one) { return one.item == item; };
    if (std::none_of(failed.begin(), failed.end(), of_item))
      all.push_back(json::object{{"item", item}, {"ok", true}});
  }
  for (std::size_t i = 0; i < failed.size() && i < told_max; ++i) {
    const Finding& one = failed[i];
    json::object told{{"item", one.item}, {"ok", one.ok}};
    if (one.peer) told["peer"] = *one.peer;
    told["message"] = one.message.substr(0, text_max);
    all.push_back(std::move(told));
  }
  return json::serialize(all);
}

bool is_blocked(const CheckArguments& arguments, const std::vector<Finding>& failed) {
  return std::any_of(failed.begin(), failed.end(),
                     [&](const Finding& one) { return arguments.blocks(one.item); });
}

std::string told_as_line(const Finding& finding) {
  return fmt::format("atl-check: {}{}: {}", finding.item,
                     finding.peer ? fmt::format(" to worker {}", *finding.peer) : "",
                     finding.message);
}

Finding gpu_finding(int there, int wanted) {
  return {"gpu", std::nullopt, false, fmt::format("{} of {} GPUs answer", there, wanted)};
}

Finding peer_finding(int peer, const std::string& why) {
  return {"network", peer, false, why.empty() ? "it cannot be reached" : why};
}

Finding storage_finding(const std::string& mount, const std::string& why) {
  return {"storage", std::nullopt, false, fmt::format("{}: {}", mount, why)};
}

}  // namespace ddptwin::atl
