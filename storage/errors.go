package storage

import (
	"errors"
	"io/fs"
	"net"
	"syscall"

	"gocloud.dev/gcerrors"
)

// The kinds of failure that callers act on. Test with errors.Is. The first two
// are also fs.ErrNotExist and fs.ErrExist, for callers that accept any store.
var (
	ErrNotExist  error = kind{"does not exist", fs.ErrNotExist}
	ErrExist     error = kind{"already exists", fs.ErrExist}
	ErrDenied          = errors.New("permission denied")
	ErrNoBucket        = errors.New("the bucket does not exist, or may not be seen")
	ErrTemporary       = errors.New("temporary storage failure")
	ErrChanged         = errors.New("the object was changed meanwhile")
	ErrChecksums error = addressError("the store refuses the checksums that S3's client adds")
	ErrNoLinks   error = addressError("the file system has neither hard links nor a rename that keeps an existing file, " +
		"so it cannot create a file only once")
	ErrUnguarded error = addressError("the store ignores the condition to replace an object only if it is " +
		"unchanged (If-Match)")
)

type kind struct {
	text string
	std  error
}

func (k kind) Error() string { return k.text }
func (k kind) Unwrap() error { return k.std }

// addressError reports that this package cannot open a URI.
type addressError string

func (e addressError) Error() string { return string(e) }
func (addressError) Misused() bool   { return true }

// kindOf returns the kind of an error of the operating system, of a store's
// server or of gocloud, or nil.
func kindOf(err error) error {
	for _, known := range []error{ErrNotExist, ErrExist, ErrDenied, ErrNoBucket, ErrTemporary, ErrChanged, ErrUnguarded, ErrChecksums, ErrNoLinks} {
		if errors.Is(err, known) {
			return known
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrNotExist
	case errors.Is(err, fs.ErrExist):
		return ErrExist
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return ErrDenied
	}
	if kind := kindOfAnswer(err); kind != nil {
		return kind
	}
	if name := (*net.DNSError)(nil); errors.As(err, &name) && name.IsNotFound {
		return nil // a mistyped address is not temporary
	}
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		return ErrNotExist
	case gcerrors.AlreadyExists, gcerrors.FailedPrecondition:
		return ErrExist
	case gcerrors.PermissionDenied:
		return ErrDenied
	case gcerrors.ResourceExhausted, gcerrors.DeadlineExceeded:
		return ErrTemporary
	}
	// An errno is a net.Error too: a full disk, or a file where a folder should
	// be, keeps its error.
	if network := net.Error(nil); errors.As(err, &network) {
		if errno, ok := network.(syscall.Errno); !ok || errno.Temporary() {
			return ErrTemporary
		}
	}
	return nil
}
