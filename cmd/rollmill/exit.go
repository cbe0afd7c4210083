package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage"
)

// The exit codes are API: Make, Airflow and Slurm act on them.
const (
	exitDone       = 0
	exitFailed     = 1
	exitUsage      = 2
	exitGate       = 3
	exitInput      = 4
	exitBudget     = 5
	exitPerson     = 6
	exitCrash      = 70 // EX_SOFTWARE of sysexits.h
	exitTemporary  = 75
	exitInterrupt  = 130
	exitAbort      = 134 // 128 + SIGABRT, which Go's runtime raises
	exitTerminated = 143
)

// exitCodes are the codes and their meanings, as --help shows them.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{exitDone, "done, or up to date"},
	{exitFailed, "failed"},
	{exitUsage, "wrong usage or config"},
	{exitGate, "a gate refused the dataset; it is kept"},
	{exitInput, "input invalid or incomplete"},
	{exitBudget, "budget spent; finished work is kept"},
	{exitPerson, "manual action required; see the hint"},
	{exitCrash, "crashed; please report it at " + bugReports},
	{exitTemporary, "temporary; the same command may succeed later"},
	{exitInterrupt, "interrupted; finished work is kept"},
	{exitAbort, "crashed outside the command's own goroutine, or stopped by the Go runtime; please report it too"},
	{exitTerminated, "terminated; finished work is kept"},
}

// exitCode maps the kind of an error to an exit code.
func exitCode(ctx context.Context, err error) int {
	var (
		gate   *dataset.GateError
		staged *stages.Error
		signal interrupted
		status exitWith
		exists *dataset.ExistsError

		misused   interface{ Misused() bool }   // implemented by backends and storage, which do not import stages
		temporary interface{ Temporary() bool } // implemented by them and by package net
	)
	switch {
	case err == nil:
		return exitDone
	case errors.As(context.Cause(ctx), &signal):
		return 128 + int(signal.signal)
	case errors.As(err, &status):
		return status.code
	case errors.As(err, &gate):
		return exitGate
	case errors.As(err, &staged) && staged.Kind != stages.KindFailed:
		return kindCodes[staged.Kind]
	case errors.As(err, &exists), errors.As(err, &misused) && misused.Misused():
		return exitUsage
	case errors.Is(err, storage.ErrTemporary), errors.As(err, &temporary) && temporary.Temporary():
		return exitTemporary
	case errors.Is(err, formats.ErrInvalid), errors.Is(err, storage.ErrNotExist):
		return exitInput
	}
	return exitFailed
}

// exitWith is an error with an exit code that a setting or a program chose.
type exitWith struct {
	code int
	what string
}

func (e exitWith) Error() string { return e.what }

var kindCodes = map[stages.Kind]int{
	stages.KindFailed:    exitFailed,
	stages.KindUsage:     exitUsage,
	stages.KindBudget:    exitBudget,
	stages.KindPerson:    exitPerson,
	stages.KindTemporary: exitTemporary,
}

// hint returns the first hint in an error's tree, or a hint for its kind.
func hint(err error) string {
	if h := hintIn(err); h != "" {
		return h
	}
	switch {
	case errors.Is(err, storage.ErrNotExist):
		return "check the address, and that the previous step was run"
	case errors.Is(err, storage.ErrDenied):
		return "check the permissions, or the credentials in the environment"
	case errors.Is(err, storage.ErrNoBucket):
		return "create the bucket, or check its name and region; data in a deleted bucket is lost"
	case errors.Is(err, storage.ErrTemporary):
		return "run the same command again; finished work is kept"
	case errors.Is(err, formats.ErrInvalid):
		return "it was truncated or changed after it was written: restore it, or write it again with --overwrite"
	case errors.Is(err, syscall.ENOSPC):
		return "free some space and run the same command again; finished work is kept"
	}
	return ""
}

func hintIn(err error) string {
	if h, ok := err.(interface{ Hint() string }); ok && h.Hint() != "" {
		return h.Hint()
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return hintIn(inner)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if h := hintIn(inner); h != "" {
				return h
			}
		}
	}
	return ""
}

// usage returns a usage error: a wrong flag, config key or argument.
func usage(hint, format string, args ...any) error {
	return stages.Errorf(stages.KindUsage, hint, format, args...)
}

// exitHelp returns the list of exit codes for --help.
func exitHelp() string {
	var b strings.Builder
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "  %3d  %s\n", e.code, e.meaning)
	}
	return b.String()
}
