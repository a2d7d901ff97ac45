#include <fmt/format.h>

#include <array>
#include <boost/json/value.hpp>

#include "scenario/language/files.hpp"
#include "scenario/language/scenario_parser.hpp"

namespace ddptwin::scenario {
namespace {

// An image while it is read: the Dockerfile first, whatever the order of the fields, then what the
// scenario adds to it.
struct ImageDraft {
  std::string name{};
  bool missing = false, present = false;
  std::optional<YamlNode> dockerfile{};
  std::string context{};
  std::map<std::string, std::string> args{};
  std::vector<std::pair<std::string, std::string>> env{};
  std::optional<std::string> workdir{};
  std::optional<std::vector<std::string>> entrypoint{};
  std::optional<std::vector<std::string>> cmd{};
  std::vector<ImageCopy> copies{};
  std::string python{};
  std::optional<model::Workload> model{};
  bool stand_in = false;
};

Result<std::vector<std::string>> text_list(const YamlNode& node) {
  TRY(const auto nodes, node.as_list());
  std::vector<std::string> texts;
  for (const YamlNode& element : nodes) {
    TRY(texts.emplace_back(), element.as_any_scalar());
  }
  return texts;
}

Result<std::vector<std::pair<std::string, std::string>>> text_map(const YamlNode& node) {
  TRY(const auto members, node.as_map());
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& [name, value] : members) {
    TRY(std::string text, value.as_any_scalar());
    texts.emplace_back(name, std::move(text));
  }
  return texts;
}

using CopyField = Field<ImageCopy, ParseContext>;
constexpr std::array copy_fields{
    CopyField{"from", "a path", "a file or folder beside this file",
              [](const YamlNode& node, ImageCopy& to, const ParseContext& context) -> Status {
                TRY(const std::string path, node.as_text());
                auto found = real_path(beside(context, path));
                if (!found) return node.fail(found.error().message);
                to.from = std::move(*found);
                return {};
              },
              true},
    CopyField{"to", "an absolute path", "where it lies in the image",
              [](const YamlNode& node, ImageCopy& to, const ParseContext&) -> Status {
                TRY(to.to, node.as_text());
                if (!to.to.starts_with('/')) return node.must_be("an absolute path");
                return {};
              },
              true},
};

using ImageField = Field<ImageDraft, ParseContext>;
constexpr std::array image_fields{
    ImageField{"name", "text",
               "as manifests write it; without a tag or digest it stands for every tag, but a "
               "description that names the tag goes first",
               [](const YamlNode& node, ImageDraft& to, const ParseContext&) -> Status {
                 TRY(to.name, node.as_text());
                 return {};
               },
               true},
    ImageField{"missing", "true or false",
               "no registry has it: ErrImagePull, ImagePullBackOff; default: false",
               [](const YamlNode& node, ImageDraft& to, const ParseContext&) -> Status {
                 TRY(to.missing, node.as_bool());
                 return {};
               }},
    ImageField{"present", "true or false",
               "it lies on every node from the start: policy IfNotPresent pulls nothing, and Never "
               "runs it; default: false",
               [](const YamlNode& node, ImageDraft& to, const ParseContext&) -> Status {
                 TRY(to.present, node.as_bool());
                 return {};
               }},
    ImageField{"dockerfile", "a path",
               "a Dockerfile: FROM and RUN are skipped, the host's own tools are the base",
               [](const YamlNode& node, ImageDraft& to, const ParseContext&) -> Status {
                 to.dockerfile = node;
                 return {};
               }},
    ImageField{"context", "a path", "the folder COPY takes from; default: the Dockerfile's",
               [](const YamlNode& node, ImageDraft& to, const ParseContext& context) -> Status {
                 TRY(const std::string path, node.as_text());
                 auto found = real_path(beside(context, path));
                 if (!found) return node.fail(found.error().message);
                 to.context = std::move(*found);
                 return {};
               }},
    ImageField{"args", "a map of texts", "values of the Dockerfile's ARG",
               [](const YamlNode& node, ImageDraft& to, const ParseContext&) -> Status {
                 TRY(const auto args, text_map(node));
                 to.args = {args.begin(), args.end()};
                 return {};
               }},
    ImageField{"python", "a path", "a virtual environment of the host whose python3 is the image's",
               [](const YamlNode& node, ImageDraft& to, const ParseContext& context) -> Status {
                 TRY(const std::string path, node.as_text());
                 auto found = real_path(beside(context, path));
                 if (!found) return node.fail(found.error().message);
                 to.python = std::move(*found);
                 return {};
               }},
    ImageField{"env", "a map of texts", "variables of the image, as ENV",
               [](const YamlNode& node, ImageDraft& to, const ParseContext&) -> Status {
                 TRY(to.env, text_map(node));
                 return {};
               }},
    ImageField{"workdir", "an absolute path", "as WORKDIR",
               [](const YamlNode& node, ImageDraft& to, const ParseContext&) -> Status {
                 TRY(to.workdir, node.as_text());
                 if (!to.workdir->starts_with('/')) return node.must_be("an absolute path");
                 return {};
               }},
    ImageField{"entrypoint", "a list of texts", "as ENTRYPOINT",
               [](const YamlNode& node, ImageDraft& to, const ParseContext&) -> Status {
                 TRY(to.entrypoint, text_list(node));
                 return {};
               }},
    ImageField{"cmd", "a list of texts", "as CMD",
               [](const YamlNode& node, ImageDraft& to, const ParseContext&) -> Status {
                 TRY(to.cmd, text_list(node));
                 return {};
               }},
    ImageField{"copy", "a list of copies", "files of the host, as COPY",
               [](const YamlNode& node, ImageDraft& to, const ParseContext& context) -> Status {
                 TRY(const auto nodes, node.as_list());
                 for (const YamlNode& element : nodes) {
                   ImageCopy copy;
                   TRY_VOID(read_fields(element, copy_fields, copy, context));
                   to.copies.push_back(std::move(copy));
                 }
                 return {};
               }},
    ImageField{"standIn", "true or false",
               "a training stands in, in either mode, for what of its containers' commands cannot "
               "be had here, with the shape of `model` in virtual time; default: false",
               [](const YamlNode& node, ImageDraft& to, const ParseContext&) -> Status {
                 TRY(to.stand_in, node.as_bool());
                 return {};
               }},
    ImageField{"model", "a map",
               "what its script does, for runs in virtual time, which start no process",
               [](const YamlNode& node, ImageDraft& to, const ParseContext& context) -> Status {
                 TRY(to.model, parse_model(node, context));
                 return {};
               }},
};

// What begins as one of a shell's: the rest of an image only a process can run.
void read_scripts(NamedImage& named, const ParseContext& context) {
  constexpr std::size_t script_size_max = 64UL * 1024;
  for (const ImageCopy& copy : named.image.copies) {
    const auto files = files_below(copy.from);
    if (!files)
      named.unread.push_back(
          fmt::format("{} has more than {} files: no start script among them is known in virtual "
                      "time; copy those that run beside it",
                      copy.from, files_max));
    for (const FoundFile& file : files.value_or(std::vector<FoundFile>())) {
      const std::string tail = file.within.empty() ? "" : "/" + file.within;
      if (!copy.brings(copy.from + tail)) continue;
      // One that a shell is given needs no first line that names it.
      const bool is_named_so = (copy.to + tail).ends_with(".sh");
      if (!is_named_so && !is_script(copy.from + tail)) continue;
      auto text = context.read_file(copy.from + tail);
      if (!text || text->size() > script_size_max) continue;
      const std::string first = text->substr(0, text->find('\n'));
      if (!is_named_so && first.find("sh") == first.npos) continue;
      named.image.scripts[copy.to + tail] = {std::move(*text), file.executable};
    }
  }
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? "." : path.substr(0, slash + 1);
}

Status read_dockerfile(const ImageDraft& draft, const ParseContext& context, NamedImage& to) {
  const YamlNode& node = *draft.dockerfile;
  TRY(const std::string written, node.as_text());
  const std::string path = beside(context, written);
  auto text = context.read_file(path);
  if (!text) return node.fail(text.error().message);
  DockerfileSource source{std::move(*text), path, draft.context, draft.args};
  if (source.context.empty()) {
    TRY(source.context, real_path(folder_of(path)));
  }
  // BuildKit prefers the file that is named after the Dockerfile.
  for (const std::string& beside_it : {path + ".dockerignore", source.context + "/.dockerignore"})
    if (auto patterns = context.read_file(beside_it)) {
      source.ignored = std::move(*patterns);
      source.ignored_name = beside_it;
      break;
    }
  auto result = parse_dockerfile(source);
  if (!result) return node.fail(result.error().text());
  to.image = std::move(result->image);
  for (const ImageNote& note : result->notes)
    to.notes.push_back(fmt::format("{}:{}: {}", path, note.line, note.text));
  return {};
}

}  // namespace

