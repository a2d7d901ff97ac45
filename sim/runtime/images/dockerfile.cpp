#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "runtime/images/docker_ignore.hpp"
#include "runtime/images/dockerfile_lines.hpp"
#include "runtime/images/image.hpp"

namespace ddptwin {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// One FROM and what follows it.
struct Stage {
  std::string name;  // AS
  Image image;
  std::vector<std::string> shell{"/bin/sh", "-c"};
};

class Parser {
 public:
  Parser(const DockerfileSource& source, DockerIgnore ignored)
      : source_(source), ignored_(std::move(ignored)) {}
  Result<DockerfileResult> run();

 private:
  struct Instruction {
    std::string_view name;
    Status (Parser::*run)(const DockerfileLine&);
  };
  static const Instruction* find(const std::string& name);

  tl::unexpected<Error> wrong(int line, std::string message) const {
    return fail(Reason::bad_input, std::move(message), fmt::format("{}:{}", source_.name, line));
  }
  void note(int line, std::string text) { notes_.push_back({line, std::move(text)}); }

  Status from(const DockerfileLine& line);
  Status arg(const DockerfileLine& line);
  Status env(const DockerfileLine& line);
  Status workdir(const DockerfileLine& line);
  Status copy(const DockerfileLine& line);
  Status entrypoint(const DockerfileLine& line);
  Status cmd(const DockerfileLine& line);
  Status shell(const DockerfileLine& line);
  Status user(const DockerfileLine& line);
  Status stop_signal(const DockerfileLine& line);
  Status skip_run(const DockerfileLine& line);
  Status skip_silently(const DockerfileLine& line);
  Status skip_with_note(const DockerfileLine& line);

  Image& image() { return stages_.back().image; }
  std::optional<std::string> variable(const std::string& name) const;
  Result<Words> words(const DockerfileLine& line) const;
  Result<Words> program(const DockerfileLine& line);
  Result<std::vector<ImageCopy>> copies_from_context(const DockerfileLine& line,
                                                     const Words& sources,
                                                     const std::string& target);
  Status copies_from_stage(const DockerfileLine& line, const Stage& stage, const Words& sources,
                           const std::string& target);
  Result<const Stage*> stage_named(const DockerfileLine& line, const std::string& name) const;
  Status add_copies(const DockerfileLine& line, std::vector<ImageCopy> copies);
  bool is_folder(const std::string& path);

