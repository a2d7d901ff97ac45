// `atlctl status`, `stop`, `run`, `exec` and `stop --task` in real runs
// (runtime/model/programs/atl_agent.hpp).
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "atlctl.hpp"
#include "core/numbers.hpp"
#include "runtime/model/programs/atl_check.hpp"

namespace ddptwin::atl {
namespace {

std::string variable(const char* name) {
  const char* told = std::getenv(name);
  return told == nullptr ? "" : told;
}

std::string own_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string as_sent(const Order& order) {
  std::vector<std::string> words;
  switch (order.kind) {
    case Order::Kind::status:
      words = {"status"};
      break;
    case Order::Kind::stop:
      words = {"stop"};
      break;
    case Order::Kind::run:
      words = {"run"};
      break;
    case Order::Kind::stop_task:
      words = {"stop", "--task"};
      break;
    case Order::Kind::exec:
      words = {"exec", "--"};
      words.insert(words.end(), order.command.begin(), order.command.end());
      break;
  }
  std::string text;
  for (const std::string& word : words) text += word + '\0';
  return text;
}

Connection ask(const std::string& worker, const std::string& order) {
  const Address address = look_up(worker);
  if (!address.fault.empty()) return {Socket(-1), address.fault};
  Connection made = connect_to(address.ip, agent_port, connect_patience);
  if (!made.fault.empty()) return made;
  if (!send_all(made.socket.fd(), order)) made.fault = "it has closed";
  ::shutdown(made.socket.fd(), SHUT_WR);
  return made;
}

Answer answer_in(const std::string& text) {
  Answer answer;
  const std::size_t end = text.rfind(end_of_output);
  if (end == text.npos) return answer;  // it ended meanwhile
  answer.reached = true;
  answer.running = text.substr(end + 1, 1) == "1";
  answer.code = whole_number<int>(text.substr(std::min(end + 2, text.size())));
  for (std::size_t from = 0; from < end;) {
    const std::size_t line = std::min(text.find('\n', from), end);
    answer.lines.push_back(text.substr(from, line - from));
    from = line + 1;
  }
  return answer;
}

}  // namespace

int run_client(const Order& order) {
  const auto workers = workers_by(variable("MASTER_ADDR"), variable("WORLD_SIZE"));
  if (!workers) {
    fmt::print(stderr, "{}\n", workers.error().message);
    return 2;
  }
  // All are asked before anybody is waited for. To stop the task its own worker's agent is enough.
  const std::string sent = as_sent(order);
  std::vector<Connection> asked(workers->size());
  for (std::size_t i = 0; i < workers->size(); ++i) {
    const bool is_wanted = order.kind == Order::Kind::stop_task
                               ? (*workers)[i] == own_name()
                               : is_asked(order, static_cast<int>(i));
    if (is_wanted)
      asked[i] = ask((*workers)[i], sent);
    else
      asked[i].fault = "it is not asked";
  }
  std::vector<Answer> answers;
  for (const Connection& one : asked)
    answers.push_back(one.fault.empty() ? answer_in(read_all(one.socket.fd(), Duration::zero()))
                                        : Answer());
  const Told told = told_of(order, *workers, answers);
  for (const std::string& line : told.lines) fmt::print("{}\n", line);
  return told.exit_code;
}

}  // namespace ddptwin::atl
