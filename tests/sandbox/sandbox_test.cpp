// What a pod in a sandbox is and sees (spec/ddp-semantics.md §6, README.md of the process runtime).
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "process_list.hpp"
#include "sandbox_fixture.hpp"

namespace ddptwin::sandbox_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST_F(SandboxTest, a_program_runs_and_its_output_and_exit_code_are_seen) {
  const Ran ran = run_shell(run_pod().id, "echo out; echo err >&2; exit 3");
  EXPECT_EQ(ran.report.exit_code, 3);
  EXPECT_EQ(ran.report.reason, "Error");
  EXPECT_THAT(ran.output, HasSubstr("out\n"));
  EXPECT_THAT(ran.output, HasSubstr("err\n"));
}

TEST_F(SandboxTest, its_end_is_told_after_all_that_it_printed) {
  const Ran ran =
      run_shell(run_pod().id, "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done");
  ASSERT_TRUE(until([&] { return events.back().kind == RuntimeEvent::Kind::container_exited; }));
  ASSERT_EQ(events.size(), 2001u);
  EXPECT_EQ(events[1999].line, "line 1999");
  EXPECT_EQ(ran.report.reason, "Completed");
}

TEST_F(SandboxTest, a_pod_has_its_own_hostname_and_address) {
  SandboxConfig config;
  config.hostname = "torchrun-cpu-master-0";
  const SandboxStatus pod = run_pod(config);
  const Ran ran =
      run_shell(pod.id, "hostname; cat /etc/hostname; grep -c " + pod.ip + " /proc/net/fib_trie");
  EXPECT_EQ(ran.output, "torchrun-cpu-master-0\ntorchrun-cpu-master-0\n2\n");
}

// A datagram that comes after all that was under way, within a second.
bool hears_again(int socket) {
  char byte = 0;
  while (::recv(socket, &byte, 1, MSG_DONTWAIT) >= 0) {
  }
  pollfd ready{socket, POLLIN, 0};
  return ::poll(&ready, 1, 1000) == 1;
}

TEST_F(SandboxTest, what_a_pod_sends_arrives_although_older_pods_go) {
  const auto bound = runtime->bind_udp("10.0.0.10", 53);
  ASSERT_TRUE(bound) << bound.error().text();
  std::vector<SandboxId> older;
  for (int i = 0; i < 8; ++i) older.push_back(run_pod().id);
  ContainerConfig sender;
  sender.name = "sender";
  sender.command = {"bash", "-c",
                    "while :; do echo > /dev/udp/10.0.0.10/53; sleep 0.02; done 2> /dev/null"};
  ASSERT_TRUE(start(run_pod().id, sender));
  ASSERT_TRUE(hears_again(*bound));
  for (const SandboxId& pod : older) {
    ASSERT_TRUE(wait<void>([&](auto done) { runtime->stop_sandbox(pod, std::move(done)); }));
    EXPECT_TRUE(hears_again(*bound)) << "after " << pod << " had gone";
  }
  ::close(*bound);
}

TEST_F(SandboxTest, resolv_conf_and_hosts_are_the_kubelets) {
  SandboxConfig config;
  config.dns = {{"10.0.0.10"}, {"default.svc.cluster.local", "cluster.local"}, {"ndots:5"}};
  ContainerConfig container;
  container.mounts.push_back({"/etc/hosts", "", false, "", "", nullptr, "10.9.8.7\tmaster\n"});
  const Ran ran = run_shell(run_pod(config).id,
                            "cat /etc/resolv.conf; getent ahostsv4 master | head -1", container);
  EXPECT_EQ(ran.output,
            "search default.svc.cluster.local cluster.local\nnameserver 10.0.0.10\n"
            "options ndots:5\n10.9.8.7        STREAM master\n");
}

TEST_F(SandboxTest, the_environment_is_the_images_and_the_containers_and_nothing_else) {
  Image image;
  image.set_env("PATH", "/usr/bin:/bin");
  image.set_env("FROM_IMAGE", "1");
  runtime->add_image("env", image);
  ASSERT_TRUE(pull("env"));
  ContainerConfig container;
  container.user_image = "env";
  container.command = {"env"};
  container.env = {{"RANK", "0"}, {"FROM_IMAGE", "2"}};
  const auto id = start(run_pod().id, container);
  ASSERT_TRUE(id) << id.error().text();
  wait_for_end(*id);
  EXPECT_EQ(log_of(*id), "PATH=/usr/bin:/bin\nFROM_IMAGE=2\nHOSTNAME=pod-1\nRANK=0\nHOME=/root\n");
}

