package rules

import "testing"

// A split that passes its checks has named sides, each with a share.
func FuzzParseSplit(f *testing.F) {
	for _, s := range []string{"train=0.9,validation=0.1", "train,validation=0.1", "a=NaN,b=0.5", "a=1e308,b=-1e308,c", ",", "a=0x1p-2,b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sides, err := parse(text)
		if err != nil || len(sides) == 0 {
			return
		}
		o := SplitSettings{Sides: sides, Take: sides[0].Name}
		if o.check() != nil {
			return
		}
		sum := 0.0
		for _, s := range sides {
			if s.Name == "" || !(s.Share > 0 && s.Share < 1) {
				t.Fatalf("%q has the side %+v", text, s)
			}
			sum += s.Share
		}
		if sum < 0.999 || sum > 1.001 {
			t.Fatalf("%q: the shares add up to %v", text, sum)
		}
	})
}
