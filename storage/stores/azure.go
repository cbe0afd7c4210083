package stores

import (
	"context"
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	azblobs "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // its opener knows Azure's variables

	"github.com/rollmill/rollmill/storage"
)

// dialAzure opens a container of Azure Blob Storage. Account and key come from
// Azure's own variables (AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or
// AZURE_STORAGE_SAS_TOKEN, AZURE_STORAGE_CONNECTION_STRING) or from its
// identity service.
func dialAzure(ctx context.Context, at storage.Location) (*storage.Client, error) {
	if err := unknown(at.Query, "cdn", "domain", "localemu", "protocol", "storage_account"); err != nil {
		return nil, err
	}
	drv, err := blob.DefaultURLMux().OpenBucketURL(ctx, at.URL())
	if err != nil {
		return nil, err
	}
	return &storage.Client{Bucket: drv, Exclusive: true, IfVersion: ifMatch}, nil
}

// ifMatch makes a write conditional on the blob's ETag.
func ifMatch(a *blob.Attributes) *blob.WriterOptions {
	return &blob.WriterOptions{BeforeWrite: func(as func(any) bool) error {
		var o *azblob.UploadStreamOptions
		if !as(&o) {
			return errors.New("the client library has no conditional writes")
		}
		etag := azcore.ETag(a.ETag)
		o.AccessConditions = &azblob.AccessConditions{ModifiedAccessConditions: &azblobs.ModifiedAccessConditions{IfMatch: &etag}}
		return nil
	}}
}
