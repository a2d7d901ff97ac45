// What ddptwin asks of its sandbox supervisor, and what it answers (the scheme: README.md). A
// request is a packet [id, operation, body], each gets exactly one Reply of the same id; events
// have id 0. Descriptors travel beside the packet, as the comments say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ddptwin::sandbox {

// Bytes of a termination message that are kept (spec/kubernetes.md §2.3).
inline constexpr std::size_t termination_message_max = 4096;

enum class Operation : std::uint8_t {
  configure,
  open_socket,
  make_image,
  run_pod,
  stop_pod,
  remove_pod,
  write_volume,
  start_container,
  signal_container,
  exec,
  kill_exec,
  usage,
  make_disk,
  set_links,
};

// The first request: builds the cluster's file tree and its bridge.
struct Configure {
  std::string bridge_address;  // the pods' gateway: "10.244.0.1"
  std::string node_network;    // "192.168.0.0"
  std::uint8_t prefix = 16;    // of the pods' network and of the nodes'
  std::string worker;          // ddptwin-worker on the host, the zygote's program; empty: no zygote
  bool warm_workers = false;   // start the zygote now, not with the first worker
  std::vector<std::string> tools;  // host programs that every pod has in /usr/local/bin
  std::vector<std::string>
      visible;  // host folders that pods must see although they lie under /tmp or /run

  static void each(auto& self, auto&& field) {
    field(self.bridge_address), field(self.node_network), field(self.prefix), field(self.worker);
    field(self.warm_workers), field(self.tools);
    field(self.visible);
  }
};

// A socket of the cluster's own network, bound and, if a stream, listening. The reply carries it.
struct OpenSocket {
  std::string address;  // added to the cluster's loopback unless it is there
  std::uint16_t port = 0;
  bool stream = false;
  bool dials = false;  // a stream that is neither bound nor listening, to connect with

  static void each(auto& self, auto&& field) {
    field(self.address), field(self.port), field(self.stream), field(self.dials);
  }
};

struct Copy {
  std::string from;  // absolute on the host: a file, a link, or a folder, whose content is copied
  std::string to;    // absolute in the image: the file's or the folder's own new path
  std::vector<std::string> without;  // absolute on the host, below `from`: not copied

  static void each(auto& self, auto&& field) {
    field(self.from), field(self.to), field(self.without);
  }
};

// The files of an image, made once and shared by all containers of it as a lower layer.
struct MakeImage {
  std::string image;
  std::string workdir;
  std::vector<Copy> copies;

  static void each(auto& self, auto&& field) {
    field(self.image), field(self.workdir), field(self.copies);
  }
};

struct RunPod {
  std::string pod;      // a name never used before: the pod's uid
  std::string address;  // inside the pods' network, or its node's
  std::string hostname;
  bool share_processes = false;  // one PID namespace for all containers
  bool host_network = false;     // one network for all pods with that address, their node's

  static void each(auto& self, auto&& field) {
    field(self.pod), field(self.address), field(self.hostname), field(self.share_processes);
    field(self.host_network);
  }
};

// stop_pod (kills what runs in it; the reply comes when all is dead) and remove_pod (forgets its
// volumes).
struct PodName {
  std::string pod;
  static void each(auto& self, auto&& field) { field(self.pod); }
};

struct VolumeFile {
  std::string path;  // relative, may have folders
  std::string content;
  std::uint32_t mode = 0644;
  static void each(auto& self, auto&& field) {
    field(self.path), field(self.content), field(self.mode);
  }
};

// Makes the volume unless it is there, then writes the files into it, each replaced as a whole.
// `exact`: other files are removed, and only the files' owner may write.
struct WriteVolume {
  enum class Kind : std::uint8_t {
    folder,
    disk,    // a file system of its own, which knows how much is in it
    memory,  // likewise, counted as the pod's memory
  };
  std::string pod;
  std::string volume;
  Kind kind = Kind::folder;
  std::uint64_t size_limit = 0;  // bytes, of a memory volume; 0: none
  bool exact = false;
  std::vector<VolumeFile> files;

  static void each(auto& self, auto&& field) {
    field(self.pod), field(self.volume), field(self.kind), field(self.size_limit);
    field(self.exact), field(self.files);
  }
};

// A folder of the node's own becomes a file system of its own that is full at its size; later it
// may grow. One that the host has stays as it is.
struct MakeDisk {
  std::string path;
  std::uint64_t size = 0;  // bytes
  static void each(auto& self, auto&& field) { field(self.path), field(self.size); }
};

struct Mount {
  enum class Kind : std::uint8_t { volume, host };
  Kind kind = Kind::volume;
  std::string source;    // the volume's name, or an absolute path of the host
  std::string sub_path;  // inside the source; empty: all of it
  std::string target;    // absolute in the container
  bool read_only = false;

