#include "runtime/model/shell/braces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/numbers.hpp"
#include "runtime/model/shell/tokens.hpp"

namespace ddptwin::model::shell {
namespace {

// A word in parts: a character that means something, or a piece that is as it is.
struct Part {
  char mark = '\0';  // '\0': the piece
  Piece piece{};
};
using Parts = std::vector<Part>;

bool is_written(const Piece& piece) { return piece.kind == Piece::Kind::literal && !piece.quoted; }

Parts parts_of(const Word& word) {
  Parts parts;
  for (const Piece& piece : word.pieces) {
    if (!is_written(piece)) {
      parts.push_back({'\0', piece});
      continue;
    }
    for (const char c : piece.text) {
      Piece one = piece;
      one.text = std::string(1, c);
      parts.push_back({c, std::move(one)});
    }
  }
  return parts;
}

Word word_of(const Parts& parts) {
  Word word;
  for (const Part& part : parts) {
    const bool joins = part.mark != '\0' && !word.pieces.empty() && is_written(word.pieces.back());
    if (joins) {
      word.pieces.back().text += part.mark;
    } else {
      word.pieces.push_back(part.piece);
    }
  }
  return word;
}

constexpr std::size_t words_max = 10'000;

// {1..3}, {01..10..2}, {a..c}: what it counts; nothing: it is none.
std::optional<std::vector<std::string>> counted(const Parts& parts) {
  std::string text;
  for (const Part& part : parts) {
    if (part.mark == '\0') return std::nullopt;
    text += part.mark;
  }
  std::vector<std::string> ends;
  for (std::string_view rest = text;;) {
    const std::size_t dots = rest.find("..");
    ends.emplace_back(rest.substr(0, dots));
    if (dots == rest.npos) break;
    rest.remove_prefix(dots + 2);
  }
  if (ends.size() != 2 && ends.size() != 3) return std::nullopt;
  auto first = whole_number<std::int64_t>(ends[0]), last = whole_number<std::int64_t>(ends[1]);
  const auto is_letter = [](const std::string& end) {
    return end.size() == 1 && std::isalpha(static_cast<unsigned char>(end.front())) != 0;
  };
  const bool letters = is_letter(ends[0]) && is_letter(ends[1]);
  if (letters) {
    first = ends[0].front();
    last = ends[1].front();
  }
  const auto step =
      ends.size() < 3 ? std::optional<std::int64_t>(1) : whole_number<std::int64_t>(ends[2]);
  constexpr std::int64_t number_max = 1'000'000'000;
  if (!first || !last || !step || std::abs(*first) > number_max || std::abs(*last) > number_max ||
      std::abs(*step) > number_max)
    return std::nullopt;
  const std::int64_t by = std::max<std::int64_t>(1, std::abs(*step)) * (*first <= *last ? 1 : -1);
  const auto pads = [](std::string_view end) {
    if (end.starts_with('-')) end.remove_prefix(1);
    return end.size() > 1 && end.front() == '0';
  };
  const bool padded = !letters && (pads(ends[0]) || pads(ends[1]));
  const std::size_t width = padded ? std::max(ends[0].size(), ends[1].size()) : 0;
  std::vector<std::string> made;
  for (std::int64_t i = *first; by > 0 ? i <= *last : i >= *last; i += by) {
    made.push_back(letters ? std::string(1, static_cast<char>(i))
                           : fmt::format("{:0{}}", i, width));
    if (made.size() > words_max) break;
  }
  return made;
}

// The first { whose } makes something of it.
struct Braces {
  std::size_t open, close;
  std::vector<std::size_t> commas{};
};
std::optional<Braces> braces_in(const Parts& parts) {
  for (std::size_t open = 0; open < parts.size(); ++open) {
    if (parts[open].mark != '{') continue;
    Braces found{open, open};
    int depth = 0;
    for (std::size_t at = open; at < parts.size(); ++at) {
      const char mark = parts[at].mark;
      depth += mark == '{' ? 1 : mark == '}' ? -1 : 0;
      if (mark == ',' && depth == 1) found.commas.push_back(at);
      if (depth > 0) continue;
      found.close = at;
      break;
    }
    if (found.close == open) continue;
    const Parts inner(parts.begin() + static_cast<std::ptrdiff_t>(open) + 1,
                      parts.begin() + static_cast<std::ptrdiff_t>(found.close));
    if (!found.commas.empty() || counted(inner)) return found;
  }
  return std::nullopt;
}

Parts slice(const Parts& parts, std::size_t from, std::size_t to) {
  return {parts.begin() + static_cast<std::ptrdiff_t>(from),
          parts.begin() + static_cast<std::ptrdiff_t>(to)};
}

Result<std::vector<Parts>> expanded(const Parts& parts, int depth) {
  constexpr int depth_max = 50;
  if (depth > depth_max) return fail(unknown("{ } within { } more than 50 times"));
  const std::optional<Braces> braces = braces_in(parts);
  if (!braces) return std::vector<Parts>{parts};
  std::vector<Parts> middles;
  if (braces->commas.empty()) {
    const auto all = counted(slice(parts, braces->open + 1, braces->close));
    for (const std::string& one : *all) {
      Word word;
      word.pieces.push_back({one, Piece::Kind::literal, false, "", {}, {}});
      middles.push_back(parts_of(word));
    }
  } else {
    std::size_t from = braces->open + 1;
    std::vector<std::size_t> ends = braces->commas;
    ends.push_back(braces->close);
    for (const std::size_t end : ends) {
      TRY(const std::vector<Parts> inner, expanded(slice(parts, from, end), depth + 1));
      middles.insert(middles.end(), inner.begin(), inner.end());
      from = end + 1;
    }
  }
  TRY(const std::vector<Parts> behind,
      expanded(slice(parts, braces->close + 1, parts.size()), depth + 1));
  if (middles.size() * behind.size() > words_max)
    return fail(unknown("{ } of more than 10000 words"));
  std::vector<Parts> made;
  for (const Parts& middle : middles) {
    for (const Parts& end : behind) {
      Parts whole = slice(parts, 0, braces->open);
      whole.insert(whole.end(), middle.begin(), middle.end());
      whole.insert(whole.end(), end.begin(), end.end());
      made.push_back(std::move(whole));
    }
  }
  return made;
}

}  // namespace

Result<std::vector<Word>> with_braces(const Word& word) {
  const bool may_be = std::any_of(word.pieces.begin(), word.pieces.end(), [](const Piece& piece) {
    return is_written(piece) && piece.text.find('{') != piece.text.npos;
  });
  if (!may_be) return std::vector{word};
  TRY(const std::vector<Parts> all, expanded(parts_of(word), 0));
  std::vector<Word> words;
  for (const Parts& one : all)
    if (!one.empty()) words.push_back(word_of(one));
  return words;
}

}  // namespace ddptwin::model::shell
