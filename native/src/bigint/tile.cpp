// Which tile routines a path takes.
#include "bigint/tile.hpp"

namespace hekat {

const TileKernels& tile_kernels(CpuPath path) {
    return path == CpuPath::kPortable ? portable_tile_kernels() : *x86_tile_kernels();
}

}  // namespace hekat
