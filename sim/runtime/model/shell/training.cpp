#include "runtime/model/shell/training.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "runtime/model/shell/builtins.hpp"
#include "runtime/model/torchrun/torchrun.hpp"

namespace ddptwin::model::shell {
namespace {

// What is known of a word; of an option its beginning too: --nnodes=$
std::string known_of(const Word& word) {
  if (auto whole = word.literal()) return std::move(*whole);
  std::string text;
  const bool option =
      word.pieces.front().kind == Piece::Kind::literal && word.pieces.front().text.starts_with('-');
  if (!option) return std::string(torchrun::unknown_text);
  for (const Piece& piece : word.pieces)
    text += piece.kind == Piece::Kind::literal ? piece.text : std::string(torchrun::unknown_text);
  return text;
}

class Labels {
 public:
  Labels(Node& script, Likeness beside) {
    find_functions(script);
    // A function may call others: until nothing more is learnt, of three answers.
    for (bool learnt = true; learnt;) {
      learnt = false;
      for (auto& [name, one] : functions_) {
        const Likeness seen = measure(*one.body);
        learnt = learnt || seen != one.most;
        one.most = seen;
      }
    }
    whole_ = std::max(beside, measure(script));
    for (const auto& [name, one] : functions_) whole_ = std::max(whole_, one.most);
    label(script, beside);
  }
  Likeness whole() const { return whole_; }

 private:
  struct Function {
    Node* body = nullptr;
    Likeness most = Likeness::any;     // in it
    std::optional<Likeness> beside{};  // what stands beside its calls
  };

  void find_functions(Node& node) {
    if (node.kind == Node::Kind::function) functions_[node.variable].body = &node.children.front();
    for (Node& child : node.children) find_functions(child);
  }

  Function* called_by(const std::vector<std::string>& argv) {
    const auto found = argv.empty() ? functions_.end() : functions_.find(argv.front());
    return found == functions_.end() ? nullptr : &found->second;
  }

  // The most that is in what is carried out in it, and in each part.
  Likeness measure(const Node& node) {
    Likeness most = Likeness::any;
    if (node.kind == Node::Kind::command) {
      const std::vector<std::string> argv = command_of(node);
      if (const Function* function = called_by(argv)) {
        most = function->most;
      } else if (!argv.empty()) {
        most = likeness_of(argv);
      }
    }
    for (const Node& child : node.children) {
      const Likeness in_child = measure(child);
      if (node.kind != Node::Kind::function) most = std::max(most, in_child);
    }
    return most_[&node] = most;
  }
  Likeness most_in(const Node& node) const { return most_.at(&node); }

  // `beside`: the most that is in what the same run carries out too.
  void label(Node& node, Likeness beside) {
    if (node.kind == Node::Kind::function) return;
    if (node.kind == Node::Kind::command) return label_command(node, beside);
    if (node.kind == Node::Kind::case_) {
      for (Node& branch : node.children) label(branch, beside);
      return;
    }
    if (node.kind == Node::Kind::if_) {
      std::vector<Node*> branches;
      for (std::size_t i = 1; i < node.children.size(); ++i) branches.push_back(&node.children[i]);
      return label_choice(node.children.front(), branches, beside);
    }
    if (is_choice(node)) {
      Node& left = node.children[0];
      return label_choice(left.children[0], {&left.children[1], &node.children[1]}, beside);
    }
    std::vector<Likeness> each;
    for (const Node& child : node.children) each.push_back(most_in(child));
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      Likeness others = beside;
      for (std::size_t j = 0; j < each.size(); ++j)
        if (j != i) others = std::max(others, each[j]);
      label(node.children[i], others);
    }
  }

  void label_choice(Node& condition, const std::vector<Node*>& branches, Likeness beside) {
    Likeness in_branches = beside;
    for (const Node* branch : branches) in_branches = std::max(in_branches, most_in(*branch));
    label(condition, in_branches);
    const Likeness in_condition = std::max(beside, most_in(condition));
    for (Node* branch : branches) label(*branch, in_condition);
  }

  // [ ... ] && one || other
  static bool is_choice(const Node& node) {
    if (node.kind != Node::Kind::or_ || node.children[0].kind != Node::Kind::and_) return false;
    const Node* test = &node.children[0].children[0];
    while (test->kind == Node::Kind::not_) test = &test->children[0];
    if (test->kind == Node::Kind::if_ || test->kind == Node::Kind::case_ ||
        test->kind == Node::Kind::expression || test->kind == Node::Kind::arithmetic)
      return true;  // of [[ ]] and (( ))
    const std::vector<std::string> argv = command_of(*test);
    return !argv.empty() && (argv.front() == "[" || argv.front() == "test" || argv.front() == "[[");
  }

  void label_command(Node& node, Likeness beside) {
    node.training = std::max({node.training.value_or(Likeness::any), beside, most_in(node)});
    Function* function = called_by(command_of(node));
    if (function == nullptr || function->beside >= beside) return;
    function->beside = beside;
    label(*function->body, beside);
  }

  std::map<std::string, Function> functions_{};
  std::map<const Node*, Likeness> most_{};
  Likeness whole_ = Likeness::any;
};

}  // namespace

std::vector<std::string> command_of(const Node& node) {
  std::vector<std::string> argv;
  for (const Word& word : node.words) argv.push_back(known_of(word));
  const auto only_hands_on = [](const std::string& name) {
    return name == "exec" || name == "command" || name == "builtin";
  };
  while (argv.size() > 1 && only_hands_on(argv.front()) && !argv[1].starts_with('-'))
    argv.erase(argv.begin());
  if (argv.size() == 1 && argv.front() == "exec") argv.clear();
  if (!argv.empty()) unwrap(argv);
  return argv;
}

Likeness label_training(Node& script, Likeness beside) { return Labels(script, beside).whole(); }

}  // namespace ddptwin::model::shell
