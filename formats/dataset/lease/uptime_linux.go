package lease

import (
	"time"

	"golang.org/x/sys/unix"
)

// uptime also advances while the machine sleeps.
func uptime() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return time.Since(processBegan)
	}
	return time.Duration(now.Nano())
}