TEST_F(SandboxTest, two_pods_reach_each_other_by_their_addresses) {
  const SandboxStatus server = run_pod(), client = run_pod();
  EXPECT_NE(server.ip, client.ip);
  const std::string listen =
      "import socket; s=socket.create_server(('0.0.0.0', 2345)); print('up', flush=True); "
      "c,a=s.accept(); print(a[0], c.recv(5).decode(), flush=True)";
  const auto one = start_shell(server.id, "exec /usr/bin/python3 -c \"" + listen + "\"");
  ASSERT_TRUE(one) << one.error().text();
  ASSERT_TRUE(wait_for_line(*one, "up"));
  run_shell(client.id,
            "exec /usr/bin/python3 -c \"import socket; "
            "socket.create_connection(('" +
                server.ip + "', 2345)).send(b'hello')\"");
  wait_for_end(*one);
  EXPECT_EQ(log_of(*one), "up\n" + client.ip + " hello\n");
}

TEST_F(SandboxTest, a_node_tries_whether_a_pod_listens) {
  const SandboxStatus server = run_pod();
  const auto one = start_shell(
      server.id,
      "exec /usr/bin/python3 -c \"import socket; s=socket.create_server(('0.0.0.0', 2345)); "
      "print('up', flush=True); [s.accept() for _ in range(9)]\"");
  ASSERT_TRUE(one) << one.error().text();
  ASSERT_TRUE(wait_for_line(*one, "up"));
  const auto attempt = [&](const std::string& address, std::uint16_t port) {
    const auto outcome = wait<int>(
        [&](Done<int> done) { runtime->try_connect(address, port, 500ms, std::move(done)); });
    return outcome.value_or(-1);
  };
  EXPECT_EQ(attempt(server.ip, 2345), 0);
  EXPECT_EQ(attempt(server.ip, 2346), ECONNREFUSED);
  EXPECT_EQ(attempt("10.244.200.200", 2345), ETIMEDOUT);  // before ARP gives up
  EXPECT_EQ(attempt("no.address", 2345), EHOSTUNREACH);
}

TEST_F(SandboxTest, a_pod_reaches_a_socket_that_this_process_holds) {
  const Result<int> fd = runtime->listen_tcp("10.0.0.10", 53);
  ASSERT_TRUE(fd) << fd.error().text();
  const auto id =
      start_shell(run_pod().id,
                  "exec /usr/bin/python3 -c \"import socket; print(socket.create_connection("
                  "('10.0.0.10', 53)).recv(9).decode())\"");
  ASSERT_TRUE(id) << id.error().text();
  int connection = -1;
  ASSERT_TRUE(until(
      [&] { return connection >= 0 || (connection = ::accept(*fd, nullptr, nullptr)) >= 0; }));
  EXPECT_EQ(::write(connection, "from twin", 9), 9);
  ::close(connection);
  wait_for_end(*id);
  EXPECT_EQ(log_of(*id), "from twin\n");
  ::close(*fd);
}

TEST_F(SandboxTest, what_a_pod_writes_the_host_and_other_pods_do_not_see) {
  const std::string name = "ddptwin-test-" + std::to_string(::getpid());
  const std::string script =
      "for d in / /etc /usr /usr/local/lib /var/log /root /tmp /run /opt; do "
      "echo x > $d/" +
      name + " || echo cannot write $d; done; ls /etc | grep -c " + name;
  EXPECT_EQ(run_shell(run_pod().id, script).output, "1\n");
  for (const char* folder : {"/", "/etc/", "/usr/", "/usr/local/lib/", "/var/log/", "/root/",
                             "/tmp/", "/run/", "/opt/"}) {
    std::error_code unreadable;  // then it was not this process that wrote there
    EXPECT_FALSE(std::filesystem::exists(folder + name, unreadable)) << folder;
  }
  EXPECT_EQ(run_shell(run_pod().id, "ls /etc | grep -c " + name).output, "0\n");
}

TEST_F(SandboxTest, a_pod_can_replace_a_file_of_the_system) {
  EXPECT_EQ(run_shell(run_pod().id, "echo mine > /etc/passwd; cat /etc/passwd").output, "mine\n");
}

TEST_F(SandboxTest, a_container_sees_its_own_processes_only_and_is_the_first) {
  EXPECT_EQ(run_shell(run_pod().id, "echo $$; echo /proc/[0-9]*").output, "1\n/proc/1\n");
}

