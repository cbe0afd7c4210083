package validate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// shuffled returns rows of many groups over many files.
func shuffled(seed uint64) []sourceRow {
	rnd := rand.New(rand.NewPCG(seed, 0))
	groups := 1 + rnd.IntN(300)
	var rows []sourceRow
	for file := range 1 + rnd.IntN(200) {
		for line := range 1 + rnd.IntN(12) {
			group := sound()
			c := spoiled[rnd.IntN(len(spoiled))]
			group = c.spoil(group, group[0].T)
			r := group[rnd.IntN(len(group))]
			r.File, r.Line, r.Record = fmt.Sprint("f", file), int64(line+1), int64(line)
			r.Group = fmt.Sprint(rnd.IntN(groups))
			if r.ID != "" {
				r.ID = fmt.Sprint(rnd.IntN(1000))
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// expected counts in the plainest way: the rows of each use, the groups, and the
// findings that depend on other rows.
func expected(rows []sourceRow) (usable map[string]int64, groups int64, found map[string]int64) {
	usable, found = map[string]int64{}, map[string]int64{}
	members := map[string][]*sourceRow{}
	for i := range rows {
		members[rows[i].Group] = append(members[rows[i].Group], &rows[i])
	}
	bad := map[string]bool{}
	for name, of := range members {
		groups++
		var valid int
		var scores []float64
		for _, r := range of {
			if r.T.Status == outcomes.StatusFailed || r.T.Status == outcomes.StatusSkipped {
				continue
			}
			valid++
			if x, ok := score(r); ok {
				scores = append(scores, x)
			}
		}
		flat := len(scores) > 1
		for _, x := range scores {
			flat = flat && x == scores[0]
		}
		switch {
		case valid == 1 || len(scores) == 1:
			found["singleton"]++
		case flat:
			found["flat"]++
		default:
			continue
		}
		bad[name] = true
	}
	calls := map[string]bool{}
	for name, of := range members {
		var all []turns
		for _, r := range of {
			if r.T.Status != outcomes.StatusFailed && r.T.Status != outcomes.StatusSkipped {
				row := WideRow(0, r.T)
				all = append(all, row.turns())
			}
		}
		if calls[name] = chained(all); calls[name] {
			found["prefix_rows"] += int64(len(of))
		}
	}
	ids, contents := map[string]bool{}, map[string]bool{}
	l := inMemory()
	for i := range rows {
		r := &rows[i]
		s := l.find(r.Group, r.Source, r.T)
		content := r.Group
		for _, m := range r.T.Messages {
			content += fmt.Sprintf("%q %q %q %d", m.Role, m.Content, m.ContentParts, m.Parent)
			for _, c := range m.ToolCalls {
				content += fmt.Sprintf("%q %q", c.Name, c.Arguments)
			}
		}
		id := r.ID
		if r.Preferred != nil {
			id += fmt.Sprint(*r.Preferred)
		}
		sameID, same := r.ID != "" && ids[id], !s.has(failedSet) && contents[content]
		ids[id] = true
		if !s.has(failedSet) {
			contents[content] = true
		}
		for name, is := range map[string]bool{"duplicate_ids": sameID, "duplicate_content": same, "copies": same && sameID} {
			if is {
				found[name]++
			}
		}
		open := anyUse &^ s.blocked()
		if calls[r.Group] {
			open &^= recorded | forDPO | forKTO
		}
		if same && sameID {
			open &^= recorded
		}
		if x, scored := score(r); !bad[r.Group] && scored && open&forDPO != 0 && !comparesCandidates(r.T) && !slices.ContainsFunc(members[r.Group], func(o *sourceRow) bool {
			y, has := score(o)
			return has && x != y && l.find(o.Group, o.Source, o.T).blocked()&forDPO == 0 && !comparesCandidates(o.T) && pairable(r.T, o.T)
		}) {
			open &^= forDPO
			found["no_pair"]++
		}
		if bad[r.Group] {
			open &^= forGRPO
			if !comparesCandidates(r.T) {
				open &^= forDPO
			}
		}
		for _, u := range open.names() {
			usable[u]++
		}
	}
	return usable, groups, found
}

// pairable reports whether two rows have one prompt and different answers: all after the
// first answer's prompt, or the last ones.
func pairable(a, b *formats.Trajectory) bool {
	said := func(t *formats.Trajectory, last bool) (prompt, answer string) {
		path := t.Main()
		at := slices.IndexFunc(path, t.Trained)
		if at < 0 {
			return "", ""
		}
		several := slices.ContainsFunc(path[at+1:], t.Trained)
		for k := at; last && k < len(path); k++ {
			if t.Trained(path[k]) {
				at = k
			}
		}
		for k, i := range path {
			m := t.Messages[i]
			text := fmt.Sprintf("%q %q %q %q %q", m.Role, m.Content, m.ContentParts, m.Name, m.Reasoning)
			for _, c := range m.ToolCalls {
				text += fmt.Sprintf("%q %q", c.Name, c.Arguments)
			}
			switch {
			case k < at:
				prompt += text
			case k == at || several && !last:
				answer += text
			}
		}
		return prompt + chat.ToolsOf(t, path[at]), answer
	}
	for _, last := range []bool{false, true} {
		askA, saidA := said(a, last)
		askB, saidB := said(b, last)
		if askA == askB && saidA != saidB {
			return true
		}
	}
	return false
}

func score(r *sourceRow) (float64, bool) {
	row := Row{Reward: r.T.Reward, Source: &r.Source}
	return row.score()
}

// TestCountsAddUp compares reports of random rows with counts made in the
// plainest way.
func TestCountsAddUp(t *testing.T) {
	for seed := range uint64(60) {
		rows := shuffled(seed)
		usable, groups, found := expected(rows)
		r := reported(t, rows)
		if r.Rows != int64(len(rows)) || r.Groups != groups {
			t.Errorf("seed %d: %d rows in %d groups, want %d in %d", seed, r.Rows, r.Groups, len(rows), groups)
		}
		for _, u := range r.Uses {
			if u.Possible != usable[u.Use] || u.Of != r.Rows {
				t.Errorf("seed %d: %s is possible for %d of %d, want %d", seed, u.Use, u.Possible, u.Of, usable[u.Use])
			}
		}
		for _, f := range r.Findings {
			if want, ok := found[f.Name]; ok && f.Count != want {
				t.Errorf("seed %d: %s %d, want %d", seed, f.Name, f.Count, want)
			}
		}
		explained(t, r)
	}
}

// explained checks that each use that is not possible for all rows has reasons
// enough for the others.
func explained(t *testing.T, s Report) {
	t.Helper()
	for _, u := range s.Uses {
		var reasons int64
		for _, r := range u.Because {
			reasons += r.Rows
		}
		if left := u.Of - u.Possible; u.Possible < 0 || left < 0 || reasons < left {
			t.Errorf("%+v: %d rows are not explained", u, left-reasons)
		}
	}
	for _, f := range s.Findings {
		if f.Of == ofRow && f.Count != f.Rows || int64(len(f.First)) != min(f.Count, MaxPlaces) {
			t.Errorf("%+v", f)
		}
	}
}
