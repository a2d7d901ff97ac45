// What a container's root is stacked from. Below lies the host's own tree, read only. An overlay
// cannot take "/" as its lower layer without privilege (mounts beneath it are locked to it), so the
// root is one overlay and every top-level folder of the host another on top of it:
//
//   /          upper / image layer / base layer (links such as bin -> usr/bin, mount points, small
//   files) /usr, ...  upper / image layer / base layer / the host's folder
//
// The base layer is made once per cluster, an image's layer once per image; a container adds an
// empty upper layer on a tmpfs of its own (rootfs.hpp). A host folder that other file systems are
// mounted in is taken apart into overlays of its children in the same way.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/process/protocol.hpp"
#include "runtime/process/supervisor/system.hpp"

namespace ddptwin::sandbox {

// Where things lie in the supervisor's mount namespace.
namespace place {
inline const std::string host = "/host";
inline const std::string base = "/base";
inline const std::string images = "/images";
inline const std::string pods = "/pods";
// What hostPath volumes name and the host does not have: the node's own, gone with the cluster.
inline const std::string node = "/node";
inline const std::string root = "/root";    // mount point: a container's root while it is built
inline const std::string upper = "/upper";  // mount point: its upper layers
}  // namespace place

// Where a volume of a pod lies.
std::string volume_path(const std::string& pod, const std::string& volume);

// A folder as a mount's options name it: commas separate options and colons layers.
std::string as_layer(const std::string& path);

struct Overlay {
  std::string path;                 // in the container; "" is the root
  std::vector<std::string> lowers;  // absolute in the supervisor, topmost first
  mode_t mode = 0755;
};

// Overlays in the order in which they are mounted.
using Stack = std::vector<Overlay>;

class Layers {
 public:
  // Looks at the host and makes the base layer. `visible` folders under those that pods have of
  // their own (/tmp, /run) are bound into every container. `owners_mapped`: every user id of the
  // host exists in our user namespace. Reason::unsupported_machine: no overlay can be mounted here.
  Status survey(const std::vector<std::string>& visible, bool owners_mapped);
  // Copies a host file into the base layer, so that every pod has it.
  Status add_to_base(const std::string& host_path, const std::string& path);

  // Fills the layer of an image, a folder that must not exist yet.
  Status fill_image(const MakeImage& image, const std::string& folder) const;
  // The stack of containers of the image whose layer is the folder.
  Stack stack(const std::string& layer) const;

  const std::vector<std::string>& visible() const { return visible_; }
  // What pods see of the host otherwise than their own tree, a sentence for each folder.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Status survey_folder(const std::string& path);
  Status survey_entry(const std::string& path);
  void soften_base(const std::string& path, int depth);
  void soften_etc(const std::string& path, const std::vector<std::string>& names);
  Status make_layer_folder(const std::string& layer, const std::string& path) const;

  void show_without_overlay(const std::string& path);

  bool owners_mapped_ = false;
  std::map<std::string, std::string> mount_points_;  // and the type of what is mounted there
  std::vector<Overlay> host_overlays_;
  std::vector<std::string> visible_;
  std::vector<std::string> notes_;
};

// Copies a file, a link, or a folder with all that is in it; keeps modes, times, and owners where
// it may. What is among `without` (sorted) is left out.
Status copy_tree(const std::string& from, const std::string& to,
                 const std::vector<std::string>& without = {});

}  // namespace ddptwin::sandbox
