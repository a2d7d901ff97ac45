#include "runtime/model/resolver.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "core/numbers.hpp"

namespace ddptwin::model {
namespace {

constexpr int default_ndots = 1, default_attempts = 2;
constexpr Duration default_timeout = 5s;

struct GaiText {
  int error;
  std::string_view text;
};
constexpr std::array gai_texts{
    GaiText{Resolved::no_name, "Name or service not known"},
    GaiText{Resolved::try_again, "Temporary failure in name resolution"},
    GaiText{Resolved::no_address, "No address associated with hostname"}};

// "ndots:5"
std::optional<int> option(const DnsConfig& config, std::string_view name) {
  for (std::string_view text : config.options) {
    if (!text.starts_with(name) || text.size() <= name.size() || text[name.size()] != ':') continue;
    text.remove_prefix(name.size() + 1);
    if (const auto value = whole_number<int>(text)) return value;
  }
  return std::nullopt;
}

std::string_view next_word(std::string_view& line) {
  constexpr std::string_view blank = " \t";
  const std::size_t begin = std::min(line.find_first_not_of(blank), line.size());
  const std::size_t end = std::min(line.find_first_of(blank, begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

// Calls `visit(address, names)` for each line; names still have to be cut.
template <class Visit>
void each_host(std::string_view hosts, Visit visit) {
  while (!hosts.empty()) {
    const std::size_t end = std::min(hosts.find('\n'), hosts.size());
    std::string_view line = hosts.substr(0, std::min(hosts.find('#'), end));
    hosts.remove_prefix(std::min(end + 1, hosts.size()));
    const std::string_view address = next_word(line);
    if (!address.empty()) visit(address, line);
  }
}

bool same_name(std::string_view one, std::string_view other) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [&](char a, char b) { return lower(a) == lower(b); });
}

}  // namespace

std::string_view gai_text(int error) {
  for (const GaiText& row : gai_texts) {
    if (row.error == error) return row.text;
  }
  return "Unknown error";
}

bool is_ipv4(std::string_view text) {
  int parts = 0;
  while (true) {
    const auto value = take_number<int>(text);
    if (!value || *value > 255) return false;
    if (++parts == 4) return text.empty();
    if (!text.starts_with('.')) return false;
    text.remove_prefix(1);
  }
}

std::vector<std::string> hosts_addresses(std::string_view hosts, std::string_view name) {
  std::vector<std::string> found;
  each_host(hosts, [&](std::string_view address, std::string_view names) {
    if (!is_ipv4(address)) return;
    for (std::string_view word = next_word(names); !word.empty(); word = next_word(names)) {
      if (!same_name(word, name)) continue;
      found.emplace_back(address);
      return;
    }
  });
  return found;
}

std::string hosts_name(std::string_view hosts, std::string_view wanted) {
  std::string found;
  each_host(hosts, [&](std::string_view address, std::string_view names) {
    if (found.empty() && address == wanted) found = next_word(names);
  });
  return found;
}

std::vector<std::string> search_list(std::string_view name, const DnsConfig& config) {
  if (name.ends_with('.')) return {std::string(name.substr(0, name.size() - 1))};
  const auto dots = std::count(name.begin(), name.end(), '.');
  const bool as_it_is_first = dots >= option(config, "ndots").value_or(default_ndots);
  std::vector<std::string> names;
  if (as_it_is_first) names.emplace_back(name);
  for (const std::string& domain : config.searches) {
    if (domain != ".") names.push_back(std::string(name) + "." + domain);
  }
  if (!as_it_is_first) names.emplace_back(name);
  return names;
}

struct Resolution::State : std::enable_shared_from_this<State> {
  ResolverFiles files;
  const Lookup& lookup;
  Duration trip;
  Timers& timers;
  UniqueFunction<void(const Resolved&)> done{};
  Resolved answer{};

