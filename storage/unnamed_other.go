//go:build !linux

package storage

import (
	"errors"
	"os"
)

// unnamedFile fails: only Linux has unnamed files, and elsewhere drafts are named temporary files.
func unnamedFile(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// writeBehind does nothing: only Linux can begin to write a range.
func writeBehind(*os.File, int64, int64) {}

func linkUnnamed(*os.File, string) error { return errors.ErrUnsupported }

func renameNew(string, string) error { return errors.ErrUnsupported }
