#include "scenario/language/documents.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <map>

#include "scenario/language/absent_kinds.hpp"
#include "scenario/language/cures.hpp"
#include "scenario/language/exported.hpp"
#include "scenario/language/member_at.hpp"
#include "scenario/systems/workloads.hpp"

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;

// What becomes of an object of the file.
enum class Fate : std::uint8_t {
  applied,
  set_aside,
  left,  // to the controller that made it
};

// An object on its way to the API.
struct Draft {
  Manifest manifest{};
  std::string kind{};
  std::string name{};
  std::string uid{};
  Fate fate = Fate::applied;
};

Draft draft_of(Manifest manifest) {
  Draft draft;
  draft.kind = text_at(*manifest.value, {"kind"});
  draft.name = text_at(*manifest.value, {"metadata", "name"});
  draft.uid = text_at(*manifest.value, {"metadata", "uid"});
  draft.manifest = std::move(manifest);
  return draft;
}

// As names.hpp names objects: job/train, rolebinding/team/admin; podlist.
std::string shown(const Draft& draft) {
  std::string kind = draft.kind;
  std::transform(kind.begin(), kind.end(), kind.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (draft.name.empty()) return kind;
  const std::string space = text_at(*draft.manifest.value, {"metadata", "namespace"});
  return space.empty() || space == "default" ? fmt::format("{}/{}", kind, draft.name)
                                             : fmt::format("{}/{}/{}", kind, space, draft.name);
}

std::string where_of(const Draft& draft) {
  return draft.manifest.document->where(draft.manifest.base);
}

void tell(const ParseContext& context, std::string object, std::string text) {
  context.side->notes.push_back({std::move(object), std::move(text)});
}

// ---- lists -------------------------------------------------------------------------------------

// As client-go tells a list: by its items.
const json::array* items_of(const json::value& value) {
  const json::value* items = member_at(value, {"items"});
  if (items == nullptr || !text_at(value, {"kind"}).ends_with("List")) return nullptr;
  return items->if_array();
}

// The items of PodList may leave out what each of them is.
std::shared_ptr<const json::value> item_of(const Manifest& list, std::size_t index) {
  const json::value& item = list.value->as_object().at("items").as_array()[index];
  std::string kind = text_at(*list.value, {"kind"});
  kind.resize(kind.size() - std::string_view("List").size());
  const json::object* object = item.if_object();
  if (kind.empty() || object == nullptr || object->contains("kind") ||
      object->contains("apiVersion"))
    return {list.value, &item};
  json::object whole{{"apiVersion", text_at(*list.value, {"apiVersion"})}, {"kind", kind}};
  for (const auto& member : *object) whole.insert(member);
  return std::make_shared<const json::value>(std::move(whole));
}

void flatten(Manifest manifest, const ParseContext& context, std::vector<Draft>& to) {
  const json::array* items = items_of(*manifest.value);
  if (items == nullptr) return to.push_back(draft_of(std::move(manifest)));
  tell(context, shown(draft_of(manifest)),
       fmt::format("{}: a list: its items are applied one by one, {} of them",
                   manifest.document->where(manifest.base), items->size()));
  const std::string base = manifest.base.empty() ? "items" : manifest.base + ".items";
  for (std::size_t i = 0; i < items->size(); ++i)
    flatten({manifest.document, item_of(manifest, i), fmt::format("{}[{}]", base, i), nullptr},
            context, to);
}

// ---- kinds that are not here -------------------------------------------------------------------

// What a server shows that is the cluster's own.
struct ClusterOwn {
  std::string_view kind;
  std::string_view name;  // empty: any
  std::string_view why;
};
constexpr std::array cluster_own{
    ClusterOwn{"Event", {}, "it tells of what is past"},
    ClusterOwn{"Node", {}, "the nodes are those that a Scenario describes"},
    ClusterOwn{"Service", "kubernetes", "it is the cluster's own"},
    ClusterOwn{"ConfigMap", "kube-root-ca.crt", "it is the cluster's own"},
    ClusterOwn{"ServiceAccount", "default", "it is the cluster's own"},
};

void set_aside_what_a_cluster_has(Draft& draft, const ParseContext& context) {
  const auto row =
      std::find_if(cluster_own.begin(), cluster_own.end(), [&draft](const ClusterOwn& one) {
        return one.kind == draft.kind && (one.name.empty() || one.name == draft.name);
      });
  if (row == cluster_own.end() || !is_exported(*draft.manifest.value)) return;
  draft.fate = Fate::set_aside;
  tell(context, shown(draft), fmt::format("{}: set aside: {}", where_of(draft), row->why));
}

void set_aside(Draft& draft, const ParseContext& context) {
  const YamlNode node(*draft.manifest.document, *draft.manifest.value, draft.manifest.base);
  const std::string api_version = text_at(*draft.manifest.value, {"apiVersion"});
  const auto absent = absent_kind(context.kinds, api_version, draft.kind, *draft.manifest.value);
  if (!absent) return;
  draft.fate = Fate::set_aside;
  context.side->set_aside.push_back({api_version, draft.kind, draft.name,
                                     node.member("kind")->where(), refusal_of(*absent),
                                     absent->runs});
  tell(context, shown(draft),
       fmt::format("{}: set aside, the twin has no {}: {}", where_of(draft), draft.kind,
                   absent->instead));
}

// ---- what controllers made ---------------------------------------------------------------------

// Objects of these kinds are made by whoever owns them; of others an owner may only be who they go
// with.
constexpr std::array<std::string_view, 5> made_kinds{"Pod", "Service", "Endpoints", "EndpointSlice",
                                                     "HorizontalPodAutoscaler"};

bool is_made(std::string_view kind) {
  const auto jobs = job_kinds();
  return std::find(made_kinds.begin(), made_kinds.end(), kind) != made_kinds.end() ||
         std::any_of(jobs.begin(), jobs.end(),
                     [kind](const JobKind& job) { return job.info().kind == kind; });
}

bool is_made_by_owner(const Draft& draft, const json::value& reference) {
  const json::value* controller = member_at(reference, {"controller"});
  return (controller != nullptr && controller->is_bool() && controller->as_bool()) ||
         is_made(draft.kind);
}

// By its uid, or by name where the file's own object has none.
Draft* owner_of(const Draft& draft, std::vector<Draft>& all) {
  const json::value* list = member_at(*draft.manifest.value, {"metadata", "ownerReferences"});
  if (list == nullptr || !list->is_array()) return nullptr;
  for (const json::value& reference : list->as_array()) {
    if (!is_made_by_owner(draft, reference)) continue;
    const std::string uid = text_at(reference, {"uid"});
    for (Draft& other : all) {
      const bool same = other.uid.empty() || uid.empty()
                            ? other.kind == text_at(reference, {"kind"}) &&
                                  other.name == text_at(reference, {"name"})
                            : other.uid == uid;
      if (same && &other != &draft) return &other;
    }
  }
  // Endpoints have no owner: they are their Service's by name.
  if (draft.kind != "Endpoints") return nullptr;
  const auto service = std::find_if(all.begin(), all.end(), [&draft](const Draft& other) {
    return other.kind == "Service" && other.name == draft.name;
  });
  return service == all.end() ? nullptr : &*service;
}

// One note an owner, whatever it has made.
void leave_to_controllers(std::vector<Draft>& drafts, const ParseContext& context) {
  std::map<const Draft*, std::vector<const Draft*>> left;
  std::vector<const Draft*> owners;
  for (Draft& draft : drafts) {
    if (draft.fate != Fate::applied || !is_exported(*draft.manifest.value)) continue;
    const Draft* owner = owner_of(draft, drafts);
    if (owner == nullptr) continue;
    draft.fate = Fate::left;
    if (left[owner].empty()) owners.push_back(owner);
    left[owner].push_back(&draft);
  }
  for (const Draft* owner : owners) {
    std::vector<std::string> names;
    for (const Draft* draft : left[owner]) names.push_back(shown(*draft));
    tell(context, shown(*owner),
         fmt::format("{}: left to {}: {}", where_of(*left[owner].front()),
                     owner->fate == Fate::set_aside ? "it, and so set aside too"
                                                    : "its controller, which makes them anew",
                     fmt::join(names, ", ")));
  }
}

void clear_what_a_server_wrote(Draft& draft, const ParseContext& context) {
  if (!is_exported(*draft.manifest.value)) return;
  json::value cleared = *draft.manifest.value;
  const auto fields = clear_exported(cleared);
  tell(context, shown(draft),
       fmt::format("{}: as a server showed it; not applied: {}", where_of(draft),
                   fmt::join(fields, ", ")));
  draft.manifest.value = std::make_shared<const json::value>(std::move(cleared));
}

void tell_repeated_keys(const Manifest& whole, const ParseContext& context) {
  for (const RepeatedKey& key : whole.document->repeated)
    tell(context, shown(draft_of(whole)),
         fmt::format("{}:{}:{}: {}; the last one holds", whole.document->file, key.at.line,
                     key.at.column, text_of(key)));
}

}  // namespace

Result<std::vector<Manifest>> take_objects(const Documents& documents,
                                           const ParseContext& context) {
  std::vector<Draft> drafts;
  for (const auto& document : documents) {
    if (std::string why = not_a_manifest(*document); !why.empty())
      return fail(Reason::bad_input, std::move(why), document->where(""));
    Manifest whole{document, {document, &document->value}, "", nullptr};
    tell_repeated_keys(whole, context);
    flatten(std::move(whole), context, drafts);
  }
  for (Draft& draft : drafts) {
    TRY_VOID(check_is_object(
        YamlNode(*draft.manifest.document, *draft.manifest.value, draft.manifest.base)));
    set_aside(draft, context);
    set_aside_what_a_cluster_has(draft, context);
  }
  leave_to_controllers(drafts, context);
  std::vector<Manifest> manifests;
  for (Draft& draft : drafts) {
    if (draft.fate != Fate::applied) continue;
    clear_what_a_server_wrote(draft, context);
    TRY_VOID(decode_manifest(draft.manifest, context));
    manifests.push_back(std::move(draft.manifest));
  }
  return manifests;
}

}  // namespace ddptwin::scenario
