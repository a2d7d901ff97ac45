// Get and list: at which version, and page by page (spec/kubernetes.md section 1.9).
#include <fmt/format.h>

#include <algorithm>

#include "cluster/store/list_options.hpp"
#include "cluster/store/store.hpp"
#include "cluster/store/store_errors.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin {

// What of the objects a list shows.
struct Store::Page {
  std::uint64_t revision = 0;
  std::string start{};     // behind the namespace's prefix
  std::int64_t limit = 0;  // 0: all
};

Store::Answer Store::get(Context& context) {
  if (!context.request.list.untouched()) {
    TRY(const std::uint64_t version, version_number(context.request.list->resource_version));
    if (version > revision_) return fail(too_large_version_error(version, revision_));
  }
  ObjectPtr found = existing(context);
  if (found == nullptr) return absent(context);
  return answer_of(std::move(found));
}

Result<Store::Page> Store::page_of(const Context& context) const {
  const api::ListOptions& options = *context.request.list;
  const std::int64_t limit = std::max<std::int64_t>(options.limit, 0);
  const std::string& wanted = options.resource_version;
  if (!options.continue_.empty()) {
    if (!wanted.empty() && wanted != "0")
      return fail(Reason::bad_request,
                  "specifying resource version is not allowed when using continue");
    TRY(Continuation from, Continuation::parse(options.continue_));
    if (from.revision == Continuation::as_it_is_now) return Page{revision_, from.start, limit};
    const auto revision = static_cast<std::uint64_t>(from.revision);
    if (revision > revision_) return fail(too_large_version_error(revision, revision_));
    if (revision < compacted_)
      return fail(expired_page_error(Continuation{Continuation::as_it_is_now, from.start}.token()));
    return Page{revision, std::move(from.start), limit};
  }
  auto version = version_number(wanted);
  if (!version)
    return fail(Reason::bad_request, "invalid resource version: " + version.error().message);
  if (*version > revision_) return fail(too_large_version_error(*version, revision_));
  // Any state will do, and the cache that has one gives it whole.
  if (wanted == "0") return Page{revision_, {}, 0};
  // A limit without a match means that very version, as it did before there was a match.
  const std::string& match = options.resource_version_match;
  const bool exact = *version != 0 && (match == "Exact" || (match.empty() && limit > 0));
  if (!exact) return Page{revision_, {}, limit};
  if (*version < compacted_)
    return fail(Reason::expired, "The resourceVersion for the provided list is too old.");
  return Page{*version, {}, limit};
}

// The past: what came after the revision is taken back, the latest first.
std::vector<ObjectPtr> Store::objects_at(const Table& rows, std::string_view namespace_,
                                         std::uint64_t revision) const {
  std::vector<ObjectPtr> now = rows.objects.of_namespace(namespace_);
  if (revision == revision_) return now;
  std::map<std::string, ObjectPtr> past;
  for (ObjectPtr& object : now) past.emplace(key_of(object->metadata), std::move(object));
  for (auto change = history_.rbegin(); change != history_.rend(); ++change) {
    if (change->revision <= revision) break;
    if (change->table != &rows) continue;
    const ObjectMeta& meta = (change->before ? change->before.get() : change->after)->metadata;
    if (!namespace_.empty() && meta.namespace_ != namespace_) continue;
    past[key_of(meta)] = change->before;
  }
  std::vector<ObjectPtr> out;
  for (auto& [key, object] : past)
    if (object != nullptr) out.push_back(std::move(object));
  return out;
}

namespace {

const std::string& node_of(const ObjectPtr& pod) {
  static const std::string none;
  return pod != nullptr ? static_cast<const Pod&>(*pod).spec->nodeName : none;
}

}  // namespace

// While the pod is kept in `objects`. Both are states of it; null: there is none before or after.
void Store::note_node(Table& rows, const ObjectPtr& before, const ObjectPtr& after) {
  if (before != nullptr && after != nullptr &&
      static_cast<const Pod&>(*before).spec.same_as(static_cast<const Pod&>(*after).spec))
    return;
  const std::string &from = node_of(before), &to = node_of(after);
  if (from == to) return;
  const ObjectMeta& meta = (after != nullptr ? after : before)->metadata;
  const ObjectPtr* place = rows.objects.place(meta.namespace_, meta.name);
  const auto print = [](std::string_view node) { return Fingerprint::of(node); };
  if (auto* left = rows.pods_of_node.find(print(from)); left != nullptr) {
    std::erase(*left, place);
    if (left->empty()) rows.pods_of_node.erase(print(from));
  }
  if (!to.empty()) rows.pods_of_node[print(to)].push_back(place);
}

// In the order of their keys, as everything is listed.
std::vector<ObjectPtr> Store::pods_on(const Table& rows, const std::string& node) {
  std::map<std::string, ObjectPtr> found;
  if (const auto* places = rows.pods_of_node.find(Fingerprint::of(node)); places != nullptr)
    for (const ObjectPtr* place : *places) found.emplace(key_of((*place)->metadata), *place);
  std::vector<ObjectPtr> pods;
  for (auto& [key, pod] : found) pods.push_back(std::move(pod));
  return pods;
}

Store::Answer Store::list(Context& context) {
  const api::Request& request = context.request;
  if (request.list.untouched()) return list_all(context);
  TRY_VOID(validate_list_options(*request.list));
  auto filter = ObjectFilter::parse(context.kind, request.target, *request.list);
  if (!filter) return fail(std::move(filter.error()));
  auto page = page_of(context);
  if (!page) return fail(std::move(page.error()));
  return listed(context, *filter, *page);
}

// As they are now, which every informer begins with.
Store::Answer Store::list_all(const Context& context) const {
  Answer answer;
  answer->resource_version = std::to_string(revision_);
  answer->items = objects_at(context.rows, context.request.target.namespace_, revision_);
  return answer;
}

Store::Answer Store::listed(const Context& context, const ObjectFilter& filter,
                            const Page& page) const {
  const api::Request& request = context.request;
  const Text& space = request.target.namespace_;
  const Table& rows = context.rows;
  // A page that may be cut short tells of what it did not look at: it needs all of them.
  const std::string* node = &context.kind == &info_of<Pod>() ? filter.node() : nullptr;
  const bool of_one_node = node != nullptr && !node->empty() && page.revision == revision_ &&
                           page.limit == 0 && page.start.empty();
  const std::vector<ObjectPtr> all =
      of_one_node ? pods_on(rows, *node) : objects_at(rows, space, page.revision);
  const auto key = [&](const ObjectPtr& object) {
    return space.empty() ? key_of(object->metadata) : object->metadata.name.str();
  };
  auto at = page.start.empty()
                ? all.begin()
                : std::partition_point(all.begin(), all.end(), [&](const ObjectPtr& object) {
                    return key(object) < page.start;
                  });
  Answer answer;
  api::Response& response = *answer;
  response.resource_version = std::to_string(page.revision);
  const auto limit = static_cast<std::size_t>(page.limit);
  for (; at != all.end() && (limit == 0 || response.items.size() < limit); ++at)
    if (filter.matches(**at)) response.items.push_back(*at);
  if (at == all.end() || filter.names_one()) return answer;
  // What is left may match or not: the server that cuts a page does not look.
  response.continue_ = Continuation{static_cast<std::int64_t>(page.revision), key(*at)}.token();
  if (!filter.has_selectors()) response.remaining = all.end() - at;
  return answer;
}

}  // namespace ddptwin