Result<NamedImage> parse_image(const YamlNode& node, const ParseContext& context) {
  ImageDraft draft;
  TRY_VOID(read_fields(node, image_fields, draft, context));
  NamedImage named;
  named.name = draft.name;
  named.missing = draft.missing;
  TRY(const auto members, node.as_map());
  if (draft.missing && members.size() > 2)
    return node.fail("of an image that is missing there is nothing to say but its name");
  named.model = std::move(draft.model);
  named.stand_in = draft.stand_in;
  if (draft.dockerfile) {
    TRY_VOID(read_dockerfile(draft, context, named));
  } else if (!draft.context.empty() || !draft.args.empty()) {
    return node.fail("context and args belong to a dockerfile, which is missing");
  }
  Image& image = named.image;
  for (auto& [name, value] : draft.env) image.set_env(name, std::move(value));
  image.present = draft.present;
  if (draft.workdir) image.workdir = *draft.workdir;
  if (draft.entrypoint) image.entrypoint = *draft.entrypoint;
  if (draft.cmd) image.cmd = *draft.cmd;
  if (!draft.python.empty()) image.python = draft.python;
  image.copies.insert(image.copies.end(), draft.copies.begin(), draft.copies.end());
  read_scripts(named, context);
  return named;
}

std::vector<ReferenceTable> image_tables() {
  std::vector<ReferenceTable> tables{
      reference_of("Image", "What an image of the manifests is on this machine.", image_fields),
      reference_of("copy", "", copy_fields)};
  for (ReferenceTable& table : model_tables()) tables.push_back(std::move(table));
  return tables;
}

}  // namespace ddptwin::scenario
