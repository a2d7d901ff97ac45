#include "controller/training_operator/init_container.hpp"

#include <array>
#include <boost/json.hpp>

#include "controller/training_operator/names.hpp"
#include "objects/codec.hpp"
#include "objects/yaml.hpp"

namespace ddptwin::controller::pytorchjob {
namespace {

struct Placeholder {
  std::string_view name;
  std::string value;
};

// {{.Name}} and {{ .Name }}, the only parts of Go's template language that the file needs.
std::string fill(std::string_view text, const std::array<Placeholder, 3>& values) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find("{{");
    const std::size_t close = open != text.npos ? text.find("}}", open) : text.npos;
    if (close == text.npos) break;
    std::string_view word = text.substr(open + 2, close - open - 2);
    while (word.starts_with(' ') || word.starts_with('.')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    out += text.substr(0, open);
    for (const Placeholder& value : values)
      if (value.name == word) out += value.value;
    text.remove_prefix(close + 2);
  }
  return out + std::string(text);
}

std::string wait_script(const std::string& master, int max_tries) {
  return "err=1;for i in $(seq " + std::to_string(max_tries) + "); do if nslookup " + master +
         "; then err=0 && break; fi;echo waiting for master; sleep 2; done; exit $err";
}

Container default_container(const std::string& master, const InitContainerFlags& flags) {
  Container container;
  container.name = init_container_name;
  container.image = flags.image;
  container.imagePullPolicy = "IfNotPresent";
  container.command = {"sh", "-c", wait_script(master, flags.max_tries)};
  constexpr std::int64_t mebi = 1024 * 1024;
  container.resources.limits =
      ResourceList{{"cpu", Quantity::milli(100)},
                   {"memory", Quantity::of(20 * mebi, Quantity::Format::binary_si)}};
  container.resources.requests =
      ResourceList{{"cpu", Quantity::milli(50)},
                   {"memory", Quantity::of(10 * mebi, Quantity::Format::binary_si)}};
  return container;
}

}  // namespace

Result<std::vector<Container>> init_containers(const PyTorchJob& job, std::string_view type,
                                               const InitContainerFlags& flags) {
  if (type != worker_type || !has_master(job)) return std::vector<Container>{};
  const std::string master = replica_name(job.metadata.name, master_type, 0);
  if (!flags.template_text) return std::vector{default_container(master, flags)};
  const std::string text =
      fill(*flags.template_text, {{{"MasterAddr", master},
                                   {"InitContainerImage", flags.image},
                                   {"MaxTries", std::to_string(flags.max_tries)}}});
  TRY(const auto documents, parse_yaml(text, "initContainer.yaml"));
  if (documents.empty()) return std::vector<Container>{};
  return from_json<std::vector<Container>>(documents.front().value);
}

}  // namespace ddptwin::controller::pytorchjob
