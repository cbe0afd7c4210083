package systemtest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/dataset/workspaces"
	"github.com/rollmill/rollmill/formats/foreign"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/backends/customizer/customizertest"
	"github.com/rollmill/rollmill/stages/backends/openai/openaitest"
	"github.com/rollmill/rollmill/storage/storagetest"
)

// keepCanary writes the rows of a rollout to another, with a workspace for each, and returns all by which a
// workspace is known: what is in its archive, how it is stored, and what is said of it.
func keepCanary(t *testing.T, from, to string) (canaries []string) {
	t.Helper()
	_, rows := trajectoriesAt(t, from)
	one := 1.0
	s, err := shards.Begin(t.Context(), to, manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories,
		Params: map[string]any{"run": "canary", "epoch": 0},
		Gates:  []manifest.Gate{{Name: "max-failure-rate", Count: outcomes.StatusFailed, Of: "rows", Max: &one}}}, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	canaries = []string{"canary-"}
	var pieces []formats.WorkspacePiece
	for i := range rows {
		archive, compressed := archiveOf(t, "canary-file", fmt.Sprintf("canary-text-%d %x", i, sha256.Sum256([]byte{byte(i)})))
		sum := sha256.Sum256(archive)
		p := formats.WorkspacePiece{Workspace: formats.Workspace{TrajectoryID: rows[i].TrajectoryID, Runtime: "podman", ImageDigest: "canary-image",
			Digest: hex.EncodeToString(sum[:]), Size: int64(len(archive)), Paths: 1, LeftOut: []string{"/app/canary-left: a named pipe"}},
			Bytes: base64.StdEncoding.EncodeToString(compressed)}
		metadata := map[string]any{}
		if rows[i].Metadata != "" {
			if err := json.Unmarshal([]byte(rows[i].Metadata), &metadata); err != nil {
				t.Fatal(err)
			}
		}
		metadata[workspaces.KeyName] = p.Key()
		text, _ := json.Marshal(metadata)
		rows[i].Metadata = string(text)
		pieces = append(pieces, p)
		canaries = append(canaries, p.Digest, p.Bytes[len(p.Bytes)/3:len(p.Bytes)/3+40])
	}
	err = shards.NewTable[formats.Trajectory](s, "", -1).Write(t.Context(), rows)
	if err == nil {
		err = shards.NewTable[formats.WorkspacePiece](s, schema.TableWorkspaces, -1).Write(t.Context(), pieces)
	}
	if err == nil {
		_, err = s.Commit(t.Context(), shards.Outcome{Counts: map[string]int64{outcomes.StatusOK: int64(len(rows))}})
	}
	if err != nil {
		t.Fatal(err)
	}
	d, _ := trajectoriesAt(t, to)
	if err := workspaces.Check(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	kept, err := workspaces.Open(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	w, _ := kept.Of(rows[0].TrajectoryID)
	if text, err := io.ReadAll(kept.Archive(t.Context(), w)); err != nil || !bytes.Contains(text, []byte("canary-text-0")) {
		t.Fatalf("the archive has no canary: %v", err)
	}
	return canaries
}

// archiveOf returns a tar of one file, and how rollout stores it.
func archiveOf(t *testing.T, name, text string) (archive, compressed []byte) {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Format: tar.FormatPAX})
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), z.EncodeAll(out.Bytes(), nil)
}

// contentOf returns a file's bytes and, of a Parquet file, the texts of its columns, too.
func contentOf(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte("PAR1")) {
		return string(data)
	}
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	text := strings.Builder{}
	text.Write(data)
	for _, group := range f.RowGroups() {
		rows, buffer := group.Rows(), make([]parquet.Row, 16)
		for err == nil {
			var n int
			n, err = rows.ReadRows(buffer)
			for _, row := range buffer[:n] {
				for _, v := range row {
					if v.Kind() == parquet.ByteArray {
						text.Write(append(v.ByteArray(), '\n'))
					}
				}
			}
		}
		if rows.Close(); err != io.EOF {
			t.Fatalf("%s: %v", path, err)
		}
		err = nil
	}
	return text.String()
}