  const DockerfileSource& source_;
  const DockerIgnore ignored_;
  std::vector<Stage> stages_;
  std::map<std::string, std::string> global_args_, args_;
  std::vector<ImageNote> notes_;
};

const Parser::Instruction* Parser::find(const std::string& name) {
  static constexpr std::array instructions{
      Instruction{"FROM", &Parser::from},
      Instruction{"ARG", &Parser::arg},
      Instruction{"ENV", &Parser::env},
      Instruction{"WORKDIR", &Parser::workdir},
      Instruction{"COPY", &Parser::copy},
      Instruction{"ADD", &Parser::copy},
      Instruction{"ENTRYPOINT", &Parser::entrypoint},
      Instruction{"CMD", &Parser::cmd},
      Instruction{"SHELL", &Parser::shell},
      Instruction{"USER", &Parser::user},
      Instruction{"STOPSIGNAL", &Parser::stop_signal},
      Instruction{"RUN", &Parser::skip_run},
      Instruction{"LABEL", &Parser::skip_silently},
      Instruction{"EXPOSE", &Parser::skip_silently},
      Instruction{"MAINTAINER", &Parser::skip_silently},
      Instruction{"VOLUME", &Parser::skip_with_note},
      Instruction{"HEALTHCHECK", &Parser::skip_with_note},
      Instruction{"ONBUILD", &Parser::skip_with_note},
  };
  for (const Instruction& instruction : instructions) {
    if (instruction.name == name) return &instruction;
  }
  return nullptr;
}

// A path of the image, from a working folder; without dots and doubled slashes.
std::string image_path(const std::string& workdir, const std::string& path) {
  const fs::path full = path.starts_with('/') ? fs::path(path) : fs::path(workdir) / path;
  std::string text = full.lexically_normal().string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

bool is_inside(const std::string& path, const std::string& folder) {
  return folder == "/" ? path != "/" : path.starts_with(folder + "/");
}

bool is_remote(const std::string& source) {
  return source.find("://") != std::string::npos || source.starts_with("git@");
}

// Options before the operands (--from=x, --chown=x), taken off the front.
std::map<std::string, std::string> take_flags(Words& words) {
  std::map<std::string, std::string> flags;
  while (!words.empty() && words.front().starts_with("--")) {
    const std::size_t equals = words.front().find('=');
    flags[words.front().substr(2, equals - 2)] =
        equals == std::string::npos ? "" : words.front().substr(equals + 1);
    words.erase(words.begin());
  }
  return flags;
}

Result<DockerfileResult> Parser::run() {
  const std::vector<DockerfileLine> lines = dockerfile_lines(source_.text);
  for (const DockerfileLine& line : lines) {
    const Instruction* instruction = find(line.instruction);
    if (instruction == nullptr) {
      return wrong(line.number, fmt::format("unknown instruction: {}", line.instruction));
    }
    const bool before_from = line.instruction == "FROM" || line.instruction == "ARG";
    if (stages_.empty() && !before_from) {
      return wrong(line.number,
                   "no build stage in current context: the first instruction must be FROM");
    }
    TRY_VOID((this->*instruction->run)(line));
  }
  if (stages_.empty()) return wrong(1, "file with no instructions: FROM is missing");
  return DockerfileResult{std::move(image()), std::move(notes_)};
}

std::optional<std::string> Parser::variable(const std::string& name) const {
  if (!stages_.empty()) {
    for (const auto& [key, value] : stages_.back().image.env) {
      if (key == name) return value;
    }
  }
  const auto& args = stages_.empty() ? global_args_ : args_;
  const auto found = args.find(name);
  if (found != args.end()) return found->second;
  return std::nullopt;
}

Result<Words> Parser::words(const DockerfileLine& line) const {
  auto split =
      dockerfile_words(line.arguments, [this](const std::string& name) { return variable(name); });
  if (!split) return wrong(line.number, split.error().message);
  return split;
}

Status Parser::from(const DockerfileLine& line) {
  TRY(Words parts, words(line));
  take_flags(parts);
  const bool named =
      parts.size() == 3 && (parts[1] == "AS" || parts[1] == "as" || parts[1] == "As");
  if (parts.size() != 1 && !named) {
    return wrong(line.number, "FROM requires either one or three arguments");
  }
  Stage stage;
  for (const Stage& earlier : stages_) {
    if (earlier.name == parts[0]) stage = earlier;
  }
  stage.name = named ? parts[2] : "";
  stages_.push_back(std::move(stage));
  args_.clear();
  note(line.number, fmt::format("FROM {}: the host's own tools are the base", parts[0]));
  return {};
}

Status Parser::arg(const DockerfileLine& line) {
  TRY(const Words parts, words(line));
  for (const std::string& part : parts) {
    const std::size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    auto& args = stages_.empty() ? global_args_ : args_;
    const auto given = source_.args.find(name);
    const auto global = global_args_.find(name);
    if (given != source_.args.end()) {
      args[name] = given->second;
    } else if (equals != std::string::npos) {
      args[name] = part.substr(equals + 1);
    } else if (global != global_args_.end()) {
      args[name] = global->second;
    }
  }
  return {};
}

// "ENV a=1 b=2", or the old form "ENV a all the rest".
Status Parser::env(const DockerfileLine& line) {
  TRY(const Words parts, words(line));
  if (parts.empty()) return wrong(line.number, "ENV requires at least one argument");
  if (parts.front().find('=') == std::string::npos) {
    if (parts.size() < 2) return wrong(line.number, "ENV must have two arguments");
    image().set_env(parts.front(),
                    fmt::format("{}", fmt::join(parts.begin() + 1, parts.end(), " ")));
    return {};
  }
  for (const std::string& part : parts) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0) {
      return wrong(line.number,
                   fmt::format("Syntax error - can't find = in \"{}\". Must be of the form: "
                               "name=value",
                               part));
    }
    image().set_env(part.substr(0, equals), part.substr(equals + 1));
  }
  return {};
}