TEST_F(SandboxTest, containers_of_a_pod_share_its_network) {
  const SandboxStatus pod = run_pod();
  const auto one =
      start_shell(pod.id,
                  "exec /usr/bin/python3 -c \"import socket; "
                  "s=socket.create_server(('127.0.0.1', 99)); print('up', flush=True); "
                  "s.accept(); print('met')\"");
  ASSERT_TRUE(one) << one.error().text();
  ASSERT_TRUE(wait_for_line(*one, "up"));
  run_shell(
      pod.id,
      "exec /usr/bin/python3 -c \"import socket; socket.create_connection(('127.0.0.1', 99))\"");
  wait_for_end(*one);
  EXPECT_EQ(log_of(*one), "up\nmet\n");
}

TEST_F(SandboxTest, containers_that_share_processes_see_each_other) {
  SandboxConfig config;
  config.linux_ = RawJson(
      Json{{"securityContext", {{"namespaceOptions", {{"usernsOptions", {{"mode", "NODE"}}}}}}}});
  const SandboxStatus pod = run_pod(config);
  const auto one = start_shell(pod.id, "echo up; exec sleep 1000");
  ASSERT_TRUE(one) << one.error().text();
  ASSERT_TRUE(wait_for_line(*one, "up"));
  EXPECT_EQ(run_shell(pod.id, "cat /proc/*/comm | grep -c sleep").output, "1\n");
}

TEST_F(SandboxTest, pods_on_the_host_network_share_their_nodes_address_and_ports) {
  SandboxConfig config;
  config.host_network = true;
  const auto pod_of = [&](const std::string& address) {
    config.node_address = address;
    return run_pod(config);
  };
  const SandboxStatus first = pod_of("192.168.0.1"), second = pod_of("192.168.0.1");
  const SandboxStatus elsewhere = pod_of("192.168.0.2"), plain = run_pod();
  EXPECT_EQ(first.ip, "192.168.0.1");
  const std::string python = "exec /usr/bin/python3 -c \"import socket; ";
  const auto server = start_shell(first.id, python +
                                                "s = socket.create_server(('', 23456))\n"
                                                "print('listening', flush=True)\n"
                                                "while 1: print(s.accept()[1][0], flush=True)\"");
  ASSERT_TRUE(server);
  ASSERT_TRUE(wait_for_line(*server, "listening"));
  const Ran taken = run_shell(second.id, python + "socket.create_server(('', 23456))\"");
  EXPECT_EQ(taken.report.exit_code, 1);
  EXPECT_NE(taken.output.find("Address already in use"), std::string::npos) << taken.output;
  const auto dial = [&](const SandboxStatus& from, const std::string& to) {
    return run_shell(from.id, python + "socket.create_connection(('" + to + "', 23456), 5)\"")
        .report.exit_code;
  };
  EXPECT_EQ(dial(second, "127.0.0.1"), 0);
  EXPECT_EQ(dial(elsewhere, "192.168.0.1"), 0);
  EXPECT_EQ(dial(plain, "192.168.0.1"), 0);
  EXPECT_EQ(dial(plain, "192.168.0.2"), 1);
  EXPECT_TRUE(wait_for_line(*server, "192.168.0.2"));
  EXPECT_TRUE(wait_for_line(*server, plain.ip));
  const Result<int> probed = wait<int>(
      [&](Done<int> done) { runtime->try_connect("192.168.0.1", 23456, 500ms, std::move(done)); });
  EXPECT_EQ(probed, 0);
}

TEST_F(SandboxTest, a_node_keeps_its_network_between_its_pods) {
  SandboxConfig config;
  config.host_network = true;
  config.node_address = "192.168.0.1";
  const SandboxStatus first = run_pod(config);
  EXPECT_TRUE(wait<void>([&](auto done) { runtime->stop_sandbox(first.id, std::move(done)); }));
  runtime->remove_sandbox(first.id);
  const SandboxStatus second = run_pod(config), plain = run_pod();
  const auto server =
      start_shell(second.id,
                  "exec /usr/bin/python3 -c \"import socket; s = socket.create_server(('', 99)); "
                  "print('listening', flush=True); s.accept()\"");
  ASSERT_TRUE(server);
  ASSERT_TRUE(wait_for_line(*server, "listening"));
  EXPECT_EQ(run_shell(plain.id,
                      "exec /usr/bin/python3 -c \"import socket; "
                      "socket.create_connection(('192.168.0.1', 99), 5)\"")
                .report.exit_code,
            0);
}

