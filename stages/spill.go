package stages

import "os"

// Spill says how a stage sorts what does not lie in the order that it needs:
// in so much memory, and beyond it in files without a name, which the system
// takes back even from a process that was killed. It decides no row.
type Spill struct {
	Dir    string // where the files are; default: the system's folder for temporary files
	Memory int64  // bytes; default DefaultSpillMemory
}

// DefaultSpillMemory is how much is sorted in memory: more of it saves no time,
// since runs of any number are merged at once.
const DefaultSpillMemory = 64 << 20

// Validate reports what cannot be.
func (s *Spill) Validate(stage string) error {
	if s.Memory < 0 {
		return Errorf(KindUsage, "", "%s: --spill-memory is below 0", stage)
	}
	if s.Dir != "" {
		if info, err := os.Stat(s.Dir); err != nil || !info.IsDir() {
			return Errorf(KindUsage, "make it, or name another", "%s: --spill-dir %q is no folder", stage, s.Dir)
		}
	}
	if s.Memory == 0 {
		s.Memory = DefaultSpillMemory
	}
	return nil
}
