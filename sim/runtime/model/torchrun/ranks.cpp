#include "runtime/model/torchrun/ranks.hpp"

#include <fmt/format.h>

#include <utility>

namespace ddptwin::torchrun {
namespace {

using Infos = std::vector<std::string>;

std::vector<std::string> numbered(const World& world, std::string_view name) {
  std::vector<std::string> out{};
  for (int rank = 0; rank < world.group_size; ++rank)
    out.push_back(fmt::format("{}{}{}", world.prefix, name, rank));
  return out;
}

// Waits for all keys, then has their values.
void get_all(model::StoreClient& store, std::vector<std::string> keys,
             UniqueFunction<void(Result<Infos>)> done) {
  auto wanted = keys;
  store.wait(std::move(keys), [&store, wanted = std::move(wanted),
                               done = std::move(done)](const Status& status) mutable {
    if (!status) return done(fail(status.error()));
    if (store.server() == nullptr)
      return done(fail(Reason::io, "Connection reset by peer", "RuntimeError"));
    Infos out{};
    const auto& all = store.server()->keys();
    for (const std::string& key : wanted) {
      const auto found = all.find(key);
      out.push_back(found == all.end() ? std::string{} : found->second);
    }
    done(std::move(out));
  });
}

std::pair<std::string_view, int> role_and_count(std::string_view info) {
  const auto blank = info.rfind(' ');
  if (blank == std::string_view::npos) return {info, 0};
  const auto count = python_int(info.substr(blank + 1));
  return {info.substr(0, blank), static_cast<int>(count.value_or(0))};
}

void tell(model::StoreClient& store, std::string key, std::string value) {
  store.set(std::move(key), std::move(value), [](const Status&) {});
}

std::string assigned_key(const World& world, int rank) {
  return fmt::format("{}torchelastic/assigned_ranks/{}", world.prefix, rank);
}

// 2.x: group rank 0 reads what all have said and tells each its ranks.
void assign(const World& world, const Infos& infos) {
  for (int rank = 0; rank < world.group_size; ++rank) {
    const auto ranks = ranks_from(infos, rank).value_or(GroupRanks{});
    tell(*world.store, assigned_key(world, rank),
         fmt::format("{} {} {} {}", ranks.first_rank, ranks.world_size, ranks.first_role_rank,
                     ranks.role_world_size));
  }
}

GroupRanks read_assigned(std::string_view text) {
  int numbers[4] = {};
  for (int& number : numbers) {
    const auto blank = text.find(' ');
    number = static_cast<int>(python_int(text.substr(0, blank)).value_or(0));
    text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
  }
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

void read_own(const World& world, UniqueFunction<void(Result<GroupRanks>)> done) {
  world.store->get(assigned_key(world, world.group_rank),
                   [done = std::move(done)](const Result<std::string>& value) mutable {
                     if (!value) return done(fail(value.error()));
                     done(read_assigned(*value));
                   });
}

}  // namespace

std::optional<GroupRanks> ranks_from(const std::vector<std::string>& infos, int self) {
  if (self < 0 || self >= static_cast<int>(infos.size())) return std::nullopt;
  const std::string_view own_role = role_and_count(infos[static_cast<std::size_t>(self)]).first;
  GroupRanks out{0, 0, 0, 0};
  for (int rank = 0; rank < static_cast<int>(infos.size()); ++rank) {
    const auto [role, count] = role_and_count(infos[static_cast<std::size_t>(rank)]);
    const bool before = rank < self;
    out.world_size += count;
    if (before) out.first_rank += count;
    if (role != own_role) continue;
    out.role_world_size += count;
    if (before) out.first_role_rank += count;
  }
  return out;
}

void agree_ranks(const Agent& agent, const World& world,
                 UniqueFunction<void(Result<GroupRanks>)> done) {
  const auto infos = numbered(world, "torchelastic/role_info/");
  if (agent.profile.exchange_timeout > Duration::zero())
    world.store->set_timeout(agent.profile.exchange_timeout);
  tell(*world.store, fmt::format("{}torchelastic/role_info/{}", world.prefix, world.group_rank),
       fmt::format("{} {}", agent.options.role, agent.options.nproc));
  if (agent.profile.gathers_at_first && world.group_rank != 0)
    return read_own(world, std::move(done));
  get_all(*world.store, infos,
          [world, gathers = agent.profile.gathers_at_first,
           done = std::move(done)](Result<Infos> all) mutable {
            if (!all) return done(fail(std::move(all).error()));
            if (gathers) {
              assign(world, *all);
              return read_own(world, std::move(done));
            }
            const auto ranks = ranks_from(*all, world.group_rank);
            if (!ranks) return done(fail(Reason::bad_input, "IndexError: list index out of range"));
            done(*ranks);
          });
}

void agree_master(const Agent& agent, const World& world, std::optional<std::uint16_t> shared_port,
                  UniqueFunction<void(Result<Endpoint>)> done) {
  const std::string address = world.prefix + "MASTER_ADDR";
  const std::string port = world.prefix + "MASTER_PORT";
  model::Process& process = agent.process;
  if (world.group_rank == 0) {
    // Found by listening for a moment: nothing keeps it free until a worker listens there.
    auto free_port = shared_port ? Result<std::uint16_t>(*shared_port)
                                 : process.network().listen(process.ip(), 0, process.id(), nullptr);
    if (!free_port) return done(fail(std::move(free_port).error()));
    if (!shared_port) process.network().unlisten(process.ip(), *free_port);
    tell(*world.store, address,
         agent.options.local_address.empty() ? process.fqdn() : agent.options.local_address);
    tell(*world.store, port, std::to_string(*free_port));
  }
  // One after the other, so that the missing address is what a timeout names.
  model::StoreClient& store = *world.store;
  store.get(
      address, [&store, port, done = std::move(done)](const Result<std::string>& host) mutable {
        if (!host) return done(fail(host.error()));
        store.get(port,
                  [host = *host, done = std::move(done)](const Result<std::string>& value) mutable {
                    if (!value) return done(fail(value.error()));
                    done(Endpoint{host, static_cast<int>(python_int(*value).value_or(0))});
                  });
      });
}

void pass_exit_barrier(const Agent& agent, const World& world, Callback done) {
  constexpr std::string_view name = "torchelastic/agent/terminal_state";
  if (world.store == nullptr) return done();
  model::StoreClient& store = *world.store;
  tell(store, fmt::format("{}{}{}", world.prefix, name, world.group_rank), "1");
  const Duration usual = store.timeout();
  store.set_timeout(agent.profile.exit_barrier);
  store.wait(numbered(world, name), [&store, usual, done = std::move(done)](const Status&) mutable {
    store.set_timeout(usual);
    done();
  });
}

}  // namespace ddptwin::torchrun
