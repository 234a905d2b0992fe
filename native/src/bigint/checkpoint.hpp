// Where long work asks whether to go on.
#pragma once

namespace hekat {

// Called now and then in long work, as often as public sizes say; may throw, and then ends it.
using Checkpoint = void (*)();

}  // namespace hekat
