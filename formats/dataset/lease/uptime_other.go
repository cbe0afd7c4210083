//go:build !linux

package lease

import "time"

// uptime is the monotonic clock: other systems have none that surely advances while the machine sleeps.
func uptime() time.Duration { return time.Since(processBegan) }
