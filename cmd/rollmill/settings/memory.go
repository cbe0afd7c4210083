package settings

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
)

// CollectEarly makes the garbage collector run earlier, for commands whose memory
// is mostly large byte slices. These hold no pointers, so collecting costs almost
// nothing, and peak memory is at most 1.5 times the memory in use. GOGC decides if it is set.
func CollectEarly() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// CollectLate makes the garbage collector run later, for commands that allocate much more than
// they keep: memory that is never touched, and so takes none, counts as memory in use until the
// returned function is called. Peak memory grows by as much.
func CollectLate(bytes int) (end func()) {
	untouched := make([]byte, bytes)
	return func() { runtime.KeepAlive(untouched) }
}

// LimitGarbage keeps memory with garbage hardly beyond 1 GiB, for commands that keep less. One
// that keeps more would collect all the time.
func LimitGarbage() {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 { // else the user has set it
		debug.SetMemoryLimit(850 << 20)
	}
}

// CollectEvenly is for commands that keep little and allocate much: garbage takes
// half of what is in use, and half of so many bytes.
func CollectEvenly(bytes int) (end func()) {
	CollectEarly()
	return CollectLate(bytes)
}
