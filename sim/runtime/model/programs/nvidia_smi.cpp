#include "runtime/model/programs/nvidia_smi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/numbers.hpp"
#include "core/time.hpp"
#include "runtime/visible_devices.hpp"

namespace ddptwin::model {
namespace {

// The card on which spec/gpu.md was measured.
constexpr std::string_view card_name = "NVIDIA H100 80GB HBM3";
constexpr std::string_view driver = "580.159";
constexpr std::string_view cuda = "13.0";
constexpr int memory_mib = 81559;
constexpr int power_limit_w = 700;
constexpr int no_devices_code =
    6;  // of the manual page: a query to find an object was unsuccessful
constexpr int bad_argument_code = 2;

struct Card {
  std::size_t index = 0;
  std::size_t count = 0;
  std::string uuid{};

  std::string bus() const { return fmt::format("00000000:{:02X}:00.0", 0x1b + 4 * index); }
};

struct Field {
  std::string_view name;
  std::string_view other_name;
  std::string_view unit;  // empty: it has none
  std::string (*value)(const Card& card);
};

template <int number>
std::string constant(const Card& card) {
  static_cast<void>(card);
  return fmt::format("{}", number);
}

// An idle card's.
constexpr std::array fields{
    Field{"index", "", "", [](const Card& card) { return fmt::format("{}", card.index); }},
    Field{"count", "", "", [](const Card& card) { return fmt::format("{}", card.count); }},
    Field{"name", "gpu_name", "", [](const Card&) { return std::string(card_name); }},
    Field{"uuid", "gpu_uuid", "", [](const Card& card) { return card.uuid; }},
    Field{"pci.bus_id", "gpu_bus_id", "", [](const Card& card) { return card.bus(); }},
    Field{"driver_version", "", "", [](const Card&) { return std::string(driver); }},
    Field{"memory.total", "", "MiB", &constant<memory_mib>},
    Field{"memory.used", "", "MiB", &constant<0>},
    Field{"memory.free", "", "MiB", &constant<memory_mib>},
    Field{"utilization.gpu", "", "%", &constant<0>},
    Field{"utilization.memory", "", "%", &constant<0>},
    Field{"temperature.gpu", "", "", &constant<30>},
    Field{"power.draw", "", "W", [](const Card&) { return std::string("70.00"); }},
    Field{"power.limit", "", "W", [](const Card&) { return fmt::format("{}.00", power_limit_w); }},
    Field{"pstate", "", "", [](const Card&) { return std::string("P0"); }},
    Field{"persistence_mode", "", "", [](const Card&) { return std::string("Enabled"); }},
    Field{"compute_mode", "", "", [](const Card&) { return std::string("Default"); }},
    Field{"compute_cap", "", "", [](const Card&) { return std::string("9.0"); }},
    Field{"mig.mode.current", "", "", [](const Card&) { return std::string("Disabled"); }},
    Field{"ecc.mode.current", "", "", [](const Card&) { return std::string("Enabled"); }},
    Field{"timestamp", "", "", nullptr},  // the date of the call
};

const Field* find_field(std::string_view name) {
  const auto found = std::find_if(fields.begin(), fields.end(), [name](const Field& field) {
    return name == field.name || (!field.other_name.empty() && name == field.other_name);
  });
  return found == fields.end() ? nullptr : &*found;
}

std::vector<std::string_view> parts_of(std::string_view list) {
  std::vector<std::string_view> parts;
  for (;;) {
    std::string_view part = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), part.size() + 1));
    while (part.starts_with(' ')) part.remove_prefix(1);
    parts.push_back(part);
    if (list.empty()) return parts;
  }
}

// What is asked for.
struct Question {
  enum class Kind { table, list, query, help } kind = Kind::table;
  std::vector<std::string_view> queried{};
  bool header = true, units = true;
  std::optional<std::string> id{};
  std::string wrong{};  // the word that it does not know
};

