//go:build !linux

package storage

import (
	"errors"
	"os"
)

// unnamedFile fails: only Linux has unnamed files, and elsewhere drafts are
// named temporary files.
func unnamedFile(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func linkUnnamed(*os.File, string) error { return errors.ErrUnsupported }

func renameNew(string, string) error { return errors.ErrUnsupported }
