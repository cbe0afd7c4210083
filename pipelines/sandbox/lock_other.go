//go:build !unix

package sandbox

import "os"

// lockDir locks nothing on systems without flock.
func lockDir(string) (*os.File, error) { return nil, nil }
