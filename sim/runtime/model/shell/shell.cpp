#include "runtime/model/shell/shell.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "runtime/model/programs/text.hpp"
#include "runtime/model/shell/builtins.hpp"
#include "runtime/model/shell/run.hpp"
#include "runtime/model/shell/training.hpp"
#include "runtime/model/torchrun/torchrun.hpp"

namespace ddptwin::model {
namespace {

using shell::Node;
using shell::Word;

// ash is more like bash than like dash here.
struct ShellName {
  std::string_view name;
  shell::Dialect dialect;
};
constexpr std::array shells{
    ShellName{"sh", shell::Dialect::dash}, ShellName{"dash", shell::Dialect::dash},
    ShellName{"bash", shell::Dialect::bash}, ShellName{"ash", shell::Dialect::bash}};

const ShellName* shell_of(const std::string& name) {
  const auto found = std::find_if(shells.begin(), shells.end(),
                                  [&name](const ShellName& one) { return one.name == name; });
  return found == shells.end() ? nullptr : &*found;
}

// Every command of a script can be modelled, as far as its name is known.
class Check {
 public:
  Check(CommandContext context, shell::Dialect dialect)
      : context_(std::move(context)), dialect_(dialect), outer_(context_.outlook) {
    context_.is_child = true;
    if (outer_ != nullptr) seen_ = *outer_;
    context_.outlook = &seen_;
  }

  Status script(const Node& node) {
    name_functions(node);
    const std::size_t before = seen_.trains.size();
    TRY_VOID(look_at(node));
    sources_alone_ = sources_ && !computes_ && seen_.trains.size() == before;
    if (outer_ != nullptr && !sources_alone_) *outer_ = std::move(seen_);
    return {};
  }
  // It can only be what it sources that trains.
  bool sources_alone() const { return sources_alone_; }

 private:
  void name_functions(const Node& node) {
    if (node.kind == Node::Kind::function) functions_.insert(node.variable);
    for (const Node& child : node.children) name_functions(child);
  }

  // Only a subshell comes back to the folder that it began in.
  Status look_at(const Node& node) {
    const std::string folder = context_.folder;
    TRY_VOID(look_within(node));
    if (node.kind == Node::Kind::subshell) context_.folder = folder;
    return {};
  }

  Status look_within(const Node& node) {
    for (auto child = node.children.begin(); child != node.children.end(); ++child) {
      const bool kept = node.kind != Node::Kind::pipe ||
                        std::all_of(std::next(child), node.children.end(), is_tee);
      TRY_VOID(taken_by(kept ? Taker::nobody : Taker::pipe, [&] { return look_at(*child); }));
    }
    TRY_VOID(words(node.words));
    for (const auto& patterns : node.patterns) TRY_VOID(words(patterns));
    for (const shell::Assignment& one : node.assignments) {
      TRY_VOID(words({one.value}));
      if (one.index) TRY_VOID(words({*one.index}));
      if (one.elements) TRY_VOID(words(*one.elements));
    }
    for (const shell::Redirection& one : node.redirections) TRY_VOID(redirection(one));
    if (node.kind != Node::Kind::command || node.words.empty()) return {};
    return command(node);
  }

  Status redirection(const shell::Redirection& one) {
    if (one.target == shell::Redirection::Target::text) return words({one.file}, Taker::document);
    if (one.target != shell::Redirection::Target::command) return words({one.file});
    const Node& script = *one.file.pieces.front().script;
    return taken_by(one.of_input ? Taker::script : Taker::nobody, [&] { return look_at(script); });
  }

  Status words(const std::vector<Word>& words, Taker taker = Taker::script) {
    std::vector<const shell::Piece*> outputs;
    for (const Word& word : words) {
      TRY_VOID(variables(word.pieces));
      shell::outputs_in(word.pieces, nullptr, outputs);
    }
    for (const shell::Piece* piece : outputs)
      TRY_VOID(taken_by(taker, [&] { return look_at(*piece->script); }));
    return {};
  }

