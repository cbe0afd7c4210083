package score

import (
	"reflect"
	"testing"
)

// A spec that is read is written as one that is read as the same.
func FuzzParseReward(f *testing.F) {
	for _, s := range []string{"match:exact", "exact*0.5=match:exact", "short=expr:len(answer) < 100", " a * 1e-3 = k : x=1,text=a,b ", "a*NaN=k", "=:", "*=:*",
		"a=b=c:d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseReward(text)
		if err != nil {
			return
		}
		if !nameForm.MatchString(s.Name) || !nameForm.MatchString(s.Kind) {
			t.Fatalf("%q has the name %q and the kind %q", text, s.Name, s.Kind)
		}
		again, err := ParseReward(s.String())
		if again.unnamed = s.unnamed; err != nil || !reflect.DeepEqual(again, s) {
			t.Fatalf("%q is %+v, and as %q %+v: %v", text, s, s.String(), again, err)
		}
	})
}
