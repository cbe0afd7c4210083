package shards

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/storage"
)

// Whatever a manifest or a record says wrongly, its reader gets the true rows or
// an error. The test tells a sample of the lies; COUNT is its size, and COUNT=0
// tells all of them.
func TestManifestLies(t *testing.T) {
	for name, compact := range map[string]bool{"sharded": false, "compacted": true} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			uri := memory(t) + "/ds"
			for _, place := range []string{uri, uri + "-other"} {
				spec := wideSpec()
				if place != uri {
					spec.Version++
				}
				for i := range 2 {
					write(ctx, t, place, spec, Options{Shard: i, Of: 2, partSize: 1}, 2+2*len(place)-2*len(uri))
				}
				if compact {
					compacted(t, place)
				}
			}
			truth := rowsOf(ctx, t, uri)
			b, err := storage.Open(ctx, uri)
			check(t, err)
			other, err := storage.Open(ctx, uri+"-other")
			check(t, err)
			d := open(t, uri)
			home, otherHome := seal.Build{Identity: d.Identity, Of: 2}, seal.Build{Identity: open(t, uri+"-other").Identity, Of: 2}
			whole := map[string][]byte{}
			for _, key := range keys(t, uri) {
				whole[key], err = b.Read(ctx, key)
				check(t, err)
			}
			for _, x := range []struct{ key, of string }{{manifest.FileName, manifest.FileName}, {home.Record(0), otherHome.Record(0)},
				{home.Record(1), otherHome.Record(0)}} {
				if compact && x.key != manifest.FileName {
					continue // its records' parts may be gone
				}
				good, err := b.Read(ctx, x.key)
				check(t, err)
				strange, err := other.Read(ctx, x.of)
				check(t, err)
				altered := lies(good, strange)
				chosen := sampleOf(t, len(altered), 150)
				refused, silent, lost := 0, 0, 0
				for _, i := range chosen {
					check(t, b.Write(ctx, x.key, altered[i].text))
					if x.key != manifest.FileName {
						check(t, b.Delete(ctx, manifest.FileName))
					}
					for _, sealed := range []bool{false, true} {
						if sealed {
							if _, err := seal.Dataset(ctx, uri); err != nil {
								continue
							}
						}
						got, err := rowsRead(ctx, uri)
						switch {
						case err != nil:
							refused++
						case got != truth:
							silent++
							t.Errorf("%s: %s (seal: %v): %s was read, the rows are %s", x.key, altered[i].what, sealed, got, truth)
						case !sealed && strings.HasPrefix(altered[i].what, ".dataset") && x.key == manifest.FileName && dataset.Verify(ctx, open(t, uri)) == nil:
							t.Errorf("%s: nobody notices that %s", x.key, altered[i].what)
						}
					}
					check(t, b.Write(ctx, manifest.FileName, whole[manifest.FileName]))
					if got, err := rowsRead(ctx, uri); got != truth {
						lost++
						t.Errorf("%s: %s: sealing it lost rows: %v", x.key, altered[i].what, err)
					}
					for key, text := range whole {
						check(t, b.Write(ctx, key, text))
					}
				}
				t.Logf("%s: %d of %d lies were told; %d reads refused them, %d gave other rows, %d lost some", x.key, len(chosen), len(altered), refused,
					silent, lost)
			}
		})
	}
}

func rowsOf(ctx context.Context, t *testing.T, uri string) string {
	t.Helper()
	got, err := rowsRead(ctx, uri)
	check(t, err)
	return got
}

// rowsRead returns the digest of the rows that a reader gets.
func rowsRead(ctx context.Context, uri string) (string, error) {
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{IgnoreGates: true})
	if err != nil {
		return "", err
	}
	rows, err := drained[formats.Trajectory](ctx, d)
	var sum formats.RowsDigest
	for i := range rows {
		rows[i].SetPayloadDigest()
		sum.Add(formats.Digest(&rows[i]))
	}
	return sum.String(), err
}

// sampleOf returns which of n are tried, in an order that depends on nothing; in a short run a third of them.
func sampleOf(t *testing.T, n, sample int) []int {
	t.Helper()
	if testing.Short() {
		sample /= 3
	}
	if text, ok := os.LookupEnv("COUNT"); ok {
		var err error
		sample, err = strconv.Atoi(text)
		check(t, err)
	}
	if sample <= 0 || sample > n {
		sample = n
	}
	return rand.New(rand.NewPCG(1, 1)).Perm(n)[:sample]
}

// lie is a manifest with one field changed, or two exchanged.
type lie struct {
	what string
	text []byte
}

// lies returns the lies about a manifest; other is one from which values come.
func lies(good, other []byte) (out []lie) {
	root, strange := decoded(good), decoded(other)
	add := func(format string, args ...any) {
		if text := formatFirst(root); !bytes.Equal(text, formatFirst(decoded(good))) {
			out = append(out, lie{fmt.Sprintf(format, args...), text})
		}
	}
	var walk func(at string, v, strange any, set func(any), remove func())
	walk = func(at string, v, strange any, set func(any), remove func()) {
		for _, wrong := range []any{nil, json.Number("-1"), json.Number("0"), json.Number("4611686018427387904"), "../..", "", strange, []any{},
			map[string]any{}} {
			set(wrong)
			add("%s is %v", at, wrong)
		}
		remove()
		add("%s is gone", at)
		set(v)
		switch v := v.(type) {
		case map[string]any:
			theirs, _ := strange.(map[string]any)
			for _, k := range slices.Sorted(maps.Keys(v)) {
				walk(at+"."+k, v[k], theirs[k], func(x any) { v[k] = x }, func() { delete(v, k) })
			}
		case []any:
			theirs, _ := strange.([]any)
			for i := range v {
				var their any
				if i < len(theirs) {
					their = theirs[i]
				}
				walk(fmt.Sprintf("%s[%d]", at, i), v[i], their, func(x any) { v[i] = x }, func() { set(slices.Delete(slices.Clone(v), i, i+1)) })
				set(v)
				for j := range v[:i] {
					a, isPart := v[i].(map[string]any)
					b, _ := v[j].(map[string]any)
					for _, k := range slices.Sorted(maps.Keys(a)) {
						if isPart && b != nil {
							a[k], b[k] = b[k], a[k]
							add("%s[%d] and [%d] exchange %s", at, i, j, k)
							a[k], b[k] = b[k], a[k]
						}
					}
				}
			}
		}
	}
	top := root
	walk("", root, strange, func(x any) { root = x }, func() { root = nil })
	root = top
	return out
}

// formatFirst encodes a manifest with its format first, where readers look for it.
func formatFirst(root any) []byte {
	m, _ := root.(map[string]any)
	format, has := m["format"]
	rest := maps.Clone(m)
	delete(rest, "format")
	if !has || len(rest) == 0 {
		return spaced(root)
	}
	return append([]byte(`{"format": `+string(spaced(format))+","), spaced(rest)[1:]...)
}

func spaced(v any) []byte {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		panic(err)
	}
	return data
}

func decoded(text []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		panic(err)
	}
	return v
}
