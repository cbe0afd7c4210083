package stages

import (
	"os"

	"github.com/rollmill/rollmill/storage/fault"
)

// Spill says how a stage sorts data that is not in the order it needs: within
// this memory, and beyond it in temporary files without a name, which the
// system removes even after a process was killed. It does not decide rows.
type Spill struct {
	Dir    string // where the files are; default: the system's folder for temporary files
	Memory int64  // bytes; default DefaultSpillMemory
}

// DefaultSpillMemory is how much is sorted in memory: more saves no time, since
// any number of runs are merged at once.
const DefaultSpillMemory = 64 << 20

// Validate returns an error for invalid settings.
func (s *Spill) Validate(stage string) error {
	if s.Dir != "" {
		if info, err := os.Stat(s.Dir); err != nil || !info.IsDir() {
			return fault.Errorf(fault.Usage, "make it, or name another", "%s: --spill-dir %q is not a folder", stage, s.Dir)
		}
	}
	if s.Memory == 0 {
		s.Memory = DefaultSpillMemory
	}
	return nil
}
