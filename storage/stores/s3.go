package stores

import (
	"context"
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	"github.com/rollmill/rollmill/storage"
)

// s3Params are gocloud's parameters of an s3 URI.
var s3Params = []string{"accelerate", "anonymous", "disable_https", "dualstack", "endpoint", "fips", "hostname_immutable",
	"kmskeyid", "profile",
	"rate_limiter_capacity", "region", "request_checksum_calculation", "response_checksum_validation", "role",
	"s3ForcePathStyle", "ssetype", "use_path_style"}

// dialS3 opens a bucket of S3 or of a store that speaks its protocol. Keys,
// region and endpoint come from the URI's parameters or from AWS's own
// variables and files (AWS_ACCESS_KEY_ID, AWS_PROFILE, AWS_ENDPOINT_URL_S3 ...).
func dialS3(ctx context.Context, at storage.Location) (*storage.Client, error) {
	if err := unknown(at.Query, s3Params...); err != nil {
		return nil, err
	}
	opener := &s3blob.URLOpener{}
	plain, err := opener.OpenBucketURL(ctx, at.URL())
	if err != nil {
		return nil, err
	}
	var from *s3.Client
	plain.As(&from)
	api := s3.New(from.Options(), S3Options, func(o *s3.Options) {
		if ofThirdParty(at) {
			o.Retryer = retry.AddWithErrorCodes(o.Retryer, refusedInARace)
		}
	})
	drv, err := s3blob.OpenBucket(ctx, api, at.Bucket, &opener.Options)
	if err != nil {
		return nil, err
	}
	return &storage.Client{Bucket: drv, Exclusive: !ofThirdParty(at), IfVersion: ifETag}, nil
}

// S3Options changes the options of every client; tests add to it.
var S3Options = func(o *s3.Options) {
	o.Logger = logging.Nop{} // otherwise it logs a line on stderr for every object without a checksum
	o.APIOptions = append(o.APIOptions, abortAnyway)
	if c, is := o.HTTPClient.(*awshttp.BuildableClient); is {
		o.HTTPClient = c.WithTransportOptions(func(t *http.Transport) { t.MaxIdleConnsPerHost = connections })
	}
}

// connections is how many connections to a store are kept: as many as a command
// uses at once. The client's own 10 would be opened again and again.
const connections = 64

// ofThirdParty reports whether a store only uses S3's protocol. S3 itself is
// known to create exclusively.
func ofThirdParty(at storage.Location) bool {
	return at.Query.Get("endpoint") != "" || os.Getenv("AWS_ENDPOINT_URL") != "" || os.Getenv("AWS_ENDPOINT_URL_S3") != ""
}

// refusedInARace is what MinIO answers to a write while other requests delete the
// last objects of the same folder. The same write succeeds a moment later.
const refusedInARace = "AccessDenied"

// abortTime is how long aborting an interrupted upload may take.
const abortTime = 20 * time.Second

// abortAnyway aborts a multipart upload even when its context was cancelled.
// gocloud's writer sends the abort with the cancelled context, so the parts
// would stay, invisible, and be billed.
func abortAnyway(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("abortAnyway",
		func(ctx context.Context, in middleware.InitializeInput,
			next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			if _, aborts := in.Parameters.(*s3.AbortMultipartUploadInput); aborts {
				fresh, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
				defer cancel()
				ctx = fresh
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
}

// ifETag makes a write conditional on the object's ETag, also one in parts.
func ifETag(a *blob.Attributes) *blob.WriterOptions {
	return &blob.WriterOptions{BeforeWrite: func(as func(any) bool) error {
		var in *transfermanager.UploadObjectInput
		if !as(&in) {
			return errors.New("the client library has no conditional writes")
		}
		in.IfMatch = &a.ETag
		return nil
	}}
}
