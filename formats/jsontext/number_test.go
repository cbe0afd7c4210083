package jsontext

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
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

// FuzzParseFloat32: any text is what package strconv says.
func FuzzParseFloat32(f *testing.F) {
	for _, text := range []string{"-0.5", "-1.2633000612258911", "0", "-0", "-", "", ".", "-.5", "5.", "1.2.3", "--1", "1-", "1e-5", "NaN", "Infinity",
		"0x1p-2", "1_0", "123456789012345678901234567890", "0.0000000000000000000000001", "16777217", "16777217.0000000000000001", "null", "01"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseFloat32([]byte(text))
		want, wantErr := strconv.ParseFloat(text, 32)
		if math.Float32bits(got) != math.Float32bits(float32(want)) || (err == nil) != (wantErr == nil) {
			t.Errorf("%q is read as %v (%v), want %v (%v)", text, got, err, float32(want), wantErr)
		}
	})
}

// TestDecimalsInTheMiddle: numbers next to the middle between two of 32 bits.
func TestDecimalsInTheMiddle(t *testing.T) {
	random, direct := rand.New(rand.NewPCG(1, 2)), 0
	for range 20_000 {
		x := float32(random.ExpFloat64())
		middle := (float64(x) + float64(math.Nextafter32(x, 9))) / 2
		for _, v := range []float64{float64(x), middle, math.Nextafter(middle, 0), math.Nextafter(middle, 9), -random.ExpFloat64()} {
			text := strconv.FormatFloat(v, 'f', -1, 64)
			want, _ := strconv.ParseFloat(text, 32)
			if got, err := ParseFloat32([]byte(text)); err != nil || got != float32(want) {
				t.Fatalf("%s is read as %v (%v), want %v", text, got, err, float32(want))
			}
			if _, ok := decimal([]byte(text)); ok {
				direct++
			}
		}
	}
	if direct < 30_000 {
		t.Errorf("only %d of 100,000 numbers were read without package strconv", direct)
	}
}
