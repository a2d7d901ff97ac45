#include "runtime/process/container_log.hpp"

#include <gtest/gtest.h>

#include "runtime/process/pod_addresses.hpp"
#include "runtime/runtime.hpp"

namespace ddptwin::container_log_test {
namespace {

TEST(ContainerLog, its_tail_is_limited_by_lines_and_by_bytes) {
  ContainerLog log;
  for (const char* line : {"one", "two", "three"}) log.add(line);
  EXPECT_EQ(log.tail(80, 2048), "one\ntwo\nthree\n");
  EXPECT_EQ(log.tail(2, 2048), "two\nthree\n");
  EXPECT_EQ(log.tail(80, 8), "o\nthree\n");
}

TEST(ContainerLog, it_keeps_the_newest) {
  ContainerLog log;
  for (int i = 0; i < 10; ++i)
    log.add(std::string(ContainerLog::bytes_max / 4, static_cast<char>('0' + i)));
  const std::string tail = log.tail(100, 10 * ContainerLog::bytes_max);
  EXPECT_LE(tail.size(), ContainerLog::bytes_max);
  EXPECT_EQ(tail.back(), '\n');
  EXPECT_EQ(tail[tail.size() - 2], '9');
}

TEST(PodAddresses, a_pod_on_the_host_network_has_its_nodes_address) {
  PodAddresses addresses;
  SandboxConfig pod;
  pod.node = "a";
  pod.host_network = true;
  EXPECT_EQ(addresses.take(pod).error().message, "the node \"a\" has no InternalIP");
  pod.node_address = "192.168.0.7";
  EXPECT_EQ(addresses.take(pod), "192.168.0.7");
  EXPECT_EQ(addresses.take(pod), "192.168.0.7");
  addresses.give_back("192.168.0.7");
  pod.host_network = false;
  EXPECT_EQ(addresses.take(pod), "10.244.0.2");
}

TEST(PodAddresses, each_node_has_a_range_and_reuses_late) {
  PodAddresses addresses;
  EXPECT_EQ(addresses.take("a"), "10.244.0.2");
  EXPECT_EQ(addresses.take("b"), "10.244.1.2");
  addresses.give_back("10.244.0.2");
  EXPECT_EQ(addresses.take("a"), "10.244.0.3");
  for (int i = 0; i < 252; ++i) EXPECT_TRUE(addresses.take("a")) << i;
  EXPECT_FALSE(addresses.take("a"));
}

}  // namespace
}  // namespace ddptwin::container_log_test