  template <class Look>
  Status taken_by(Taker taker, Look look) {
    const Taker outer = std::exchange(context_.taker, std::max(context_.taker, taker));
    const Status seen = look();
    context_.taker = outer;
    return seen;
  }

  // Those that a shell makes up itself, and nobody here; to dash most are variables as any other.
  Status variables(const std::vector<shell::Piece>& pieces) const {
    for (const shell::Piece& piece : pieces) {
      if (piece.kind == shell::Piece::Kind::variable) TRY_VOID(variable(piece.text));
      const bool numbers = piece.kind == shell::Piece::Kind::arithmetic || piece.operation == ":";
      for (const auto* part : {&piece.word, &piece.more, &piece.index}) {
        TRY_VOID(variables(*part));
        if (numbers || part == &piece.index) TRY_VOID(names_in(*part));
      }
    }
    return {};
  }

  // Those that an expression names without a $.
  Status names_in(const std::vector<shell::Piece>& expression) const {
    for (const shell::Piece& piece : expression) {
      if (piece.kind != shell::Piece::Kind::literal) continue;
      std::string_view rest = piece.text;
      while (!rest.empty()) {
        const auto end = std::find_if_not(rest.begin(), rest.end(), shell::is_name);
        TRY_VOID(variable(std::string(rest.begin(), end)));
        rest.remove_prefix(static_cast<std::size_t>(end - rest.begin()));
        const auto next = std::find_if(rest.begin(), rest.end(), shell::is_name);
        rest.remove_prefix(static_cast<std::size_t>(next - rest.begin()));
      }
    }
    return {};
  }

  Status variable(const std::string& name) const {
    constexpr std::array<std::string_view, 2> of_all{"LINENO", "PPID"};
    constexpr std::array<std::string_view, 7> of_bash{
        "BASH_SOURCE",   "BASH_VERSION",  "FUNCNAME", "BASH_LINENO",
        "BASH_VERSINFO", "EPOCHREALTIME", "SRANDOM"};
    const auto is_in = [&name](const auto& names) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    const bool made_up = is_in(of_all) || (dialect_ == shell::Dialect::bash && is_in(of_bash));
    return made_up ? fail(shell::unknown("$" + name)) : Status();
  }

  static bool is_tee(const Node& node) {
    const auto name = node.words.empty() ? std::nullopt : node.words.front().literal();
    return name && base_name(*name) == "tee";
  }

  Status command(const Node& node) {
    const std::vector<std::string> argv = shell::command_of(node);
    if (argv.empty() || functions_.contains(argv.front())) return {};
    const bool sources = argv.front() == "." || argv.front() == "source";
    if (sources) {
      sources_ = sources_ || context_.workload != nullptr;
      seen_.at_once.push_back(fmt::format("{} (where no volume holds it)", fmt::join(argv, " ")));
      return {};
    }
    computes_ = computes_ || argv.front() == torchrun::unknown_text;
    if (argv.front() == torchrun::unknown_text) return {};
    if (const std::string what = shell::unknown_of(argv, dialect_); !what.empty())
      return fail(shell::unknown(what));
    if (argv.front() == "trap") {
      const std::string& text = argv[argv[1] == "--" ? 2 : 1];
      return text == "-" ? Status() : inner_script(text);
    }
    if (argv.front() == "eval")
      return inner_script(fmt::format("{}", fmt::join(argv.begin() + 1, argv.end(), " ")));
    if (argv.front() == "cd") change_folder(argv.back());
    if (shell::BuiltIns::find(argv.front(), dialect_) != nullptr) return {};
    CommandContext context = context_;
    context.training = node.training.value_or(context.training);
    const auto made = make_program(argv, context);
    if (!made && made.error().reason == Reason::bad_input) return fail(made.error());
    return {};
  }

