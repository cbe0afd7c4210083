package terminal

import (
	"errors"
	"slices"
	"strings"
	"syscall"

	"github.com/rollmill/rollmill/storage/fault"
)

// hint returns the first hint in an error's tree, or one for errors of others.
func hint(err error) string {
	if h := fault.HintOf(err); h != "" {
		return h
	}
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return "a file is where a folder is expected: name the folder that a stage wrote or will write"
	case errors.Is(err, fault.ErrInvalid):
		return "it was truncated or changed after it was written: restore it, or write it again with --overwrite"
	case errors.Is(err, syscall.ENOSPC):
		return "free some space and run the same command again; finished work is kept"
	}
	return ""
}

// once returns a message without parts that repeat the part before them.
func once(text string) string {
	return strings.Join(slices.Compact(strings.Split(text, ": ")), ": ")
}
