// What a shell reads itself: read, mapfile.
#include <fmt/format.h>

#include <csignal>
#include <utility>

#include "runtime/model/shell/fields.hpp"
#include "runtime/model/shell/interpreter.hpp"

namespace ddptwin::model::shell {

// Goes on when what is read has changed; when it has not by then, as it is.
void Interpreter::until_there_is_more(std::optional<Duration> patience, Then then, Then late) {
  reading_ = std::move(then);
  TimerId limit = 0;
  if (patience)
    limit = process_.after(*patience, [this, late = std::move(late)] {
      if (std::exchange(reading_, nullptr)) late();
    });
  process_.when_input_changes([this, limit] {
    process_.cancel(limit);
    if (reading_) std::exchange(reading_, nullptr)();
  });
}

void Interpreter::read(const Strings& words, const Done& done) {
  const auto order = read_order(words, scope_.dialect);
  if (!order) {
    complain(fmt::format("read: {}", order.error().message));
    const bool of_name = is_bash() && order.error().message.starts_with('`');
    return done(of_name ? 1 : misused_code);
  }
  read_line(*order, done);
}

void Interpreter::read_line(const ReadOrder& order, const Done& done) {
  const std::shared_ptr<Input>& input = process_.input();
  const ReadLine line = text_of_read(input == nullptr ? std::string_view() : input->rest(), order);
  const bool waits = !line.whole && input != nullptr && input->is_open();
  constexpr int late_code = 128 + SIGALRM;
  if (waits)
    return until_there_is_more(
        order.patience, [this, order, done] { read_line(order, done); },
        [this, order, done] { take_line(order, late_code, done); });
  take_line(order, line.whole ? 0 : 1, done);
}

void Interpreter::take_line(const ReadOrder& order, int status, const Done& done) {
  const std::shared_ptr<Input>& input = process_.input();
  const ReadLine line = text_of_read(input == nullptr ? std::string_view() : input->rest(), order);
  if (input != nullptr) input->read(line.size);
  const std::string separators = order.exact ? "" : variables_.value("IFS").value_or(" \t\n");
  if (!order.array.empty()) {
    variables_.set_elements(order.array, fields_of_read(line, separators, 0));
    return done(status);
  }
  if (order.names.empty()) {
    variables_.set("REPLY", line.text);
    return done(status);
  }
  const Strings fields = fields_of_read(line, separators, order.names.size());
  for (std::size_t i = 0; i < order.names.size(); ++i) {
    if (refuses(order.names[i], is_bash() ? "" : "read: "))
      return scope_.exits_on_error || !is_bash() ? leave(is_bash() ? 1 : misused_code) : done(1);
    variables_.set(order.names[i], i < fields.size() ? fields[i] : "");
  }
  done(status);
}

// mapfile [-t] [NAME], and readarray.
void Interpreter::read_lines(const Strings& words, const Done& done) {
  const std::shared_ptr<Input>& input = process_.input();
  if (input != nullptr && input->is_open())
    return until_there_is_more(
        std::nullopt, [this, words, done] { read_lines(words, done); }, nullptr);
  const bool without_ends = words.size() > 1 && words[1] == "-t";
  const std::string& last = words.back();
  const std::string name = words.size() > (without_ends ? 2U : 1U) ? last : "MAPFILE";
  Strings lines;
  for (std::string text = input == nullptr ? "" : input->take(); !text.empty();) {
    const std::size_t end = text.find('\n');
    const std::size_t size = end == text.npos ? text.size() : end + 1;
    lines.push_back(text.substr(0, without_ends && end != text.npos ? end : size));
    text.erase(0, size);
  }
  variables_.set_elements(name, std::move(lines));
  done(0);
}

}  // namespace ddptwin::model::shell
