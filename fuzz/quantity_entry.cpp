// resource.Quantity: whatever is read has a canonical text that reads as the same amount. The
// notation may be another: 1.953125Ki is 2000, as upstream writes it, which reads as 2k.
#include "entry.hpp"
#include "objects/quantity.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddptwin;
  const auto quantity = Quantity::parse(fuzz::text_of(data, size));
  if (!quantity) return 0;
  const std::string canonical = quantity->str();
  const auto again = Quantity::parse(canonical);
  fuzz::law(again.has_value() && *again == *quantity);
  fuzz::law(Quantity::from_nanos(again->nanos(), quantity->format()).str() == canonical);
  (void)quantity->value();
  (void)quantity->milli_value();
  return 0;
}
