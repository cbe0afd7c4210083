package storage_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
	"github.com/rollmill/rollmill/storage/s3test"
)

// hintOf returns the hint of an error.
func hintOf(err error) string {
	if fault.HintOf(err) != "" {
		return fault.HintOf(err)
	}
	return ""
}

// TestRefusalsHaveHints tests each sort of refusal, in S3's words.
func TestRefusalsHaveHints(t *testing.T) {
	s := s3test.Start(t)
	b := open(t, s.URI("refused"))
	for code, want := range map[string]struct {
		status int
		denied bool
		hint   string
	}{
		"ExpiredToken":                 {http.StatusBadRequest, true, "renew them"},
		"InvalidAccessKeyId":           {http.StatusForbidden, true, "AWS_PROFILE"},
		"SignatureDoesNotMatch":        {http.StatusForbidden, true, "AWS_ACCESS_KEY_ID"},
		"AccessDenied":                 {http.StatusForbidden, true, "must list, read, write and delete"},
		"AuthorizationHeaderMalformed": {http.StatusBadRequest, false, "AWS_REGION"},
		"PermanentRedirect":            {http.StatusMovedPermanently, false, "?region="},
	} {
		s.SetFaults(s3test.Faults{Denied: code, DeniedStatus: want.status})
		s.Reset()
		err := b.Create(t.Context(), "k", []byte("v"))
		if err == nil || errors.Is(err, storage.ErrDenied) != want.denied || !strings.Contains(hintOf(err), want.hint) {
			t.Errorf("%s: %v\nhint: %s", code, err, hintOf(err))
		}
		if _, err = b.Read(t.Context(), "k"); err == nil || !strings.Contains(hintOf(err), want.hint) {
			t.Errorf("%s: reading: %v\nhint: %s", code, err, hintOf(err))
		}
		limit := 4
		if code == "AccessDenied" {
			limit = 6 // MinIO may mean it for a moment only: see TestAccessDeniedForAMoment
		}
		if n := s.Counts(); n.Get+n.Put+n.Head > limit {
			t.Errorf("%s: asked again although it is refused for good: %+v", code, n)
		}
	}
}

// TestRefusedChecksumsAreNamed writes to a store that does not know S3's newer checksums,
// and then as the hint says.
func TestRefusedChecksumsAreNamed(t *testing.T) {
	s := s3test.Start(t)
	s.SetFaults(s3test.Faults{NoChecksums: true})
	err := open(t, s.URI("old")).Create(t.Context(), "k", []byte("v"))
	if !errors.Is(err, storage.ErrChecksums) || !strings.Contains(hintOf(err), "request_checksum_calculation=when_required") {
		t.Errorf("%v\nhint: %s", err, hintOf(err))
	}
	writes := open(t, s.URI("old")+"&request_checksum_calculation=when_required")
	if err := writes.Create(t.Context(), "k", []byte("v")); err != nil {
		t.Fatal(err)
	}
	if _, err := writes.Read(t.Context(), "k"); !errors.Is(err, storage.ErrChecksums) ||
		!strings.Contains(hintOf(err), "response_checksum_validation=when_required") {
		t.Errorf("%v\nhint: %s", err, hintOf(err))
	}
	s = s3test.Start(t) // a client keeps its settings
	s.SetFaults(s3test.Faults{NoChecksums: true})
	t.Setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "when_required")
	t.Setenv("AWS_RESPONSE_CHECKSUM_VALIDATION", "when_required")
	both := open(t, s.URI("old"))
	if err := both.Create(t.Context(), "k", []byte("v")); err != nil {
		t.Error(err)
	}
	if got, err := both.Read(t.Context(), "k"); err != nil || string(got) != "v" {
		t.Error(string(got), err)
	}
}

// TestAccessDeniedForAMoment writes to a store that refuses a write once, as MinIO
// does while other requests delete the last objects of the same folder.
func TestAccessDeniedForAMoment(t *testing.T) {
	s := s3test.Start(t)
	b := open(t, s.URI("raced"))
	s.SetFaults(s3test.Faults{Denied: "AccessDenied", DeniedStatus: http.StatusForbidden, DeniedOnce: true})
	if err := b.Create(t.Context(), "folder/k", []byte("v")); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Read(t.Context(), "folder/k"); err != nil || string(got) != "v" {
		t.Errorf("read %q: %v", got, err)
	}
}

// TestNoCredentials checks that the hint for each store names where its own
// tools keep credentials. No request leaves this machine: services that would
// provide credentials are switched off or replaced by local ones.
func TestNoCredentials(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION",
		"AWS_DEFAULT_REGION",
		"AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_CONNECTION_STRING", "STORAGE_EMULATOR_HOST"} {
		t.Setenv(name, "")
	}
	nothing := t.TempDir() + "/nothing"
	t.Setenv("HOME", t.TempDir())
	t.Setenv("AWS_CONFIG_FILE", nothing)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", nothing)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", nothing)
	for uri, want := range map[string]string{
		"s3://bucket-without-keys/p?region=us-east-1": "AWS_ACCESS_KEY_ID",
		"s3://bucket-without-region/p":                "AWS_REGION",
		"gs://bucket-without-keys/p":                  "GOOGLE_APPLICATION_CREDENTIALS",
		"azblob://container/p":                        "AZURE_STORAGE_ACCOUNT",
	} {
		b, err := storage.Open(t.Context(), uri)
		if err == nil {
			_, err = b.Read(t.Context(), "k")
		}
		if err == nil || !strings.Contains(hintOf(err), want) {
			t.Errorf("%s: %v\nhint: %s", uri, err, hintOf(err))
		}
	}
}
