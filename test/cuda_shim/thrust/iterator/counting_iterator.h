/* cuda_shim/thrust/iterator/counting_iterator.h -- the numbers from one on.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_SHIM_THRUST_COUNTING_ITERATOR_H
#define ETX_SHIM_THRUST_COUNTING_ITERATOR_H

#include <stdint.h>

namespace thrust
{

template <typename T> class counting_iterator
{
  public:
    explicit counting_iterator(T from) : first(from)
    {
    }
    T operator[](int64_t i) const
    {
        return (T)(first + (T)i);
    }

  private:
    T first;
};

} // namespace thrust

#endif
