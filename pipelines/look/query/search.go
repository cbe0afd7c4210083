package query

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/storage/fault"
)

// Find is a place in which a text was found.
type Find struct {
	Row          int64
	TrajectoryID string
	Message      int    // -1: the answer
	Role         string // of the message
	Column       string // content, reasoning, arguments, ... or answer
	Before       string // what is around it, cut
	Text         string
	After        string
}

// searched are the columns that a search reads.
type searched struct {
	TrajectoryID string    `parquet:"trajectory_id"`
	Answer       string    `parquet:"answer,optional"`
	Messages     []message `parquet:"messages,list"`
}

type message struct {
	Role         string     `parquet:"role,dict"`
	Content      string     `parquet:"content,optional"`
	ContentParts string     `parquet:"content_parts,optional"`
	Reasoning    string     `parquet:"reasoning,optional"`
	ToolCalls    []toolCall `parquet:"tool_calls,list"`
}

type toolCall struct {
	Name      string `parquet:"name,dict"`
	Arguments string `parquet:"arguments"`
}

// searchRows is the number of rows in memory at once. A row may be large.
const searchRows = 16

// around is the number of bytes that a find has on both sides.
const around = 80

// Search looks for a text in the messages and answers of a dataset of wide rows from a
// row on, without regard to case. It calls found with the first place in each message,
// and read with the number of rows that are done; both return false to end the search.
func Search(ctx context.Context, base *dataset.Dataset, text string, from int64, found func(Find) bool,
	read func(rows int64) bool) error {
	if from < 0 || from > base.Rows {
		return fault.Invalid(base.URI(), "rows count from 0", nil, "row %d is not among its %d", from, base.Rows)
	}
	r, err := dataset.NewReader[searched](ctx, base, "", dataset.Range{First: from, Rows: base.Rows - from})
	if err != nil {
		return err
	}
	w := newWanted(text)
	row := from
	for t, err := range r.Each(searchRows) {
		if err != nil {
			return err
		}
		if !w.in(t, row, found) {
			return nil
		}
		if row++; (row-from)%searchRows == 0 && !read(row) {
			return nil
		}
	}
	read(row)
	return nil
}

// wanted is a text that is looked for.
type wanted struct {
	text  string
	lower byte // its first byte, if that is ASCII, else 0
	upper byte
}

func newWanted(text string) wanted {
	w := wanted{text: text}
	if text != "" && text[0] < utf8.RuneSelf {
		w.lower, w.upper = byte(unicode.ToLower(rune(text[0]))), byte(unicode.ToUpper(rune(text[0])))
	}
	return w
}

// in calls found with the places in a trajectory, until it returns false.
func (w *wanted) in(t *searched, row int64, found func(Find) bool) bool {
	look := func(i int, role, column, text string) (hit, more bool) {
		at, end := w.at(text)
		if at < 0 {
			return false, true
		}
		f := Find{Row: row, TrajectoryID: strings.Clone(t.TrajectoryID), Message: i, Role: strings.Clone(role),
			Column: column}
		f.Before, f.Text, f.After = cut(text, at, end)
		return true, found(f)
	}
	if _, more := look(-1, "", "answer", t.Answer); !more {
		return false
	}
	for i := range t.Messages {
		m := &t.Messages[i]
		places := [][2]string{{"content", m.Content}, {"content_parts", m.ContentParts}, {"reasoning", m.Reasoning}}
		for _, c := range m.ToolCalls {
			places = append(places, [2]string{"arguments", c.Name + " " + c.Arguments})
		}
		for _, p := range places {
			hit, more := look(i, m.Role, p[0], p[1])
			if !more {
				return false
			}
			if hit {
				break
			}
		}
	}
	return true
}

// at returns where the text is in another, without regard to case; -1 if it is not.
func (w *wanted) at(text string) (at, end int) {
	if i := strings.Index(text, w.text); i >= 0 {
		return i, i + len(w.text)
	}
	for at := range text {
		if w.lower != 0 && text[at] != w.lower && text[at] != w.upper && text[at] < utf8.RuneSelf {
			continue
		}
		if end, ok := w.begins(text[at:]); ok {
			return at, at + end
		}
	}
	return -1, -1
}

// begins reports whether a text begins with the wanted one, and how many bytes that is.
func (w *wanted) begins(text string) (end int, ok bool) {
	for _, want := range w.text {
		r, size := utf8.DecodeRuneInString(text[end:])
		if size == 0 || r != want && unicode.ToLower(r) != unicode.ToLower(want) {
			return 0, false
		}
		end += size
	}
	return end, true
}

// cut returns a place in a text and what is around it, in whole characters.
func cut(text string, at, end int) (before, found, after string) {
	from, to := max(0, at-around), min(len(text), end+around)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	before, found, after = strings.Clone(text[from:at]), strings.Clone(text[at:end]), strings.Clone(text[end:to])
	if from > 0 {
		before = "…" + before
	}
	if to < len(text) {
		after += "…"
	}
	return before, found, after
}
