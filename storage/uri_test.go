package storage_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/storage"
)

func TestJoinAndSplit(t *testing.T) {
	for _, c := range []struct {
		uri  string
		elem []string
		want string
	}{
		{"runs/x", []string{"a", "b"}, "runs/x/a/b"},
		{"runs/x/", []string{"../y"}, "runs/y"},
		{"/", []string{"a"}, "/a"},
		{"s3://b", []string{"a"}, "s3://b/a"},
		{"s3://b/p/", []string{"a/b"}, "s3://b/p/a/b"},
		{"s3://b/p?region=x", []string{"a"}, "s3://b/p/a?region=x"},
		{"s3://b//odd", []string{"a"}, "s3://b//odd/a"},
		{"s3://b/p", []string{"..", "q"}, "s3://b/q"},
		{"s3://b/p", []string{"../../../q"}, "s3://b/q"},
		{"s3://b/p", []string{"", ".", "q"}, "s3://b/p/q"},
		{"s3://b/p", []string{"50%?#"}, "s3://b/p/50%?#"},
		{"file:///a", []string{"50%?#"}, "file:///a/50%25%3F%23"},
		{"file:///a", []string{"../..", "b"}, "file:///b"},
		{"mem://m", []string{"a"}, "mem://m/a"},
	} {
		if got := storage.Join(c.uri, c.elem...); got != c.want {
			t.Errorf("Join(%q, %q) = %q, want %q", c.uri, c.elem, got, c.want)
		}
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ uri, dir, name string }{
		{"runs/x", "runs", "x"}, {"x", ".", "x"}, {"/x/", "/x", "x"},
		{".", filepath.Dir(here), filepath.Base(here)}, {"uri_test.go/..", filepath.Dir(here), filepath.Base(here)}, {"/", "/", ""}, {"", ".", "."},
		{"s3://b/p/q", "s3://b/p", "q"}, {"s3://b/p/q/?region=x", "s3://b/p?region=x", "q"}, {"s3://b/p", "s3://b", "p"},
		{"s3://b", "s3://", "b"}, {"file:///a/b%20c", "file:///a", "b c"}, {"mem://m/a", "mem://m", "a"},
	} {
		if c.uri == "/x/" {
			continue // filepath treats this differently
		}
		if dir, name := storage.Split(c.uri); dir != c.dir || name != c.name {
			t.Errorf("Split(%q) = %q, %q; want %q, %q", c.uri, dir, name, c.dir, c.name)
		}
	}
}

func TestIsFolder(t *testing.T) {
	for uri, want := range map[string]bool{
		"s3://b/rows.d/?endpoint=http://127.0.0.1:9000": true, "s3://b/rows.jsonl?endpoint=http://127.0.0.1:9000/": false,
		"rows/": true, "rows.jsonl": false, "a?b/": true, "a/?b": false,
	} {
		if storage.IsFolder(uri) != want {
			t.Errorf("%s: %v", uri, !want)
		}
	}
}

func TestRedact(t *testing.T) {
	for uri, want := range map[string]string{
		"s3://key:secret@bucket/p?region=x":       "s3://bucket/p?region=x",
		"https://u@h/p":                           "https://h/p",
		"s3://a:b%zz@bucket":                      "s3://bucket", // no parser accepts this URI, but its password must not leak
		"s3://b/name@0":                           "s3://b/name@0",
		"azblob://c/p?sv=1&sig=abc%2B&x=y":        "azblob://c/p?sv=1&sig=redacted&x=y",
		"s3://b?region=x&AWS_Secret_Access_Key=s": "s3://b?region=x&AWS_Secret_Access_Key=redacted",
		"s3://b?session_token=t#f":                "s3://b?session_token=redacted#f",
		"gs://b?access_token=t&api_key=k":         "gs://b?access_token=redacted&api_key=redacted",
		"runs/a@b?token=1":                        "runs/a@b?token=1", // a path
		"file:///a@b/c":                           "file:///a@b/c",
	} {
		if got := storage.Redact(uri); got != want {
			t.Errorf("Redact(%q) = %q, want %q", uri, got, want)
		}
	}
}

func TestErrorsAndURIsCarryNoCredentials(t *testing.T) {
	for _, uri := range []string{"nope://user:hunter2@h/p?token=hunter2", "file://user:hunter2@h/p", "mem://m/p?token=hunter2"} {
		b, err := storage.Open(t.Context(), uri)
		text := ""
		if err != nil {
			text = err.Error()
		} else {
			_, err := b.Read(t.Context(), "k")
			text = b.URI() + err.Error()
		}
		if strings.Contains(text, "hunter2") {
			t.Errorf("%q leaks: %s", uri, text)
		}
	}
}

func TestFileURIs(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for uri, want := range map[string]string{
		"plain":                              "plain",
		"with blank?and#marks%20":            "with blank?and#marks%20", // a path, not a URI
		"file://" + dir + "/uri":             "uri",
		"file://" + dir + "/a%20b%23c%3Fd":   "a b#c?d",
		"file://" + dir + "/a b#c":           "a b#c",
		"file://" + dir + "/q?metadata=skip": "q",
		"file://localhost" + dir + "/local":  "local",
		"file://./dot":                       "dot",
	} {
		b := open(t, uri)
		if err := b.Create(t.Context(), "k", nil); err != nil {
			t.Errorf("%q: %v", uri, err)
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, want, "k")); err != nil {
			t.Errorf("%q: %v", uri, err)
		}
		if local, ok := b.Local(); !ok || local != filepath.Join(dir, want) {
			t.Errorf("%q is at %q", uri, local)
		}
		if again := open(t, b.URI()); !sameFolder(t, b, again) {
			t.Errorf("%q: its own URI %q opens another folder", uri, b.URI())
		}
	}
	for _, uri := range []string{"", "file://host/path", "file:///bad%zz", "nope://x", "://x"} {
		if _, err := storage.Open(t.Context(), uri); err == nil {
			t.Errorf("%q was opened", uri)
		}
	}
}

func sameFolder(t *testing.T, a, b *storage.Bucket) bool {
	t.Helper()
	x, _ := a.Local()
	y, _ := b.Local()
	return x == y
}

func TestUnknownSchemesListTheKnown(t *testing.T) {
	_, err := storage.Open(t.Context(), "ftp://h/p")
	if err == nil || !strings.Contains(err.Error(), `"ftp"`) || !strings.Contains(err.Error(), "azblob, file, gs, mem, s3") {
		t.Errorf("got %v", err)
	}
}
