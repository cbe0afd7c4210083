package calls

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
)

const (
	fieldMessages = "message_fields" // see importers.Metadata
	fieldCalls    = "merged_calls"   // a list, by call, of what the calls' metadata differ in
	fieldMissing  = "missing_call"   // the calls before and after which one is missing
)

// agree sets what all calls that say it say equally, and returns what they contradict each other in.
func (b *builder) agree(t *formats.Trajectory) (differ []string) {
	for _, c := range b.of.Calls {
		row := &c.Item.Row
		if row.Reward != nil && t.Reward == nil {
			t.Reward = row.Reward
		}
		if len(row.Rewards) > 0 && t.Rewards == nil {
			t.Rewards = row.Rewards
		}
	}
	is := func(what string, ok func(row *formats.Trajectory) bool) bool {
		if !slices.ContainsFunc(b.of.Calls, func(c *Call) bool { return !ok(&c.Item.Row) }) {
			return true
		}
		differ = append(differ, what)
		return false
	}
	same := is("reward", func(row *formats.Trajectory) bool { return row.Reward == nil || *row.Reward == *t.Reward })
	if same = is("rewards", func(row *formats.Trajectory) bool {
		return len(row.Rewards) == 0 || reflect.DeepEqual(row.Rewards, t.Rewards)
	}) && same; !same {
		t.Reward, t.Rewards = nil, nil
	}
	is("example id", func(row *formats.Trajectory) bool { return row.ExampleID == t.ExampleID })
	t.Example = b.of.Calls[0].Item.Row.Example
	if !is("example", func(row *formats.Trajectory) bool { return row.Example == t.Example }) {
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
	own := make([]importers.Metadata, len(calls))
	var before, after [][]byte
	for k, c := range calls {
		row := &c.Item.Row
		if row.TrajectoryID != "" {
			own[k].Add("id", importers.Quote(row.TrajectoryID))
		}
		if row.StartedAt != 0 {
			own[k].Add("started_at", strconv.AppendInt(nil, row.StartedAt, 10))
		}
		if row.Reward != nil && t.Reward == nil {
			own[k].Add("reward", strconv.AppendFloat(nil, *row.Reward, 'g', -1, 64))
		}
		if row.ExampleID != t.ExampleID {
			own[k].Add("example_id", importers.Quote(row.ExampleID))
		}
		if t.Example == "" {
			own[k].Add("example", []byte(row.Example))
		}
		if c.linked.Flags&afterGap != 0 {
			before = append(before, strconv.AppendInt(nil, int64(k), 10))
		}
		if c.linked.Flags&beforeGap != 0 {
			after = append(after, strconv.AppendInt(nil, int64(k), 10))
		}
		for _, m := range members[k] {
			switch {
			case m.Key == fieldMessages:
				b.fields(k, m.Raw, index, &all, &own[k])
			case !common[m.Key]:
				own[k].Add(m.Key, m.Raw)
			case k == 0:
				all.Add(m.Key, m.Raw)
			}
		}
	}
	list := make([][]byte, len(own))
	some := false
	for k := range own {
		text := own[k].String()
		some = some || text != ""
		if list[k] = []byte(text); text == "" {
			list[k] = []byte("{}")
		}
	}
	if some {
		all.Add(fieldCalls, array(list))
	}
	if len(before)+len(after) > 0 {
		all.Add(fieldMissing,
			jsontext.Object{{Key: "before", Raw: array(before)}, {Key: "after", Raw: array(after)}}.Bytes())
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
			if before, said := b.said[at]; !said {
				b.said[at] = string(v)
				all.OfMessage(at.message, at.field, v)
			} else if before != string(v) {
				own.OfMessage(i, string(field), v)
			}
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