TEST_F(SandboxTest, devices_work) {
  const Ran ran = run_shell(
      run_pod().id,
      "head -c 3 /dev/zero | wc -c; echo x > /dev/null; head -c 4 /dev/urandom | wc -c; "
      "/usr/bin/python3 -c 'import os; os.openpty(); print(\"pty\")'; "
      "df -k /dev/shm | tail -1 | awk '{print $2}'; echo x > /proc/sys/kernel/hostname || "
      "echo read only");
  EXPECT_THAT(ran.output, HasSubstr("3\n4\npty\n65536\n"));
  EXPECT_THAT(ran.output, HasSubstr("read only\n"));
}

TEST_F(SandboxTest, volumes_are_mounted_and_shared_and_updated) {
  auto config_map = std::make_shared<VolumeSource>();
  config_map->name = "conf";
  config_map->files["a/b"] = {"one", 0600};
  auto scratch = std::make_shared<VolumeSource>();
  scratch->kind = VolumeSource::Kind::empty_dir;
  scratch->name = "scratch";
  ContainerConfig container;
  container.mounts.push_back({"/conf", "", true, "", "", config_map, ""});
  container.mounts.push_back({"/conf-b", "", false, "", "a/b", config_map, ""});
  container.mounts.push_back({"/var/run/scratch", "", false, "", "", scratch, ""});
  SandboxConfig pod_config;
  pod_config.uid = "with-volumes";
  const SandboxStatus pod = run_pod(pod_config);
  EXPECT_EQ(
      run_shell(
          pod.id,
          "cat /conf/a/b /conf-b; stat -c %a /conf/a/b; touch /conf/x 2>/dev/null || echo ro; "
          "echo kept > /run/scratch/f",
          container)
          .output,
      "oneone600\nro\n");
  auto changed = std::make_shared<VolumeSource>(*config_map);
  changed->files = {{"c", {"two", 0644}}};
  runtime->update_volume("with-volumes", changed);
  container.mounts.erase(container.mounts.begin() + 1);
  container.mounts.front().source = changed;
  EXPECT_EQ(run_shell(pod.id, "ls /conf; cat /conf/c /run/scratch/f", container).output,
            "c\ntwokept\n");
}

TEST_F(SandboxTest, a_host_path_is_the_hosts) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("ddptwin-host-path-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  auto source = std::make_shared<VolumeSource>();
  source->kind = VolumeSource::Kind::host_path;
  source->name = "data";
  source->host_path = folder;
  ContainerConfig container;
  container.mounts.push_back({"/data", "", false, "", "", source, ""});
  run_shell(run_pod().id, "echo seen > /data/file", container);
  std::ifstream file(folder / "file");
  std::string text;
  file >> text;
  EXPECT_EQ(text, "seen");
  std::filesystem::remove_all(folder);
}

TEST_F(SandboxTest, an_images_files_workdir_and_command_are_used) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("ddptwin-image-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "sub");
  std::ofstream(folder / "demo.py") << "print('demo')\n";
  std::ofstream(folder / "sub" / "x") << "x";
  Image image;
  image.workdir = "/workspace";
  image.entrypoint = {"sh", "-c"};
  image.cmd = {"pwd; cat /demo.py; ls /app /usr/local/share/added; python3 /demo.py"};
  image.copies = {{folder / "demo.py", "/demo.py"},
                  {folder, "/app"},
                  {folder / "sub", "/usr/local/share/added"}};
  runtime->add_image("demo:1", image);
  ASSERT_FALSE(runtime->image("demo:1"));
  ASSERT_TRUE(pull("demo:1"));
  std::filesystem::remove_all(folder);
  ContainerConfig container;
  container.user_image = "docker.io/library/demo:1";
  const auto id = start(run_pod().id, container);
  ASSERT_TRUE(id) << id.error().text();
  wait_for_end(*id);
  EXPECT_EQ(log_of(*id),
            "/workspace\nprint('demo')\n/app:\ndemo.py\nsub\n\n/usr/local/share/added:\nx\ndemo\n");
}

TEST_F(SandboxTest, what_an_images_context_leaves_out_is_not_in_it) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("ddptwin-left-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "data");
  for (const char* name : {"a", "b", "data/c"}) std::ofstream(folder / name) << name;
  Image image;
  image.copies = {{folder, "/app", {folder / "b", folder / "data"}}};
  runtime->add_image("left", image);
  ASSERT_TRUE(pull("left"));
  std::filesystem::remove_all(folder);
  ContainerConfig container;
  container.user_image = "left";
  EXPECT_EQ(run_shell(run_pod().id, "ls /app", container).output, "a\n");
}