  static void each(auto& self, auto&& field) {
    field(self.kind), field(self.source), field(self.sub_path), field(self.target);
    field(self.read_only);
  }
};

// Descriptors: stdout, stderr. The reply comes when the program runs, or with the reason why it
// cannot.
struct StartContainer {
  std::string pod;
  std::string container;  // a name never used before: the container's id
  std::string image;
  std::vector<std::string> argv;
  std::vector<std::string> env;  // NAME=value, all of it
  std::string cwd;               // made if it does not exist
  std::vector<Mount> mounts;
  std::string termination_path;    // of the termination message; empty: none
  std::uint64_t memory_limit = 0;  // bytes; 0: none
  std::uint64_t shm_size = 0;      // of /dev/shm; 0: 64 MiB
  std::uint64_t open_files = 0;    // RLIMIT_NOFILE; 0: as the supervisor's
  bool read_only_root = false;

  static void each(auto& self, auto&& field) {
    field(self.pod), field(self.container), field(self.image), field(self.argv), field(self.env);
    field(self.cwd), field(self.mounts), field(self.termination_path), field(self.memory_limit);
    field(self.shm_size), field(self.open_files), field(self.read_only_root);
  }
};

struct SignalContainer {
  std::string container{};
  std::int32_t number = 0;
  std::int32_t exit_code = -1;  // the first process is to look as if it had ended by itself; -1: no
  // ProcessChoice; a rank below 0 is none.
  std::int64_t rank = -1;
  std::string command{};
  bool group = false;
  static void each(auto& self, auto&& field) {
    field(self.container), field(self.number), field(self.exit_code), field(self.rank);
    field(self.command), field(self.group);
  }
};

// All that is wrong with the network from now on; the empty list heals it.
struct SetLinks {
  struct Link {
    std::string from;    // an address
    std::string to;      // another; empty: every pod, every node and the DNS
    bool drop = false;   // nothing passes, either way
    bool reset = false;  // `from` refuses what comes from there (TCP)
    static void each(auto& self, auto&& field) {
      field(self.from), field(self.to), field(self.drop), field(self.reset);
    }
  };
  std::vector<Link> links;
  static void each(auto& self, auto&& field) { field(self.links); }
};

// Descriptors: stdout, stderr. As StartContainer, with ExecExited at its end.
struct Exec {
  std::string container;
  std::string exec;  // a name never used before
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::string cwd;

  static void each(auto& self, auto&& field) {
    field(self.container), field(self.exec), field(self.argv), field(self.env), field(self.cwd);
  }
};

struct ExecName {
  std::string exec;
  static void each(auto& self, auto&& field) { field(self.exec); }
};

struct Request {
  std::uint64_t id = 0;
  Operation operation = Operation::configure;
  std::string body;
  static void each(auto& self, auto&& field) {
    field(self.id), field(self.operation), field(self.body);
  }
};

// What pods take; what is not there has no row in the answer.
struct AskUsage {
  std::vector<std::string> pods;
  // Bytes: where all have more together than that, their memory is told as it is; else what a
  // glance shows, in which pages that processes share count in each. 0: nobody asks for memory.
  std::uint64_t memory_glance = 0;
  static void each(auto& self, auto&& field) { field(self.pods), field(self.memory_glance); }
};

// Encoded in Reply::message.
struct Usage {
  struct Row {
    std::string pod, name;  // of a container, or of a volume of Kind::disk
    bool is_volume = false;
    std::uint64_t bytes = 0;
    std::uint64_t memory = 0;
    static void each(auto& self, auto&& field) {
      field(self.pod), field(self.name), field(self.is_volume), field(self.bytes);
      field(self.memory);
    }
  };
  std::vector<Row> rows;
  static void each(auto& self, auto&& field) { field(self.rows); }
};

enum class Outcome : std::uint8_t {
  ok,
  refused,      // the machine or the request: message says what
  not_found,    // no such pod, container, image
  start_error,  // the container is made, its program cannot be executed (the runtime's message)
  unsupported,  // the kernel does not let us
};

struct Reply {
  enum class Kind : std::uint8_t {
    reply,
    container_exited,
    exec_exited,
    pod_died,
    supervisor_died,  // made by the client, when the socket ends
  };
  std::uint64_t id = 0;  // of the request; 0: an event
  Kind kind = Kind::reply;
  Outcome outcome = Outcome::ok;
  std::string message;      // the error; of a container's end its termination message
  std::string name;         // events: which container, exec or pod
  std::int32_t status = 0;  // events: as waitpid() gives it
  bool out_of_memory = false;
  std::vector<int> sockets{};  // that came beside it: closed when it has been answered

  static void each(auto& self, auto&& field) {
    field(self.id), field(self.kind), field(self.outcome), field(self.message);
    field(self.name), field(self.status), field(self.out_of_memory);
  }
};

}  // namespace ddptwin::sandbox
