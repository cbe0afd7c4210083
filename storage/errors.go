package storage

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"gocloud.dev/gcerrors"
	"google.golang.org/api/googleapi"

	"github.com/rollmill/rollmill/storage/fault"
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
	ErrChecksums error = &kind{"the store refuses the checksums that S3's client adds", nil, fault.Usage, ""}
	ErrNoLinks   error = &kind{text: "the file system has neither hard links nor a rename that keeps an existing file, " +
		"so it cannot create a file only once", kind: fault.Usage,
		hint: "write to a local disk, or to the bucket itself (s3://, gs://, azblob://) and not to its mounted folder"}
	ErrUnguarded error = &kind{text: "the store ignores the condition to replace an object only if it is unchanged (If-Match)", kind: fault.Usage,
		hint: "use a local disk or another store for what is replaced, or write a new folder; `rollmill check --store URI` tests a store"}
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

// failure is a failed operation: the step, the place, its kind, and a hint.
type failure struct {
	text string
	errs []error // its kind, if known, and the store's error
	hint string
}

func (f *failure) Error() string   { return f.text }
func (f *failure) Unwrap() []error { return f.errs }

// Fault returns the hint of the place; the kind is that of the error below.
func (f *failure) Fault() (fault.Kind, string) { return fault.Failed, f.hint }

func failed(step, uri string, err error) error {
	f := &failure{text: step + ": " + err.Error(), errs: []error{err}, hint: advice(uri, err)}
	if kind := kindOf(err); kind != nil && !errors.Is(err, kind) {
		f.text = step + ": " + kind.Error() + ": " + err.Error()
		f.errs = []error{kind, err}
		switch missing := errors.Is(err, syscall.ENOENT); {
		case missing && strings.HasPrefix(step, "write "):
			f.hint = "no folder can be made there: check the address"
		case missing:
			f.text = step + ": " + kind.Error() // the system's error says the same of the same file
		}
	}
	return f
}

// credentials is where each store's own tools look for credentials.
var credentials = map[string]string{
	"s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; ?anonymous=true reads a public bucket",
	"gs": "set GOOGLE_APPLICATION_CREDENTIALS or run gcloud auth application-default login; ?anonymous=true reads a " +
		"public bucket",
	"azblob": "set AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_STORAGE_CONNECTION_STRING, or log in with az login",
}

// advice returns the hint for a store's error, or "" when its kind says enough.
func advice(uri string, err error) string {
	scheme, _, _ := strings.Cut(uri, "://")
	where := credentials[scheme]
	if where == "" {
		return ""
	}
	status, code := answer(err)
	text := err.Error()
	switch {
	case kindOf(err) == ErrChecksums, scheme == "s3" && status == http.StatusNotImplemented:
		setting := "request_checksum_calculation"
		if strings.Contains(text, "x-amz-checksum-mode") { // of a read
			setting = "response_checksum_validation"
		}
		return "if the store does not know S3's newer checksums: add " + setting + "=when_required to the URI's parameters, or set " +
			"AWS_" + strings.ToUpper(setting) + "=when_required"
	case expired(code, text):
		return "the credentials were valid and have expired: renew them and run the same command again; finished work is kept"
	case code == "InvalidAccessKeyId" || code == "SignatureDoesNotMatch" || code == "AuthenticationFailed" ||
		status == http.StatusUnauthorized:
		return "the store does not know these credentials: " + where
	case noCredentials(text):
		return "there are no credentials: " + where
	case code == "PermanentRedirect" || code == "AuthorizationHeaderMalformed" || status == http.StatusMovedPermanently,
		strings.Contains(text, "Invalid region"), strings.Contains(text, "MissingRegion"):
		return "set AWS_REGION, or ?region= in the URI, to the region the bucket is in"
	case strings.Contains(text, "AccountName is required"):
		return "set AZURE_STORAGE_ACCOUNT, or ?storage_account= in the URI, or AZURE_STORAGE_CONNECTION_STRING"
	case status == http.StatusForbidden:
		return "the credentials are known, but may not do this here: they must list, read, write and delete under the prefix"
	}
	return ""
}

func expired(code, text string) bool {
	switch code {
	case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired":
		return true
	}
	return strings.Contains(text, "invalid_grant") ||
		strings.Contains(text, "Signature not valid in the specified time frame")
}

// noCredentials reports whether an error is one with which the client libraries
// report missing credentials; they do not export its types.
func noCredentials(text string) bool {
	return strings.Contains(text, "get credentials:") || strings.Contains(text, "no Google credentials") ||
		strings.Contains(text, "failed to acquire a token")
}

// kindOfAnswer returns the kind of a store's response, or nil when the error is
// not a response. It is called before gocloud's codes are read: those report
// some of Google's refusals as a missing object, and a missing bucket as a
// missing object.
func kindOfAnswer(err error) error {
	if err == nil {
		return nil
	}
	status, code := answer(err)
	switch code {
	case "NoSuchBucket", "ContainerNotFound", "ContainerBeingDeleted", "AccountNotFound":
		return ErrNoBucket
	case "BlobAlreadyExists", "PreconditionFailed":
		return ErrExist
	case "NoSuchUpload": // it was completed, and the response was lost, or aborted: the object is sent again
		return ErrTemporary
	case "RequestTimeout", "SlowDown", "OperationAborted", "ConditionalRequestConflict", "ServerBusy":
		return ErrTemporary
	}
	if text := strings.ToLower(code + err.Error()); (status == http.StatusNotImplemented || status == http.StatusBadRequest) &&
		(strings.Contains(text, "x-amz-checksum") || strings.Contains(text,
			"x-amz-trailer") || strings.Contains(text, "x-amz-sdk-checksum")) {
		return ErrChecksums
	}
	if expired(code, err.Error()) || noCredentials(err.Error()) {
		return ErrDenied
	}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return ErrDenied
	case http.StatusNotFound:
		return ErrNotExist
	case http.StatusPreconditionFailed:
		return ErrExist
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return ErrTemporary
	}
	if status >= 500 && status != http.StatusNotImplemented || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrTemporary
	}
	return nil
}

// answer returns the status and the code of a store's error response: 0 and "" when there was none.
func answer(err error) (status int, code string) {
	var (
		aws       interface{ HTTPStatusCode() int }
		awsCode   interface{ ErrorCode() string }
		azure     *azcore.ResponseError
		googleAPI *googleapi.Error
	)
	if errors.As(err, &awsCode) {
		code = awsCode.ErrorCode()
	}
	switch {
	case errors.As(err, &azure):
		return azure.StatusCode, azure.ErrorCode
	case errors.As(err, &googleAPI):
		return googleAPI.Code, ""
	case errors.As(err, &aws):
		return aws.HTTPStatusCode(), code
	}
	return 0, code
}