Status Parser::workdir(const DockerfileLine& line) {
  TRY(const Words parts, words(line));
  if (parts.size() != 1) return wrong(line.number, "WORKDIR requires exactly one argument");
  image().workdir = image_path(image().workdir, parts.front());
  return {};
}

Status Parser::copy(const DockerfileLine& line) {
  Words parts;
  if (line.arguments.find('[') != std::string::npos && json_words(line.arguments)) {
    parts = *json_words(line.arguments);
  } else {
    TRY(parts, words(line));
  }
  const auto flags = take_flags(parts);
  if (line.has_heredoc) {
    return wrong(line.number, line.instruction + " from a here-document is not supported");
  }
  if (parts.size() < 2) {
    return wrong(line.number,
                 fmt::format("{} requires at least two arguments, but only {} provided. "
                             "Destination could not be determined",
                             line.instruction, parts.size()));
  }
  const std::string target = parts.back();
  parts.pop_back();
  if (const auto stage = flags.find("from"); stage != flags.end()) {
    TRY(const Stage* const found, stage_named(line, stage->second));
    if (found != nullptr) return copies_from_stage(line, *found, parts, target);
    note(line.number, fmt::format("{} --from={}: skipped, there is no such image here",
                                  line.instruction, stage->second));
    return {};
  }
  if (std::any_of(parts.begin(), parts.end(), is_remote)) {
    note(line.number,
         fmt::format("{} {}: skipped, nothing is downloaded", line.instruction, parts.front()));
    return {};
  }
  TRY(std::vector<ImageCopy> copies, copies_from_context(line, parts, target));
  return add_copies(line, std::move(copies));
}

// Nothing for the name of an image that is not built here.
Result<const Stage*> Parser::stage_named(const DockerfileLine& line,
                                         const std::string& name) const {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    if (stages_[i].name != name && std::to_string(i) != name) continue;
    if (i + 1 == stages_.size()) {
      return wrong(line.number, fmt::format("circular dependency detected on stage: {}", name));
    }
    return &stages_[i];
  }
  return nullptr;
}

// What an earlier stage copied lies on the host, so the copy is made from there.
Status Parser::copies_from_stage(const DockerfileLine& line, const Stage& stage,
                                 const Words& sources, const std::string& target) {
  std::vector<ImageCopy> copies;
  for (const std::string& source : sources) {
    const std::string wanted = image_path("/", source);
    const std::string place = image_path(image().workdir, target);
    const bool into = target.ends_with('/') || sources.size() > 1 || is_folder(place);
    bool found = false;
    for (const ImageCopy& copied : stage.image.copies) {
      if (copied.to == wanted) {
        const bool folder = fs::is_directory(copied.from);
        const std::string name = fs::path(wanted).filename();
        copies.push_back(
            {copied.from, into && !folder ? image_path(place, name) : place, copied.without});
        found = true;
      } else if (is_inside(copied.to, wanted)) {
        copies.push_back({copied.from, place + copied.to.substr(wanted == "/" ? 0 : wanted.size()),
                          copied.without});
        found = true;
      } else if (is_inside(wanted, copied.to)) {
        const std::string inside = copied.from + wanted.substr(copied.to.size());
        if (!fs::exists(inside) || !copied.brings(inside)) continue;
        const bool folder = fs::is_directory(inside);
        copies.push_back({inside,
                          into && !folder ? image_path(place, fs::path(wanted).filename()) : place,
                          copied.without});
        found = true;
      }
    }
    if (!found) {
      note(line.number,
           fmt::format("{} {}: skipped, the stage made it with RUN", line.instruction, source));
    }
  }
  return add_copies(line, std::move(copies));
}

