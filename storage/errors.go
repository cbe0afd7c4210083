package storage

import (
	"errors"
	"io/fs"
	"net"
	"syscall"

	"github.com/rollmill/rollmill/storage/fault"
	"gocloud.dev/gcerrors"
)

// The kinds of failure that callers act on. Test with errors.Is. The first two
// are also fs.ErrNotExist and fs.ErrExist, for callers that accept any store.
var (
	ErrNotExist error = &kind{"does not exist", fs.ErrNotExist, fault.Input, "check the address, and that the previous step was run"}
	ErrExist    error = &kind{"already exists", fs.ErrExist, fault.Failed, ""}
	ErrDenied   error = &kind{"permission denied", nil, fault.Failed, "check the permissions, or the credentials in the environment"}
	ErrNoBucket error = &kind{"the bucket does not exist, or may not be seen", nil, fault.Failed,
		"create the bucket, or check its name and region; data in a deleted bucket is lost"}
	ErrTemporary error = &kind{"temporary storage failure", nil, fault.Temporary, "run the same command again; finished work is kept"}
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
	kind fault.Kind
	hint string
}

func (k *kind) Error() string               { return k.text }
func (k *kind) Unwrap() error               { return k.std }
func (k *kind) Fault() (fault.Kind, string) { return k.kind, k.hint }

// addressError reports that this package cannot open a URI.
type addressError string

func (e addressError) Error() string { return string(e) }

// Fault reports that the address is wrong.
func (addressError) Fault() (fault.Kind, string) { return fault.Usage, "" }

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
