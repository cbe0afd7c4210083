package shards

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
)

// A footer defines the meaning of a part's bytes. Whichever of its bits is
// wrong (one in a column's name turns the column into one that the file does
// not have), the rows are unchanged or there is an error. The test flips a
// sample of the bits; COUNT is its size, and COUNT=0 flips all of them.
func TestFlippedBitsOfFooters(t *testing.T) {
	wide := wideSpec()
	wide.Kind = schema.KindTrajectories
	flippedFooters(t, "wide", wide, [][]formats.Trajectory{group(0, 2), group(1, 2)})
	var scores [][]formats.Score
	for rows := range randomtest.Scores(1, randomtest.Options{Groups: 3}) {
		scores = append(scores, rows)
	}
	spec := wide
	spec.Kind = schema.KindScores
	flippedFooters(t, "scores", spec, scores)
	one := 1.5
	spec.Kind = schema.KindGroups
	flippedFooters(t, "groups", spec,
		[][]formats.Member{{{TrajectoryID: "a", GroupID: "g", ExampleID: "e", Reward: &one, Advantage: &one},
			{TrajectoryID: "b", GroupID: "h", ExampleID: "f"}}})
}

func flippedFooters[T any](t *testing.T, name string, spec manifest.Spec, groups [][]T) {
	t.Helper()
	ctx := context.Background()
	uri := memory(t) + "/" + name
	s, err := Begin(ctx, uri, spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	table := NewTable[T](s, "", 0)
	for _, rows := range groups {
		if err := table.Write(ctx, rows); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Commit(ctx, Outcome{}); err != nil {
		t.Fatal(err)
	}
	d := open(t, uri)
	want, err := drained[T](ctx, d)
	if err != nil || len(want) == 0 {
		t.Fatal(len(want), err)
	}
	b, err := storage.Open(ctx, uri)
	if err != nil {
		t.Fatal(err)
	}
	key := d.Parts[0].Name
	good, err := b.Read(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	n := int(binary.LittleEndian.Uint32(good[len(good)-8:]))
	first, bits := (len(good)-8-n)*8, (n+8)*8
	sample := 400
	if text, ok := os.LookupEnv("COUNT"); ok {
		if sample, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	if sample <= 0 || sample > bits {
		sample = bits
	}
	var silent []string
	for i := range sample {
		bit := first + i*bits/sample
		bad := bytes.Clone(good)
		bad[bit/8] ^= 1 << (bit % 8)
		if err := b.Write(ctx, key, bad); err != nil {
			t.Fatal(err)
		}
		d, err := dataset.Open(ctx, uri, dataset.OpenOptions{})
		if err != nil {
			continue
		}
		if got, err := drained[T](ctx, d); err == nil && !reflect.DeepEqual(got, want) {
			silent = append(silent, strconv.Itoa(bit-first))
		}
	}
	if len(silent) > 0 {
		t.Errorf("%s: %d of %d flipped bits of the footer change rows without an error: bits %s", name, len(silent), sample, strings.Join(silent, ", "))
	} else {
		t.Logf("%s: %d of %d bits of the footer were flipped", name, sample, bits)
	}
}
