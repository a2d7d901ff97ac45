// What processes read on their standard input: a file, a here-document or a pipe. All that were
// started with it share it, and how far it has been read (open(2): file descriptions).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddptwin::model {

class Input {
 public:
  // Of which nothing more comes.
  explicit Input(std::string text) : text_(std::move(text)) {}

  // What is there and has not been read.
  std::string_view rest() const { return std::string_view(text_).substr(at_); }
  void read(std::size_t size) { at_ += size; }
  std::string take() {
    std::string all(rest());
    read(all.size());
    return all;
  }
  // Somebody may still write.
  bool is_open() const { return open_; }
  // Called once, when something was written or nothing more comes; at once is never.
  void when_it_changes(std::function<void()> called) { waiting_.push_back(std::move(called)); }

  // The end that is written to: a pipe is closed when all that hold it are gone.
  class End {
   public:
    explicit End(std::shared_ptr<Input> pipe) : pipe_(std::move(pipe)) { pipe_->open_ = true; }
    ~End() {
      pipe_->open_ = false;
      pipe_->tell();
    }
    End(const End&) = delete;
    End& operator=(const End&) = delete;
    void write(std::string_view text) const {
      pipe_->text_.erase(0, std::exchange(pipe_->at_, 0));
      pipe_->text_ += text;
      pipe_->tell();
    }

   private:
    std::shared_ptr<Input> pipe_;
  };

 private:
  void tell() {
    for (const auto& called : std::exchange(waiting_, {})) called();
  }

  std::string text_;
  std::size_t at_ = 0;
  bool open_ = false;
  std::vector<std::function<void()>> waiting_{};
};

}  // namespace ddptwin::model
