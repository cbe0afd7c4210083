package judge

import "testing"

// FuzzItemScores: whatever a judge writes, an item has a score within the range or none, and an answer
// without an error has all of them.
func FuzzItemScores(f *testing.F) {
	f.Add(`{"a":{"reason":"x","score":0.5},"b":{"score":1}}`)
	f.Add(`{"a":{"score":0.5},"a":{"score":1},"B":{}}`)
	f.Add(`<think>{"a":</think>{"\u0061":{"score":1e-400},"b":[{"score":1}]}`)
	f.Add("{\"a\":{\"score\":-0}, \"b\":{\"score\":0,\"score\":1}} {")
	r := &reward{Panel: &Panel{}, max: 1}
	items := []item{{Name: "a"}, {Name: "b"}}
	f.Fuzz(func(t *testing.T, text string) {
		votes, err := r.votes(items, text)
		if err == nil && (len(votes) != 2 || votes[0].Odd != nil || votes[1].Odd != nil) {
			t.Errorf("%q gave %+v", text, votes)
		}
		for _, v := range votes {
			if v.Odd == nil && !(v.Score >= 0 && v.Score <= 1) {
				t.Errorf("%q gave %+v", text, votes)
			}
		}
	})
}

// FuzzItems: whatever a file holds ends in items with a name, a text and weights, or in an error.
func FuzzItems(f *testing.F) {
	f.Add("items:\n  - {name: a, text: x, weight: 2, polarity: negative, must-have: true}")
	f.Add("items:\n  - &a {name: a, text: x}\n  - {<<: *a, name: b, weight: 0x10}")
	f.Add("items: [{name: a, text: !!str 1, weight: 1_000}, ]")
	f.Fuzz(func(t *testing.T, data string) {
		items, err := readItems("items.yaml", data)
		sum := 0.0
		for _, x := range items {
			if sum += *x.Weight; err == nil && (x.Name == "" || x.Text == "" || !(*x.Weight >= 0 && *x.Weight < 1e9)) {
				t.Errorf("%q gave %+v", data, x)
			}
		}
		if err == nil && !(sum > 0) {
			t.Errorf("%q gave %+v", data, items)
		}
	})
}
