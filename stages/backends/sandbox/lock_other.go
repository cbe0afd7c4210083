//go:build !unix

package sandbox

import "os"

// lockDir locks nothing where there is no flock.
func lockDir(string) (*os.File, error) { return nil, nil }