  // As far as its name is written out.
  void change_folder(const std::string& to) {
    if (context_.image == nullptr || to.starts_with('-')) return;
    if (to.find(torchrun::unknown_text) != to.npos) return;
    const std::filesystem::path from =
        context_.folder.empty() ? context_.image->workdir : context_.folder;
    context_.folder = (from / to).lexically_normal().string();
  }

  // What is computed is looked at when it is there.
  Status inner_script(const std::string& text) {
    if (text.find(torchrun::unknown_text) != text.npos) return {};
    constexpr int within_max = 10;
    if (inner_ == within_max)
      return fail(shell::unknown("scripts within scripts more than 10 times"));
    TRY(const Node script, shell::parse(text, dialect_));
    name_functions(script);
    ++inner_;
    const Status seen = look_at(script);
    --inner_;
    return seen;
  }

  CommandContext context_;
  shell::Dialect dialect_;
  Outlook* outer_;
  Outlook seen_{};
  std::set<std::string> functions_{};
  bool sources_ = false, sources_alone_ = false;  // . or source
  bool computes_ = false;                         // a command whose name a run tells
  int inner_ = 0;                                 // scripts of eval and trap within each other
};

// sh [OPTION...] -c SCRIPT [NAME [ARGUMENT...]]
struct Invocation {
  std::vector<std::string> options{};  // as `set` takes them
  std::string script{};
  std::vector<std::string> arguments{};  // $0, $1, ...
};
std::optional<Invocation> invocation_of(const std::vector<std::string>& argv) {
  Invocation made;
  bool from_text = false;
  auto word = std::next(argv.begin());
  for (; word != argv.end() && (word->starts_with('-') || word->starts_with('+')); ++word) {
    if (*word == "--") {
      ++word;
      break;
    }
    if (word->starts_with("--")) continue;  // bash's long ones: --norc
    from_text = from_text || word->find('c') != word->npos;
    made.options.push_back(*word);
    if (word->ends_with('o') && std::next(word) != argv.end()) made.options.push_back(*++word);
  }
  if (!from_text || word == argv.end()) return std::nullopt;
  made.script = *word;
  made.arguments.assign(std::next(word), argv.end());
  return made;
}

// A shell that does not take its options.
class Misused final : public Program {
 public:
  explicit Misused(std::string line) : line_(std::move(line)) {}
  void start(Process& process) override {
    constexpr int misused_code = 2;
    process.print_error(std::move(line_));
    process.exit(misused_code);
  }

 private:
  std::string line_;
};

}  // namespace

bool is_shell(const std::string& name) { return shell_of(name) != nullptr; }

Result<std::unique_ptr<Program>> make_shell(const std::vector<std::string>& argv,
                                            const CommandContext& context) {
  const std::optional<Invocation> invocation = invocation_of(argv);
  if (!invocation) return fail(Reason::invalid, "only `sh -c SCRIPT` is known");
  shell::Scope scope;
  scope.name = argv.front();
  scope.dialect = shell_of(base_name(argv.front()))->dialect;
  if (const Status taken = shell::set_options(scope, invocation->options, false); !taken)
    return std::make_unique<Misused>(fmt::format("{}: 0: {}", argv.front(), taken.error().message));
  TRY(Node script, shell::parse(invocation->script, scope.dialect));
  CommandContext inner = context;
  inner.training = shell::label_training(script, context.training);
  Check check(inner, scope.dialect);
  TRY_VOID(check.script(script));
  if (check.sources_alone()) return fail(Reason::invalid, "it is what its script sources");
  if (!invocation->arguments.empty()) {
    scope.name = invocation->arguments.front();
    scope.arguments.assign(invocation->arguments.begin() + 1, invocation->arguments.end());
  }
  scope.scripts.push_back(std::make_shared<const Node>(std::move(script)));
  const Node& whole = *scope.scripts.back();
  return shell::make_run(std::move(scope), whole, inner);
}

Status shell::check_script(const Node& script, const CommandContext& context, Dialect dialect) {
  return Check(context, dialect).script(script);
}

}  // namespace ddptwin::model
