//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package storage

import (
	"context"
	"sync"
	"time"
)

var folders sync.Mutex

// lockFolder locks only against goroutines of this process.
func lockFolder(context.Context, string) (unlock func(), err error) {
	folders.Lock()
	return folders.Unlock, nil
}

var lockWait time.Duration // nothing waits here
