// Components that several files name, as they are to the API and in their own records.
#pragma once

namespace ddptwin {

inline constexpr char manager_actor[] = "kube-controller-manager";
// Which client of it lists and watches, for all of its controllers.
inline constexpr char manager_informers[] = "shared-informers";
inline constexpr char provisioner_actor[] = "external-provisioner";
inline constexpr char operator_actor[] = "training-operator";
inline constexpr char jobset_actor[] = "jobset";
inline constexpr char trainer_actor[] = "trainer";

}  // namespace ddptwin
