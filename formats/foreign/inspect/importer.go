// Package inspect reads the logs of Inspect AI, as .eval (a zip with an entry a
// sample) and as JSON.
//
// A sample is a trajectory, and the repeats of a sample, which Inspect calls
// epochs, are the attempts at one example. Its messages are the main path. The
// events of model calls give each answer on it a call: model, sampling, tools,
// usage, log probabilities. Other calls, such as those of subagents, are branches;
// those of scorers are only counted, since they are not the agent's. Calls on a
// branch after the last answer of the main path do not train, so that the main path
// is the one that ends last.
//
// Of the other events, those that a person or a limit caused are in the
// metadata; the rest (changes of the state and the store, spans, the sandbox,
// logs), which describes how the messages came about, is counted there.
package inspect

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/storage/fault"
)

// Importer reads the logs of Inspect.
var Importer = importers.Format{
	Name:       "inspect",
	Help:       "logs of Inspect AI (.eval and .json), with scores, logprobs and subagents",
	Spec:       "UKGovernmentBEIS/inspect_ai: docs/eval-logs.qmd, src/inspect_ai/log/_log.py",
	Unscored:   regexp.MustCompile(`^scores\.`),
	Extensions: []string{".eval", ".json"},
	Records:    importers.ByExtension(document, map[string]importers.Cut{".eval": archive}),
}.ParsedBy(parse)

// Names of entries.
const (
	samples = "samples/"
	header  = "header.json"
	journal = "_journal/start.json" // the header of a log that was not finished
)

// archive yields the samples of an .eval file, one entry at a time. The repeats
// of a sample come one after the other.
func archive(f importers.File, yield func(importers.Record) bool) error {
	z, err := zip.NewReader(f.R, f.Size)
	if err != nil {
		return fault.Invalid(f.Name, "the file may be cut short, or not be an .eval log", err, "it cannot be read as a zip")
	}
	z.RegisterDecompressor(zstd.ZipMethodWinZip, zstd.ZipDecompressor())
	about, err := aboutOf(z)
	if err != nil {
		return fault.Invalid(f.Name, "", err, "it cannot be read")
	}
	for n, e := range entries(z) {
		r := importers.Record{Entry: e.Name, Row: int64(n), Context: about, Options: f.Options}
		if strings.HasSuffix(e.Name, shell) {
			err = errChunked
		} else {
			r.Data, err = read(e)
		}
		if err != nil {
			return fault.Invalid(f.Name, "", err, "entry %q cannot be read", e.Name)
		}
		if !yield(r) {
			break
		}
	}
	return nil
}

// shell ends the name of the first entry of a sample in chunks.
const shell = "/sample.json"

var errChunked = errors.New("the sample is in chunks, a form that import does not read: inspect log convert --to json " +
	"writes one that it does")

// entries returns those of samples. Of several with one name, the last counts.
func entries(z *zip.Reader) (out []*zip.File) {
	at, groups := map[string]int{}, map[string]int{}
	type entry struct {
		*zip.File
		group int
	}
	var found []entry
	for _, e := range z.File {
		name, is := strings.CutPrefix(e.Name, samples)
		if !is || !strings.HasSuffix(name, ".json") || strings.Contains(name, "/") && !strings.HasSuffix(name, shell) {
			continue
		}
		if i, again := at[name]; again {
			found[i].File = e
			continue
		}
		group := name[:max(0, strings.LastIndex(name, "_epoch_"))]
		if _, known := groups[group]; !known {
			groups[group] = len(groups)
		}
		at[name] = len(found)
		found = append(found, entry{e, groups[group]})
	}
	slices.SortStableFunc(found, func(a, b entry) int { return a.group - b.group })
	for _, e := range found {
		out = append(out, e.File)
	}
	return out
}

// aboutOf returns what the log says of all its samples; nil when it has no
// header.
func aboutOf(z *zip.Reader) ([]byte, error) {
	for _, name := range []string{header, journal} {
		i := slices.IndexFunc(z.File, func(e *zip.File) bool { return e.Name == name })
		if i < 0 {
			continue
		}
		data, err := read(z.File[i])
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", name, err)
		}
		o, err := object(data)
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", name, err)
		}
		return about(o), nil
	}
	return nil, nil
}

// object splits an object, whose values are read later.
func object(data []byte) (jsontext.Object, error) {
	data, err := value.Check(data)
	if err == nil && data[0] != '{' {
		err = fmt.Errorf("it is %s, not an object", importers.Brief(data))
	}
	return jsontext.ParseObject(data), err
}

// about returns the part of a log's header that its samples need.
func about(o jsontext.Object) []byte {
	var out jsontext.Object
	if eval := jsontext.ParseObject(o.Get("eval")); eval != nil {
		if data := jsontext.ParseObject(eval.Get("dataset")); data.Drop("sample_ids") {
			eval.Set("dataset", data.Bytes())
		}
		out = append(out, jsontext.Member{Key: "eval", Raw: eval.Bytes()})
	}
	if o.Has("plan") {
		out = append(out, jsontext.Member{Key: "plan", Raw: o.Get("plan")})
	}
	return out.Bytes()
}

// read inflates an entry, up to a limit: a small entry may expand to any size.
func read(e *zip.File) ([]byte, error) {
	if e.UncompressedSize64 > importers.MaxDocument {
		return nil, errLarge
	}
	in, err := e.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // everything was read
	data, err := io.ReadAll(io.LimitReader(in, importers.MaxDocument+1))
	if err == nil && len(data) > importers.MaxDocument {
		err = errLarge
	}
	return data, err
}

var errLarge = fmt.Errorf("it is larger than %d MiB", importers.MaxDocument>>20)

// document yields the samples of a log in JSON.
func document(f importers.File, yield func(importers.Record) bool) error {
	data, err := importers.ReadDocument(f)
	if err != nil {
		return err
	}
	o, err := object(data)
	if err == nil && !(o.Has("eval") || o.Has("samples")) {
		err = errNoLog
	}
	if err != nil {
		return fault.Invalid(f.Name, "", err, "it is not a log of Inspect")
	}
	about, n := about(o), int64(0)
	for sample := range jsontext.Elements(o.Get("samples")) {
		if !yield(importers.Record{Data: sample, Row: n, Context: about, Options: f.Options}) {
			break
		}
		n++
	}
	return nil
}

var errNoLog = errors.New("it has neither eval nor samples")
