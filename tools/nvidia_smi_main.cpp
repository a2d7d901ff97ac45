// nvidia-smi in pods of real runs whose machine has no card: lists the modelled devices that the
// container was given. Where the machine has cards its own nvidia-smi lists those.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "runtime/model/programs/nvidia_smi.hpp"
#include "runtime/visible_devices.hpp"

int main(int argc, char** argv) {
  const char* told = std::getenv(ddptwin::visible_devices_variable.data());
  const std::vector<std::string> words(argv + 1, argv + argc);
  char date[64] = "";
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  if (localtime_r(&now, &parts) != nullptr)
    std::strftime(date, sizeof date, "%a %b %e %H:%M:%S %Y", &parts);
  const auto answer = ddptwin::model::answer_nvidia_smi(
      words, ddptwin::visible_devices(told == nullptr ? "" : told), date);
  std::fputs(answer.text.c_str(), stdout);
  return answer.code;
}
