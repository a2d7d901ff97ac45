// The laws of the three patches: a difference that is applied gives what it was taken from
// (RFC 6902, RFC 7386, spec/kubernetes.md §1.6). The differences are made here, naively.
#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <set>

#include "cluster/store/store.hpp"
#include "objects/codec.hpp"
#include "objects/core_v1.hpp"
#include "objects/patch.hpp"
#include "property.hpp"
#include "world_plan.hpp"

namespace ddptwin::property::patch_properties_test {
namespace {

namespace json = boost::json;

constexpr int depth_max = 3;

template <class Draw>
auto drawn(Draw draw) {
  return gen::resize(rc::kNominalSize, gen::exec(draw));
}

Json scalar() {
  return *gen::element<Json>(Json(0), Json(1), Json(-7), Json("a"), Json("b/c~d"), Json(true));
}

Json document(int depth) {
  const int shape = depth >= depth_max ? 0 : *gen::inRange(0, 3);
  if (shape == 0) return scalar();
  if (shape == 1) {
    json::array list;
    for (int n = *gen::inRange(0, 4); n > 0; --n) list.push_back(document(depth + 1));
    return list;
  }
  json::object object;
  for (const char* name : {"k", "x/y", "t~1", "m"})
    if (*gen::arbitrary<bool>()) object[name] = document(depth + 1);
  return object;
}

Json object_document() {
  json::object object;
  for (const char* name : {"k", "x/y", "t~1", "m"})
    if (*gen::arbitrary<bool>()) object[name] = document(1);
  return object;
}

// --- RFC 6902 ---

std::string escaped(std::string_view name) {
  std::string out;
  for (const char c : name) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

Json operation(const char* op, const std::string& path, const Json* value = nullptr) {
  json::object out{{"op", op}, {"path", path}};
  if (value != nullptr) out["value"] = *value;
  return out;
}

void difference(const Json& a, const Json& b, const std::string& path, json::array& out) {
  if (a == b) return;
  if (a.is_object() && b.is_object()) {
    for (const auto& [name, value] : a.get_object())
      if (!b.get_object().contains(name))
        out.push_back(operation("remove", path + "/" + escaped(name)));
    for (const auto& [name, value] : b.get_object()) {
      const Json* old = a.get_object().if_contains(name);
      const std::string at = path + "/" + escaped(name);
      if (old == nullptr)
        out.push_back(operation("add", at, &value));
      else
        difference(*old, value, at, out);
    }
  } else if (a.is_array() && b.is_array()) {
    const auto &from = a.get_array(), &to = b.get_array();
    const std::size_t common = std::min(from.size(), to.size());
    for (std::size_t i = 0; i < common; ++i)
      difference(from[i], to[i], path + "/" + std::to_string(i), out);
    for (std::size_t i = from.size(); i > common; --i)
      out.push_back(operation("remove", path + "/" + std::to_string(i - 1)));
    for (std::size_t i = common; i < to.size(); ++i)
      out.push_back(operation("add", path + "/-", &to[i]));
  } else {
    out.push_back(operation("replace", path, &b));
  }
}

TEST(JsonPatchProperties, ADifferenceAppliedIsTheOther) {
  holds([] {
    const Json a = *drawn(object_document).as("a"), b = *drawn(object_document).as("b");
    json::array patch;
    difference(a, b, "", patch);
    const auto patched = apply_json_patch(a, patch);
    RC_ASSERT(patched.has_value());
    RC_ASSERT(*patched == b);
  });
}

TEST(JsonPatchProperties, ATestHoldsForWhatIsThereAndGuardsTheRest) {
  holds([] {
    const Json a = *drawn(object_document).as("a");
    const Json value = *drawn([] { return document(1); }).as("value");
    json::object with = a.get_object();
    with["k"] = value;
    const Json found(with);
    const Json other(json::array{value});  // never equal to it
    const Json last = operation("add", "/added", &value);
    const auto passes = apply_json_patch(found, json::array{operation("test", "/k", &value), last});
    RC_ASSERT(passes.has_value());
    RC_ASSERT(passes->get_object().at("added") == value);
    RC_ASSERT(!apply_json_patch(found, json::array{last, operation("test", "/k", &other)}));
  });
}

TEST(JsonPatchProperties, AMoveIsACopyAndARemoval) {
  holds([] {
    json::object with = (*drawn(object_document).as("a")).get_object();
    with["from"] = *drawn([] { return document(1); }).as("value");
    const Json a(with);
    const auto by = [](const char* op) {
      return json::object{{"op", op}, {"from", "/from"}, {"path", "/to"}};
    };
    const auto moved = apply_json_patch(a, json::array{by("move")});
    const auto copied = apply_json_patch(a, json::array{by("copy"), operation("remove", "/from")});
    RC_ASSERT(moved.has_value() && copied.has_value());
    RC_ASSERT(*moved == *copied);
    RC_ASSERT(moved->get_object().at("to") == with.at("from"));
    RC_ASSERT(!apply_json_patch(*moved, json::array{by("move")}));  // it is not there any more
  });
}

// --- RFC 7386 ---

Json merge_difference(const Json& a, const Json& b) {
  if (!a.is_object() || !b.is_object()) return b;
  json::object patch;
  for (const auto& [name, value] : a.get_object())
    if (!b.get_object().contains(name)) patch[name] = nullptr;
  for (const auto& [name, value] : b.get_object()) {
    const Json* old = a.get_object().if_contains(name);
    // An object in place of something else cannot be told from one that is merged into it, where
    // there is nothing to be merged with.
    if (old == nullptr || *old != value)
      patch[name] = old == nullptr ? value : merge_difference(*old, value);
  }
  return patch;
}

TEST(MergePatchProperties, ADifferenceAppliedIsTheOther) {
  holds([] {
    const Json a = *drawn(object_document).as("a"), b = *drawn(object_document).as("b");
    const Json patch = merge_difference(a, b);
    const auto once = apply_merge_patch(a, patch);
    RC_ASSERT(once.has_value());
    RC_ASSERT(*once == b);
    RC_ASSERT(*apply_merge_patch(*once, patch) == b);
  });
}

// Of one shape: what is an object stays one, as the fields of a kind do.
json::object shaped_document(int depth) {
  json::object object;
  for (const char* name : {"a", "b"})
    if (*gen::arbitrary<bool>()) object[name] = scalar();
  if (depth < depth_max && *gen::arbitrary<bool>()) object["in"] = shaped_document(depth + 1);
  return object;
}
json::object shaped_patch(int depth) {
  json::object patch = shaped_document(depth);
  if (*gen::arbitrary<bool>()) patch["b"] = nullptr;
  if (Json* inner = patch.if_contains("in")) *inner = shaped_patch(depth + 1);
  return patch;
}

json::object composed(const json::object& first, const json::object& second) {
  json::object both = first;
  for (const auto& [name, value] : second) {
    const Json* old = first.if_contains(name);
    both[name] = old != nullptr && old->is_object() && value.is_object()
                     ? Json(composed(old->get_object(), value.get_object()))
                     : value;
  }
  return both;
}

TEST(MergePatchProperties, TwoPatchesAreOne) {
  holds([] {
    const Json a = *drawn([] { return Json(shaped_document(0)); }).as("a");
    const Json p = *drawn([] { return Json(shaped_patch(0)); }).as("p");
    const Json q = *drawn([] { return Json(shaped_patch(0)); }).as("q");
    const auto in_turn = apply_merge_patch(*apply_merge_patch(a, p), q);
    const auto at_once = apply_merge_patch(a, composed(p.get_object(), q.get_object()));
    RC_ASSERT(in_turn.has_value() && at_once.has_value());
    RC_ASSERT(*in_turn == *at_once);
  });
}

// --- strategic merge ---

// The lists of a pod that are merged, and by which key; of finalizers the items are their own.
const std::map<std::string, std::string, std::less<>> list_keys{
    {"containers", "name"},     {"initContainers", "name"},    {"env", "name"},
    {"ports", "containerPort"}, {"volumeMounts", "mountPath"}, {"conditions", "type"},
    {"ownerReferences", "uid"}, {"volumes", "name"},           {"finalizers", ""}};

template <class T>
std::vector<T> some_of(const std::vector<T>& all) {
  std::vector<T> chosen;
  for (const T& one : all)
    if (*gen::arbitrary<bool>()) chosen.push_back(one);
  for (std::size_t i = chosen.size(); i > 1; --i)
    std::swap(chosen[i - 1], chosen[*gen::inRange<std::size_t>(0, i)]);
  return chosen;
}

const std::vector<std::string> names{"a", "b", "c"};

template <class Item>
void maybe_list(json::object& to, const char* name, Item item) {
  json::array list;
  for (const std::string& key : some_of(names)) list.push_back(item(key));
  if (!list.empty()) to[name] = std::move(list);
}

void maybe_text(json::object& to, const char* name) {
  if (*gen::arbitrary<bool>()) to[name] = *gen::element<std::string>("u", "v");
}

json::object container(const std::string& name) {
  json::object out{{"name", name}};
  maybe_text(out, "image");
  maybe_text(out, "workingDir");
  maybe_list(out, "command", [](const std::string& word) { return Json(word); });
  maybe_list(out, "env", [](const std::string& key) {
    json::object variable{{"name", key}};
    maybe_text(variable, "value");
    return variable;
  });
  maybe_list(out, "ports", [](const std::string& key) {
    json::object port{{"containerPort", 8000 + key[0]}};
    maybe_text(port, "name");
    return port;
  });
  maybe_list(out, "volumeMounts", [](const std::string& key) {
    return json::object{{"name", "v"}, {"mountPath", "/" + key}};
  });
  return out;
}

json::object volume(const std::string& name) {
  json::object out{{"name", name}};
  if (*gen::arbitrary<bool>())
    out["emptyDir"] = json::object{{"medium", *gen::element<std::string>("Memory", "x")}};
  else
    out["hostPath"] = json::object{{"path", *gen::element<std::string>("/a", "/b")}};
  return out;
}

Json pod_document() {
  json::object labels, metadata, spec, status;
  for (const std::string& key : names) maybe_text(labels, key.c_str());
  metadata["labels"] = labels;
  maybe_list(metadata, "finalizers", [](const std::string& key) { return Json("x.io/" + key); });
  maybe_list(metadata, "ownerReferences", [](const std::string& key) {
    json::object owner{{"uid", key}};
    maybe_text(owner, "name");
    return owner;
  });
  maybe_text(spec, "hostname");
  maybe_list(spec, "containers", container);
  maybe_list(spec, "initContainers", container);
  maybe_list(spec, "volumes", volume);
  maybe_list(spec, "tolerations", [](const std::string& key) {
    return json::object{{"key", key}};
  });
  maybe_list(status, "conditions", [](const std::string& key) {
    json::object condition{{"type", key}};
    maybe_text(condition, "status");
    return condition;
  });
  return json::object{{"metadata", metadata}, {"spec", spec}, {"status", status}};
}

json::object strategic_difference(const json::object& a, const json::object& b);

const Json* item_of(const json::array& list, const std::string& key, const Json& like) {
  for (const Json& item : list)
    if (key.empty() ? item == like : item.at(key) == like.at(key)) return &item;
  return nullptr;
}

// What the API machinery's two-way difference says of such a list.
void list_difference(std::string_view name, const std::string& key, const json::array& a,
                     const json::array& b, json::object& patch) {
  json::array items, order, gone;
  for (const Json& wanted : b) {
    order.push_back(key.empty() ? wanted : Json(json::object{{key, wanted.at(key)}}));
    const Json* old = item_of(a, key, wanted);
    if (old != nullptr && *old == wanted) continue;
    if (key.empty() || old == nullptr) {
      items.push_back(wanted);
      continue;
    }
    json::object change = strategic_difference(old->get_object(), wanted.get_object());
    change[key] = wanted.at(key);
    if (name == "volumes") {
      json::array kept;
      for (const auto& member : wanted.get_object()) kept.push_back(Json(member.key()));
      change["$retainKeys"] = std::move(kept);
    }
    items.push_back(std::move(change));
  }
  for (const Json& old : a)
    if (item_of(b, key, old) == nullptr)
      gone.push_back(key.empty() ? old
                                 : Json(json::object{{"$patch", "delete"}, {key, old.at(key)}}));
  const std::string field(name);
  patch["$setElementOrder/" + field] = std::move(order);
  if (key.empty() && !gone.empty()) patch["$deleteFromPrimitiveList/" + field] = gone;
  if (!key.empty())
    for (Json& one : gone) items.push_back(one);
  if (!items.empty()) patch[field] = std::move(items);
}

json::object strategic_difference(const json::object& a, const json::object& b) {
  json::object patch;
  for (const auto& [name, value] : a)
    if (!b.contains(name)) patch[name] = nullptr;
  for (const auto& [name, value] : b) {
    const Json* old = a.if_contains(name);
    if (old != nullptr && *old == value) continue;
    const auto key = list_keys.find(std::string_view(name));
    if (old != nullptr && key != list_keys.end())
      list_difference(name, key->second, old->get_array(), value.get_array(), patch);
    else if (old != nullptr && value.is_object())
      patch[name] = strategic_difference(old->get_object(), value.get_object());
    else
      patch[name] = value;
  }
  return patch;
}

TEST(StrategicPatchProperties, ADifferenceAppliedIsTheOther) {
  holds([] {
    const Json a = *drawn(pod_document).as("a"), b = *drawn(pod_document).as("b");
    const Json patch = strategic_difference(a.get_object(), b.get_object());
    const auto once = apply_strategic_patch(Pod::type(), a, patch);
    RC_ASSERT(once.has_value());
    RC_ASSERT(*once == b);
    const auto twice = apply_strategic_patch(Pod::type(), *once, patch);
    RC_ASSERT(twice.has_value());
    RC_ASSERT(*twice == b);
  });
}

TEST(StrategicPatchProperties, AListWithoutDirectivesLosesNobodyAndDoublesNobody) {
  holds([] {
    const Json a = *drawn(pod_document).as("a"), b = *drawn(pod_document).as("b");
    const Json* have = a.at("spec").get_object().if_contains("containers");
    const Json* add = b.at("spec").get_object().if_contains("containers");
    RC_PRE((have != nullptr && add != nullptr));
    const Json patch = json::object{{"spec", json::object{{"containers", *add}}}};
    const auto patched = apply_strategic_patch(Pod::type(), a, patch);
    RC_ASSERT(patched.has_value());
    std::set<std::string> wanted, found;
    for (const Json* list : {have, add})
      for (const Json& item : list->get_array()) wanted.emplace(item.at("name").as_string());
    for (const Json& item : patched->at("spec").at("containers").get_array())
      RC_ASSERT(found.emplace(item.at("name").as_string()).second);
    RC_ASSERT(found == wanted);
  });
}

// Of a list of texts the patch's come first, in its order, then who else was there in theirs.
TEST(StrategicPatchProperties, AListOfTextsHasThePatchsFirst) {
  holds([] {
    const std::vector<std::string> all{"t/a", "t/b", "t/c", "t/d", "t/e"};
    const auto some = [&] {
      std::vector<std::string> out;
      for (const std::string& name : all)
        if (*gen::arbitrary<bool>())
          out.insert(
              out.begin() + *gen::resize(rc::kNominalSize,
                                         gen::inRange<std::ptrdiff_t>(
                                             0, static_cast<std::ptrdiff_t>(out.size()) + 1)),
              name);
      return out;
    };
    const std::vector<std::string> have = some(), add = some();
    RC_PRE(!add.empty());
    const auto document = [](const std::vector<std::string>& finalizers) -> Json {
      return json::object{
          {"metadata", {{"finalizers", json::array(finalizers.begin(), finalizers.end())}}}};
    };
    const bool apart = std::none_of(add.begin(), add.end(), [&](const std::string& one) {
      return std::count(have.begin(), have.end(), one) > 0;
    });
    const auto patched = apply_strategic_patch(Pod::type(), document(have), document(add));
    RC_ASSERT(patched.has_value());
    std::vector<std::string> found, others;
    for (const Json& one : patched->at("metadata").at("finalizers").get_array())
      found.emplace_back(one.as_string());
    RC_LOG() << rc::toString(have) << " and " << rc::toString(add) << " make "
             << rc::toString(found) << "\n";
    std::vector<std::string> of_patch;
    for (const std::string& one : found)
      (std::count(add.begin(), add.end(), one) > 0 ? of_patch : others).push_back(one);
    std::vector<std::string> left = have;
    std::erase_if(
        left, [&](const std::string& one) { return std::count(add.begin(), add.end(), one) > 0; });
    RC_ASSERT(of_patch == add);
    RC_ASSERT(others == left);
    if (apart) RC_ASSERT(std::equal(add.begin(), add.end(), found.begin()));
  });
}

// --- Patches whose authors say what comes of them (api::Request::patched) ---

// Sees every call of a world, and holds each such patch against what is stored at that moment.
class PatchWitness final : public WorldFaults {
 public:
  PodRuntime& wrap(PodRuntime& runtime) override { return runtime; }
  api::CallVerdict on_call(const api::Caller&, const api::Request& request) override {
    if (request.patched && store != nullptr) compare(request);
    return {};
  }
  void on_answer(const api::Caller&, const api::Request&, const Result<api::Response>&) override {}
  api::EventVerdict on_event(const api::Caller&, const KindInfo&, const api::WatchEvent&) override {
    return {};
  }

  Store* store = nullptr;
  std::map<std::string, int> compared{};  // by kind
  std::string difference{};               // the first

 private:
  void compare(const api::Request& request) {
    const KindInfo& kind = *request.target.kind;
    const ObjectPtr stored =
        store->objects(kind).find(request.target.namespace_, request.target.name);
    const std::shared_ptr<const Object> told = stored ? request.patched(stored) : nullptr;
    if (!told) return;
    ++compared[kind.kind];
    const auto json = apply_strategic_patch(kind.type(), encode(*stored), *request.body.get());
    const auto decoded = json ? decode_object(store->kinds(), *json) : fail(json.error());
    if (!difference.empty()) return;
    if (!decoded)
      difference = decoded.error().message;
    else if (!is_same(*told, *decoded->object))
      difference = to_text(*told) + "\nis not\n" + to_text(*decoded->object);
  }

  // What the server keeps of the metadata has not been through JSON.
  static bool is_same(const Object& told, Object& decoded) {
    if (encode(told) != encode(decoded)) return false;
    decoded.metadata = told.metadata;
    return equal(told, decoded);
  }
};

TEST(PatchProperties, WhatAnAuthorSaysOfItsPatchIsWhatThePatchMakes) {
  int events = 0, statuses = 0;
  holds(
      [&] {
        const WorldPlan plan = *quiet_plan().as("world");
        PatchWitness witness;
        ClusterRun run(plan.seed, plan.profile, {}, &witness);
        witness.store = &run.world().store();
        for (const WorldEvent& event : plan.events) apply(run, plan, event);
        RC_ASSERT(witness.difference == "");
        events += witness.compared["Event"];
        statuses += witness.compared["Pod"];
      },
      6);
  EXPECT_GT(events, 0);
  EXPECT_GT(statuses, 0);
}

}  // namespace
}  // namespace ddptwin::property::patch_properties_test
