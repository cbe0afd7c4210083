//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package storage

import (
	"context"
	"sync"
	"time"
)

var folders sync.Mutex

// lockFolder locks against goroutines of this process only.
func lockFolder(context.Context, string) (unlock func(), err error) {
	folders.Lock()
	return folders.Unlock, nil
}

var lockWait time.Duration // no one waits here