  std::vector<std::string> names{};
  std::size_t name = 0;
  std::size_t server = 0;
  int attempt = 0;
  std::uint32_t question = 0;  // answers to another are late
  TimerId patience_timer = 0, last_timer = 0;
  Duration spent{};  // trips that are paid for at the end
  bool no_data = false, failed = false;

  State(const ResolverFiles& f, const Lookup& l, Duration t, Timers& a)
      : files(f), lookup(l), trip(t), timers(a) {}
  ~State() {
    timers.cancel(patience_timer);
    timers.cancel(last_timer);
  }

  void finish(Resolved result) {
    ++question;
    timers.cancel(patience_timer);
    answer = std::move(result);
    last_timer = timers.after(std::exchange(spent, Duration::zero()), [this] {
      last_timer = 0;
      auto told = std::exchange(done, nullptr);
      const Resolved given = std::move(answer);
      told(given);  // may end this
    });
  }

  void give_up() {
    Resolved result;
    result.error =
        failed ? Resolved::try_again : (no_data ? Resolved::no_address : Resolved::no_name);
    finish(std::move(result));
  }

  // glibc's retrans: each further server of one round gets less time.
  Duration patience() const {
    const int seconds = option(*files.dns, "timeout").value_or(0);
    Duration wait = seconds > 0 ? std::chrono::seconds(seconds) : default_timeout;
    if (server > 0)
      wait = wait * (1 << server) / static_cast<std::int64_t>(files.dns->servers.size());
    return wait;
  }

  void ask() {
    if (files.dns->servers.empty() || !lookup) {
      failed = files.dns->servers.empty();
      return give_up();
    }
    const std::uint32_t asked = ++question;
    const auto self = weak_from_this();
    spent += trip;
    timers.cancel(patience_timer);
    patience_timer = timers.after(patience(), [this] { no_answer(); });
    lookup({names[name], std::string(files.address), files.dns->servers[server]},
           [self, asked](DnsAnswer given) {
             const auto alive = self.lock();
             if (alive && alive->question == asked) alive->answered(std::move(given));
           });
  }

  void no_answer() {
    if (++server < files.dns->servers.size()) return ask();
    server = 0;
    if (++attempt < option(*files.dns, "attempts").value_or(default_attempts)) return ask();
    // No search goes on after a silent server, but the name as it is is still asked for.
    failed = true;
    if (name + 1 >= names.size()) return give_up();
    next_name(names.size() - 1);
  }

  void next_name(std::size_t next) {
    attempt = 0;
    server = 0;
    name = next;
    if (name >= names.size()) return give_up();
    ask();
  }

  void answered(DnsAnswer given) {
    switch (given.outcome) {
      case DnsOutcome::lost:
        return;  // the timeout is running
      case DnsOutcome::found:
        return finish({0, std::move(given.addresses), names[name]});
      case DnsOutcome::no_data:
        no_data = true;
        return next_name(name + 1);
      case DnsOutcome::nx_domain:
        return next_name(name + 1);
      case DnsOutcome::failure:
        if (++server < files.dns->servers.size()) return ask();
        server = 0;
        if (++attempt < option(*files.dns, "attempts").value_or(default_attempts)) return ask();
        failed = true;
        return next_name(name + 1);
    }
  }
};

Resolution::Resolution(const ResolverFiles& files, const Lookup& lookup, Duration trip,
                       Timers& timers)
    : state_(std::make_shared<State>(files, lookup, trip, timers)) {}
Resolution::~Resolution() = default;

void Resolution::start(std::string name, UniqueFunction<void(const Resolved&)> done) {
  state_->done = std::move(done);
  if (is_ipv4(name)) return state_->finish({0, {name}, name});
  if (auto local = hosts_addresses(state_->files.hosts, name); !local.empty())
    return state_->finish({0, std::move(local), name});
  state_->names = search_list(name, *state_->files.dns);
  state_->ask();
}

}  // namespace ddptwin::model
