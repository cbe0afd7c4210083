package storage

import (
	"errors"
	"net/http"
	"strings"

	"github.com/rollmill/rollmill/storage/fault"
)

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

// failed returns a failure for an error of a step at a place.
func failed(step, uri string, err error) error {
	f := &failure{text: step + ": " + err.Error(), errs: []error{err}, hint: advice(uri, err)}
	if kind := kindOf(err); kind != nil && !errors.Is(err, kind) {
		f.text = step + ": " + kind.Error() + ": " + err.Error()
		f.errs = []error{kind, err}
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
	if errors.Is(err, ErrUnguarded) {
		return "use a local disk or another store for what is replaced, or write a new folder; `rollmill check --store " +
			"URI` tests a store"
	}
	if errors.Is(err, ErrNoLinks) {
		return "write to a local disk, or to the bucket itself (s3://, gs://, azblob://) and not to its mounted folder"
	}
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

// expired reports whether an error is about credentials that have expired.
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
