package calls

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
)

const (
	fieldMessages = "message_fields" // see importers.Metadata
	fieldCalls    = "merged_calls"   // a list, by call, of what the calls' metadata differ in
	fieldMissing  = "missing_call"   // the calls before and after which one is missing
)

// ofAll names what each call may say of the whole trajectory.
var ofAll = [...]string{"reward", "rewards", "example_id", "example"}

// saysOfAll returns that as JSON, nothing for what it does not say.
func saysOfAll(t *formats.Trajectory) (out [len(ofAll)][]byte) {
	if t.Reward != nil {
		out[0] = strconv.AppendFloat(nil, *t.Reward, 'g', -1, 64)
	}
	if len(t.Rewards) > 0 {
		out[1], _ = json.Marshal(t.Rewards)
	}
	if t.ExampleID != "" {
		out[2] = importers.Quote(t.ExampleID)
	}
	out[3] = []byte(t.Example)
	return out
}

// agree sets what all calls that say it say equally, and returns what they contradict each other in.
func (b *builder) agree(t *formats.Trajectory) (differ []string) {
	for _, c := range b.of.Calls {
		row := &c.Item.Row
		t.Reward, t.ExampleID = cmp.Or(t.Reward, row.Reward), cmp.Or(t.ExampleID, row.ExampleID)
		t.Example = cmp.Or(t.Example, row.Example)
		if len(t.Rewards) == 0 {
			t.Rewards = row.Rewards
		}
	}
	for i, first := range saysOfAll(t) {
		other := func(c *Call) bool {
			v := saysOfAll(&c.Item.Row)[i]
			return len(v) > 0 && string(v) != string(first)
		}
		if slices.ContainsFunc(b.of.Calls, other) {
			differ = append(differ, strings.ReplaceAll(ofAll[i], "_", " "))
		}
	}
	if slices.Contains(differ, "reward") || slices.Contains(differ, "rewards") {
		t.Reward, t.Rewards = nil, nil
	}
	if slices.Contains(differ, "example") {
		t.Example = ""
	}
	return differ
}

// metadata returns what the calls have in common, and by call what they differ in.
func (b *builder) metadata(t *formats.Trajectory, index []int) string {
	b.said = map[place]string{}
	var all importers.Metadata
	calls := b.of.Calls
	members := make([]jsontext.Object, len(calls))
	for k, c := range calls {
		members[k] = jsontext.ParseObject([]byte(c.Item.Row.Metadata))
	}
	common := map[string]bool{} // of all calls
	for _, m := range members[0] {
		other := func(o jsontext.Object) bool { return string(o.Get(m.Key)) != string(m.Raw) }
		common[m.Key] = !slices.ContainsFunc(members, other)
	}
	is := saysOfAll(t)
	list, some := make([][]byte, len(calls)), false
	var gaps [2][][]byte // calls before which, and after which one is missing
	for k, c := range calls {
		var own importers.Metadata
		row := &c.Item.Row
		if row.TrajectoryID != "" {
			own.Add("id", importers.Quote(row.TrajectoryID))
		}
		if row.StartedAt != 0 {
			own.Add("started_at", strconv.AppendInt(nil, row.StartedAt, 10))
		}
		for i, v := range saysOfAll(row) {
			if string(v) != string(is[i]) {
				own.Add(ofAll[i], v)
			}
		}
		for i, flag := range []uint64{afterGap, beforeGap} {
			if c.meta.Flags&flag != 0 {
				gaps[i] = append(gaps[i], strconv.AppendInt(nil, int64(k), 10))
			}
		}
		for _, m := range members[k] {
			switch {
			case m.Key == fieldMessages:
				b.fields(k, m.Raw, index, &all, &own)
			case !common[m.Key]:
				own.Add(m.Key, m.Raw)
			case k == 0:
				all.Add(m.Key, m.Raw)
			}
		}
		text := own.String()
		list[k], some = []byte(cmp.Or(text, "{}")), some || text != ""
	}
	if some {
		all.Add(fieldCalls, array(list))
	}
	if len(gaps[0])+len(gaps[1]) > 0 {
		all.Add(fieldMissing,
			jsontext.Object{{Key: "before", Raw: array(gaps[0])}, {Key: "after", Raw: array(gaps[1])}}.Bytes())
	}
	return all.String()
}

// fields adds the fields of a call's messages to those of the tree's: a prompt repeats messages of earlier calls.
func (b *builder) fields(k int, raw []byte, index []int, all, own *importers.Metadata) {
	var nodes []int // of its messages
	for at := b.paths[k].At; at >= 0; at = int(b.tree.Messages[at].Parent) {
		nodes = append(nodes, at)
	}
	slices.Reverse(nodes)
	for i := range b.tree.Messages {
		if m := &b.tree.Messages[i]; m.Sampled && int(m.Call) == k {
			nodes = append(nodes, i)
		}
	}
	for name, fields := range jsontext.Members(raw) {
		i, err := strconv.Atoi(string(name))
		for field, v := range jsontext.Members(fields) {
			if err != nil || i >= len(nodes) || index[nodes[i]] < 0 {
				own.OfMessage(i, string(field), v)
				continue
			}
			at := place{index[nodes[i]], string(field)}
			if before := cmp.Or(b.said[at], string(v)); before != string(v) {
				own.OfMessage(i, at.field, v)
				continue
			}
			b.said[at] = string(v)
			all.OfMessage(at.message, at.field, v)
		}
	}
}

// place is a field of a message.
type place struct {
	message int
	field   string
}

func array(values [][]byte) []byte {
	return slices.Concat([]byte{'['}, bytes.Join(values, []byte{','}), []byte{']'})
}