Result<std::vector<ImageCopy>> Parser::copies_from_context(const DockerfileLine& line,
                                                           const Words& sources,
                                                           const std::string& target) {
  std::vector<std::string> found;
  for (const std::string& source : sources) {
    const std::string inside = image_path("/", source);  // a leading .. cannot leave the context
    std::vector<std::string> matches = context_matches(source_.context, inside);
    const std::size_t there = matches.size();
    std::erase_if(matches, [this](const std::string& match) {
      return ignored_.leaves_out_all(source_.context, match);
    });
    if (matches.empty() && there != 0)
      return wrong(line.number,
                   fmt::format("{} failed: \"{}\" is left out of {} by its .dockerignore",
                               line.instruction, source, source_.context));
    if (matches.empty()) {
      return wrong(line.number, fmt::format("{} failed: \"{}\" not found in {}", line.instruction,
                                            source, source_.context));
    }
    found.insert(found.end(), matches.begin(), matches.end());
  }
  const bool into = target.ends_with('/') || is_folder(image_path(image().workdir, target));
  if (found.size() > 1 && !into) {
    return wrong(line.number,
                 fmt::format("When using {} with more than one source file, the destination "
                             "must be a directory and end with a /",
                             line.instruction));
  }
  std::vector<ImageCopy> copies;
  const std::string place = image_path(image().workdir, target);
  for (const std::string& from : found) {
    const bool folder = fs::is_directory(from);
    copies.push_back({from, into && !folder ? image_path(place, fs::path(from).filename()) : place,
                      folder ? ignored_.below(source_.context, from) : std::vector<std::string>()});
  }
  return copies;
}

// Whether the image has a folder of that name already: a file copied to it goes inside.
bool Parser::is_folder(const std::string& path) {
  const auto leads_to = [&](const std::string& other) {
    return other == path || is_inside(other, path);
  };
  if (path == "/" || leads_to(image().workdir)) return true;
  const auto& copies = image().copies;
  const bool copied = std::any_of(copies.begin(), copies.end(), [&](const ImageCopy& copy) {
    return is_inside(copy.to, path) || (copy.to == path && fs::is_directory(copy.from));
  });
  std::error_code error;
  return copied || fs::is_directory(path, error);
}

Status Parser::add_copies(const DockerfileLine& line, std::vector<ImageCopy> copies) {
  for (ImageCopy& copy : copies) {
    if (fs::is_directory(copy.from) && is_inside(copy.to, copy.from)) {
      return wrong(line.number,
                   fmt::format("cyclic {}: the folder {} would be copied into itself, as {}",
                               line.instruction, copy.from, copy.to));
    }
    image().copies.push_back(std::move(copy));
  }
  return {};
}

// Exec form, or a line for the shell.
Result<Words> Parser::program(const DockerfileLine& line) {
  if (auto words = json_words(line.arguments)) return std::move(*words);
  if (line.arguments.empty()) return Words{};
  Words shell = stages_.back().shell;
  shell.push_back(line.arguments);
  return shell;
}

Status Parser::entrypoint(const DockerfileLine& line) {
  TRY(image().entrypoint, program(line));
  image().cmd.clear();  // as a build does: CMD of the base was meant for its own entrypoint
  return {};
}

Status Parser::cmd(const DockerfileLine& line) {
  TRY(image().cmd, program(line));
  return {};
}

Status Parser::shell(const DockerfileLine& line) {
  auto words = json_words(line.arguments);
  if (!words || words->empty()) {
    return wrong(line.number, "SHELL requires the arguments to be in JSON form");
  }
  stages_.back().shell = std::move(*words);
  return {};
}

Status Parser::user(const DockerfileLine& line) {
  TRY(const Words parts, words(line));
  if (parts.size() != 1) return wrong(line.number, "USER requires exactly one argument");
  image().user = parts.front();
  note(line.number, fmt::format("USER {}: programs run as root of their sandbox", parts.front()));
  return {};
}

Status Parser::stop_signal(const DockerfileLine& line) {
  image().stop_signal = line.arguments;
  return {};
}

Status Parser::skip_run(const DockerfileLine& line) {
  note(line.number, "RUN skipped: " + line.arguments);
  return {};
}

Status Parser::skip_silently(const DockerfileLine&) { return {}; }

Status Parser::skip_with_note(const DockerfileLine& line) {
  note(line.number, line.instruction + " has no effect here");
  return {};
}

}  // namespace

Result<DockerfileResult> parse_dockerfile(const DockerfileSource& source) {
  TRY(DockerIgnore ignored, DockerIgnore::parse(source.ignored, source.ignored_name));
  return Parser(source, std::move(ignored)).run();
}

}  // namespace ddptwin