// TestWorkspacesAreNotHandedOn searches what every command makes of a rollout with workspaces for what is in them.
func TestWorkspacesAreNotHandedOn(t *testing.T) {
	url, tasks := newEngine(t, "project/name")
	dir := t.TempDir()
	plain, root := filepath.Join(dir, "plain"), filepath.Join(dir, "run")
	epoch := filepath.Join(root, "epoch-0")
	made := filepath.Join(epoch, "rollout")
	printed := map[string]string{}
	try := func(args ...string) {
		t.Helper()
		code, out, said := rollmill(t, args...)
		if code != 0 {
			t.Fatalf("%q: exit code %d\n%s", args, code, said)
		}
		printed[strings.Join(args, " ")] += out + "\n" + said
	}
	try("rollout", "--examples", tasks, "--url", url+"/v1", "--model", "project/name", "--generations", "4", "--sampling-seed", "1", "--out", plain)
	canaries := keepCanary(t, plain, made)
	_, rows := trajectoriesAt(t, made)
	id := rows[0].TrajectoryID

	at := func(name string) string { return filepath.Join(epoch, name) }
	try("score", "--in", made, "--reward", "n=expr:generation", "--out", at("score"))
	try("score", "--in", made, "--reward", "m=expr:-generation", "--out", at("score-2"))
	try("group", "--in", at("score"), "--out", at("group"))
	try("curate", "--in", at("group"), "--out", at("curate"))
	exports := []string{"export", "--in", at("curate"), "--lossy", "--out", filepath.Join(dir, "exported")}
	for _, f := range exporters.Exports(foreign.Exporters) {
		if f.Format.Name != "harbor-dataset" { // of tasks of Harbor
			exports = append(exports, "--to", f.Name)
		}
	}
	try(exports...)
	try("export", "--in", made, "--to", "trajectories", "--to", "rows", "--to", "arrow", "--to", "chat", "--lossy", "--out", filepath.Join(dir, "rows"))
	try("submit", "--in", at("curate"), "--backend", "file", "--out", at("submit"), "--ledger", root)
	try("submit", "--in", at("curate"), "--backend", "art", "--url", url, "--target", "project/name", "--name", "name", "--project", "project", "--wait",
		"--out", at("submit-art"), "--ledger", filepath.Join(dir, "second"))
	for where, sent := range submitted(t, try, at("curate"), dir) {
		printed[where] = sent
	}
	try("report", root)
	for _, form := range []string{"text", "json"} {
		try("show", made, "--format", form)
		try("show", made, "--format", form, "--columns", "all", "--rows", "8")
		try("show", made, "--format", form, "--full", "--trajectory", id)
		try("show", at("curate"), "--format", form, "--columns", "all", "--rows", "8")
	}
	try("explain", id, "--in", root)
	try("explain", id, "--in", root, "--json")
	try("audit", root, "--skip", "leak")
	try("audit", root, "--json")
	try("diff", at("score"), at("score-2"))
	try("diff", at("score"), at("score-2"), "--json")
	v := startView(t, root)
	opened := v.crawl("/")
	if len(opened) < 20 || len(exports) < 40 {
		t.Errorf("%d pages, %d formats", len(opened), len(exports))
	}
	for path, page := range opened {
		printed["view "+path] = page
	}

	for what, text := range printed {
		for _, c := range canaries {
			if strings.Contains(text, c) {
				t.Errorf("%s has %q", what, c)
			}
		}
	}
	files, found := 0, map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		text := contentOf(t, path)
		for _, c := range append(slices.Clone(canaries), schema.TableWorkspaces) {
			if has := strings.Contains(text, c) || strings.Contains(path, c); has && strings.HasPrefix(path, made+"/") {
				found[c] = true
			} else if has {
				t.Errorf("%s has %q", path, c)
			}
		}
		return nil
	})
	if err != nil || files < 60 {
		t.Errorf("%d files, %v", files, err)
	}
	if len(found) != len(canaries)+1 {
		t.Errorf("the rollout has %d of %d canaries: the test proves nothing", len(found), len(canaries)+1)
	}
	for _, name := range []string{"score", "group", "curate"} {
		d, err := dataset.Open(t.Context(), at(name), dataset.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, has := d.Tables[schema.TableWorkspaces]; has {
			t.Errorf("%s has workspaces", name)
		}
	}
}

// submitted hands a curated dataset to every other backend and returns what each received. The files
// that backend command writes for its trainer, of which Tinker's is one, stay in dir.
func submitted(t *testing.T, try func(...string), curated, dir string) map[string]string {
	t.Helper()
	service, store := openaitest.New(openaitest.Faults{}), customizertest.New(customizertest.Faults{})
	t.Cleanup(service.Close)
	t.Cleanup(store.Close)
	trainer := filepath.Join(dir, "keep.sh")
	storagetest.Program(t, trainer, "#!/bin/sh\ncat >>'"+dir+"/requests'; case $(tail -n 1 '"+dir+"/requests') in *'\"begin\"'*) echo '{}';; "+
		`*) echo '{"state":"completed","step":1}';; esac`+"\n")
	t.Setenv("OPENAI_API_KEY", openaitest.Key)
	t.Setenv("NEMO_API_KEY", customizertest.Key)
	t.Setenv("NEMO_DATASTORE_TOKEN", customizertest.Token)
	for backend, args := range map[string][]string{
		"openai":     {"--fine-tuning-url", service.URL, "--base-model", "gpt-test", "--min-rows", "1"},
		"customizer": {"--entity-url", store.URL, "--datastore-url", store.Datastore.URL, "--customization-config", customizertest.Config, "--training-type", "sft"},
		"command":    {"--trainer", trainer, "--form", "sequences"},
	} {
		try(append([]string{"submit", "--in", curated, "--backend", backend, "--out", filepath.Join(dir, "submit-"+backend),
			"--ledger", filepath.Join(dir, "ledger-"+backend)}, args...)...)
	}
	got := map[string]string{"openai": service.File("training") + fmt.Sprint(service.Jobs()), "customizer": fmt.Sprint(store.Jobs())}
	for _, name := range store.Hub.Repositories() {
		got["customizer "+name] = fmt.Sprint(store.Hub.Files(name))
	}
	if requests, err := os.ReadFile(filepath.Join(dir, "requests")); err != nil || !bytes.Contains(requests, []byte("submit")) ||
		service.File("training") == "" || len(store.Hub.Repositories()) == 0 {
		t.Errorf("a backend received nothing: %v, %v", err, got)
	}
	return got
}

var anyLink = regexp.MustCompile(`(?:href|src)="(/[^"]*)"`)

// crawl opens all pages to which pages lead, at most 300.
func (v *viewed) crawl(from string) map[string]string {
	v.t.Helper()
	opened, next := map[string]string{}, []string{from}
	for len(next) > 0 && len(opened) < 300 {
		path := strings.ReplaceAll(next[0], "&amp;", "&")
		path, _, _ = strings.Cut(path, "#")
		next = next[1:]
		if _, done := opened[path]; done {
			continue
		}
		opened[path] = v.page(path)
		for _, l := range anyLink.FindAllStringSubmatch(opened[path], -1) {
			next = append(next, l[1])
		}
	}
	return opened
}
