package shards

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/schema"
)

// written returns the folder of a small dataset on disk.
func written(t *testing.T, spec manifest.Spec) string {
	t.Helper()
	uri := filepath.Join(t.TempDir(), "ds")
	write(t.Context(), t, uri, spec, Options{}, 8)
	return uri
}

// A column whose name has a flipped bit must not be read as one that an older
// file lacks.
func TestABitFlippedInAColumnsNameIsNoticed(t *testing.T) {
	uri := written(t, wideSpec())
	d := open(t, uri)
	part := filepath.Join(uri, d.Parts[0].Name)
	whole, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"content", "reward", "advantage", "logprobs", "messages", "answer"} {
		flipped := bytes.Clone(whole)
		at := bytes.LastIndex(flipped[:bytes.LastIndex(flipped, []byte("rollmill"))], []byte(name))
		flipped[at] ^= 1
		if err := os.WriteFile(part, flipped, 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := dataset.ReadAll[formats.Trajectory](t.Context(), d, "", d.All())
		invalid(t, err, d.Parts[0].Name)
	}
}

// A part must have the columns of its schema even when the footer digest
// matches.
func TestPartWithoutAColumnOfItsSchema(t *testing.T) {
	uri := memory(t) + "/d"
	s, err := Begin(t.Context(), uri, wideSpec(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	type fewer struct {
		TrajectoryID string `parquet:"trajectory_id"`
	}
	if err := NewTable[fewer](s, "", -1).Write(t.Context(), []fewer{{"a"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), Outcome{}); err != nil {
		t.Fatal(err)
	}
	d := open(t, uri)
	_, err = dataset.ReadAll[formats.Trajectory](t.Context(), d, "", d.All())
	invalid(t, err, "has no column run, which schema "+schema.Version+" has")
}

func TestManifestsWhoseCountsDoNotAddUpAreRefused(t *testing.T) {
	uri := written(t, wideSpec())
	file := filepath.Join(uri, manifest.FileName)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, uri)
	digest := d.RowsDigest.String()
	for from, to := range map[string]string{
		"\n  \"rows\": 32,":     "\n  \"rows\": 33,",
		"\n    \"rows\": 32,":   "\n    \"rows\": 31,",
		"\"shards\": 1,":        "\"shards\": 400000000,",
		"\"shard\": 0,":         "\"shard\": 1,",
		`"rows_digest": "32-`:   `"rows_digest": "31-`,
		"\n  \"bytes\": ":       "\n  \"bytes\": 1",
		"\"row_groups\": [":     "\"row_groups\": [ 1,",
		"\"footer_digest\": \"": "\"footer_digest\": \"0",
		`"` + digest:            `"` + digest[:len(digest)-1] + map[bool]string{true: "0", false: "1"}[digest[len(digest)-1] == '1'],
	} {
		changed := strings.Replace(string(whole), from, to, 1)
		if changed == string(whole) {
			t.Fatalf("the manifest has no %q", from)
		}
		if err := os.WriteFile(file, []byte(changed), 0o666); err != nil {
			t.Fatal(err)
		}
		d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
		if err == nil {
			err = dataset.Verify(t.Context(), d)
		}
		invalid(t, err, uri)
	}
}

func TestAFolderNamedLikeRecordsOfTooManyShardsIsNoDataset(t *testing.T) {
	uri := filepath.Join(t.TempDir(), "ds")
	for _, run := range []string{"00-400000000", "0123456789abcdef-400000000"} {
		if err := os.MkdirAll(filepath.Join(uri, ".rollmill", run), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(uri, ".rollmill", run, "shard-0.json"), []byte("{}"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	_, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
	invalid(t, err, "no dataset")
}

func TestAManifestTooLargeIsNotRead(t *testing.T) {
	uri := written(t, wideSpec())
	if err := os.Truncate(filepath.Join(uri, manifest.FileName), 3<<30); err != nil {
		t.Fatal(err)
	}
	_, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
	invalid(t, err, manifest.FileName, "3221225472 bytes")
}

func TestLargeIntegersStayExact(t *testing.T) {
	const seed = 1<<53 + 1
	spec := wideSpec()
	spec.Params["seed"], spec.Params["nested"] = int64(seed), map[string]any{"n": uint64(1<<64 - 1)}
	d := open(t, written(t, spec))
	if got, ok := d.Int("seed"); !ok || got != seed {
		t.Errorf("the seed is %d, %v", got, ok)
	}
	if text, err := json.Marshal(d.Params["nested"]); err != nil || string(text) != `{"n":18446744073709551615}` {
		t.Errorf("%s, %v", text, err)
	}
}

func TestParametersThatAreNotUTF8AreRefused(t *testing.T) {
	uri := memory(t) + "/d"
	for name, value := range map[string]any{"a": "\xff", "b": []string{"x", "\xfe"}, "\xff": 1} {
		spec := wideSpec()
		spec.Params[name] = value
		_, err := Begin(context.Background(), uri, spec, Options{})
		invalid(t, err, "is not UTF-8")
	}
	spec := wideSpec()
	spec.Params["a"] = "\ufffd and \\ufffd"
	if _, err := Begin(context.Background(), uri, spec, Options{}); err != nil {
		t.Error(err)
	}
}

// Fields next to the hashed object may change, and a newer version may add
// fields to both: this is not reported as a changed base.
func TestTheDigestCoversTheBytesOfOneObject(t *testing.T) {
	uri := written(t, wideSpec())
	file := filepath.Join(uri, manifest.FileName)
	before := open(t, uri)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var whole map[string]json.RawMessage
	check(t, json.Unmarshal(data, &whole))
	text := strings.Replace(string(data), "\n}\n",
		",\n \"newer\": {\"a\":  1}, \"run\": {\"id\": \"0123456789abcdef0123456789abcdef\", \"root\": \"runs\"}\n}\n", 1)
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	after := open(t, uri)
	ref := before.Ref("base", "other")
	if !after.Is(&ref) || after.Run != (manifest.Run{ID: "0123456789abcdef0123456789abcdef", Root: "runs"}) {
		t.Errorf("the digest changed, or the run is %+v", after.Run)
	}
	if again := string(after.Encode()); !strings.Contains(again, `"newer": {"a":  1}`) || !strings.Contains(again, string(whole["dataset"])) {
		t.Errorf("what this version does not know was lost:\n%s", again)
	}
	inside := strings.Replace(string(data), "\"dataset\": {", "\"dataset\": {\"newer\": 1,", 1)
	if err := os.WriteFile(file, []byte(inside), 0o666); err != nil {
		t.Fatal(err)
	}
	d := open(t, uri)
	if newer := d.Ref("base", "other"); newer.Digest == ref.Digest || !d.Is(&newer) {
		t.Error("a field of a newer version is not in the digest")
	}
}
