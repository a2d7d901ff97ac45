// Selectors against a naive reading of their own text (spec/kubernetes.md §1.9).
#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "objects/selector.hpp"
#include "property.hpp"

namespace ddptwin::property::selector_properties_test {
namespace {

using Operator = LabelRequirement::Operator;

const std::vector<std::string> keys{"a", "b", "c.io/d"};
const std::vector<std::string> words{"x", "y", "3", "7"};

struct Term {
  std::string key{};
  Operator op = Operator::exists;
  std::set<std::string> values{};
};

rc::Gen<Term> any_term() {
  return gen::resize(
      rc::kNominalSize, gen::exec([] {
        Term term;
        term.key = *gen::elementOf(keys);
        term.op = *gen::element(Operator::exists, Operator::does_not_exist, Operator::in,
                                Operator::not_in, Operator::greater, Operator::less);
        if (term.op == Operator::greater || term.op == Operator::less)
          term.values = {*gen::element<std::string>("3", "5", "7")};
        if (term.op == Operator::in || term.op == Operator::not_in) do
            term.values.insert(*gen::elementOf(words));
          while (*gen::arbitrary<bool>());
        if (!term.values.empty() && term.op != Operator::greater && term.op != Operator::less)
          if (*gen::weightedElement<bool>({{3, false}, {1, true}})) term.values.insert("");
        return term;
      }));
}

// As a user may write it; one value has two spellings.
std::string text_of(const Term& term) {
  // An empty value is one too, wherever it stands.
  std::vector<std::string> values(term.values.begin(), term.values.end());
  if (*gen::arbitrary<bool>()) std::reverse(values.begin(), values.end());
  std::string list;
  for (std::size_t i = 0; i < values.size(); ++i) list += (i == 0 ? "" : ",") + values[i];
  const bool single = term.values.size() == 1 && *gen::arbitrary<bool>();
  switch (term.op) {
    case Operator::exists:
      return term.key;
    case Operator::does_not_exist:
      return "!" + term.key;
    case Operator::in:
      return single ? term.key + "=" + list : term.key + " in (" + list + ")";
    case Operator::not_in:
      return single ? term.key + "!=" + list : term.key + " notin (" + list + ")";
    case Operator::greater:
      return term.key + ">" + list;
    case Operator::less:
      return term.key + "<" + list;
  }
  return {};
}

bool holds_naively(const Term& term, const StringMap& labels) {
  const auto found = labels.find(term.key);
  const bool there = found != labels.end();
  const std::string value = there ? found->second.str() : "";
  const bool listed = there && term.values.contains(value);
  const bool number = there && !value.empty() && std::isdigit(value.front()) != 0;
  switch (term.op) {
    case Operator::exists:
      return there;
    case Operator::does_not_exist:
      return !there;
    case Operator::in:
      return listed;
    case Operator::not_in:
      return !listed;
    case Operator::greater:
      return number && std::stoi(value) > std::stoi(*term.values.begin());
    case Operator::less:
      return number && std::stoi(value) < std::stoi(*term.values.begin());
  }
  return false;
}

StringMap any_labels() {
  StringMap labels;
  for (const std::string& key : keys)
    if (*gen::arbitrary<bool>())
      labels[key] = *gen::weightedOneOf<std::string>(
          {{4, gen::elementOf(words)}, {1, gen::just(std::string())}});
  return labels;
}

TEST(SelectorProperties, ASelectorChoosesWhatItsTextSays) {
  holds([] {
    const auto terms = *gen::resize(4, gen::vector_of(any_term()));
    std::string text;
    for (const Term& term : terms) text += (text.empty() ? "" : ", ") + text_of(term);
    RC_LOG() << text << "\n";
    const auto matcher = LabelMatcher::parse(text);
    RC_ASSERT(matcher.has_value());
    const auto again = LabelMatcher::parse(matcher->text());
    RC_ASSERT(again.has_value());
    RC_ASSERT(again->text() == matcher->text());
    for (int i = 0; i < 8; ++i) {
      const StringMap labels = any_labels();
      const bool wanted = std::all_of(terms.begin(), terms.end(), [&](const Term& term) {
        return holds_naively(term, labels);
      });
      RC_ASSERT(matcher->matches(labels) == wanted);
      RC_ASSERT(again->matches(labels) == wanted);
    }
  });
}

TEST(SelectorProperties, TheTwoFormsOfALabelSelectorAgree) {
  holds([] {
    LabelSelector selector;
    std::string text;
    for (const std::string& key : keys) {
      if (!*gen::arbitrary<bool>()) continue;
      const std::string value = *gen::elementOf(words);
      selector.matchLabels[key] = value;
      text += (text.empty() ? "" : ",") + key + "=" + value;
    }
    const bool present = *gen::arbitrary<bool>();
    selector.matchExpressions.push_back({"b", present ? "Exists" : "DoesNotExist", {}});
    text += (text.empty() ? "" : ",") + std::string(present ? "b" : "!b");
    const auto from_object = LabelMatcher::from(selector);
    const auto from_text = LabelMatcher::parse(text);
    RC_ASSERT(from_object.has_value() && from_text.has_value());
    for (int i = 0; i < 8; ++i) {
      const StringMap labels = any_labels();
      RC_ASSERT(from_object->matches(labels) == from_text->matches(labels));
    }
  });
}

TEST(SelectorProperties, AFieldSelectorComparesEachField) {
  holds([] {
    std::map<std::string, std::string, std::less<>> object;
    for (const char* field : {"metadata.name", "spec.nodeName"})
      object[field] = *gen::element<std::string>("", "x", "y,z", "p=q\\");
    std::string text;
    bool wanted = true;
    for (const auto& [field, value] : object) {
      const std::string asked = *gen::element<std::string>("", "x", "y,z", "p=q\\");
      const bool negated = *gen::arbitrary<bool>();
      std::string escaped;
      for (const char c : asked) {
        if (c == ',' || c == '=' || c == '\\') escaped += '\\';
        escaped += c;
      }
      text += (text.empty() ? "" : ",") + field + (negated ? "!=" : "=") + escaped;
      wanted = wanted && (value == asked) != negated;
    }
    RC_LOG() << text << "\n";
    const auto matcher = FieldMatcher::parse(text);
    RC_ASSERT(matcher.has_value());
    RC_ASSERT(matcher->matches(
                  [&](std::string_view field) { return object.find(field)->second; }) == wanted);
  });
}

}  // namespace
}  // namespace ddptwin::property::selector_properties_test
