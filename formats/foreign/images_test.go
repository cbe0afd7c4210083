package foreign

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/randomtest"
)

// TestImages: a row with an image is written with it, counted as without it, or
// refused for a reason. None is written as if it had none.
func TestImages(t *testing.T) {
	for _, f := range Exporters {
		t.Run(f.Name, func(t *testing.T) {
			items, refused, lost := 0, map[string]int{}, map[string]int{}
			var file bytes.Buffer
			sink := withImages(f, &file)
			walk := exporters.NewWalk([]exporters.Format{f}, trainset.Choice{}, formats.Tables{})
			defer walk.Close()
			for _, group := range seeing() {
				err := walk.Group(group, func(of exporters.Source, x exporters.Item, reason string) error {
					if of != f.Of {
						return nil
					}
					items++
					if reason != "" {
						refused[reason]++
						return nil
					}
					if f.Whole {
						art.Check(x.Rows, art.Limits{}, func(p art.Problem) { refused[p.Reason]++ })
						return nil
					}
					x.Skip, x.Drop = func(reason string) { refused[reason]++ }, func(part string) { lost[part]++ }
					return sink.Give(&x)
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			rows := sink.Rows()
			if err := sink.Close(); err != nil {
				t.Fatal(err)
			}
			shown := strings.Count(read(t, f, file.Bytes()), "seen.png")
			if strings.Contains(f.Omits, "messages") {
				return
			}
			if items == 0 || rows == 0 && len(refused) == 0 || rows > 0 && shown < int(rows) && len(lost) == 0 {
				t.Errorf("%d items, %d rows of which %d show the image; refused %v, lost %v", items, rows, shown, refused, lost)
			}
		})
	}
}

func withImages(f exporters.Format, out io.Writer) exporters.Sink {
	switch {
	case f.Lines != nil:
		return f.Lines(out)
	case f.Table != nil:
		return f.Table(out)
	case f.Other != nil:
		return f.Other(out)
	}
	return f.Folder(func(_ string, data []byte) error {
		_, err := out.Write(data)
		return err
	})
}

// read returns the text of a file that withImages wrote.
func read(t *testing.T, f exporters.Format, file []byte) string {
	if f.Lines != nil || f.Table == nil {
		return string(file)
	}
	var out strings.Builder
	for row, err := range parquet.JSON("file", bytes.NewReader(file), int64(len(file)), nil, nil) {
		if err != nil {
			t.Fatal(err)
		}
		out.Write(row)
	}
	return out.String()
}

// seeing returns groups of one answer each, whose prompts have an image.
func seeing() (out [][]formats.Trajectory) {
	for group := range randomtest.Trajectories(7,
		randomtest.Options{Groups: 3, Generations: 4, Messages: 3, SampledTokens: 20, PromptTokens: 20, Scored: true}) {
		for i := range group {
			advantage, reward := float64(2*(i%2)-1), float64(i%2)
			group[i].Advantage, group[i].Reward = &advantage, &reward
			for k := range group[i].Messages {
				if m := &group[i].Messages[k]; m.Role == "user" {
					m.Content, m.ContentParts = "",
						`[{"type":"text","text":"what is it?"},{"type":"image_url","image_url":{"url":"https://example.org/seen.png"}}]`
				}
			}
		}
		out = append(out, group)
	}
	return out
}
