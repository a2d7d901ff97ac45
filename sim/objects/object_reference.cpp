#include "objects/object_reference.hpp"

#include "objects/kinds.hpp"

namespace ddptwin {

ObjectReference object_reference(const Object& object, std::string_view field_path) {
  const KindInfo& kind = object.kind();
  ObjectReference reference;
  reference.kind = kind.kind;
  reference.namespace_ = object.metadata.namespace_;
  reference.name = object.metadata.name;
  reference.uid = object.metadata.uid;
  reference.apiVersion = kind.api_version();
  reference.resourceVersion = object.metadata.resourceVersion;
  reference.fieldPath = field_path;
  return reference;
}

}  // namespace ddptwin
