#include "bigint/limb.hpp"
namespace hekat { int placeholder(); int placeholder() { return 0; } }
