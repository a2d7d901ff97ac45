// Which kinds a world serves, and who is there for them: by what it is told of.
#include "scenario/world/world.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "core/virtual_loop.hpp"
#include "core/virtual_start.hpp"
#include "dns/resolver.hpp"
#include "objects/apps_v1.hpp"
#include "objects/ddpset.hpp"
#include "objects/volumes.hpp"

namespace ddptwin::world_test {
namespace {

using Kinds = std::vector<const KindInfo*>;

struct Asked {
  Kinds told{};
  std::vector<InstalledSystem> systems = default_systems();
  bool manager = true;
  bool binder = true;
};

// The kinds not every world has that it serves, and the controllers that are there for them.
std::string has(const Asked& asked) {
  VirtualLoop loop(Random(1), virtual_start);
  WorldOptions options;
  options.kinds = asked.told;
  options.systems = asked.systems;
  options.controller_manager = asked.manager;
  if (!asked.binder) options.flags.without.emplace(volume_binder_flag);
  const World world(loop, std::move(options), nullptr);
  std::string out;
  for (const KindInfo* kind :
       Kinds{&DDPSet::info(), &StatefulSet::info(), &ControllerRevision::info(),
             &PersistentVolumeClaim::info(), &PersistentVolume::info(), &StorageClass::info()})
    if (world.kinds().find(kind->api_version(), kind->kind) != nullptr) out += kind->kind + " ";
  const std::vector<std::string> controllers = world.controllers();
  for (const char* name : {"persistentvolume-controller", "ddpset-controller"})
    if (std::find(controllers.begin(), controllers.end(), name) != controllers.end())
      out += std::string(name) + " ";
  return out;
}

TEST(World, serves_what_it_is_told_of_and_what_others_make_of_it) {
  EXPECT_EQ(has({}), "");
  const std::string claims =
      "PersistentVolumeClaim PersistentVolume StorageClass persistentvolume-controller ";
  EXPECT_EQ(has({{&PersistentVolumeClaim::info()}}), claims);
  const std::string set = "StatefulSet ControllerRevision " + claims;
  EXPECT_EQ(has({{&StatefulSet::info()}}), set);
  EXPECT_EQ(has({{&DDPSet::info()}}), "DDPSet " + set + "ddpset-controller ");
}

// A volume alone becomes Available, and a class alone provisions: both wait for claims.
TEST(World, has_all_that_the_binder_looks_at_or_nothing_of_it) {
  for (const KindInfo* kind : {&PersistentVolume::info(), &StorageClass::info()}) {
    EXPECT_EQ(has({{kind}}),
              "PersistentVolumeClaim PersistentVolume StorageClass "
              "persistentvolume-controller ");
    EXPECT_EQ(has({.told = {kind}, .binder = false}), kind->kind + " ");
    EXPECT_EQ(has({.told = {kind}, .manager = false}), kind->kind + " ");
  }
  EXPECT_EQ(has({.told = {&StatefulSet::info()}, .binder = false}),
            "StatefulSet ControllerRevision PersistentVolumeClaim ");
}

constexpr std::array<KindOf, 1> sets{&DDPSet::info}, maps{&ConfigMap::info};

TEST(World, has_the_system_of_what_another_system_makes) {
  System maker = *find_system("ddpset-platform");
  maker.name = "maker";
  maker.kinds = maps;
  maker.makes = sets;
  maker.install = [](Installer&, const InstalledSystem&) {};
  std::vector<InstalledSystem> systems = default_systems();
  systems.push_back({.system = &maker, .version = "v1"});  // behind the one whose kind it makes
  const std::string all = has({{&DDPSet::info()}});
  EXPECT_EQ(has({{&ConfigMap::info()}, systems}), all);
}

// Its definition is there, and nobody acts on it: nor are there the kinds that would be made.
TEST(World, what_a_system_makes_is_not_there_without_it) {
  EXPECT_EQ(has({{&DDPSet::info()}, {}}), "DDPSet ");
  EXPECT_EQ(has({{}, default_systems()}), "") << "it is not installed";
}

// Pods find the DNS by its name, and its name by the address in their resolv.conf.
TEST(World, its_dns_is_a_service_with_a_name) {
  VirtualLoop loop(Random(1), virtual_start);
  World world(loop, {}, nullptr);
  ASSERT_TRUE(world.start());
  loop.run_until(loop.now() + std::chrono::seconds(1));
  const auto ask = [&](const char* name, dns::RecordType type) {
    std::string said;
    world.resolver().ask({{*dns::Name::parse(name), type, dns::class_in}, "test"},
                         [&](std::optional<dns::Answer> answer) { said = to_text(*answer); });
    loop.run_until(loop.now() + std::chrono::seconds(1));
    return said;
  };
  EXPECT_THAT(ask("kube-dns.kube-system.svc.cluster.local", dns::RecordType::a),
              testing::HasSubstr("10.0.0.10"));
  EXPECT_THAT(ask("10.0.0.10.in-addr.arpa", dns::RecordType::ptr),
              testing::HasSubstr("kube-dns.kube-system.svc.cluster.local"));
}

}  // namespace
}  // namespace ddptwin::world_test
