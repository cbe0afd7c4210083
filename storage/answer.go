package storage

import (
	"errors"
	"io"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"google.golang.org/api/googleapi"
)

// kindOfAnswer is the kind of a store's answer, or nil when the error is none.
// It looks before gocloud's codes do: those take a refusal of Google's for an
// object that is not there, and a missing bucket for a missing object.
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
	case "RequestTimeout", "SlowDown", "OperationAborted", "ConditionalRequestConflict", "ServerBusy":
		return ErrTemporary
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

// answer is the status and the code by which a store refused: 0 and "" when it
// did not answer.
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
