/* memory.h - the header of this name that Gloo's own headers include, but Gloo does not install
 *
 * Gloo's classes have members of these types. What the library does with them is in the library;
 * comm_gloo.cc needs their size alone, which is the same since 2019. The compiler looks here last.
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <memory>

namespace gloo {

template <typename T> class NonOwningPtr final {
    std::shared_ptr<T> ptr_;
};

template <typename T> class WeakNonOwningPtr final {
    std::weak_ptr<T> ptr_;
};

} // namespace gloo
