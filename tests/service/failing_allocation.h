// For tests of what happens when memory runs out.
#pragma once

namespace quiver::service {

/// Of this thread's next allocations the first `n_before` succeed and the next `n` fail.
void fail_allocations(int n_before, int n);

}  // namespace quiver::service
