#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace ddptwin {

template <class Signature, std::size_t inline_size = 48>
class UniqueFunction;

// A callable that is moved, never copied, and so may own what cannot be copied
// (std::move_only_function comes with C++23). Callables of up to inline_size bytes live inside it.
// Calling an empty one is undefined.
template <class R, class... Args, std::size_t inline_size>
class UniqueFunction<R(Args...), inline_size> {
 public:
  UniqueFunction() = default;
  UniqueFunction(std::nullptr_t) {}  // NOLINT: as std::function
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, UniqueFunction> &&
           std::is_invocable_r_v<R, std::remove_cvref_t<F>&, Args...>)
      UniqueFunction(F&& f) {  // NOLINT: implicit, as std::function
    make(std::forward<F>(f));
  }
  UniqueFunction(UniqueFunction&& other) noexcept { take(other); }
  UniqueFunction& operator=(UniqueFunction&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  UniqueFunction& operator=(std::nullptr_t) noexcept {
    reset();
    return *this;
  }
  ~UniqueFunction() { reset(); }

  // Another callable, made where it stays. Precondition: there is none.
  template <class F>
  void emplace(F&& f) {
    if constexpr (std::is_same_v<std::remove_cvref_t<F>, UniqueFunction>)
      *this = std::forward<F>(f);
    else
      make(std::forward<F>(f));
  }

  explicit operator bool() const { return ops_ != nullptr; }
  R operator()(Args... args) { return ops_->call(buffer_, std::forward<Args>(args)...); }

 private:
  struct Ops {
    R (*call)(void*, Args&&...);
    void (*move)(void* to, void* from);
    void (*destroy)(void*);
  };
  template <class T>
  static constexpr Ops inline_ops{[](void* p, Args&&... args) -> R {
                                    return (*static_cast<T*>(p))(std::forward<Args>(args)...);
                                  },
                                  [](void* to, void* from) {
                                    new (to) T(std::move(*static_cast<T*>(from)));
                                    static_cast<T*>(from)->~T();
                                  },
                                  [](void* p) { static_cast<T*>(p)->~T(); }};
  template <class T>
  static constexpr Ops heap_ops{
      [](void* p, Args&&... args) -> R {
        return (**static_cast<T**>(p))(std::forward<Args>(args)...);
      },
      [](void* to, void* from) { *static_cast<T**>(to) = *static_cast<T**>(from); },
      [](void* p) { delete *static_cast<T**>(p); }};

  template <class F>
  void make(F&& f) {
    using T = std::remove_cvref_t<F>;
    if constexpr (sizeof(T) <= inline_size && alignof(T) <= alignof(void*) &&
                  std::is_nothrow_move_constructible_v<T>) {
      new (buffer_) T(std::forward<F>(f));
      ops_ = &inline_ops<T>;
    } else {
      *reinterpret_cast<T**>(buffer_) = new T(std::forward<F>(f));
      ops_ = &heap_ops<T>;
    }
  }
  void take(UniqueFunction& other) {
    ops_ = other.ops_;
    if (ops_ != nullptr) ops_->move(buffer_, other.buffer_);
    other.ops_ = nullptr;
  }
  void reset() {
    if (ops_ != nullptr) ops_->destroy(buffer_);
    ops_ = nullptr;
  }

  const Ops* ops_ = nullptr;
  alignas(void*) std::byte buffer_[inline_size];
};

// What a loop calls. Thousands wait at once, each in a line of a cache (VirtualLoop): what is
// posted often has no more to say than an object, who wants it and a number.
using Callback = UniqueFunction<void(), 32>;

}  // namespace ddptwin
