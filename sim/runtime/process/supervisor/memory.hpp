// How much memory a container uses. A cgroup would know better, but a cgroup is a folder of the
// host that outlives a killed ddptwin, needs privilege or delegation, and would charge a container
// for what it writes to its root, which lies in memory here and on disk in a real cluster. So the
// supervisor looks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ddptwin::sandbox {

// Which mount namespace a process is in: each container has one of its own. 0 if it is gone.
using NamespaceId = ino_t;
NamespaceId mount_namespace_of(pid_t pid);

// The processes of the wanted namespaces; one pass over /proc.
std::map<NamespaceId, std::vector<pid_t>> processes_by_namespace(
    const std::vector<NamespaceId>& wanted);

// Private memory of the processes as the kernel counts it without looking: pages that a fork shares
// are counted in each.
std::uint64_t quick_memory(const std::vector<pid_t>& processes);
// The same with shared pages divided among those who share them; costs a walk over the page tables.
std::uint64_t exact_memory(const std::vector<pid_t>& processes);
// Bytes in a tmpfs; 0 if the path is not there.
std::uint64_t tmpfs_memory(const std::string& path);
// Bytes in the file system that the path is on, or in the upper layers of an overlay, as
// statfs(2) has them; 0 if it is not there.
std::uint64_t bytes_used(const std::string& path);

}  // namespace ddptwin::sandbox