// The value of `--name=value`, or of the word after one of the names.
std::optional<std::string_view> value_at(const std::vector<std::string>& words, std::size_t& i,
                                         std::string_view short_name, std::string_view long_name) {
  const std::string_view word = words[i];
  if (word.starts_with(long_name) && word.size() > long_name.size() &&
      word[long_name.size()] == '=')
    return word.substr(long_name.size() + 1);
  if ((word == short_name || word == long_name) && i + 1 < words.size()) return words[++i];
  return std::nullopt;
}

Question read(const std::vector<std::string>& words) {
  Question asked;
  bool csv = false;
  for (std::size_t i = 0; i < words.size() && asked.wrong.empty(); ++i) {
    const std::string& word = words[i];
    if (word == "-L" || word == "--list-gpus") {
      asked.kind = Question::Kind::list;
    } else if (word == "-h" || word == "--help") {
      asked.kind = Question::Kind::help;
    } else if (const auto list = value_at(words, i, "--query-gpu", "--query-gpu")) {
      asked.kind = Question::Kind::query;
      asked.queried = parts_of(*list);
    } else if (const auto id = value_at(words, i, "-i", "--id")) {
      asked.id = std::string(*id);
    } else if (const auto format = value_at(words, i, "--format", "--format")) {
      for (const std::string_view part : parts_of(*format)) {
        csv = csv || part == "csv";
        asked.header = asked.header && part != "noheader";
        asked.units = asked.units && part != "nounits";
      }
    } else {
      asked.wrong = word;
    }
  }
  if (asked.wrong.empty() && asked.kind == Question::Kind::query && !csv)
    asked.wrong = "--query-gpu";
  return asked;
}

SmiAnswer query(const Question& asked, const std::vector<Card>& cards, std::string_view date) {
  std::vector<const Field*> wanted;
  for (const std::string_view name : asked.queried) {
    wanted.push_back(find_field(name));
    if (wanted.back() == nullptr)
      return {fmt::format("Field \"{}\" is not a valid field to query.\n\n", name),
              bad_argument_code};
  }
  std::string text;
  if (asked.header) {
    for (std::size_t i = 0; i < wanted.size(); ++i)
      text += fmt::format("{}{}{}", i > 0 ? ", " : "", asked.queried[i],
                          wanted[i]->unit.empty() ? "" : fmt::format(" [{}]", wanted[i]->unit));
    text += "\n";
  }
  for (const Card& card : cards) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::string value =
          wanted[i]->value == nullptr ? std::string(date) : wanted[i]->value(card);
      const bool with_unit = asked.units && !wanted[i]->unit.empty();
      text += fmt::format("{}{}{}", i > 0 ? ", " : "", value,
                          with_unit ? fmt::format(" {}", wanted[i]->unit) : "");
    }
    text += "\n";
  }
  return {text, 0};
}

std::string list(const std::vector<Card>& cards) {
  std::string text;
  for (const Card& card : cards)
    text += fmt::format("GPU {}: {} (UUID: {})\n", card.index, card_name, card.uuid);
  return text;
}

