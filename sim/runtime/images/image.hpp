// What the twin knows of a container image: how a program in it starts, and which files it adds to
// the host's own tree. Described by a Dockerfile, of which the parts that only a real build could
// do are skipped with a note (issue 6, point 2).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"

namespace ddptwin {

struct ImageCopy {
  std::string from;  // absolute on the host: a file or a folder, whose content is copied
  std::string to;    // absolute in the image: the new path of the file or folder
  // Files and folders below `from`, absolute, that a .dockerignore leaves out; sorted.
  std::vector<std::string> without{};
  bool brings(std::string_view host_path) const;
  friend bool operator==(const ImageCopy&, const ImageCopy&) = default;
};

// A script among them, as far as somebody has read it: for runs that start no process.
struct ImageScript {
  std::string text{};
  bool executable = false;
  friend bool operator==(const ImageScript&, const ImageScript&) = default;
};

struct Image {
  std::vector<std::string> entrypoint;
  std::vector<std::string> cmd;
  std::vector<std::pair<std::string, std::string>> env;  // in order; names are unique
  std::string workdir = "/";
  std::string user;  // as written; programs run as root of the sandbox all the same
  std::string stop_signal;
  std::vector<ImageCopy> copies;
  std::map<std::string, ImageScript> scripts{};  // by their paths in the image
  std::string
      python;  // a virtual environment on the host whose python3 is the image's; may be empty
  bool present = false;  // it lies on every node before anybody pulls it

  // Sets a variable, replacing one of its name.
  void set_env(const std::string& name, std::string value);
};

// PATH of an image that sets none.
inline constexpr std::string_view default_path =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// Something in a Dockerfile that has no effect here.
struct ImageNote {
  int line = 0;
  std::string text;
};

struct DockerfileResult {
  Image image;
  std::vector<ImageNote> notes;
};

struct DockerfileSource {
  std::string text;
  std::string name;                         // for messages: "images/Dockerfile"
  std::string context;                      // absolute folder that COPY takes files from
  std::map<std::string, std::string> args;  // values for ARG, before the file's defaults
  std::string ignored{};                    // text of the context's .dockerignore
  std::string ignored_name{};               // and its name, for messages
};

// The image that the last stage describes. Errors are Reason::bad_input and name file and line.
Result<DockerfileResult> parse_dockerfile(const DockerfileSource& source);

// The environment of a container of this image before the pod's own variables: PATH always, the
// image's variables, then those of its Python environment.
std::vector<std::pair<std::string, std::string>> image_environment(const Image& image);

}  // namespace ddptwin
