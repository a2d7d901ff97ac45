#include "scenario/run/manifest_walk.hpp"

#include <fmt/format.h>

#include <boost/json/value.hpp>

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;

void enter(const Place& place, const std::function<bool(const Place&)>& visit) {
  if (const json::array* list = place.value->if_array()) {
    for (std::size_t i = 0; i < list->size(); ++i)
      enter({&(*list)[i], fmt::format("{}[{}]", place.path, i)}, visit);
    return;
  }
  const json::object* object = place.value->if_object();
  if (object == nullptr || !visit(place)) return;
  for (const auto& member : *object) {
    std::string path = place.path + (place.path.empty() ? "" : ".");
    path += member.key();
    enter({&member.value(), std::move(path)}, visit);
  }
}

}  // namespace

void walk(const Manifest& manifest, const std::function<bool(const Place&)>& visit) {
  enter({manifest.value.get(), manifest.base}, visit);
}

}  // namespace ddptwin::scenario
