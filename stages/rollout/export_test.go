package rollout

import "time"

// SetPatience changes how long an agent may take to end, until restored.
func SetPatience(d time.Duration) (restore func()) {
	before := patience
	patience = d
	return func() { patience = before }
}
