package jsontext

import (
	"encoding/json"
	"math"
	"testing"
)

func TestAFloatStaysAFloat(t *testing.T) {
	for f, want := range map[float64]string{0: "0.0", 1: "1.0", -3: "-3.0", 0.5: "0.5", 1e21: "1e+21", 1e6: "1e+06", 100000: "100000.0",
		math.Copysign(0, -1): "-0.0", math.Inf(1): "null"} {
		got, err := json.Marshal(Float(f))
		if err != nil || string(got) != want {
			t.Errorf("%v: %s, %v", f, got, err)
		}
		var back float64
		if want != "null" && (json.Unmarshal(got, &back) != nil || back != f) {
			t.Errorf("%s reads as %v", got, back)
		}
	}
	got, err := json.Marshal(struct{ A, B Floats }{Floats{0, -9999, -0.1}, nil})
	if err != nil || string(got) != `{"A":[0.0,-9999.0,-0.1],"B":null}` {
		t.Errorf("%s, %v", got, err)
	}
}
