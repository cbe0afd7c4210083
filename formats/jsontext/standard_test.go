package jsontext

import (
	"strings"
	"testing"
)

func TestNumbersThatJSONLacksBecomeNull(t *testing.T) {
	for line, want := range map[string]string{
		`{"loss":NaN,"a":-Infinity,"b":Infinity}`: `{"loss":null,"a":null,"b":null}`,
		`{"note":"NaN \"NaN\" Infinity","x":1}`:   `{"note":"NaN \"NaN\" Infinity","x":1}`,
		`{"note":"\\","x":NaN}`:                   `{"note":"\\","x":null}`,
	} {
		got, n := Standard([]byte(line))
		if string(got) != want || n != strings.Count(want, "null") {
			t.Errorf("%s became %s (%d)", line, got, n)
		}
	}
}