std::string table(const std::vector<Card>& cards, std::string_view date) {
  const std::string rule(89, '-');
  const std::string parts = fmt::format("+{:-<41}+{:-<24}+{:-<22}+\n", "", "", "");
  std::string text = fmt::format("{}\n+{}+\n", date, rule);
  text +=
      fmt::format("| {:<33} {:<30} {:<23}|\n", fmt::format("NVIDIA-SMI {}", driver),
                  fmt::format("Driver Version: {}", driver), fmt::format("CUDA Version: {}", cuda));
  text += parts;
  text +=
      "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC "
      "|\n"
      "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. "
      "|\n"
      "|                                         |                        |               MIG M. "
      "|\n";
  text += fmt::format("|{:=<41}+{:=<24}+{:=<22}|\n", "", "", "");
  for (const Card& card : cards) {
    text += fmt::format("| {:>3}  {:<30} On  | {:>18} Off | {:>20} |\n", card.index, card_name,
                        card.bus(), 0);
    text +=
        fmt::format("| N/A {:>4}C    P0 {:>14} / {:>4}W | {:>7}MiB / {:>6}MiB | {:>7}% {:>12} |\n",
                    30, "70W", power_limit_w, 0, memory_mib, 0, "Default");
    text += fmt::format("|{:<41}|{:<24}| {:>20} |\n", "", "", "Disabled");
    text += parts;
  }
  text += fmt::format("{:<91}\n+{}+\n", "", rule);
  text += fmt::format("| {:<88}|\n", "Processes:");
  text += fmt::format("| {:<88}|\n",
                      " GPU   GI   CI              PID   Type   Process name"
                      "                        GPU Memory");
  text += fmt::format("| {:<88}|\n",
                      "       ID   ID                                     "
                      "                          Usage");
  text += fmt::format("|{:=<89}|\n", "");
  text += fmt::format("| {:<88}|\n", " No running processes found");
  return text + fmt::format("+{}+\n", rule);
}

// Of the container that has it.
class NvidiaSmi final : public Program {
 public:
  explicit NvidiaSmi(std::vector<std::string> argv) : argv_(std::move(argv)) {}

  void start(Process& process) override {
    const auto devices = visible_devices(process.env(visible_devices_variable));
    if (devices.empty()) {
      constexpr int not_found_code = 127;
      process.print_error("nvidia-smi: command not found");
      return process.exit(not_found_code);
    }
    const SmiAnswer answer =
        answer_nvidia_smi({argv_.begin() + 1, argv_.end()}, devices, date_of(process));
    for (std::string_view rest = answer.text; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      process.print(std::string(line));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    }
    process.exit(answer.code);
  }

 private:
  static std::string date_of(const Process& process) { return format_rfc3339(process.now()); }

  std::vector<std::string> argv_;
};

}  // namespace

SmiAnswer answer_nvidia_smi(const std::vector<std::string>& words,
                            const std::vector<std::string>& devices, std::string_view date) {
  const Question asked = read(words);
  if (!asked.wrong.empty())
    return {fmt::format("Invalid combination of input arguments. Please run 'nvidia-smi -h' for "
                        "help.\n\n"),
            bad_argument_code};
  if (asked.kind == Question::Kind::help)
    return {
        "nvidia-smi [-L] [-i ID] [--query-gpu=FIELD,... --format=csv[,noheader][,nounits]]\n"
        "The twin's own, of modelled cards: this machine has none.\n",
        0};
  std::vector<Card> cards;
  for (const std::string& uuid : devices) cards.push_back({cards.size(), devices.size(), uuid});
  if (asked.id)
    std::erase_if(cards, [&asked](const Card& card) {
      const auto index = whole_number<std::size_t>(*asked.id);
      return index ? card.index != *index : card.uuid != *asked.id && card.bus() != *asked.id;
    });
  if (cards.empty()) return {"No devices were found\n", no_devices_code};
  switch (asked.kind) {
    case Question::Kind::list:
      return {list(cards), 0};
    case Question::Kind::query:
      return query(asked, cards, date);
    default:
      return {table(cards, date), 0};
  }
}

int granted_gpus(const Process& process) {
  return static_cast<int>(visible_devices(process.env(visible_devices_variable)).size());
}

std::unique_ptr<Program> make_nvidia_smi(const std::vector<std::string>& argv) {
  return std::make_unique<NvidiaSmi>(argv);
}

std::string unknown_of_nvidia_smi(const std::vector<std::string>& argv) {
  std::vector<std::string> words(argv.begin() + 1, argv.end());
  std::erase(words, "$");
  const Question asked = read(words);
  if (!asked.wrong.empty()) return "nvidia-smi with " + asked.wrong;
  for (const std::string_view name : asked.queried)
    if (find_field(name) == nullptr) return fmt::format("nvidia-smi with --query-gpu={}", name);
  return {};
}

}  // namespace ddptwin::model
