//go:build !linux

package storage

import (
	"errors"
	"os"
)

// unnamedFile fails: only Linux has unnamed files, and drafts are named
// temporary files elsewhere.
func unnamedFile(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func linkUnnamed(*os.File, string) error { return errors.ErrUnsupported }

func renameNew(string, string) error { return errors.ErrUnsupported }
