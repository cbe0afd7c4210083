package jsontext

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Of the values of a repeated key the last counts, as in Python, and a number
// that JSON does not have is null; both are noted.
func TestWhatAReadingLoses(t *testing.T) {
	for text, want := range map[string]struct{ text, lost string }{
		`{"reward":1.0,"reward":0.0}`:           {`{"reward":0.0}`, "reward: repeated"},
		`{"a":1, "b":2, "a":3}`:                 {`{"b":2, "a":3}`, "a: repeated"},
		`{"a":1,"\u0061":2}`:                    {`{"\u0061":2}`, "a: repeated"},
		`{"m":{"loss":NaN},"l":[1,Infinity,2]}`: {`{"m":{"loss":null},"l":[1,null,2]}`, "m.loss: NaN; l: Infinity"},
		`{"a":{"b":NaN},"a":1}`:                 {`{"a":1}`, "a.b: NaN; a: repeated"},
		`[NaN,-Infinity]`:                       {`[null,null]`, "the value: NaN; the value: -Infinity"},
		`{"a":[{"x":NaN},{"x":NaN}]}`:           {`{"a":[{"x":null},{"x":null}]}`, "a.x: NaN"},
		`{"a":{"b":{"c":{"d":{"e":NaN}}}}}`:     {`{"a":{"b":{"c":{"d":{"e":null}}}}}`, "a.b.c.d.e…: NaN"},
		`{"a":{"x":1},"b":{"x":"NaN \" NaN"}}`:  {`{"a":{"x":1},"b":{"x":"NaN \" NaN"}}`, ""},
	} {
		var r Reading
		got, ok := r.Value([]byte(text))
		var lost []string
		for _, l := range r.Lost {
			why, _, _ := strings.Cut(strings.TrimPrefix(l.Why, "the key is "), " ")
			lost = append(lost, l.Path+": "+strings.TrimSuffix(why, ":"))
		}
		if !ok || string(got) != want.text || strings.Join(lost, "; ") != want.lost {
			t.Errorf("%s is %s, %v; lost: %q", text, got, ok, lost)
		}
	}
}

func TestEachReadsAgainWithoutWhatIsLost(t *testing.T) {
	var got []string
	var r Reading
	text, err := r.Each([]byte(`{"a":1,"b":NaN,"a":2}`), func(k, v []byte) { got = append(got, string(k)+string(v)) }, func() { got = nil })
	if want := []string{"bnull", "a2"}; err != nil || string(text) != `{"b":null,"a":2}` || !slices.Equal(got, want) {
		t.Errorf("%s: %q, %v", text, got, err)
	}
}

// The memory for a text, and with it the work, grows with its keys and no
// faster.
func TestManyKeysAreLinear(t *testing.T) {
	object := func(n int) []byte {
		b := []byte("{")
		for i := range n {
			b = fmt.Appendf(b, `"key%d":{"a":1,"a":NaN},`, i)
		}
		return append(b, `"last":0}`...)
	}
	var allocs [2]float64
	for i, n := range []int{1000, 10000} {
		text := object(n)
		allocs[i] = testing.AllocsPerRun(1, func() {
			var r Reading
			if out, ok := r.Value(text); !ok || len(ParseObject(out)) != n+1 || len(r.Lost) != 2*n {
				t.Errorf("%d keys: %v, %d lost", n, ok, len(r.Lost))
			}
		})
	}
	if allocs[1] > 15*allocs[0] {
		t.Errorf("%v allocations for ten times as many keys", allocs)
	}
}

// TestKeysHaveALimit: of one object, wherever it is; all objects of a value may
// have more.
func TestKeysHaveALimit(t *testing.T) {
	object := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"key%d":1`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	full, over := object(MaxKeys), object(MaxKeys+1)
	for text, want := range map[string]string{
		full:                                  "",
		`{"a":` + full + `,"b":` + full + `}`: "",
		over:                                  "more than 100000 keys, which are not read: the value",
		`{"a":{"b":[` + over + `]}}`:          "more than 100000 keys, which are not read: a.b",
	} {
		var value, each Reading
		_, ok := value.Value([]byte(text))
		_, err := each.Each([]byte(text), func(_, _ []byte) {}, func() {})
		if ok != (want == "") || (err == nil) != ok || !ok && (!strings.Contains(value.Refused.Error(), want) || err.Error() != value.Refused.Error()) {
			t.Errorf("%.20s…: %v, %v, %v; want %q", text, ok, value.Refused, err, want)
		}
	}
}

// A short text of which nothing is lost is read without memory of its own.
func TestShortTextsNeedNoMemory(t *testing.T) {
	text := []byte(`{"id":"1","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}],"reward":1.0}`)
	allocs := testing.AllocsPerRun(200, func() {
		var r Reading
		if out, ok := r.Value(text); !ok || len(out) != len(text) {
			t.Error(string(out), ok)
		}
	})
	if allocs >= 1 {
		t.Errorf("%v allocations", allocs)
	}
}
