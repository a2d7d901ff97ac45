#include "dns/resolver.hpp"

#include <algorithm>

namespace ddptwin::dns {
namespace {

constexpr std::string_view actor = "dns";

bool is_address(const ResourceRecord& record) {
  return record.type == RecordType::a || record.type == RecordType::aaaa;
}

// Those of an alias are of the name that it leads to: a client passes over others (RFC 1034
// §3.6.2).
void replace_addresses(const Question& question, const std::vector<Ipv4>& addresses,
                       std::uint32_t ttl, Answer& answer) {
  if (question.type != RecordType::a) return;
  answer.rcode = Rcode::no_error;
  answer.authority.clear();
  std::erase_if(answer.answers, is_address);
  const Name* alias =
      answer.answers.empty() ? nullptr : std::get_if<Name>(&answer.answers.back().data);
  const Name owner = alias != nullptr ? *alias : question.name;
  for (const Ipv4& address : addresses)
    answer.answers.push_back({owner, RecordType::a, class_in, ttl, address});
}

}  // namespace

Resolver::Resolver(Loop& loop, Trace& trace, Random random, const Zone& zone)
    : loop_(loop), trace_(trace), random_(random), zone_(zone), lane_(loop.new_lane()) {}

void Resolver::ask(Query query, Done done) {
  Verdict verdict = fault_ ? fault_(query) : Verdict{};
  const std::uint64_t id = ++last_id_;
  const Duration delay = verdict.delay;
  Open& open = open_[id];
  open = Open{std::move(query), std::move(verdict), std::move(done), Timer()};
  open.timer = loop_.after(lane_, delay, [this, id] { finish(id); });
}

void Resolver::finish(std::uint64_t id) {
  Open open = std::move(open_.extract(id).mapped());
  std::optional<Answer> answer;
  if (!open.verdict.lose) answer = judged(open.query, open.verdict);
  const Question& question = open.query.question;
  const std::string subject = question.name.text() + " " + to_text(question.type);
  const std::string text = answer ? to_text(*answer) : "lost";
  trace_.write({.kind = RecordKind::dns,
                .actor = actor,
                .subject = subject,
                .text = text,
                .values = {{"client", open.query.client}}});
  open.done(std::move(answer));
}

Answer Resolver::judged(const Query& query, const Verdict& verdict) {
  if (verdict.rcode) return {.rcode = *verdict.rcode, .authoritative = false};
  Answer answer = zone_.answer(query.question);
  if (verdict.addresses)
    replace_addresses(query.question, *verdict.addresses, zone_.options().ttl, answer);
  shuffle(answer.answers);
  return answer;
}

// Aliases stay in front, in their order.
void Resolver::shuffle(std::vector<ResourceRecord>& records) {
  const auto first = std::stable_partition(records.begin(), records.end(),
                                           [](const auto& r) { return !is_address(r); });
  for (auto left = records.end() - first; left > 1; --left)
    std::iter_swap(
        first + (left - 1),
        first + static_cast<std::ptrdiff_t>(random_.below(static_cast<std::uint64_t>(left))));
}

}  // namespace ddptwin::dns
