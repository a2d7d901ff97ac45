// What PyTorch says when something goes wrong, word for word and per version: `where` is Python's
// type, `message` its text, text() the last line of stderr.
// Source: spec/ddp-semantics.md §3.1-§3.3, §9.2, §9.3.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "runtime/model/profile.hpp"
#include "runtime/model/training.hpp"

namespace ddptwin::model {

// Environment.
Error variable_missing(std::string_view name);
Error not_a_number(std::string_view text);
Error port_outside(int port);

// Store.
Error port_in_use(const TorchProfile& torch, int port);
Error connect_timed_out(const TorchProfile& torch, Duration timeout, std::string_view host,
                        int port);
Error cannot_connect(const TorchProfile& torch, std::string_view host, int port,
                     std::string_view ip, int error_number);
Error key_missing(const TorchProfile& torch, Duration timeout, std::string_view keys);
Error store_closed(const TorchProfile& torch);
Error store_broken_pipe(const TorchProfile& torch);
Error clients_missing(const TorchProfile& torch, Duration timeout, int joined, int world);
std::string address_key(int rank);  // of the default group in 2.x

// Log lines of c10d on stderr.
std::string name_warning(const TorchProfile& torch, std::string_view host, int port, int gai_error);
std::string timeout_log(const TorchProfile& torch, const Error& error);

// Mesh.
Error rank_outside(const TorchProfile& torch, int rank, int world);
Error address_size(int expected, int found);
Error pair_refused(const TorchProfile& torch, std::string_view ip, int port);
Error pair_timed_out(const TorchProfile& torch, std::string_view ip, int port);
Error barrier_timed_out(int rank, int world, std::int64_t count);

// Training. Not for Loss::Kind::other_size, which aborts (tensor_size).
Error loss_error(const TorchProfile& torch, const Loss& loss, Duration timeout);
std::vector<std::string> tensor_size(const TorchProfile& torch, const Loss& loss);
Error other_shapes(int rank, std::string_view sizes);

}  // namespace ddptwin::model
