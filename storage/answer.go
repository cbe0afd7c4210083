package storage

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"google.golang.org/api/googleapi"
)

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
		(strings.Contains(text, "x-amz-checksum") || strings.Contains(text, "x-amz-trailer") || strings.Contains(text, "x-amz-sdk-checksum")) {
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

// answer returns the status and the code of a store's error response: 0 and ""
// when there was none.
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
