package witness

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/spill"
	"github.com/rollmill/rollmill/storage/fault"
)

// What joins two rows, the strongest first: each level sees the rows that those before it left.
const (
	byID      = iota // both have an id
	byName           // the metadata of the second names the id of the first
	byNamed          // the metadata of the first names the id of the second
	byWhole          // all answers are the same
	byAnswers        // answers that no other rows have
	byPrompt         // they are the only attempts at a prompt
)

// What stands for the partner of a row that has none.
const (
	nobody  = -1
	several = -2 // what would join it, others have too
)

// joiner finds which rows of two datasets are records of one attempt. It holds a few bytes of each in memory,
// and sorts digests of what may join them on disk.
type joiner struct {
	keys  *spill.Sorter
	with  [2][]int64         // by row: that of the other dataset, or what stands for it
	level []byte             // of the first dataset's rows
	only  [2]map[int64]int64 // by row: the only one that a key of this level names, or several
}

// joined reads what joins the rows of both datasets.
func joined(ctx context.Context, o Options) (*joiner, error) {
	j := &joiner{keys: spill.New("", o.Memory), only: [2]map[int64]int64{{}, {}}, level: make([]byte, o.In.Rows)}
	defer j.keys.Close()
	own, other, _ := strings.Cut(o.Join, "=")
	for side, name := range [2]string{own, cmp.Or(other, own)} {
		d, has := [2]*dataset.Dataset{o.In, o.Against}[side], false
		err := each(ctx, d, columns[:len(columns)-2], func(r *row) error {
			has = has || field(&r.Trajectory, name) != ""
			return j.add(side, r, name)
		})
		if err == nil && o.Join != "" && !has {
			err = fault.Errorf(fault.Usage, "--join takes trajectory_id, example_id, or a member such as metadata.session_id",
				"no row of %q has %s", d.URI(), name)
		}
		if err != nil {
			return nil, err
		}
	}
	return j, j.join()
}

// add adds the next row of a dataset, and the field that is to join it; "" for whatever does.
func (j *joiner) add(side int, r *row, name string) (err error) {
	j.with[side] = append(j.with[side], nobody)
	add := func(level int, h uint64) {
		if err == nil {
			key := binary.BigEndian.AppendUint64([]byte{byte(level)}, h)
			err = j.keys.Add(key, binary.AppendVarint([]byte{byte(side)}, r.Number))
		}
	}
	ids := []string{name}
	if name == "" {
		ids = []string{"trajectory_id", "metadata.source_id"}
	}
	for _, name := range ids {
		if id := field(&r.Trajectory, name); id != "" {
			add(byID, xxh3.HashString(id))
			add(byName+side, xxh3.HashString(id))
		}
	}
	if name != "" {
		return err
	}
	eachID([]byte(r.Metadata), 2, func(id string) { add(byNamed-side, xxh3.HashString(id)) })
	var prompt, said uint64
	for _, x := range itemsOf(&r.Trajectory) {
		const spread = 0x9e3779b97f4a7c15
		switch {
		case x.sort == prompts && x.Role != "assistant" && said == 0:
			prompt = (prompt + x.key) * spread
		case x.sort == answers || x.sort == prompts && x.Role == "assistant":
			said = (said + x.key) * spread
			add(byAnswers, x.key)
			add(byAnswers, prompt+said)
		}
	}
	if said != 0 {
		add(byWhole, said)
	}
	add(byPrompt, prompt)
	return err
}

// eachID calls f with what may be an id of an object's members and, with levels, of their members.
func eachID(object []byte, levels int, f func(string)) {
	for _, v := range jsontext.Members(object) {
		if id := idOf(v); 8 <= len(id) && len(id) <= 128 {
			f(id)
		} else if levels > 1 {
			eachID(v, levels-1, f)
		}
	}
}

// idOf returns a text, or a number as it is written; "" for others.
func idOf(v []byte) string {
	if len(v) == 0 || v[0] == '{' || v[0] == '[' {
		return ""
	}
	return jsontext.AnyText(v)
}

// field returns a field of a row: an id, or a member of the example or the metadata; "" for none.
func field(t *formats.Trajectory, name string) string {
	switch name {
	case "trajectory_id":
		return t.TrajectoryID
	case "example_id":
		return t.ExampleID
	}
	root, path, _ := strings.Cut(name, ".")
	raw := []byte(map[string]string{"metadata": t.Metadata, "example": t.Example}[root])
	for _, key := range strings.Split(path, ".") {
		raw = jsontext.ParseObject(raw).Get(key)
	}
	return idOf(raw)
}

// join joins the rows that were added.
func (j *joiner) join() error {
	var key []byte
	var rows [2][]int64
	for r, err := range j.keys.Sorted() {
		if err != nil {
			return err
		}
		if string(key) != string(r.Key) {
			j.choose(key, rows)
			if len(key) > 0 && key[0] != r.Key[0] {
				j.resolve(key[0])
			}
			key, rows = append(key[:0], r.Key...), [2][]int64{rows[0][:0], rows[1][:0]}
		}
		n, _ := binary.Varint(r.Value[1:])
		rows[r.Value[0]] = append(rows[r.Value[0]], n)
	}
	j.choose(key, rows)
	j.resolve(byPrompt)
	return nil
}

// choose sees the rows with a key. If one of each dataset is left, each is a choice of the other.
func (j *joiner) choose(key []byte, rows [2][]int64) {
	taken := false
	for side, list := range rows {
		slices.Sort(list)
		list = slices.Compact(list)
		rows[side] = slices.DeleteFunc(list, func(n int64) bool { return j.with[side][n] >= 0 })
		taken = taken || len(rows[side]) < len(list)
	}
	one := len(rows[0]) == 1 && len(rows[1]) == 1
	if len(rows[0]) == 0 || len(rows[1]) == 0 || taken && one && key[0] == byPrompt || !one && key[0] == byAnswers {
		return
	}
	for side, list := range rows {
		for _, a := range list {
			b := rows[1-side][0]
			if was, known := j.only[side][a]; !one || known && was != b {
				b = several
			}
			j.only[side][a] = b
		}
	}
}

// resolve joins the rows that are each other's only choice.
func (j *joiner) resolve(level byte) {
	for side, only := range j.only {
		for a, b := range only {
			if j.with[side][a] = several; b >= 0 && j.only[1-side][b] == a {
				j.with[side][a] = b
			}
			if side == 0 {
				j.level[a] = level
			}
		}
	}
	clear(j.only[0])
	clear(j.only[1])
}