TEST_F(SandboxTest, an_image_that_is_present_needs_no_pull) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("ddptwin-present-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "f") << "there\n";
  Image image;
  image.copies = {{folder / "f", "/f"}};
  image.present = true;
  runtime->add_image("present", image);  // of every tag
  EXPECT_TRUE(runtime->image("present:2"));
  ContainerConfig container;
  container.user_image = "present:2";
  EXPECT_EQ(run_shell(run_pod().id, "cat /f", container).output, "there\n");
  std::filesystem::remove_all(folder);
  // What cannot be made any more is the container's error.
  container.user_image = "present:3";
  const auto id = start_shell(run_pod().id, "cat /f", container);
  ASSERT_FALSE(id);
  EXPECT_THAT(id.error().message, HasSubstr("/f: No such file or directory"));
}

TEST_F(SandboxTest, homes_are_empty) {
  EXPECT_EQ(run_shell(run_pod().id, "ls -A /root /home; cd; pwd; touch x && ls").output,
            "/home:\n\n/root:\n/root\nx\n");
}

TEST_F(SandboxTest, an_image_whose_copying_is_killed_cannot_be_pulled) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("ddptwin-large-" + std::to_string(::getpid()));
  std::ofstream(file).close();
  std::filesystem::resize_file(file, std::uintmax_t{2} << 30);  // takes no room, but time to copy
  Image image;
  image.copies = {{file, "/large"}};
  runtime->add_image("large", image);
  std::optional<Result<ImageStatus>> pulled;
  runtime->pull_image("large", {}, [&](Result<ImageStatus> result) { pulled = std::move(result); });
  const pid_t guard = children_of(::getpid()).at(0);
  const pid_t supervisor = children_of(guard).at(0);
  std::vector<pid_t> copier;
  ASSERT_TRUE(until([&] { return !(copier = children_of(supervisor)).empty(); }));
  EXPECT_EQ(::kill(copier.front(), SIGKILL), 0);
  std::filesystem::remove(file);
  ASSERT_TRUE(until([&] { return pulled.has_value(); }));
  ASSERT_FALSE(*pulled);
  EXPECT_THAT(pulled->error().message, HasSubstr("copying was killed by signal 9"));
  EXPECT_FALSE(runtime->image("large"));
}

TEST_F(SandboxTest, an_unknown_image_cannot_be_pulled) {
  const auto status = pull("nope");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().where, "NotFound");
  EXPECT_THAT(status.error().message, HasSubstr("docker.io/library/nope:latest: not found"));
}

TEST_F(SandboxTest, a_python_environment_is_seen_wherever_it_lies) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("ddptwin-venv-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "bin");
  std::filesystem::create_symlink("/usr/bin/python3", folder / "bin" / "python3");
  Image image;
  image.python = folder;
  runtime->add_image("venv", image);
  ASSERT_TRUE(pull("venv"));
  ContainerConfig container;
  container.user_image = "venv";
  EXPECT_EQ(run_shell(run_pod().id, "command -v python3; echo $VIRTUAL_ENV", container).output,
            folder.string() + "/bin/python3\n" + folder.string() + "\n");
  std::filesystem::remove_all(folder);
}

// As uv and pyenv make them: the interpreter lies in a folder that pods do not see either, behind a
// link to its newest version.
TEST_F(SandboxTest, the_interpreter_of_a_python_environment_is_seen_wherever_it_lies) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("ddptwin-uv-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "pythons" / "3.11.9" / "bin");
  std::filesystem::create_directories(folder / "venv" / "bin");
  std::filesystem::create_symlink("/usr/bin/python3",
                                  folder / "pythons" / "3.11.9" / "bin" / "python3.11");
  std::filesystem::create_directory_symlink("3.11.9", folder / "pythons" / "3.11");
  std::filesystem::create_symlink(folder / "pythons" / "3.11" / "bin" / "python3.11",
                                  folder / "venv" / "bin" / "python3");
  Image image;
  image.python = folder / "venv";
  runtime->add_image("uv", image);
  ASSERT_TRUE(pull("uv"));
  ContainerConfig container;
  container.user_image = "uv";
  EXPECT_EQ(run_shell(run_pod().id, "python3 -c 'print(7)'", container).output, "7\n");
  std::filesystem::remove_all(folder);
}

TEST_F(SandboxTest, the_hosts_python_environment_comes_first_on_the_path) {
  Image image;
  image.python = "/some/venv";
  EXPECT_THAT(image_environment(image),
              ElementsAre(std::pair<std::string, std::string>(
                              "PATH", "/some/venv/bin:" + std::string(default_path)),
                          std::pair<std::string, std::string>("VIRTUAL_ENV", "/some/venv")));
}

}  // namespace
}  // namespace ddptwin::sandbox_test
